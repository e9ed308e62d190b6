"""Recovery is for every run that can go on, whatever became of the others."""

from typing import Any

from tests.harness.definitions import node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunHeader
from weftwork.protocol.run.projection import Projection


async def test_a_log_that_cannot_be_folded_keeps_no_other_run_from_going_on() -> None:
    bench = EngineHarness()
    good = await bench.start(workflow([node("wait", "core.delay", config={"ms": 50})]))
    await bench.crash()
    header = (await bench.stored_run(good)).header
    bad = RunHeader("run-bad", CALLER.partition, CALLER.owner, "sample", header.definition, 1)
    await bench.store.log.create(bad)
    # A node.failed without its error is nothing that this host ever wrote.
    broken = Event("run-bad", 0, "event-bad", "node.failed", 1, b"{}", node_id="wait")
    await bench.store.log.append(bad.key, -1, Batch((broken,), Projection("running", 0, 1)))
    later = bench.successor()
    assert await later.executor.recover() == 1
    await later.run_to_end(good)
    assert await later.status(good) == "completed"
    assert await later.status(bad.key) == "running"


async def test_large_runs_are_not_kept_in_memory_after_their_end() -> None:
    bench = EngineHarness()
    large = {"text": "x" * 20_000}
    document = workflow([node("a")])
    requests: list[dict[str, Any]] = [{"inputs": large}, {"configurable": {"acme.note": large}}]
    for request in requests:
        key = await bench.start(document, **request)
        await bench.run_to_end(key)
        await bench.executor.read_run(key)
        assert bench.executor._recent_runs.get(key) is None
    key = await bench.start(document, inputs={"text": "small"})
    await bench.run_to_end(key)
    assert bench.executor._recent_runs.get(key) is not None
