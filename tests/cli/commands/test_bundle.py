"""`weftwork bundle`: fetched, written and opened."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host, run_on
from tests.cli.terminal import run_at_terminal
from tests.live import KEY, OTHER_KEY, Host, echoes, weftwork
from tests.live.assets import fetch
from tests.live.fixtures import host_fixture
from weftwork.cli.commands.review import bundle as module
from weftwork.cli.main import main
from weftwork.cli.render import bundle_file
from weftwork.cli.render import bundle_file as bundle_sheet
from weftwork.protocol.json import schema
from weftwork.protocol.review.debug_bundle import unattached_bundle

PATH = "GET /v1/runs/run-1/debug-bundle"
BUNDLE: dict[str, Any] = {"bundleVersion": "1.0", "run": {"runId": "run-1"}, "events": [{}, {}], "truncated": False}
OFFERED = CannedResponse(200, {"protocolVersion": "1.0", "debugBundle": {"supported": True}})
host = host_fixture("--conformance", workflows=[echoes("large", 40)], store="memory")


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    with open_foreign_host() as made:
        made.replies[PATH] = CannedResponse(200, BUNDLE)
        yield made


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bundle(host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    return run_on(host, "bundle", *args, code=code, key=key)


def finished(host: Host, workflow_id: str = "conformance-multi-node", **members: Any) -> str:
    run_id = host.create(workflow_id, **members)
    host.log(run_id)
    return run_id


def test_a_bundle_is_written_for_its_owner_alone(host: Host, here: Path) -> None:
    run_id = finished(host)
    done = bundle(host, run_id)
    file = here / f"bundle-{run_id}.json"
    document = json.loads(file.read_bytes())
    assert schema.check("debug-bundle", document) == []
    assert document["events"] == host.log(run_id)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    size = f"{file.stat().st_size / 1000:.1f} kB"
    assert done.stdout == f"bundle-{run_id}.json: {len(document['events'])} events, {size}\n"
    assert done.stderr == ""
    assert [each.name for each in here.iterdir()] == [file.name]


def test_what_is_there_is_not_written_over(host: Host, here: Path) -> None:
    run_id = finished(host)
    (here / "mine.json").write_text("mine")
    refused = bundle(host, run_id, "-o", "mine.json", code=2)
    assert "mine.json already exists; overwrite it with --force" in refused.stderr
    assert (here / "mine.json").read_text() == "mine"
    bundle(host, run_id, "-o", "mine.json", "--force")
    assert json.loads((here / "mine.json").read_text())["run"]["runId"] == run_id
    assert stat.S_IMODE((here / "mine.json").stat().st_mode) == 0o600
    bundle(host, run_id, "-o", "new.json", "--force")
    assert [each.name for each in sorted(here.iterdir())] == ["mine.json", "new.json"]
    (here / "folder").mkdir()
    for more in ([], ["--force"]):
        assert "is a folder; pass a file" in bundle(host, run_id, "-o", "folder", *more, code=2).stderr


@pytest.mark.parametrize("more", [[], ["--force"]])
def test_a_file_that_cannot_be_written_is_told(host: Host, here: Path, more: list[str]) -> None:
    run_id = finished(host)
    refused = bundle(host, run_id, "-o", "nowhere/at/all.json", *more, code=1)
    assert "cannot be written: No such file" in refused.stderr
    assert list(here.iterdir()) == []


def test_somebody_elses_file_that_came_meanwhile_stays(foreign: ForeignHost, here: Path) -> None:
    def late(asked: ReceivedRequest) -> CannedResponse:
        (here / "out.json").write_text("theirs")
        return CannedResponse(200, BUNDLE)

    foreign.replies[PATH] = late
    done = foreign.run_command("bundle", "run-1", "-o", "out.json")
    assert (done.exit_code, "File exists" in done.stderr) == (1, True)
    assert (here / "out.json").read_text() == "theirs"


def test_a_disk_that_is_full_leaves_nothing(foreign: ForeignHost, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Path.replace

    def full(self: Path, target: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    done = foreign.run_command("bundle", "run-1", "-o", "out.json", "--force")
    assert (done.exit_code, "No space left" in done.stderr) == (1, True)
    assert list(here.iterdir()) == []
    monkeypatch.setattr(Path, "replace", honest)
    assert foreign.run_command("bundle", "run-1", "-o", "out.json", "--force").exit_code == 0


def test_standard_output_gets_the_bundle_and_nothing_else(host: Host, here: Path) -> None:
    run_id = finished(host)
    done = bundle(host, run_id, "-o", "-")
    assert json.loads(done.stdout)["events"] == host.log(run_id)
    assert "events, " in done.stderr
    told = bundle(host, run_id, "-o", "-", "--json")
    assert json.loads(told.stdout)["events"] == host.log(run_id)
    assert json.loads(told.stderr)["file"] == "-"
    assert list(here.iterdir()) == []


def test_what_is_missing_is_said(host: Host, here: Path) -> None:
    run_id = finished(host)
    done = bundle(host, run_id, "--max-events", "3", "-o", "cut.json")
    assert "cut.json: 3 events, " in done.stdout
    then = f"weftwork events {run_id} --json --from 3"
    assert done.stderr == (
        f"the bundle is truncated to the first 3 events (events_truncated_to_size_cap); `{then}` prints the rest\n"
    )
    rest = weftwork(here, *then.split()[1:], env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    kept = json.loads((here / "cut.json").read_bytes())["events"]
    assert [*kept, *map(json.loads, rest.stdout.splitlines())] == host.log(run_id)
    summary = json.loads(bundle(host, run_id, "--max-events", "1", "-o", "one.json", "--json").stdout)
    size = (here / "one.json").stat().st_size
    assert summary == {
        "runId": run_id,
        "file": "one.json",
        "bytes": size,
        "eventCount": 1,
        "truncated": True,
        "truncatedReason": "events_truncated_to_size_cap",
    }


def test_members_that_were_too_large_are_named(foreign: ForeignHost) -> None:
    told = {**BUNDLE, "run": {"omitted": ["variables", 7, "\x1b[31m"]}, "truncated": True}
    foreign.replies[PATH] = CannedResponse(200, {**told, "truncatedReason": "run_truncated_to_size_cap"})
    done = foreign.run_command("bundle", "run-1")
    assert done.stderr.startswith("members of the run that are too large for the bundle: variables, ")
    assert "\x1b" not in done.stderr
    assert "truncated to the first" not in done.stderr


def test_a_terminal_is_shown_how_much_has_come(host: Host, here: Path) -> None:
    run_id = finished(host, "large", inputs={"text": "x " * 30_000})
    args = ("bundle", run_id, "-o", "large.json", "--url", host.address, "--key", KEY)
    code, shown = run_at_terminal(here, b"", *args)
    assert code == 0, shown
    assert "received 1." in shown
    assert shown.rstrip().splitlines()[-1].split("\r")[-1].startswith("large.json: ")
    quiet = weftwork(here, *args, "--force")
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_refusals_say_what_to_do(host: Host, foreign: ForeignHost, here: Path) -> None:
    run_id = finished(host)
    theirs = bundle(host, run_id, code=7, key=OTHER_KEY)
    assert "There is no such run (not_found); check the id" in theirs.stderr
    assert bundle(host, run_id, code=7, key="wrong").exit_code == 7
    assert bundle(host, run_id, "--max-events", "0", code=2).exit_code == 2
    foreign.replies[PATH] = CannedResponse(404, {"error": "not_found", "message": "Nothing here."})
    assert "does not support debug bundles" in foreign.run_command("bundle", "run-1").stderr
    foreign.replies["GET /.well-known/openwop"] = OFFERED
    assert "Nothing here (not_found)" in foreign.run_command("bundle", "run-1").stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'{"events": {}}', b'{"events": [', b"<html>", b"[" * 100_000])
def test_what_is_no_bundle_is_not_kept(foreign: ForeignHost, here: Path, raw: bytes) -> None:
    foreign.replies[PATH] = CannedResponse(200, raw=raw)
    done = foreign.run_command("bundle", "run-1")
    assert (done.exit_code, "is not a debug bundle" in done.stderr) == (6, True)
    assert list(here.iterdir()) == []


def test_a_broken_connection_is_tried_again_and_half_a_bundle_is_none(foreign: ForeignHost, here: Path) -> None:
    replies = iter([HANG_UP, HANG_UP, CannedResponse(200, BUNDLE)])
    foreign.replies[PATH] = lambda asked: next(replies)
    assert foreign.run_command("bundle", "run-1", "-o", "out.json").exit_code == 0
    half = json.dumps(BUNDLE).encode()[:-10]
    foreign.replies[PATH] = CannedResponse(
        200, raw=half, headers={"Content-Length": str(len(half) + 10), "Connection": "close"}
    )
    done = foreign.run_command("bundle", "run-1", "-o", "half.json")
    assert (done.exit_code, "was lost before the response was complete" in done.stderr) == (6, True)
    assert [each.name for each in here.iterdir()] == ["out.json"]


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "a b", "é", "x" * 500, "."])
def test_a_name_of_a_run_is_no_path(foreign: ForeignHost, here: Path, run_id: str) -> None:
    foreign.reply = lambda asked: CannedResponse(200, BUNDLE)  # type: ignore[method-assign]
    assert foreign.run_command("bundle", run_id).exit_code == 0
    (made,) = here.iterdir()
    assert made.name.startswith("bundle-")
    assert len(made.name) <= module.MAX_NAME + 20


START = "2026-01-31T08:05:09.000Z"
END = "2026-01-31T08:05:11.500Z"
URL = "https://media.example/v1/host/weftwork/assets/v1.k.AAAA." + "b" * 43
EVIL = "\x1b]0;owned\x07\x1b[2J\r\x9b31m\u202e"


def event(at: int, kind: str, node: str | None = None, **payload: Any) -> dict[str, Any]:
    named = {"nodeId": node} if node is not None else {}
    return {"eventId": f"e{at}", "sequence": at, "type": kind, "timestamp": START, **named, "payload": payload}


def document(**more: Any) -> dict[str, Any]:
    events = [
        event(0, "run.started", workflowId="shop"),
        event(1, "node.started", "a", typeId="core.noop", attempt=1),
        event(2, "media.image", "a", url=URL, bytes=12_345, mimeType="image/png", alt="a shelf"),
        event(3, "node.failed", "a", error={"code": "node_failed", "message": "no shelf"}),
        event(4, "run.failed", error={"code": "node_failed", "message": "no shelf"}),
    ]
    spans = [
        {
            "name": "openwop.run",
            "spanId": "1",
            "parentSpanId": None,
            "startedAt": START,
            "endedAt": END,
            "status": "error",
        },
        {"name": "openwop.node.core.noop", "spanId": "2", "parentSpanId": "1", "startedAt": START, "endedAt": None},
    ]
    run = {"runId": "run-1", "workflowId": "shop", "status": "failed", "hostStatus": "failed", "startedAt": START}
    error = {"code": "node_failed", "message": "no shelf", "details": {"nodeId": "a"}}
    made = unattached_bundle("run-1", events, spans, "0.1.0", END)
    metrics = {"openwopCost": {"tokens": {"input": 12, "output": 30}}, "nodeCount": 1, "eventCount": 5}
    return {**made, "run": {**run, "endedAt": END, "error": error}, "metrics": metrics, **more}


def opened(tmp_path: Path, given: Any, *args: str, code: int = 0) -> Result:
    file = tmp_path / "b.json"
    file.write_bytes(given if isinstance(given, bytes) else json.dumps(given).encode())
    done = CliRunner(env={"WEFTWORK_URL": "http://127.0.0.1:1"}).invoke(main, ["bundle", "open", str(file), *args])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == code, done.output
    return done


def test_all_of_it_is_shown(tmp_path: Path) -> None:
    done = opened(tmp_path, document())
    assert done.stderr == ""
    assert (
        done.stdout
        == f"""run       run-1
