"""`weftwork run --follow` of a run that starts runs: what is told of them, as lines and as a picture."""

import io
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.cli.follow.test_run_hostile import Terminal, following
from tests.cli.foreign_host import HANG_UP, NOT_FOUND, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from tests.cli.render.test_run_progress import START, drawn, tree_after
from tests.harness.cases import each_case
from tests.live import KEY, Host, start_host, until, write_workflows
from tests.live.child_workflows import (
    DETACHING_PARENT,
    GRANDPARENT,
    INTERRUPTED_CHILD,
    MAPPING_PARENT,
    PARENT,
    await_tree,
    child_workflows,
)
from tests.live.fixtures import host_fixture
from tests.live.host import TIMEOUT_SECONDS
from tests.live.steering import answer_over_http, cancel
from weftwork.cli.client.http_client import Client
from weftwork.cli.client.run_tree import TreeRun, read_tree
from weftwork.cli.follow import follow_run, run_watch
from weftwork.cli.follow.run_views import LiveView
from weftwork.cli.main import main
from weftwork.cli.render.run_display import RunDisplay
from weftwork.cli.render.run_progress import RunProgress

QUESTION = 'an answer (custom): {"customKind": "pick", "payload": {"from": [1, 2]}}'


host = host_fixture(workflows=child_workflows(), store="memory")


def run(host: Host, *args: str) -> Result:
    result = CliRunner(env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}).invoke(main, ["run", *args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def newest(host: Host, workflow_id: str) -> str:
    def look() -> str | None:
        found = host.call("GET", f"/v1/runs?workflowId={workflow_id}&limit=1").document["runs"]
        return found[0]["runId"] if found and found[0]["status"] != "completed" else None

    return until(look, "the run")


def test_events_of_children_name_workflow_and_status(host: Host) -> None:
    done = run(host, MAPPING_PARENT, "--follow", "--input", "items=[1,2]")
    assert done.exit_code == 0, done.output
    told = [line.split(" ", 3)[2:] for line in done.stdout.splitlines() if "weftwork.child." in line]
    started = [rest for kind, rest in told if kind == "weftwork.child.started"]
    ended = [rest for kind, rest in told if kind == "weftwork.child.ended"]
    assert (len(started), len(ended)) == (2, 2)
    assert all(re.match(r"each workflowId=kin-noop childRunId=\w{26} key=", rest) for rest in started)
    assert all(re.match(r"each workflowId=kin-noop childRunId=\w{26} status=completed", rest) for rest in ended)
    assert done.stderr == "2 child runs: 2 completed\n"
    (found,) = host.call("GET", f"/v1/runs?workflowId={MAPPING_PARENT}&limit=1").document["runs"]
    read = CliRunner(env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}).invoke(main, ["events", found["runId"]])
    assert read.stdout == done.stdout


def test_children_that_nobody_waits_for_are_counted_as_they_stand(host: Host) -> None:
    done = run(host, DETACHING_PARENT, "--follow")
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"2 child runs: (2 (running|pending)|1 running, 1 pending|1 pending, 1 running)\n", done.stderr)
    for each in host.call("GET", "/v1/runs?workflowId=kin-slow&status=running").document["runs"]:
        cancel(host, each["runId"])


def test_json_lines_stay_as_they_are(host: Host) -> None:
    done = run(host, MAPPING_PARENT, "--follow", "--json")
    *events, snapshot = [json.loads(line) for line in done.stdout.splitlines()]
    assert (events[-1]["type"], len(snapshot["childRuns"]), done.stderr) == ("run.completed", 3, "")


def test_no_wait_stops_where_a_run_below_asks_and_says_how_to_answer(host: Host) -> None:
    done = run(host, GRANDPARENT, "--follow", "--no-wait")
    assert done.exit_code == 4, done.output
    top = newest(host, GRANDPARENT)
    last = await_tree(host, top, *["waiting-input"] * 3)[2]["runId"]
    said = done.stderr.splitlines()
    assert said[:3] == [
        f"child run {last} ({INTERRUPTED_CHILD}) waits at ask",
        f"ask requests {QUESTION}",
        f"answer with: weftwork answer {last}/ask",
    ]
    assert said[-1].startswith("the run waits for an answer (--no-wait); ")
    cancel(host, top)


