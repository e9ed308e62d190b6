"""Parents and children for tests of the engine, supervised runs, and a process that dies when something is durable."""

import asyncio
from typing import Any

import msgspec

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, WrappedLog, settle
from weftwork.ports.nodes import NodeType
from weftwork.ports.storage.event_log import StoreUnavailable
from weftwork.protocol.json import schema
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.header import RunKey

GATE = workflow([node("g", "core.approvalGate", config={"title": "Go on?"})], id="gate")
GATED = workflow([node("h", "test.gate")], id="held")
QUICK = workflow([node("q")], id="quick", variables=[variable("said", defaultValue="hello")])
SUB_WORKFLOW = "core.subWorkflow"


def calling_workflow(child: str, **config: Any) -> dict[str, Any]:
    return workflow([node("call", SUB_WORKFLOW, config={"workflowId": child, **config})], id=f"calls-{child}")


async def start_run(
    document: dict[str, Any], *others: dict[str, Any], bench: EngineHarness | None = None
) -> tuple[EngineHarness, RunKey]:
    bench = bench or EngineHarness()
    await bench.store.open()
    for other in others:
        assert await bench.catalog.register(other) == []
    key = await bench.start(document)
    await settle()
    return bench, key


async def child_keys(bench: EngineHarness, key: RunKey) -> list[RunKey]:
    return [child.header.key for child in await bench.store.child_runs.children(key, None, 1000)]


class CrashAfterEventLog(WrappedLog):
    """A log behind which the process dies, or hears nothing once, when an event of this type is durable."""

    def __init__(self, log: Any, kind: str, dies: bool) -> None:
        super().__init__(log)
        self._kind = kind
        self._dies = dies
        self.reached = False

    async def append(self, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        taken = await self._log.append(run, expected, batch, *fence)
        if not self.reached and any(event.type == self._kind for event in batch.events):
            self.reached = True
            if self._dies:
                await asyncio.get_running_loop().create_future()
            raise StoreUnavailable("no word came back")
        return taken


class CrashingLog(WrappedLog):
    """A log whose process dies at one of its appends, counted from 1: when that is durable, or just before."""

    def __init__(self, log: Any, at: int, written: bool) -> None:
        super().__init__(log)
        self._at, self._written = at, written
        self.count = 0
        self.died = asyncio.Event()

    async def append(self, *given: Any) -> Any:
        self.count += 1
        if self.died.is_set() or self.count == self._at:
            if self._written and not self.died.is_set():
                await self._log.append(*given)
            self.died.set()
            await asyncio.get_running_loop().create_future()
        return await self._log.append(*given)


def harness_crashing_after(kind: str, *types: NodeType, dies: bool = True) -> EngineHarness:
    return EngineHarness(*types, wrap=lambda log: CrashAfterEventLog(log, kind, dies))


async def restart(bench: EngineHarness) -> EngineHarness:
    after = await bench.restart()
    await settle()
    return after


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


CAUSES = {
    "dispatch.began": "runOrchestrator.decided",
    "dispatch.succeeded": "dispatch.began",
    "dispatch.failed": "dispatch.began",
    "child.completed": "dispatch.succeeded",
    "child.failed": "dispatch.succeeded",
    "child.cancelled": "dispatch.succeeded",
    "output.harvested": "child.completed",
}
"""The step that causes each step of a handover."""


def check_chain(documents: list[dict[str, Any]]) -> None:
    """Every step of a handover is caused by one earlier step of the same worker, and no step causes two of a kind."""
    earlier: dict[str, dict[str, Any]] = {}
    used: set[tuple[str, str]] = set()
    for each in documents:
        payload, cause = each["payload"], earlier.get(each.get("causationId", ""))
        if each["type"] == "node.dispatched":
            assert cause is not None
            assert cause["type"] == "runOrchestrator.decided"
        elif each["type"] == CHAIN_EVENT:
            phase = payload["phase"]
            assert cause is not None, f"{phase} has no earlier event as its cause"
            assert cause["payload"].get("phase", cause["type"]) == CAUSES[phase]
            if phase == "dispatch.began":
                assert payload["workerId"] in cause["payload"]["decision"]["nextWorkerIds"]
            else:
                assert (cause["eventId"], phase) not in used, f"two steps {phase} have one cause"
                used.add((cause["eventId"], phase))
                known = {"workerId": payload["workerId"], "childRunId": payload.get("childRunId")}
                assert {**known, **cause["payload"]}.items() >= known.items()
        earlier[each["eventId"]] = each


async def handover_steps(bench: EngineHarness, key: RunKey) -> list[str]:
    """The steps of the handovers, each of them well-formed and because of the step before it."""
    documents = [msgspec.json.decode(each.document) for each in await bench.events(key)]
    check_chain(documents)
    for each in documents:
        assert schema.check_payload(each["type"], each["payload"]) == []
    steps = [each["payload"] for each in documents if each["type"] == CHAIN_EVENT]
    return [f"{each['phase']} {each['workerId']}" for each in steps]


async def found_variable(bench: EngineHarness, key: RunKey) -> Any:
    return (await bench.state(key)).variables["found"]