workflow  shop
status    failed
started   2026-01-31 08:05:09 UTC
ended     2026-01-31 08:05:11 UTC, took 2.5 s
error     node_failed: no shelf
details   {{"nodeId": "a"}}
created   by weftwork 0.1.0, 2026-01-31 08:05:11 UTC
bundle    1.0: 5 events, 2 spans, 1 media, {(tmp_path / "b.json").stat().st_size / 1000:.1f} kB
tokens    12 input, 30 output

events
{START} 0 run.started - workflowId=shop
{START} 1 node.started a typeId=core.noop attempt=1
{START} 2 media.image a mimeType=image/png bytes=12345 alt="a shelf" url={URL}
{START} 3 node.failed a code=node_failed message="no shelf"
{START} 4 run.failed - code=node_failed message="no shelf"

spans
  openwop.run                 2.5 s      error
    openwop.node.core.noop    not ended

media
  media.image  image/png  12.3 kB  "a shelf"
    {URL}
"""
    )


RATING: dict[str, Any] = {
    "annotationId": "1",
    "target": {"runId": "run-1", "nodeId": "a"},
    "signal": {"kind": "rating", "rating": 2},
    "actor": {"principalRef": "key_1"},
    "note": "too\nslow",
    "createdAt": START,
}
NOTES: list[Any] = [RATING, {"signal": {"kind": "flag"}, "target": {"eventId": "e-1"}}, 7]


@pytest.mark.rule("bundle-10")
def test_annotations_are_listed(tmp_path: Path) -> None:
    shown = opened(tmp_path, document(annotations=NOTES, annotationsTruncated=True))
    assert shown.stdout.endswith(
        """
