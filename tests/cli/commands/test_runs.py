"""`weftwork runs prune`: on a running host, and on the store of one that is not running."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cli.foreign_host import DISCOVERY, HANG_UP, CannedResponse, ForeignHost, ReceivedRequest
from tests.cli.terminal import run_at_terminal
from tests.harness.cases import each_case, fails_without
from tests.live import start_host, until, weftwork
from weftwork.adapters.admin.client import send_request
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.cli.client.run_tree import TreeRun
from weftwork.cli.console import table
from weftwork.cli.console import text as plain
from weftwork.cli.console.units import format_duration, format_elapsed, format_time, parse_time
from weftwork.cli.main import main
from weftwork.cli.render import run_details
from weftwork.cli.render.run_details import run_detail_lines
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.samples import NOW, batch, make_run
from weftwork.wiring.data_folder import ADMIN_SOCKET, DATABASE_FILE

OLD = NOW - 1
"""Years ago."""
YEAR = "52w"


def fill(data: Path, count: int, partition: str = "live:acme", completed: int = OLD) -> None:
    """Runs that ended long ago, and one that never did."""

    async def work() -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = SqliteStore(data / DATABASE_FILE)
        await store.open()
        await asyncio.gather(*(one(store, number) for number in range(count)))
        await store.close()

    async def one(store: SqliteStore, number: int) -> None:
        run = await make_run(store, f"old-{number}", partition)
        last = batch(run, -1, status="completed")
        await store.log.append(run, -1, replace(last, projection=replace(last.projection, completed_at=completed)))

    asyncio.run(work())


def left(data: Path, partition: str = "live:acme") -> int:
    async def work() -> int:
        store = SqliteStore(data / DATABASE_FILE)
        await store.open()
        try:
            return await store.retention.count_ended(NOW * 2, partition)
        finally:
            await store.close()

    return asyncio.run(work())


def prune(data: Path, *args: str, code: int = 0) -> Any:
    """What the command says in JSON, or its error."""
    done = weftwork(data.parent, "runs", "prune", *args, "--data", data, *(["--json"] if code == 0 else []))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


@pytest.mark.rule("run-11")
def test_old_runs_are_deleted_from_a_stopped_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 450)
    fill(data, 3, "test:acme")
    fill(data, 2, "live:other")
    said = prune(data, "--older-than", YEAR, "--tenant", "acme", "--dry-run")
    assert (said["count"], said["deleted"], said["dryRun"]) == (453, 0, True)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT.*Z", said["endedBefore"])
    assert left(data) == 450
    said = prune(data, "--older-than", YEAR, "--tenant", "acme")
    assert (said["count"], said["deleted"], said["dryRun"]) == (453, 453, False)
    assert (left(data), left(data, "test:acme"), left(data, "live:other")) == (0, 0, 2)
    assert prune(data, "--older-than", YEAR)["deleted"] == 2
    assert prune(data, "--older-than", YEAR) | {"endedBefore": ""} == {
        "endedBefore": "",
        "count": 0,
        "deleted": 0,
        "dryRun": False,
    }


@pytest.mark.rule("run-11")
def test_a_running_host_deletes_old_runs_and_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 230)
    with start_host(tmp_path, "--conformance") as host:
        young = host.create("conformance-noop")
        live = host.create("conformance-cancellable", inputs={"delayMs": 60_000})
        assert host.snapshot("old-7")["status"] == "completed"
        assert prune(host.data, "--older-than", YEAR)["deleted"] == 230
        assert host.call("GET", "/v1/runs/old-7").status == 404
        listed = host.call("GET", "/v1/runs?limit=200").document["runs"]
        assert [run["runId"] for run in listed] == [live, young]
        assert prune(host.data, "--older-than", "1m")["deleted"] == 0
        assert host.snapshot(live)["status"] == "running"


@pytest.mark.rule("run-11")
def test_runs_past_their_time_go_by_themselves(tmp_path: Path) -> None:
    fill(tmp_path / "data", 30)
    with start_host(tmp_path, "--conformance", env={"WEFTWORK_RETENTION_DAYS": "30"}) as host:
        young = host.create("conformance-noop")
        until(lambda: host.call("GET", "/v1/runs/old-29").status == 404, "the last of them to go")
        assert [run["runId"] for run in host.call("GET", "/v1/runs").document["runs"]] == [young]
        until(lambda: '"message":"expired runs deleted","count":30' in host.errors, "a word in the log")


def test_without_the_setting_every_run_stays(tmp_path: Path) -> None:
    fill(tmp_path / "data", 3)
    with start_host(tmp_path) as host:
        assert host.snapshot("old-2")["status"] == "completed"
    assert left(tmp_path / "data") == 3


def test_what_is_printed_for_people(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 2)
    line = ("runs", "prune", "--older-than", "30d", "--data", data)
    assert re.fullmatch(
        r"2 runs that ended before 20\S+Z would be deleted; nothing was deleted \(--dry-run\)\.\n",
        weftwork(tmp_path, *line, "--dry-run").stdout,
    )
    done = weftwork(tmp_path, *line)
    assert re.fullmatch(r"deleted 2 runs that ended before 20\S+Z\.\n", done.stdout), done.stderr
    assert done.stderr == ""
    fill(data, 1, "live:other")
    assert weftwork(tmp_path, *line).stdout.startswith("deleted 1 run that ended before ")


def test_somebody_at_a_terminal_is_asked_and_sees_how_far_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 3)
    line = ("runs", "prune", "--older-than", "30d", "--data", data)
    code, shown = run_at_terminal(tmp_path, b"n\n", *line)
    assert code == 1
    assert "Delete 3 runs that ended before 20" in shown
    assert left(data) == 3
    code, shown = run_at_terminal(tmp_path, b"y\n", *line)
    assert (code, left(data)) == (0, 0)
    assert "3 of 3" in shown
    fill(data, 1, "live:other")
    code, shown = run_at_terminal(tmp_path, b"", *line, "--yes")
    assert code == 0
    assert "[y/N]" not in shown


@pytest.mark.parametrize("age", ["", "30", "d", "0d", "1.5d", "-1d", "30 d", "30D", "1y", "1234567d", "٣d"])
def test_an_age_that_is_none_is_refused(tmp_path: Path, age: str) -> None:
    fill(tmp_path / "data", 1)
    said = prune(tmp_path / "data", "--older-than", age, code=2)
    assert "such as" in said or "30d" in said
    assert left(tmp_path / "data") == 1


@pytest.mark.parametrize(("age", "milliseconds"), [("90m", 5_400_000), ("12h", 43_200_000), ("2w", 1_209_600_000)])
def test_an_age_is_a_number_and_a_unit(age: str, milliseconds: int) -> None:
    option = next(each for each in main.commands["runs"].commands["prune"].params if each.name == "older_than")  # type: ignore[attr-defined]
    assert option.callback is not None
    assert option.callback(None, option, age) == milliseconds  # type: ignore[arg-type]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert "--older-than" in prune(data, code=2)
    assert "no store in" in prune(data, "--older-than", "1d", code=1)
    assert not data.exists()
    fill(data, 1)
    assert "A tenant is 1 to 64 letters" in prune(data, "--older-than", "1d", "--tenant", "a b", code=1)


def test_the_socket_takes_slices_of_a_bounded_size(tmp_path: Path) -> None:
    fill(tmp_path / "data", 205)
    with start_host(tmp_path) as host:

        def asked(operation: str, **arguments: Any) -> Any:
            return send_request(host.data / ADMIN_SOCKET, {"operation": operation, "arguments": arguments})

        assert asked("runs.prune", completed_before=NOW, limit=10**9) == {"deleted": 200, "more": True}
        assert asked("runs.prune", completed_before=NOW, limit=-5) == {"deleted": 1, "more": True}
        assert asked("runs.count", completed_before=NOW) == {"runs": 4}
        assert asked("runs.prune", completed_before="x")["error"] == "validation_error"
        assert asked("runs.prune", completed_before=NOW, tenants=["acme"])["error"] == "validation_error"
        assert asked("runs.prune", completed_before=NOW) == {"deleted": 4, "more": False}


def test_a_run_that_is_gone_stays_gone_after_a_kill(tmp_path: Path) -> None:
    fill(tmp_path / "data", 20)
    with start_host(tmp_path) as host:
        prune(host.data, "--older-than", YEAR)
        host.kill()
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/runs").document == {"runs": []}
        assert host.call("GET", f"/v1/runs/{RunKey('live:acme', 'old-3').run_id}").status == 404


EVIL = "\x1b[2J\x07\u202eevil\nnext\u2028\x9b31m"


def summary(number: int) -> dict[str, Any]:
    return {"runId": f"r{number}", "workflowId": "w", "status": "running"}


def paged(count: int, size: int) -> Any:
    """A list in pages of a size of the host's own, whatever is asked for."""

    def reply(asked: ReceivedRequest) -> CannedResponse:
        start = int(asked.query.get("cursor", ["0"])[0])
        document: dict[str, Any] = {"runs": [summary(at) for at in range(start, min(start + size, count))]}
        if start + size < count:
            document["nextCursor"] = str(start + size)
        return CannedResponse(200, document)

    return reply