def test_answering_a_parent_names_the_run_that_asks(host: Host) -> None:
    top = host.create(GRANDPARENT)
    _, middle, last = (row["runId"] for row in await_tree(host, top, *["waiting-input"] * 3))
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    for run_id in (top, middle):
        done = CliRunner(env=env).invoke(main, ["answer", run_id, "--value", "1"])
        assert done.exit_code == 7
        assert f"waits for its child runs; answer their open interrupts instead: {last}/ask" in done.stderr
    assert CliRunner(env=env).invoke(main, ["answer", f"{last}/ask", "--value", "1"]).exit_code == 0
    await_tree(host, top, *["completed"] * 3)


def test_a_terminal_shows_the_runs_below_as_they_go(host: Host) -> None:
    # Wide enough for the interrupt to fit one line.
    terminal = Terminal(*following(host, GRANDPARENT), columns=120)
    # The grandchild is told of by the host alone, the child by an event as well.
    terminal.until(f"     └─ {INTERRUPTED_CHILD}  waiting-input")
    top = newest(host, GRANDPARENT)
    last = await_tree(host, top, *["waiting-input"] * 3)[2]["runId"]
    assert f"  └─ {PARENT}  " in re.sub(r"\x1b\[[0-9;]*m", "", terminal.shown)
    # Nobody has to leave to learn what is asked, and how to answer.
    terminal.until(f"  {INTERRUPTED_CHILD} requests {QUESTION}")
    terminal.until(f"  weftwork answer {last}/ask")
    terminal.until(f"{GRANDPARENT}  {top}  waiting  ")
    assert answer_over_http(host, last, "ask", 1).status == 200
    assert terminal.finish() == 0
    seen = [re.sub(r"\d+ ms|\d+\.\d s", "TIME", line) for line in terminal.last]
    assert seen[0] == f"{GRANDPARENT}  {top}  completed  TIME"
    assert seen[1] == "  ✓ begin  core.subWorkflow  1 child run, TIME"
    assert seen[2:4] == ["", "  1 child run: 1 completed"]


def test_leaving_a_terminal_says_how_to_answer_below(host: Host) -> None:
    terminal = Terminal(*following(host, GRANDPARENT))
    terminal.until(f"     └─ {INTERRUPTED_CHILD}  waiting-input")
    terminal.process.send_signal(2)
    assert terminal.finish() == 130
    top = newest(host, GRANDPARENT)
    last = await_tree(host, top, *["waiting-input"] * 3)[2]["runId"]
    words = "\n".join(terminal.last)
    assert f"{GRANDPARENT}  {top}  waiting  " in words
    assert f"  {INTERRUPTED_CHILD} requests {QUESTION}\n  weftwork answer {last}/ask" in words
    cancel(host, top)


def child(kind: str, number: int, **payload: Any) -> tuple[str, str, dict[str, Any]]:
    return f"weftwork.child.{kind}", "fan", {"childRunId": f"c{number}", "key": str(number), **payload}


BEGUN = [START, ("node.started", "fan", {"typeId": "core.dispatch"})]


def test_children_are_put_together_from_events() -> None:
    tree = tree_after(
        *BEGUN,
        child("started", 1, workflowId="pay"),
        ("node.dispatched", "fan", {"childRunId": "c1", "childWorkflowId": "pay"}),
        child("started", 2, workflowId="stock"),
        child("status", 2, status="waiting-approval"),
        child("ended", 1, status="failed", error={"code": "broke", "message": "m"}),
        child("ended", 9, status="cancelled"),
    )
    assert [(each.run_id, each.workflow_id, each.status, each.detail) for each in tree.children] == [
        ("c1", "pay", "failed", "broke"),
        ("c2", "stock", "waiting-approval", ""),
        ("c9", "", "cancelled", ""),
    ]
    assert drawn(tree)[1].startswith("  ● fan  core.dispatch  3 child runs, 6.")
    assert drawn(tree)[2:4] == ["", "  3 child runs: 1 failed, 1 waiting-approval, 1 cancelled"]


