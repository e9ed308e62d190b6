"""Supervised runs whose workers end when a test lets them."""

from typing import Any

import msgspec

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, settle
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import RunKey

CHAIN_EVENT = "core.workflowChain.event"
WORKERS = [
    workflow([node(name, "test.gate")], variables=[variable("has", defaultValue=name)], id=name)
    for name in ("a", "b", "c", "d")
]
"""Each ends when the test lets its node go, which has its name."""
TERMINATE = {"kind": "terminate"}


def next_worker(*names: str, **members: Any) -> dict[str, Any]:
    return {"kind": "next-worker", "nextWorkerIds": list(names), **members}


def supervised_workflow(
    plan: list[dict[str, Any]], config: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    nodes = [
        node("lead", "core.orchestrator.supervisor", config={"plan": plan}),
        node("send", "core.dispatch", config=config or {}),
    ]
    return workflow(nodes, [edge("lead", "send"), edge("send", "lead")], id="supervised", **more)


def parallel_workflow(*names: str, **config: Any) -> dict[str, Any]:
    plan = [next_worker(*names), TERMINATE]
    made = {"fanOutPolicy": "parallel", "outputMapping": {"found": "has"}, **config}
    return supervised_workflow(plan, made, variables=[variable("found", defaultValue="")])


async def handover_steps(bench: EngineHarness, key: RunKey) -> list[str]:
    """The steps of the handovers, each of them well-formed and because of the decision."""
    events = await bench.events(key)
    documents = [msgspec.json.decode(each.document) for each in events]
    decisions = {each["eventId"] for each in documents if each["type"] == "runOrchestrator.decided"}
    told: list[str] = []
    for each in documents:
        assert schema.check_payload(each["type"], each["payload"]) == []
        if each["type"] in (CHAIN_EVENT, "node.dispatched"):
            assert each["causationId"] in decisions
        if each["type"] == CHAIN_EVENT:
            told.append(f"{each['payload']['phase']} {each['payload']['workerId']}")
    return told


async def found_variable(bench: EngineHarness, key: RunKey) -> Any:
    return (await bench.state(key)).variables["found"]


async def release_worker(bench: EngineHarness, name: str, outcome: Any = None) -> None:
    bench.gate_node.release(name, outcome)
    await settle()
