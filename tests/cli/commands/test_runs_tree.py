"""`weftwork runs tree` and `runs ls --parent`, with a host of ours and with one that is not."""

import json
import re
import signal
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import CannedResponse, ForeignHost, run_on
from tests.harness.definitions import edge, node
from tests.live import KEY, Host, until
from tests.live.child_workflows import (
    DETACHING_PARENT,
    GRANDPARENT,
    INTERRUPTED_CHILD,
    MAPPING_PARENT,
    PARENT,
    SLOW_PARENT,
    await_tree,
    child_workflows,
    sub_workflow_node,
    tree_of,
)
from tests.live.fixtures import host_fixture
from tests.live.host import TIMEOUT_SECONDS, environment
from tests.live.host import command as line_of
from tests.live.steering import answer_over_http, cancel, flow
from weftwork.cli.follow import run_watch

SOME = "kin-some"


def picky() -> list[dict[str, Any]]:
    """SOME starts a run for each item; those for items below zero fail. `kin-waits` waits for a child that works."""
    below = {"type": "expression", "expression": "variables.item < 0.0"}
    nodes = [node("begin"), node("bad", "core.fail", config={"code": "bad_item"})]
    each = node(
        "each",
        "core.flow.map",
        config={"body": {"workflowId": "kin-picky"}, "concurrency": 50},
        inputs={"items": {"type": "variable", "variableName": "items"}},
    )
    item, items = {"name": "item", "type": "number"}, {"name": "items", "type": "array"}
    return [
        flow("kin-picky", nodes, [edge("begin", "bad", condition=below)], variables=[item]),
        flow(SOME, [each], variables=[items]),
        flow("kin-waits", [sub_workflow_node("call", SLOW_PARENT)]),
    ]


host = host_fixture(workflows=[*child_workflows(), *picky()], store="memory")


def runs(host: Host, *args: str, code: int = 0) -> Result:
    return run_on(host, "runs", *args, code=code)


def waiting(host: Host) -> list[str]:
    return [row["runId"] for row in await_tree(host, host.create(GRANDPARENT), *["waiting-input"] * 3)]


def timeless(text: str) -> list[str]:
    return [re.sub(r"  \d+ ms|  \d+\.\d s", "", line).rstrip() for line in text.splitlines()]


def following(host: Host, *args: str) -> tuple[list[str], dict[str, str]]:
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "TERM": "xterm-256color"})
    env |= {"COLUMNS": "", "NO_COLOR": "", "PYTHONIOENCODING": "utf-8"}
    return line_of("runs", "tree", *args, "--follow"), env


def test_a_tree_is_shown_as_it_stands(host: Host) -> None:
    top, middle, last = waiting(host)
    drawn = timeless(runs(host, "tree", top).stdout)
    assert drawn == [
        f"{GRANDPARENT}  waiting-input  {top}  at begin",
        f"└─ {PARENT}  waiting-input  {middle}  at call",
        f"   └─ {INTERRUPTED_CHILD}  waiting-input  {last}  at ask",
    ]
    assert timeless(runs(host, "tree", last).stdout) == [f"{INTERRUPTED_CHILD}  waiting-input  {last}  at ask"]
    assert json.loads(runs(host, "tree", middle, "--json").stdout) == tree_of(host, middle, 1000)
    cancel(host, top)


def test_many_children_are_folded(host: Host) -> None:
    run_id = host.create(MAPPING_PARENT, inputs={"items": list(range(40))})
    host.log(run_id)
    drawn = timeless(runs(host, "tree", run_id).stdout)
    assert (len(drawn), drawn[-1]) == (22, "└─ … and 20 more (completed)")


def test_a_child_that_no_snapshot_names_is_shown_if_it_failed(host: Host) -> None:
    run_id = host.create(SOME, inputs={"items": [*range(110), -1]})
    host.log(run_id)
    assert len(host.snapshot(run_id)["childRuns"]) == 100
    drawn = runs(host, "show", run_id).stdout.splitlines()
    at = drawn.index("child runs: 110 completed, 1 failed")
    assert re.fullmatch(r"  \w{26}  failed     kin-picky  each  \w+", drawn[at + 1])
    assert drawn[at + 5] == f"  and 107 more; `weftwork runs ls --parent {run_id} --all` lists all child runs"


