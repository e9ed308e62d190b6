"""Parents and children for tests of the engine."""

from typing import Any

from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import EngineHarness, settle
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
