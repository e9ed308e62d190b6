"""Hosts whose runs start runs: workflows with children in every way, and what is asked of them."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.crash.interrupts.scripted_clients import (
    ScriptedClients,
    ScriptedRun,
    ScriptStep,
    TrackedRequest,
    call,
    create,
    tracked_step,
)
from tests.crash.restartable_host import RestartableHost
from tests.harness.definitions import edge, node, variable
from tests.live import Host, delays, until
from tests.live.child_workflows import sub_workflow_node
from tests.live.steering import flow, interrupt_node
from weftwork.protocol.run.header import TERMINAL_STATUSES

FAN_OUT = 6
MAPPED_CHILDREN = 4
WORKERS = ["asked", "quick", "asked"]


def map_node(node_id: str, workflow_id: str, count: int, **config: Any) -> dict[str, Any]:
    body = {"workflowId": workflow_id, "output": "item"}
    return node(node_id, "core.flow.map", config={"items": list(range(count)), "body": body, **config})


def map_workflow(workflow_id: str, body: str, concurrency: int) -> dict[str, Any]:
    """A map over the items that the run is given."""
    inputs = {"items": {"type": "variable", "variableName": "items"}}
    each = map_node("each", body, 0, concurrency=concurrency)
    del each["config"]["items"]
    return flow(workflow_id, [{**each, "inputs": inputs}], [], [variable("items", "array", required=True)])


ITEM = [variable("item", "number", defaultValue=-1)]
CONDITIONAL_EDGES = [
    edge("pick", "fail", condition={"type": "expression", "expression": "variables.item == 1.0"}),
    edge("pick", "gate", condition={"type": "expression", "expression": "variables.item != 1.0"}),
]
SUPERVISOR = node(
    "decide", "core.orchestrator.supervisor", config={"plan": [{"kind": "next-worker", "nextWorkerIds": WORKERS}]}
)
WORKFLOWS: list[dict[str, Any]] = [
    flow("quick", [node("a"), node("b")], [edge("a", "b")], ITEM),
    flow(
        "asked",
        [interrupt_node("gate"), node("last", "core.identity")],
        [edge("gate", "last", targetInput="given")],
        ITEM,
    ),
    flow("moody", [node("pick"), node("fail", "core.fail"), interrupt_node("gate")], CONDITIONAL_EDGES, ITEM),
    flow("call", [sub_workflow_node("call", "asked")], [], ITEM),
    flow("deep", [sub_workflow_node("begin", "call")]),
    flow("slow", [sub_workflow_node("call", "works")]),
    delays("works", 600),
    flow("left", [sub_workflow_node("call", "quick", waitForCompletion=False)]),
    flow("fan", [map_node("each", "quick", FAN_OUT, concurrency=3)]),
    flow("bad", [map_node("each", "moody", 3)]),
    flow("drop", [map_node("each", "call", MAPPED_CHILDREN)]),
    flow("fell", [map_node("each", "call", MAPPED_CHILDREN)]),
    flow(
        "first",
        [SUPERVISOR, node("work", "core.dispatch", config={"fanOutPolicy": "parallel", "joinMode": "first"})],
        [edge("decide", "work")],
    ),
    map_workflow("many", "brief", 8),
    {**delays("brief", 30), "variables": ITEM},
    map_workflow("crowd", "asked", 1000),
]
"""A child that is asked something, below a parent and below a parent of that; one that works, and one that nobody
waits for; a map, one of which an item fails, and two that are cancelled, at once or when they have begun; workers of
which one is enough; and maps over as many items as they are given, of children that end or that are asked something."""


class ChildRunHost(RestartableHost):
    workflows = WORKFLOWS


def run_tree(host: Host, run_id: str) -> list[dict[str, Any]]:
    """A run and all below it. Raises Gone."""
    return call(host, "GET", f"/v1/host/weftwork/runs/{run_id}/tree?limit=1000").document["runs"]


def wait_step(look: Callable[[list[dict[str, Any]]], Any], what: str) -> ScriptStep:
    """Wait until the tree of a case is so; there may be nothing left to wait for."""

    def step(host: Host, case: ScriptedRun) -> None:
        def found() -> bool:
            rows = run_tree(host, case.run_id)
            return bool(look(rows)) or rows[0]["status"] in TERMINAL_STATUSES

        until(found, f"{case.name}: {what}")

    return step


def answer(host: Host, case: ScriptedRun) -> None:
    """The one who is asked, at the bottom, says the name of the case."""
    if not case.requests:
        rows = until(lambda: _waiting_runs(host, case), f"{case.name}: somebody to be asked")
        path = f"/v1/runs/{rows[-1]['runId']}/interrupts/gate"
        case.requests.append(TrackedRequest(path, {"resumeValue": case.name}, f"{case.name}-0", case.name))
    tracked_step(0, lambda _: case.requests[0])(host, case)


def _waiting_runs(host: Host, case: ScriptedRun) -> list[dict[str, Any]] | None:
    rows = run_tree(host, case.run_id)
    return rows if rows[-1]["workflowId"] == "asked" and rows[-1]["status"].startswith("waiting") else None


def cancel(host: Host, case: ScriptedRun) -> None:
    tracked_step(0, lambda case: TrackedRequest(f"/v1/runs/{case.run_id}/cancel", None, f"{case.name}-0"))(host, case)


SCRIPTS: dict[str, list[ScriptStep]] = {
    "call": [create, answer],
    "deep": [create, answer],
    "slow": [create],
    "left": [create],
    "fan": [create],
    "bad": [create],
    "first": [create],
    "drop": [create, cancel],
    "fell": [create, wait_step(lambda rows: len(rows) > MAPPED_CHILDREN, "some to have begun"), cancel],
}
SCENARIOS = tuple(SCRIPTS)

ChildRunClients = partial(ScriptedClients, workflows=SCENARIOS, scripts=SCRIPTS)
"""People who ask for these runs, and remember what they were told."""
