"""Workflows whose runs start runs, for real hosts."""

from typing import Any

from tests.harness.definitions import node
from tests.live.host import KEY, Host, until
from tests.live.steering import flow, interrupt_node
from tests.live.workflows import delays

INTERRUPTED_CHILD, PARENT, GRANDPARENT, MAPPING_PARENT, SLOW_PARENT, DETACHING_PARENT = (
    "kin-asks",
    "kin-calls",
    "kin-top",
    "kin-many",
    "kin-slow",
    "kin-leaves",
)


def sub_workflow_node(node_id: str, workflow_id: str, **config: Any) -> dict[str, Any]:
    return node(node_id, "core.subWorkflow", config={"workflowId": workflow_id, **config})


def child_workflows() -> list[dict[str, Any]]:
    """TOP starts CALLS, which starts ASKS; MANY starts one NOOP for each item; LEAVES waits for none of its two."""
    items = {"items": {"type": "variable", "variableName": "items"}}
    many = node("each", "core.flow.map", config={"body": {"workflowId": "kin-noop"}, "concurrency": 50}, inputs=items)
    variables = [{"name": "items", "type": "array", "defaultValue": [1, 2, 3]}]
    leaving = [
        sub_workflow_node(each, SLOW_PARENT, waitForCompletion=False, propagateCancellation=False)
        for each in ("one", "two")
    ]
    return [
        flow("kin-noop", [node("done")]),
        flow(INTERRUPTED_CHILD, [interrupt_node("ask")]),
        flow(PARENT, [sub_workflow_node("call", INTERRUPTED_CHILD)]),
        flow(GRANDPARENT, [sub_workflow_node("begin", PARENT)]),
        flow(MAPPING_PARENT, [many], variables=variables),
        delays(SLOW_PARENT, 60_000),
        flow(DETACHING_PARENT, leaving),
    ]


def tree_of(host: Host, run_id: str, limit: int = 200, key: str = KEY) -> dict[str, Any]:
    answer = host.call("GET", f"/v1/host/weftwork/runs/{run_id}/tree?limit={limit}", key=key)
    assert answer.status == 200, answer.body
    return answer.document


def await_tree(host: Host, run_id: str, *statuses: str) -> list[dict[str, Any]]:
    """The runs of a tree once they stand so."""

    def look() -> list[dict[str, Any]] | None:
        rows = tree_of(host, run_id)["runs"]
        return rows if [row["status"] for row in rows] == list(statuses) else None

    return until(look, f"a tree of {statuses}")