def test_a_run_stands_still_when_all_that_it_waits_for_does() -> None:
    waits = [child("started", 1), child("status", 1, status="waiting-input")]
    assert tree_after(*BEGUN, *waits).is_blocked
    assert not tree_after(*BEGUN, *waits, child("started", 2)).is_blocked
    assert not tree_after(*BEGUN, *waits, child("status", 1, status="running")).is_blocked
    assert not tree_after(*BEGUN, *waits, ("node.started", "other", {})).is_blocked
    assert not tree_after(*BEGUN, child("started", 1)).is_blocked


def test_a_run_waits_if_one_of_its_children_does() -> None:
    """As the host says of it, whatever the others do."""
    events = [*BEGUN, child("started", 1), child("started", 2), child("status", 2, status="waiting-approval")]
    assert " waiting " in drawn(tree_after(*events))[0]
    assert " running " in drawn(tree_after(*events, child("status", 2, status="running")))[0]
    assert " paused " in drawn(tree_after(*events, ("run.paused", None)))[0]


def test_what_runs_below_ask_leaves_room_and_no_command_is_cut() -> None:
    events = [(child("started", at, workflowId="pay"), child("status", at, status="waiting-approval")) for at in (1, 2)]
    tree = tree_after(*BEGUN, *(each for pair in events for each in pair))
    first, second = tree.children
    first.interrupt = {"nodeId": "gate", "kind": "approval", "data": {"title": "Ship it? " * 60}}
    first.detail = "gate"
    second.run_id = "x" * 95
    assert drawn(tree, height=24)[-6:] == [
        f"  pay requests approval: {'Ship it? ' * 5}Ship",
        f"    it? {'Ship it? ' * 7}Ship",
        "  Ctrl-C prints the rest",
        "  weftwork answer c1/gate --url http://x",
        "  pay waits; answer with",
        "  Ctrl-C prints the command",
    ]
    assert len(drawn(tree, height=12)) <= 12
    assert f"  weftwork answer {'x' * 95} --url http://x" in drawn(tree)


def test_a_thousand_children_leave_room_for_the_nodes() -> None:
    tree = tree_after(*BEGUN, *(child("started", at, workflowId="pay") for at in range(1000)))
    lines = drawn(tree, height=24)
    assert len(lines) <= 24
    assert lines[1].startswith("  ● fan  core.dispatch  1000 child runs")
    assert lines[-1].endswith("… and 995 more (started)")


def told(*rows: tuple[str, str, str]) -> TreeRun | None:
    runs = [{"runId": run_id, "parentRunId": parent, "status": status} for run_id, parent, status in rows]
    return read_tree({"runs": runs})


def test_what_the_host_tells_is_joined_with_events() -> None:
    tree = tree_after(*BEGUN, child("started", 1), child("ended", 1, status="completed"), child("started", 2))
    tree.reported_tree = told(("r", "", "running"), ("c1", "r", "running"), ("g", "c1", "running"))
    assert [(run.run_id, run.status) for run in tree.run_tree.walk()] == [
        ("r", "running"),
        ("c1", "completed"),
        ("g", "running"),
        ("c2", ""),
    ]


def test_all_children_over_take_no_room() -> None:
    tree = tree_after(*BEGUN, child("started", 1), child("ended", 1, status="completed"))
    console = Console(file=io.StringIO(), width=80, height=20)
    assert RunDisplay(tree, "http://x", console)._descendants() == []


@each_case("payload", {}, {"childRunId": 5}, {"childRunId": "", "status": "x"}, {"status": ["x"]})
def test_an_odd_event_of_a_child_changes_nothing(payload: dict[str, Any]) -> None:
    for kind in ("weftwork.child.started", "weftwork.child.status", "weftwork.child.ended", "node.dispatched"):
        assert tree_after(*BEGUN, (kind, "fan", payload)).children == []
    tree = RunProgress("r")
    tree.update_children({"childRuns": [payload, 5, None]})
    assert tree.children == []