@pytest.mark.parametrize(
    ("args", "count"), [((), 20), (("--limit", "5"), 5), (("--all",), 23), (("--limit", "99"), 23)]
)
def test_pages_are_followed_as_far_as_wanted(foreign: ForeignHost, args: tuple[str, ...], count: int) -> None:
    foreign.replies["GET /v1/runs"] = paged(23, 4)
    done = foreign.run_command(
        "runs", "ls", "--json", "--status", "running", "--status", "paused", "--workflow", "w", *args
    )
    assert done.exit_code == 0, done.stderr
    assert [run["runId"] for run in json.loads(done.stdout)["runs"]] == [f"r{at}" for at in range(count)]
    for asked in foreign.requests:
        assert (asked.query["status"], asked.query["workflowId"]) == (["running", "paused"], ["w"])
    plain_text = foreign.run_command("runs", "ls", *args).stdout.splitlines()
    assert plain_text[0].split() == ["run", "status", "workflow", "created", "duration", "at"]
    assert len(plain_text) == count + 1


def test_a_host_that_gives_the_same_page_for_ever_comes_to_an_end(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [summary(1)], "nextCursor": "again"})
    assert len(json.loads(foreign.run_command("runs", "ls", "--all", "--json").stdout)["runs"]) == 2


def test_no_runs_are_said_to_be_none(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": []})
    done = foreign.run_command("runs", "ls")
    said = "no runs; start one with `weftwork run WORKFLOW`.\n"
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", said)
    for options in (("--status", "failed"), ("--workflow", "w"), ("--parent", "r")):
        done = foreign.run_command("runs", "ls", *options)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no runs match these options.\n")
    assert json.loads(foreign.run_command("runs", "ls", "--json").stdout) == {"runs": []}


def evil_run() -> dict[str, Any]:
    return {
        "runId": f"r{EVIL}",
        "workflowId": EVIL,
        "status": EVIL,
        "currentNodeId": EVIL,
        "createdAt": EVIL,
        "tags": [EVIL],
        "error": {"code": EVIL, "message": EVIL, "details": {EVIL: EVIL}},
        "nodeStates": {EVIL: {"status": EVIL, "attempt": 2, "error": {"code": EVIL, "message": EVIL}}},
        "interrupt": {"nodeId": EVIL, "kind": EVIL, "data": {EVIL: EVIL}},
        "childRuns": [{"runId": EVIL, "status": EVIL}],
        "variables": {EVIL: EVIL},
        "outputs": {EVIL: [EVIL]},
        "artifacts": {EVIL: {"artifactType": EVIL, "version": EVIL, "nodeId": EVIL}},
    }


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def test_texts_of_a_host_move_no_cursor(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [evil_run()]})
    foreign.replies["GET /v1/runs/r1"] = CannedResponse(200, evil_run())
    for args in (("ls",), ("ls", "--json"), ("show", "r1"), ("show", "r1", "--json")):
        done = foreign.run_command("runs", *args)
        assert done.exit_code == 0, done.stderr
        assert harmless(done.stdout), args
    assert "evil" in foreign.run_command("runs", "show", "r1").stdout
    foreign.replies["POST /v1/runs/r1/cancel"] = CannedResponse(
        409, {"error": EVIL, "message": EVIL, "details": {"x": EVIL}}
    )
    done = foreign.run_command("runs", "cancel", "r1", EVIL)
    assert (done.exit_code, harmless(done.output)) == (7, True)