annotations
  2026-01-31 08:05:09  node a  rating  rating=2  by key_1
    too
    slow
  ?  event e-1  flag  by ?
  ?  run  ?  by ?
"""
    )
    assert "5 events, 2 spans, 1 media, 3 annotations, " in shown.stdout
    assert shown.stderr == "warning: the bundle is truncated to the first 3 annotations\n"
    told = json.loads(opened(tmp_path, document(annotations=NOTES), "--json").stdout)
    assert (told["annotationCount"], told["problems"]) == (3, [])
    many = opened(tmp_path, document(annotations=NOTES[1:2] * 60)).stdout
    assert many.endswith("  and 10 more; --all shows them\n")


def test_standard_input_and_the_summary(tmp_path: Path) -> None:
    data = json.dumps(document()).encode()
    done = CliRunner().invoke(main, ["bundle", "open", "-", "--json"], input=data)
    told = json.loads(done.stdout)
    assert (told["file"], told["bytes"], told["eventCount"], told["spanCount"]) == ("-", len(data), 5, 2)
    assert told["run"]["error"]["code"] == "node_failed"
    assert told["eventTypes"] == {
        "media.image": 1,
        "node.failed": 1,
        "node.started": 1,
        "run.failed": 1,
        "run.started": 1,
    }
    assert told["tokens"] == {"input": 12, "output": 30}
    shown = {"mimeType": "image/png", "bytes": 12_345, "alt": "a shelf", "url": URL}
    assert told["media"] == [{"sequence": 2, "type": "media.image", **shown}]
    assert (told["truncated"], told["problems"]) == (False, [])
    assert json.loads(opened(tmp_path, data, "--json", "--type", "node").stdout)["matchedEvents"] == 2


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (["--type", "node"], [1, 3]),
        (["--type", "node.*"], [1, 3]),
        (["--type", "node.failed", "--type", "run"], [0, 3, 4]),
        (["--node", "a"], [1, 2, 3]),
        (["--node", "a", "--type", "media"], [2]),
        (["--last", "2"], [3, 4]),
        (["--last", "0"], []),
        (["--last", "99"], [0, 1, 2, 3, 4]),
        (["--type", "nod"], []),
    ],
)
def test_events_can_be_chosen(tmp_path: Path, args: list[str], kept: list[int]) -> None:
    done = opened(tmp_path, document(), *args)
    assert [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith(START)] == kept
    assert ("no event matches --type; the bundle has 5 events" in done.stderr) == (args == ["--type", "nod"])


def test_what_is_missing_or_wrong_is_said(tmp_path: Path) -> None:
    run = {**document()["run"], "omitted": ["variables"], "status": "running", "hostStatus": "paused"}
    cut = document(run=run, truncated=True, truncatedReason="events_truncated_to_size_cap", spansTruncated=True)
    done = opened(tmp_path, cut)
    assert done.stderr.splitlines() == [
        "warning: members of the run that were too large for the bundle: variables",
        "warning: the bundle is truncated (events_truncated_to_size_cap) to the first 5 events",
        "warning: the bundle is truncated to the first 2 spans",
    ]
    assert "running (host status paused)" in done.stdout
    events = document()["events"]
    short = document(truncated=True, metrics={"eventCount": 9})
    assert opened(tmp_path, short).stderr == "warning: the bundle is truncated to the first 5 of 9 events\n"
    wrong = document(redactionMode="passthrough", metrics={"eventCount": 9}, events=events[:2] + events[3:], run={})
    lines = opened(tmp_path, wrong).stderr
    assert "does not match its schema at /run" in lines
    assert "redactionApplied is true but redactionMode is passthrough" in lines
    assert "metrics.eventCount is 9, but the bundle has 4 events" in lines
    assert "events are missing or were changed" in lines
    inline = document(redactionApplied=False, events=[event(0, "media.file", base64="AAAA", bytes=3)])
    lines = opened(tmp_path, inline).stderr
    assert "has inline media (base64)" in lines
    assert "secrets are not redacted in this bundle" in lines


def test_many_spans_and_media_are_counted(tmp_path: Path) -> None:
    events = [event(at, "media.file", url=URL, bytes=1, name="n") for at in range(60)]
    spans = [{"name": f"s{at}", "spanId": str(at), "parentSpanId": str(at - 1)} for at in range(60)]
    made = document(events=events, spans=spans, metrics={"eventCount": 60})
    short = opened(tmp_path, made).stdout
    assert short.count("and 10 more; --all shows them") == 2
    long = opened(tmp_path, made, "--all").stdout
    assert "more; --all" not in long
    assert long.count(f"    {URL}") == 60
    deepest = max(len(line) - len(line.lstrip()) for line in long.splitlines() if line.lstrip().startswith("s"))
    assert deepest == 2 * (bundle_sheet._MAX_DEPTH + 1)


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"{}", b"[]", b'{"events": []}', b'{"bundleVersion": "1.0"}', b'{"bundleVersion": "1.0", "events": {}}'),
        *(
            b"<html>",
            b"[" * 100_000,
            b"\xff\xfe",
            b'{"bundleVersion":"1.0","events":[],"events":[]}',
            b"\xef\xbb\xbf{}",
        ),
    ],
)
def test_what_is_no_bundle_is_refused(tmp_path: Path, raw: bytes) -> None:
    done = opened(tmp_path, raw, code=1)
    assert "is not a debug bundle" in done.stderr
    assert done.stdout == ""


def test_files_are_bounded_and_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nowhere.json", str(tmp_path), "nul\0"):
        done = CliRunner().invoke(main, ["bundle", "open", name])
        assert (done.exit_code, "cannot be read" in done.stderr) == (2, True)
    monkeypatch.setattr(bundle_file, "MAX_FILE", 2**20)
    assert "is larger than 1 MiB" in opened(tmp_path, b" " * (2**20 + 1), code=1).stderr
    monkeypatch.setattr(bundle_file, "MAX_VALUES", 1000)
    assert "more than 1000 values" in opened(tmp_path, document(spans=[{}] * 1000), code=1).stderr
    assert opened(tmp_path, document()).exit_code == 0


def planted(value: Any) -> Any:
    """The document with every text in it made evil, and every name that is not the protocol's."""
    if isinstance(value, dict):
        return {**{name: planted(each) for name, each in value.items()}, f"x{EVIL}": EVIL}
    if isinstance(value, list):
        return [planted(each) for each in value]
    return f"{value}{EVIL}" if isinstance(value, str) else value