def ended_run(foreign: ForeignHost, *trees: CannedResponse) -> Result:
    """A run that starts two children and is cancelled; the host gives these trees, one after the other."""
    rows = [
        ("run.started", {"workflowId": "w"}),
        *(("weftwork.child.started", {"childRunId": f"c{at}", "workflowId": "pay", "awaited": True}) for at in (1, 2)),
        ("run.cancelled", {"reason": "enough"}),
    ]

    def send(write: Any) -> None:
        for at, (kind, payload) in enumerate(rows):
            document = json.dumps({"type": kind, "sequence": at, "nodeId": "fan", "payload": payload})
            write(f"id: {at}\nevent: {kind}\ndata: {document}\n\n".encode())

    looks = list(trees)
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "r", "status": "pending"})
    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(stream=send)
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "workflowId": "w", "status": "cancelled"})
    foreign.replies["GET /v1/host/weftwork/runs/r/tree"] = lambda _: looks.pop(0) if len(looks) > 1 else looks[0]
    done = foreign.run_command("run", "w", "--follow")
    assert done.exit_code == 3, done.output
    return done


def tree_with(*statuses: str) -> CannedResponse:
    below = [{"runId": f"c{at}", "parentRunId": "r", "status": status} for at, status in enumerate(statuses, 1)]
    return CannedResponse(
        200, {"runId": "r", "runs": [{"runId": "r", "status": "cancelled"}, *below], "truncated": False}
    )


ENDING = (tree_with("running", "waiting-approval"), tree_with("cancelled", "waiting-approval"))


def test_children_are_counted_as_they_end_with_the_run(foreign: ForeignHost) -> None:
    done = ended_run(foreign, *ENDING, tree_with("cancelled", "cancelled"))
    assert done.stderr.splitlines()[-1] == "2 child runs: 2 cancelled"


def test_without_another_look_they_would_be_counted_wrongly(
    foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_run, "await_child_ends", lambda *_: None)
    done = ended_run(foreign, *ENDING, tree_with("cancelled", "cancelled"))
    assert done.stderr.splitlines()[-1] == "2 child runs: 2 started"


def test_children_that_go_on_are_not_waited_for_long(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watch, "END_GRACE_SECONDS", 0.1)
    assert ended_run(foreign, tree_with("running", "cancelled")).stderr.endswith("1 running, 1 cancelled\n")
    # A host that does not tell is asked once.
    foreign.requests.clear()
    assert ended_run(foreign, NOT_FOUND).stderr.splitlines()[-1] == "2 child runs: 2 started"
    assert len([each for each in foreign.requests if each.path.endswith("/tree")]) == 1


def test_a_host_that_cancels_a_run_has_its_children_counted_at_their_end(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", *child_workflows())
    with start_host(tmp_path, "--workflows", flows, store="memory") as host:
        line, env = following(host, GRANDPARENT)
        process = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert b" waits at ask" in process.stderr.readline()
        (found,) = host.call("GET", f"/v1/runs?workflowId={GRANDPARENT}").document["runs"]
        cancel(host, found["runId"])
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 3
        assert errors.decode().splitlines()[-1] == "1 child run: 1 cancelled"


DEFINITION = {
    "id": "w",
    "nodes": [{"id": "b", "typeId": "t.b"}, {"id": "a", "typeId": "t.a"}, {"id": "c"}],
    "edges": [{"sourceNodeId": "a", "targetNodeId": "b"}, {"sourceNodeId": "a", "targetNodeId": "c"}],
}
TREE = ["  ✓ a  t.a", "  ├─ · b  t.b", "  └─ · c"]
LIST = ["  ✓ a"]
PATH = "/v1/workflows/w"


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    """A host on which a run of one node fails to go on."""
    events = [
        {"type": "run.started", "sequence": 0, "payload": {"workflowId": "w"}},
        {"type": "node.started", "sequence": 1, "nodeId": "a", "payload": {}},
        {"type": "node.completed", "sequence": 2, "nodeId": "a", "payload": {}},
        {"type": "run.failed", "sequence": 3, "payload": {}},
    ]
    body = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events)
    with open_foreign_host() as host:
        host.replies |= {
            "POST /v1/runs": CannedResponse(201, {"runId": "r", "status": "running"}),
            "GET /v1/runs/r/events": CannedResponse(stream=lambda write: write(body)),
            "GET /v1/runs/r": CannedResponse(200, {"runId": "r", "status": "failed"}),
        }
        yield host


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a command shows as if at a terminal that keeps only the last picture."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=False, width=80, height=24, color_system=None)

    def pick(tree: RunProgress, url: str, as_json: bool) -> LiveView:
        return LiveView(tree, url, console)

    monkeypatch.setattr(follow_run, "pick_view", pick)
    return file


