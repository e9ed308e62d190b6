"""Parents and children for tests of the engine."""

from typing import Any

from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import Bench, quiet
from weftwork.protocol.run.header import RunKey

GATE = workflow([node("g", "core.approvalGate", config={"title": "Go on?"})], id="gate")
HELD = workflow([node("h", "test.gate")], id="held")
QUICK = workflow([node("q")], id="quick", variables=[variable("said", defaultValue="hello")])
SUB = "core.subWorkflow"


def calls(child: str, **config: Any) -> dict[str, Any]:
    return workflow([node("call", SUB, config={"workflowId": child, **config})], id=f"calls-{child}")


async def begun(document: dict[str, Any], *others: dict[str, Any], bench: Bench | None = None) -> tuple[Bench, RunKey]:
    bench = bench or Bench()
    await bench.store.open()
    for other in others:
        assert await bench.catalog.register(other) == []
    key = await bench.start(document)
    await settled()
    return bench, key


async def settled() -> None:
    for _ in range(10):
        await quiet()


async def kids(bench: Bench, key: RunKey) -> list[RunKey]:
    return [child.header.key for child in await bench.store.log.children(key, None, 1000)]