def test_a_run_that_only_waits_for_a_child_is_paused_at_once(host: Host) -> None:
    later = "will be paused when its running nodes have finished"
    for workflow, words in (("kin-waits", "is paused"), (SLOW_PARENT, later)):
        run_id = host.create(workflow)
        until(lambda run_id=run_id: host.snapshot(run_id).get("currentNodeId"), "its node")
        assert runs(host, "pause", run_id).stdout == f"{run_id} {words}\n"
        cancel(host, run_id)


def test_an_output_that_lacks_strokes_gets_others(host: Host) -> None:
    top, *_ = waiting(host)
    _, env = following(host, top)
    env["PYTHONIOENCODING"] = "ascii"
    done = subprocess.run(
        line_of("runs", "tree", top), env=env, capture_output=True, timeout=TIMEOUT_SECONDS, check=True
    )
    assert [line[:9] for line in done.stdout.decode("ascii").splitlines()[1:]] == ["`- kin-ca", "   `- kin"]
    cancel(host, top)


def test_children_are_listed_by_their_parent(host: Host) -> None:
    run_id = host.create(DETACHING_PARENT)
    host.log(run_id)
    found = json.loads(runs(host, "ls", "--parent", run_id, "--json").stdout)["runs"]
    assert [run["parentRunId"] for run in found] == [run_id] * 2
    assert len(runs(host, "ls", "--parent", run_id, "--limit", "1").stdout.splitlines()) == 2
    assert "no runs match these options." in runs(host, "ls", "--parent", found[0]["runId"]).stderr
    shown = runs(host, "show", run_id).stdout
    assert f"See the child runs with `weftwork runs tree {run_id}`." in shown
    assert re.search(rf"{found[1]['runId']}  +\w+  +kin-slow  +one\n", shown)
    assert f"child of  {run_id}" in runs(host, "show", found[0]["runId"]).stdout
    for run in found:
        cancel(host, run["runId"])


def test_a_parent_that_waits_for_a_child_is_not_to_be_answered_itself(host: Host) -> None:
    top, _, last = waiting(host)
    assert "The run waits for a child run; answer the open interrupt of that run." in runs(host, "show", top).stdout
    assert f"weftwork answer {last}" in runs(host, "show", last).stdout
    cancel(host, top)


def test_changes_are_followed_to_the_end_of_the_run(host: Host, tmp_path: Path) -> None:
    top, middle, last = waiting(host)
    output = tmp_path / "shown"
    line, env = following(host, top)
    with output.open("wb") as out:
        process = subprocess.Popen(line, env=env, stdout=out)
    until(lambda: last in output.read_text(), "the tree")
    assert answer_over_http(host, last, "ask", 1).status == 200
    assert process.wait(TIMEOUT_SECONDS) == 0
    told = timeless(output.read_text())
    assert told[:3] == [
        f"{GRANDPARENT}  waiting-input  {top}  at begin",
        f"{PARENT}  waiting-input  {middle}  at call",
        f"{INTERRUPTED_CHILD}  waiting-input  {last}  at ask",
    ]
    ends = [
        f"{GRANDPARENT}  completed  {top}",
        f"{PARENT}  completed  {middle}",
        f"{INTERRUPTED_CHILD}  completed  {last}",
    ]
    assert set(ends) <= set(told[3:])
    assert len(set(told)) == len(told)


def test_changes_are_documents_in_json(host: Host, tmp_path: Path) -> None:
    top, *_ = waiting(host)
    output = tmp_path / "shown"
    line, env = following(host, top, "--json")
    with output.open("wb") as out:
        process = subprocess.Popen(line, env=env, stdout=out)
    until(lambda: output.read_text().endswith("\n"), "the first document")
    cancel(host, top)
    assert process.wait(TIMEOUT_SECONDS) == 0
    documents = [json.loads(line) for line in output.read_text().splitlines()]
    assert documents[0]["runs"][0]["status"] == "waiting-input"
    assert documents[-1]["runs"][0]["status"] == "cancelled"
    assert all(one != other for one, other in pairwise(documents))
    await_tree(host, top, *["cancelled"] * 3)
    assert runs(host, "tree", top, "--follow", "--json").stdout.count("\n") == 1


