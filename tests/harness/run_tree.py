"""Runs that start runs, on the bench: definitions that call each other, and their children by name."""

from itertools import pairwise
from typing import Any

import msgspec

from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import CALLER, EngineHarness, run_ready_tasks
from weftwork.protocol.run.header import RunKey

ACCEPT = {"action": "accept"}


def sequence(workflow_id: str, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    edges = [edge(one["id"], other["id"]) for one, other in pairwise(nodes)]
    return workflow(list(nodes), more.pop("edges", edges), id=workflow_id, **more)


def sub_workflow_node(
    workflow_id: str, node_id: str = "call", settings: dict[str, Any] | None = None, **config: Any
) -> Any:
    return node(node_id, "core.subWorkflow", config={"workflowId": workflow_id, **config}, settings=settings or {})


def approval_workflow(workflow_id: str = "gate", **more: Any) -> dict[str, Any]:
    return sequence(workflow_id, node("ask", "core.approvalGate", config={"title": "Go on?"}), **more)


async def start_run(bench: EngineHarness, parent: dict[str, Any], *children: dict[str, Any], **request: Any) -> RunKey:
    """A run of the first definition, which may start runs of the others; it is as far as it gets without time."""
    await bench.store.open()
    for document in children:
        assert await bench.catalog.register(document) == []
    key = await bench.start(parent, **request)
    await run_ready_tasks()
    return key


async def restart(bench: EngineHarness, *documents: dict[str, Any]) -> EngineHarness:
    """The next host over the same store, which is given these definitions again, after this one has died."""
    await bench.crash()
    after = bench.successor()
    for document in documents:
        assert await after.catalog.register(document) == []
    await after.executor.recover()
    await run_ready_tasks()
    return after


async def child_keys(bench: EngineHarness, key: RunKey) -> list[RunKey]:
    """In the order of their creation."""
    found = await bench.store.child_runs.children(key, None, 1000)
    return [each.header.key for each in found]


async def only_child_key(bench: EngineHarness, key: RunKey) -> RunKey:
    (found,) = await child_keys(bench, key)
    return found


async def snapshot_of(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(await bench.service.get_run(CALLER, key.run_id)))


async def completed_snapshot(bench: EngineHarness, key: RunKey) -> dict[str, Any]:
    """The same, once it has ended."""
    await bench.run_to_end(key)
    return await snapshot_of(bench, key)


async def ended_run(
    *documents: dict[str, Any], bench: EngineHarness | None = None, **request: Any
) -> tuple[EngineHarness, RunKey, dict[str, Any]]:
    """A run of the first definition, which may start runs of the others, and its snapshot once it has ended."""
    bench = bench or EngineHarness()
    key = await start_run(bench, *documents, **request)
    return bench, key, await completed_snapshot(bench, key)


async def waiting_parent(*documents: dict[str, Any]) -> tuple[EngineHarness, RunKey, RunKey]:
    """A run of the first definition and its child, both waiting for an approval."""
    bench = EngineHarness()
    key = await start_run(bench, *documents)
    child = await only_child_key(bench, key)
    assert await all_waiting(bench, key, child)
    return bench, key, child


async def all_waiting(bench: EngineHarness, *keys: RunKey, status: str = "waiting-approval") -> bool:
    """Whether all of these wait, by now."""
    await run_ready_tasks()
    return [await bench.status(key) for key in keys] == [status] * len(keys)
