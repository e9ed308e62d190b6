"""A host that breaks its word about child runs, so that a proof can show that it would notice."""

import asyncio
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.sqlite import child_runs
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.engine.decide import transitions
from weftwork.engine.decide.child_runs import receive_results
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.protocol.run.batch import Batch, check_batch
from weftwork.protocol.run.header import RunKey

_append = SqliteEventLog.append
DELAY_SECONDS = 0.5


def store_children_late() -> None:
    async def append(self: SqliteEventLog, run: RunKey, expected: int, batch: Batch) -> Any:
        taken = await _append(self, run, expected, replace(batch, child_creates=()))
        if batch.child_creates:
            await asyncio.sleep(3600)
            for spawn in batch.child_creates:
                await self.create(spawn.header, spawn.hidden)
        return taken

    SqliteEventLog.append = append  # type: ignore[method-assign, assignment]


def store_children_early() -> None:
    async def append(self: SqliteEventLog, run: RunKey, expected: int, batch: Batch) -> Any:
        check_batch(run, expected, batch)
        for spawn in batch.child_creates:
            await self.create(spawn.header, spawn.hidden)
        if batch.child_creates:
            await asyncio.sleep(DELAY_SECONDS)
        return await _append(self, run, expected, replace(batch, child_creates=()))

    SqliteEventLog.append = append  # type: ignore[method-assign, assignment]


def drop_child_results() -> None:
    child_runs.put_result = lambda *arguments: None


def drop_cancel_requests() -> None:
    child_runs.put_cancel_requests = child_runs.put_cascade = lambda *arguments: None


def skip_message_recovery() -> None:
    async def recover(self: ChildMessages) -> None:
        return None

    ChildMessages.recover = recover  # type: ignore[method-assign]


def clear_results_early() -> None:
    tell = ChildMessages.queue_result

    def forgetful(self: ChildMessages, told: PendingChildResult) -> None:
        async def forget() -> None:
            await self._child_runs.acknowledge_results((told,))
            await asyncio.sleep(DELAY_SECONDS)
            tell(self, told)

        self.busy = asyncio.create_task(forget())  # type: ignore[attr-defined]

    ChildMessages.queue_result = forgetful  # type: ignore[method-assign]


def keep_cancel_requests() -> None:
    child_runs.delete_cancel_request = lambda *arguments: None


def apply_results_twice() -> None:
    real = receive_results

    def hear(state: Any, given: Any) -> Any:
        node = state.nodes[given.node_id]
        known = dict(node.children)
        for told in given.results:
            node.children[told.key] = replace(known[told.key], status="running")
        return real(state, given)

    transitions.receive_results = hear