def test_without_the_guard_they_would(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (run_details, table):
        monkeypatch.setattr(module, "clean", lambda text, most=0: str(text))
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [evil_run()]})
    foreign.replies["GET /v1/runs/r1"] = CannedResponse(200, evil_run())
    assert not harmless(foreign.run_command("runs", "ls").stdout)
    assert not harmless(foreign.run_command("runs", "show", "r1").stdout)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
MEMBERS = st.sampled_from([*evil_run(), "inputs", "interrupts", "startedAt", "completedAt", "parentRunId"])


@given(st.dictionaries(MEMBERS, VALUES | st.just({"nodeId": 5, "kind": [], "code": {}, "message": 1})))
def test_any_document_is_shown_somehow(run: dict[str, Any]) -> None:
    lines = list(run_detail_lines(run, {"x": "1 s"}, "http://x", {"x": run, "5": run}))
    assert lines[0].split()[0] == "run"
    assert all(line.isprintable() for line in lines)


def test_children_that_need_somebody_come_first_and_the_rest_is_counted() -> None:
    rows = [{"runId": f"c{at}", "workflowId": "pay", "status": "completed", "nodeId": "each"} for at in range(100)]
    run = {"runId": "r", "childRuns": rows, "childRunsTruncated": True}
    past = [TreeRun(f"c{at}", "pay", "completed", "each") for at in range(120)]
    past[117].status, past[117].detail = "failed", "no_stock"
    past[5].status = ""
    past[110].status = "waiting-approval"
    shown = list(run_detail_lines(run, {}, "http://x", {}, past))
    assert shown[shown.index("child runs: 118 completed, 1 waiting-approval, 1 failed") + 1 :] == [
        "  c117  failed            pay  each  no_stock",
        "  c110  waiting-approval  pay  each",
        "  c0    completed         pay  each",
        "  c1    completed         pay  each",
        "  c2    completed         pay  each",
        "  and 115 more; `weftwork runs ls --parent r --all` lists all child runs",
    ]
    brief = list(run_detail_lines(run, {}, "http://x", {}))
    assert "child runs (first 100): 100 completed" in brief
    assert brief[-1] == "  `weftwork runs ls --parent r --all` lists all child runs"