def test_a_terminal_sees_the_tree_as_it_goes(host: Host) -> None:
    top, middle, last = waiting(host)
    terminal = Terminal(*following(host, top))
    terminal.until(f"   └─ {INTERRUPTED_CHILD}  waiting-input  {last}")
    assert answer_over_http(host, last, "ask", 1).status == 200
    assert terminal.finish() == 0
    assert timeless("\n".join(terminal.last)) == [
        f"{GRANDPARENT}  completed  {top}",
        f"└─ {PARENT}  completed  {middle}",
        f"   └─ {INTERRUPTED_CHILD}  completed  {last}",
    ]
    assert "\x1b[35m  waiting-input" in terminal.shown


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_terminal_is_given_back(host: Host, number: int, code: int) -> None:
    top, *_ = waiting(host)
    terminal = Terminal(*following(host, top))
    terminal.until(INTERRUPTED_CHILD)
    terminal.process.send_signal(number)
    assert terminal.finish() == code
    assert len(terminal.last) == 3
    assert host.snapshot(top)["status"] == "waiting-input"
    cancel(host, top)


def test_a_run_that_is_not_there_is_told(host: Host) -> None:
    done = runs(host, "tree", "nobody", code=7)
    assert "not_found" in done.stderr
    assert runs(host, "ls", "--parent", "nobody").stdout == ""


def test_a_host_that_does_not_know_parents_is_not_believed(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [{"runId": "a", "status": "running"}]})
    done = foreign.run_command("runs", "ls", "--parent", "p")
    assert done.exit_code == 1
    assert "does not support --parent" in done.stderr
    assert foreign.requests[-1].query["parentRunId"] == ["p"]


def tree_document(status: str, truncated: bool = False) -> dict[str, Any]:
    return {"runId": "r", "runs": [{"runId": "r", "workflowId": "w", "status": status}], "truncated": truncated}


def test_a_tree_that_is_cut_says_so(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/host/weftwork/runs/r/tree"] = CannedResponse(200, tree_document("running", truncated=True))
    done = foreign.run_command("runs", "tree", "r")
    assert (done.exit_code, done.stdout) == (0, "w  running  r\n")
    assert "only the first 1 runs are shown" in done.stderr
    assert foreign.requests[-1].query == {"limit": ["1000"]}


def test_a_host_is_not_asked_in_a_hurry(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast events come, there is a rest between two looks."""
    rests: list[float] = []
    monkeypatch.setattr(
        run_watch.BackgroundThread, "wait_for_change", lambda self: rests.append(1) or self.changed.wait(0.01)
    )
    looks = [tree_document("running")] * 5 + [tree_document("completed")]
    foreign.replies["GET /v1/host/weftwork/runs/r/tree"] = lambda _: CannedResponse(
        200, looks.pop(0) if len(looks) > 1 else looks[0]
    )
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "completed"})

    def send(write: Any) -> None:
        for at in range(300):
            kind = "run.completed" if at == 299 else "log.appended"
            document = json.dumps({"type": kind, "sequence": at, "payload": {}})
            write(f"id: {at}\nevent: {kind}\ndata: {document}\n\n".encode())

    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(stream=send)
    done = foreign.run_command("runs", "tree", "r", "--follow")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "w  running  r"
    asked = [each for each in foreign.requests if each.path.endswith("/tree")]
    assert len(asked) == len(rests) + 1


def test_a_stream_that_is_refused_ends_it(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/host/weftwork/runs/r/tree"] = CannedResponse(200, tree_document("running"))
    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(403, {"error": "forbidden", "message": "No."})
    done = foreign.run_command("runs", "tree", "r", "--follow")
    assert done.exit_code == 7
    assert "forbidden" in done.stderr
