"""Forks in the tree of a run: below their source, and never waited for with it."""

from typing import Any

from weftwork.cli.client.run_tree import find_waiting_runs, fork_text, read_tree
from weftwork.cli.render.run_tree_lines import run_tree_lines


def row(run_id: str, status: str = "completed", **members: Any) -> dict[str, Any]:
    return {"runId": run_id, "workflowId": "order", "status": status, **members}


def fork(run_id: str, source: str, start: Any, mode: str, **members: Any) -> dict[str, Any]:
    return row(run_id, forkedFrom={"runId": source, "fromSeq": start, "mode": mode}, **members)


TREE = {
    "runs": [
        row("run-1"),
        row("run-2", parentRunId="run-1", parentNodeId="pay"),
        fork("run-3", "run-1", 4, "branch"),
        fork("run-4", "run-2", 0, "replay"),
        fork("run-5", "run-3", 7, "branch"),
    ]
}


def test_forks_are_drawn_below_their_source_with_mode_and_sequence() -> None:
    top = read_tree(TREE)
    assert top is not None
    assert [line.text.rstrip() for line in run_tree_lines(top, is_ascii=False)] == [
        "order  completed  run-1",
        "├─ order  completed  run-2",
        "│  └─ order  replay from 0  completed  run-4",
        "└─ order  branch from 4  completed  run-3",
        "   └─ order  branch from 7  completed  run-5",
    ]
    assert [run.run_id for run in top.walk()] == ["run-1", "run-2"]
    assert [run.run_id for run in top.walk(with_forks=True)] == ["run-1", "run-2", "run-4", "run-3", "run-5"]


def test_a_waiting_fork_does_not_stand_for_its_source() -> None:
    rows = [row("run-1", "waiting-input"), {**fork("run-2", "run-1", 1, "branch"), "status": "waiting-input"}]
    top = read_tree({"runs": rows})
    assert top is not None
    assert [run.run_id for run in find_waiting_runs(top)] == ["run-1"]


def test_a_fork_of_a_run_that_is_not_listed_is_the_top_or_below_it() -> None:
    top = read_tree({"runs": [fork("run-3", "gone", 4, "branch")]})
    assert top is not None
    assert [line.text.rstrip() for line in run_tree_lines(top, is_ascii=True)] == [
        "order  branch from 4  completed  run-3"
    ]
    assert [fork_text(each) for each in (None, 7, {}, {"mode": "x", "fromSeq": "1"})] == ["", "", "fork", "x"]