def test_a_node_that_waits_for_a_provider_says_so() -> None:
    wait = {"provider": "local", "code": "provider_unavailable", "retryAt": "2026-01-31T08:05:09.042Z"}
    states = {"a": {"status": "running", "attempt": 1, "waitsFor": wait}}
    shown = list(run_detail_lines({"runId": "r", "nodeStates": states}, {}, "http://x", {}))
    when = "next attempt 2026-01-31 08:05:09 UTC"
    told = f' a running attempt 1 waits for provider "local" (provider_unavailable), {when}'
    assert told in [re.sub(" +", " ", line) for line in shown]


def test_much_is_counted_and_not_shown() -> None:
    lines = list(run_detail_lines({"variables": {f"v{at}": "x" * 1000 for at in range(80)}}, {}, "http://x", {}))
    assert lines[-1] == "  and 30 more; --json shows all"
    assert len(lines) < 60
    assert max(map(len, lines)) < 200


def test_a_snapshot_with_the_least_that_must_be_there_is_shown(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs/a%2Fb"] = CannedResponse(
        200, {"runId": "a/b", "workflowId": "w", "status": "completed"}
    )
    done = foreign.run_command("runs", "show", "a/b")
    assert done.stdout == "run       a/b\nworkflow  w\nstatus    completed\n"
    foreign.replies["GET /v1/runs/r1"] = CannedResponse(200, [])
    assert foreign.run_command("runs", "show", "r1").exit_code == 1


def test_the_times_of_nodes_come_from_the_events(foreign: ForeignHost) -> None:
    def event(sequence: int, kind: str, second: int) -> dict[str, Any]:
        when = f"2026-01-31T08:05:{second:02}.000Z"
        return {"type": kind, "sequence": sequence, "nodeId": "n", "timestamp": when, "payload": {}}

    states = {"n": {"status": "completed", "attempt": 1}, "m": "pending"}
    foreign.replies["GET /v1/runs/r1"] = CannedResponse(200, {**summary(1), "nodeStates": states})
    events = [event(0, "node.started", 1), event(1, "node.completed", 4)]
    foreign.replies["GET /v1/runs/r1/events/poll"] = CannedResponse(200, {"events": events, "isComplete": False})
    lines = foreign.run_command("runs", "show", "r1").stdout.splitlines()
    assert lines[lines.index("nodes") + 1 :] == ["  n  completed  attempt 1  3.0 s", "  m  pending"]