def evil_bundles() -> Iterator[dict[str, Any]]:
    yield planted(document())
    kept = document()
    kept["run"] |= {"omitted": [EVIL], "error": {"code": EVIL, "message": EVIL, "details": {EVIL: EVIL}}}
    kept["events"] = [
        {**each, "nodeId": EVIL, "payload": dict.fromkeys(each["payload"], EVIL)} for each in kept["events"]
    ]
    yield {**kept, "truncated": True, "truncatedReason": EVIL, "metrics": {"eventCount": EVIL}}


def raw_controls(text: str) -> set[str]:
    return {sign for sign in text if (sign < " " and sign != "\n") or "\x7f" <= sign < "\xa0" or sign == "\u202e"}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("args", [[], ["--json"], ["--type", EVIL.replace("\0", "")]])
def test_no_control_character_reaches_the_terminal(tmp_path: Path, number: int, args: list[str]) -> None:
    done = opened(tmp_path, list(evil_bundles())[number], *args)
    assert raw_controls(done.stdout + done.stderr) == set()


def test_without_that_it_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_sheet, "clean", lambda text, most=0: str(text))
    done = opened(tmp_path, list(evil_bundles())[1])
    assert raw_controls(done.stdout) >= {"\x1b", "\x07"}


@pytest.mark.rule("bundle-08")
def test_media_of_a_run_are_named_by_urls_that_open(host: Host, tmp_path: Path) -> None:
    run_id = host.create("conformance-media-emit")
    logged = [each for each in host.log(run_id) if each["type"].startswith("media.")]
    assert any("base64" in each["payload"] for each in logged), "one of them is inline"
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    assert weftwork(tmp_path, "bundle", run_id, "-o", "b.json", env=env).returncode == 0
    told = json.loads(weftwork(tmp_path, "bundle", "open", "b.json", "--json").stdout)
    assert told["problems"] == []
    assert [each["type"] for each in told["media"]] == [each["type"] for each in logged]
    for shown, before in zip(told["media"], logged, strict=True):
        assert before["payload"].get("url", shown["url"]) == shown["url"]
        answer = fetch(host, shown["url"])
        assert (answer.status, len(answer.body)) == (200, shown["bytes"])
        assert answer.headers["content-type"] == before["payload"]["mimeType"]
    assert b'"base64"' not in (tmp_path / "b.json").read_bytes()
    shown_lines = weftwork(tmp_path, "bundle", "open", "b.json").stdout
    assert all(each["url"] in shown_lines for each in told["media"])
    host.call("DELETE", f"/v1/runs/{run_id}")


def test_a_run_named_as_a_command_can_be_saved(host: Host, tmp_path: Path) -> None:
    run_id = host.create("conformance-noop")
    host.log(run_id)
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    for at, args in enumerate((["bundle", run_id], ["bundle", "save", run_id], ["bundle", "--force", run_id])):
        done = weftwork(tmp_path, *args, "-o", f"{at}.json", env=env)
        assert done.returncode == 0, done.stderr
    assert "There is no such run" in weftwork(tmp_path, "bundle", "save", "open", env=env).stderr
    assert weftwork(tmp_path, "bundle", "open", env=env).returncode == 2
    assert "Missing argument 'RUN'" in weftwork(tmp_path, "bundle", env=env).stderr
    assert "Commands:" in weftwork(tmp_path, "bundle", "--help").stdout