def followed(foreign: ForeignHost, screen: io.StringIO, workflow: str = "w") -> list[str]:
    """The nodes of the picture that stays."""
    done: Result = foreign.run_command("run", workflow, "--follow")
    assert (done.exit_code, done.output) == (1, "")
    lines = screen.getvalue().rstrip("\n").split("\n")
    return [line.rstrip() for line in lines[lines.index("w  r  failed") + 1 :]]


def asked_for(foreign: ForeignHost) -> list[str]:
    return [
        asked.path for asked in foreign.requests if asked.method == "GET" and asked.path.startswith("/v1/workflows")
    ]


def test_the_host_is_asked_for_the_definition(foreign: ForeignHost, screen: io.StringIO) -> None:
    foreign.replies[f"GET {PATH}"] = CannedResponse(200, DEFINITION)
    assert followed(foreign, screen) == TREE
    assert asked_for(foreign) == [PATH]


def test_the_definition_of_a_file_is_at_hand(foreign: ForeignHost, screen: io.StringIO, tmp_path: Path) -> None:
    foreign.replies["POST /v1/workflows"] = CannedResponse(201, {"workflowId": "w"})
    (tmp_path / "mine.json").write_text(json.dumps(DEFINITION))
    assert followed(foreign, screen, str(tmp_path / "mine.json")) == TREE
    assert asked_for(foreign) == []


@pytest.mark.parametrize(
    "answer",
    [
        *(CannedResponse(status, {"error": "no", "message": "no"}) for status in (400, 401, 403, 404, 406, 500, 501)),
        *(CannedResponse(status, {}, {"Retry-After": "5"}) for status in (429, 503)),
        *(CannedResponse(200, document) for document in (None, [], 5, {}, {"nodes": 5}, {"nodes": [5], "edges": {}})),
        CannedResponse(302, None, {"Location": "http://127.0.0.1:1/"}),
        CannedResponse(200, raw=b"<html>"),
        CannedResponse(200, raw=b""),
        HANG_UP,
    ],
)
def test_without_a_definition_the_nodes_stand_as_they_began(
    foreign: ForeignHost, screen: io.StringIO, answer: CannedResponse
) -> None:
    foreign.replies[f"GET {PATH}"] = answer
    assert followed(foreign, screen) == LIST
    assert asked_for(foreign) == [PATH]


def test_a_refusal_would_be_seen(foreign: ForeignHost, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "try_get", lambda self, path, _seconds=0: self.get(path))
    assert foreign.run_command("run", "w", "--follow").exit_code == 7


def test_a_host_that_keeps_silent_is_not_waited_for(
    foreign: ForeignHost, screen: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def wait(_asked: ReceivedRequest) -> CannedResponse:
        assert over.wait(TIMEOUT_SECONDS)
        return HANG_UP

    foreign.replies[f"GET {PATH}"] = wait
    monkeypatch.setattr(follow_run, "DEFINITION_TIMEOUT", 0.05)
    try:
        assert followed(foreign, screen) == LIST
    finally:
        over.set()


@pytest.mark.parametrize("args", [(), ("--json",)])
def test_lines_need_no_definition(foreign: ForeignHost, args: tuple[str, ...]) -> None:
    assert foreign.run_command("run", "w", "--follow", *args).exit_code == 1
    assert asked_for(foreign) == []


def test_an_id_is_one_segment_of_the_path(foreign: ForeignHost, screen: io.StringIO) -> None:
    seen: list[Any] = []
    foreign.replies["GET /v1/workflows/a%2F..%2Fb"] = lambda asked: (
        seen.append(asked.path) or CannedResponse(200, DEFINITION)
    )
    assert followed(foreign, screen, "a/../b") == TREE
    assert len(seen) == 1