@fails_without("weftwork.cli.commands.runs.node_times", lambda tree: {})
def test_nodes_are_listed_in_the_order_of_their_events(foreign: ForeignHost) -> None:
    """A snapshot may have them in any order: it depends on commits, and on the store."""
    states = {name: {"status": "completed"} for name in ("early", "last", "open", "first", "unknown")}
    foreign.replies["GET /v1/runs/r1"] = CannedResponse(200, {**summary(1), "nodeStates": states})
    kinds = [
        ("first", "started"),
        ("first", "completed"),
        ("open", "started"),
        ("early", "skipped"),
        ("last", "skipped"),
    ]
    events = [
        {"type": f"node.{kind}", "sequence": at, "nodeId": name, "timestamp": "2026-01-31T08:05:01.000Z", "payload": {}}
        for at, (name, kind) in enumerate(kinds)
    ]
    foreign.replies["GET /v1/runs/r1/events/poll"] = CannedResponse(200, {"events": events, "isComplete": False})
    lines = foreign.run_command("runs", "show", "r1").stdout.splitlines()
    shown = [line.split()[0] for line in lines[lines.index("nodes") + 1 :]]
    assert shown == ["first", "open", "early", "last", "unknown"]


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_host_that_does_not_pause_is_said_to_be_one(foreign: ForeignHost, verb: str) -> None:
    done = foreign.run_command("runs", verb, "r1")
    assert done.exit_code == 1
    assert "does not support pausing and resuming" in done.stderr
    offered = {**DISCOVERY, "runs": {"pauseResume": {"supported": True}}}
    foreign.replies["GET /.well-known/openwop"] = CannedResponse(200, offered)
    done = foreign.run_command("runs", verb, "r1")
    assert (done.exit_code, "Nothing here" in done.stderr) == (7, True)


def test_a_lost_answer_is_asked_for_again_under_the_same_key(foreign: ForeignHost) -> None:
    lost = [True]

    def reply(asked: ReceivedRequest) -> CannedResponse:
        return HANG_UP if lost and lost.pop() else CannedResponse(200, {"runId": "r1", "status": "cancelled"})

    foreign.replies["POST /v1/runs/r1/cancel"] = reply
    foreign.replies["POST /v1/runs/r2/cancel"] = CannedResponse(200, {"runId": "r2", "status": "completed"})
    done = foreign.run_command("runs", "cancel", "r1", "r2", "--reason", "why")
    assert (done.exit_code, done.stdout) == (0, "r1 is cancelled\nr2 has already ended: completed\n")
    keys = [asked.headers["idempotency-key"] for asked in foreign.requests]
    assert [asked.body for asked in foreign.requests] == [{"reason": "why"}] * 3
    assert keys[0] == keys[1] != keys[2]
    assert all(len(key) >= 22 for key in keys)


def test_a_refused_run_does_not_keep_the_others_from_being_cancelled(foreign: ForeignHost) -> None:
    foreign.replies["POST /v1/runs/r2/cancel"] = CannedResponse(200, {"runId": "r2", "status": "cancelling"})
    done = foreign.run_command("runs", "cancel", "r1", "r2", "--json")
    assert done.exit_code == 7
    first, second = json.loads(done.stdout)["runs"]
    assert (first["runId"], first["error"], second["status"]) == ("r1", "not_found", "cancelling")
    foreign.replies["POST /v1/runs/r1/cancel"] = CannedResponse(401, {"error": "unauthenticated", "message": "no"})
    done = foreign.run_command("runs", "cancel", "r1", "r2")
    assert (done.exit_code, done.stdout) == (7, "")


@each_case(
    "milliseconds, text",
    (0, "0 ms"),
    (999.4, "999 ms"),
    (999.6, "1.0 s"),
    (59_949, "59.9 s"),
    (59_951, "1 min 00 s"),
    (185_000, "3 min 05 s"),
    (3_599_600, "1 h 00 min"),
    (7_800_000, "2 h 10 min"),
    (86_400_000 * 4 + 3_600_000 * 3, "4 d 3 h"),
    (-1500, "-1.5 s"),
)
def test_lengths_of_time_in_words(milliseconds: float, text: str) -> None:
    assert format_duration(milliseconds) == text


def test_times_of_hosts() -> None:
    assert format_time("2026-01-31T08:05:09.042Z") == format_time("2026-01-31T10:05:09+02:00") == "2026-01-31 08:05:09"
    assert format_time("2026-01-31T08:05:09") == "2026-01-31 08:05:09"
    assert (format_time("soon"), format_time(5), format_time(None), parse_time("0001-01-01T00:00:00+10:00")) == (
        "",
        "",
        "",
        None,
    )
    assert format_elapsed("2026-01-31T08:05:09Z", "2026-01-31T08:05:10.500Z") == "1.5 s"
    assert format_elapsed("2026-01-31T08:05:09Z", None) == ""


@given(st.text())
def test_shown_text_stays_on_its_line(text: str) -> None:
    assert plain.clean(text).isprintable()
    assert plain.clean([text]).isprintable()
    assert len(plain.clean("x" * 5000)) == plain.MAX_LENGTH


def test_columns_stand_below_each_other_whatever_their_letters() -> None:
    assert table.align([["a", "bb"], ["数据", "c"]]) == ["a     bb", "数据  c"]
    assert table.align([]) == []
