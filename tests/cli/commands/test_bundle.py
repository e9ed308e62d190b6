"""`weftwork bundle`: a file that only its owner reads, whole or not there, and a word on what is missing in it."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host, run_command
from tests.cli.terminal import run_at_terminal
from tests.live import KEY, OTHER_KEY, Host, echoes, start_host, weftwork, write_workflows
from weftwork.cli.commands import bundle as module
from weftwork.protocol.json import schema

PATH = "GET /v1/runs/run-1/debug-bundle"
BUNDLE: dict[str, Any] = {"bundleVersion": "1.0", "run": {"runId": "run-1"}, "events": [{}, {}], "truncated": False}
OFFERED = CannedResponse(200, {"protocolVersion": "1.0", "debugBundle": {"supported": True}})


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("bundles")
    flows = write_workflows(folder / "flows", echoes("large", 40))
    with start_host(folder, "--conformance", "--workflows", flows, store="memory") as running:
        yield running
        assert "raceback" not in running.errors


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
    done = run_command(host.address, "bundle", *args, key=key)
    assert done.exit_code == code, done.output
    return done


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
    assert "mine.json is there; write over it with --force" in refused.stderr
    assert (here / "mine.json").read_text() == "mine"
    bundle(host, run_id, "-o", "mine.json", "--force")
    assert json.loads((here / "mine.json").read_text())["run"]["runId"] == run_id
    assert stat.S_IMODE((here / "mine.json").stat().st_mode) == 0o600
    bundle(host, run_id, "-o", "new.json", "--force")
    assert [each.name for each in sorted(here.iterdir())] == ["mine.json", "new.json"]
    (here / "folder").mkdir()
    for more in ([], ["--force"]):
        assert "is a folder; name a file" in bundle(host, run_id, "-o", "folder", *more, code=2).stderr


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
        f"it has only the first 3 events (events_truncated_to_size_cap); `{then}` prints the others\n"
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
        "events": 1,
        "truncated": True,
        "truncatedReason": "events_truncated_to_size_cap",
    }


def test_members_that_were_too_large_are_named(foreign: ForeignHost) -> None:
    told = {**BUNDLE, "run": {"omitted": ["variables", 7, "\x1b[31m"]}, "truncated": True}
    foreign.replies[PATH] = CannedResponse(200, {**told, "truncatedReason": "run_truncated_to_size_cap"})
    done = foreign.run_command("bundle", "run-1")
    assert done.stderr.startswith("too large for it: variables, ")
    assert "\x1b" not in done.stderr
    assert "only the first" not in done.stderr


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
    assert "There is no such run (not_found); see that the id is right" in theirs.stderr
    assert bundle(host, run_id, code=7, key="wrong").exit_code == 7
    assert bundle(host, run_id, "--max-events", "0", code=2).exit_code == 2
    foreign.replies[PATH] = CannedResponse(404, {"error": "not_found", "message": "Nothing here."})
    assert "does not offer debug bundles" in foreign.run_command("bundle", "run-1").stderr
    foreign.replies["GET /.well-known/openwop"] = OFFERED
    assert "Nothing here (not_found)" in foreign.run_command("bundle", "run-1").stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b'{"events": {}}', b'{"events": [', b"<html>", b"[" * 100_000])
def test_what_is_no_bundle_is_not_kept(foreign: ForeignHost, here: Path, raw: bytes) -> None:
    foreign.replies[PATH] = CannedResponse(200, raw=raw)
    done = foreign.run_command("bundle", "run-1")
    assert (done.exit_code, "is no debug bundle" in done.stderr) == (6, True)
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
    assert (done.exit_code, "broke before its answer was complete" in done.stderr) == (6, True)
    assert [each.name for each in here.iterdir()] == ["out.json"]


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "a b", "é", "x" * 500, "."])
def test_a_name_of_a_run_is_no_path(foreign: ForeignHost, here: Path, run_id: str) -> None:
    foreign.reply = lambda asked: CannedResponse(200, BUNDLE)  # type: ignore[method-assign]
    assert foreign.run_command("bundle", run_id).exit_code == 0
    (made,) = here.iterdir()
    assert made.name.startswith("bundle-")
    assert len(made.name) <= module.MAX_NAME + 20
