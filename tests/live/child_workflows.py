"""Workflows whose runs start runs, for real hosts."""

from typing import Any

from tests.harness.definitions import node
from tests.live.host import KEY, Host, until
from tests.live.steering import asking, flow
from tests.live.workflows import delays

ASKS, CALLS, TOP, MANY, SLOW, LEAVES = "kin-asks", "kin-calls", "kin-top", "kin-many", "kin-slow", "kin-leaves"


def calling(node_id: str, workflow_id: str, **config: Any) -> dict[str, Any]:
    """A node that starts another workflow."""
    return node(node_id, "core.subWorkflow", config={"workflowId": workflow_id, **config})


def family() -> list[dict[str, Any]]:
    """TOP starts CALLS, which starts ASKS; MANY starts one NOOP for each item; LEAVES waits for none of its two."""
    items = {"items": {"type": "variable", "variableName": "items"}}
    many = node("each", "core.flow.map", config={"body": {"workflowId": "kin-noop"}, "concurrency": 50}, inputs=items)
    variables = [{"name": "items", "type": "array", "defaultValue": [1, 2, 3]}]
    leaving = [calling(each, SLOW, waitForCompletion=False, propagateCancellation=False) for each in ("one", "two")]
    return [
        flow("kin-noop", [node("done")]),
        flow(ASKS, [asking("ask")]),
        flow(CALLS, [calling("call", ASKS)]),
        flow(TOP, [calling("begin", CALLS)]),
        flow(MANY, [many], variables=variables),
        delays(SLOW, 60_000),
        flow(LEAVES, leaving),
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
