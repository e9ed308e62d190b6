"""A host with one guard taken away, so that a proof can show that it would notice."""

import asyncio
import os
import signal
from typing import Any

from weftwork.adapters.http.routes import events
from weftwork.adapters.sqlite import retention, transactions
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.adapters.sqlite.idempotency import save_record
from weftwork.adapters.sqlite.retention import SqliteRunRetention
from weftwork.adapters.system import faults
from weftwork.engine.host.executor import Executor
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.engine.run import activity, live_run
from weftwork.ports.storage.event_log import RunCreated
from weftwork.protocol.wire.streams import Cursor

_create = SqliteEventLog.create


def acknowledge_run_before_storing() -> None:
    async def create(self: SqliteEventLog, *arguments: Any) -> RunCreated:
        async def later() -> None:
            await asyncio.sleep(3600)
            await _create(self, *arguments)

        self.late = asyncio.create_task(later())  # type: ignore[attr-defined]
        return RunCreated()

    SqliteEventLog.create = create  # type: ignore[method-assign]


def skip_recovery() -> None:
    async def recover(self: Executor) -> int:
        return 0

    Executor.recover = recover  # type: ignore[method-assign]


def restart_running_nodes() -> None:
    resume = live_run.LiveRun.resume

    def again(self: live_run.LiveRun, stored: Any) -> None:
        for node_id in list(self.state.running):
            node = self.state.plan.nodes[node_id]
            del self.state.running[node_id]
            self.state.ready.append((node.index, node_id))
        resume(self, stored)

    live_run.LiveRun.resume = again  # type: ignore[method-assign]


def restart_delays() -> None:
    begin = EntryContext.__init__

    def anew(self: Any, runtime: Any, *rest: Any, **named: Any) -> None:
        begin(self, runtime, *rest, **named)
        self.started_at = runtime.clock.now()

    EntryContext.__init__ = anew  # type: ignore[method-assign]


def retry_without_delay() -> None:
    wait = activity.Timers._wait

    def at_once(self: activity.Timers, place: tuple[str, str, int], due: int, *rest: Any) -> Any:
        return wait(self, place, 0, *rest)

    activity.Timers._wait = at_once  # type: ignore[method-assign]


def acknowledge_append_before_storing() -> None:
    store = SqliteEventLog.append

    async def append(self: SqliteEventLog, *arguments: Any) -> None:
        async def later() -> None:
            await asyncio.sleep(3600)
            await store(self, *arguments)

        self.late = asyncio.create_task(later())  # type: ignore[attr-defined]

    SqliteEventLog.append = append  # type: ignore[method-assign]


def drop_idempotency_records() -> None:
    async def create(self: SqliteEventLog, header: Any, hidden: Any, record: Any, *rest: Any) -> Any:
        return await _create(self, header, hidden, None, *rest)

    SqliteEventLog.create = create  # type: ignore[method-assign]


def check_key_outside_transaction() -> None:
    transactions.idempotency.find_recorded = lambda *_: None  # type: ignore[assignment]


def store_key_separately() -> None:
    async def create(self: SqliteEventLog, header: Any, hidden: Any, record: Any, *rest: Any) -> Any:
        if record is not None:
            await self._write(save_record, record)
            os.kill(os.getpid(), signal.SIGKILL)
        return await _create(self, header, hidden, record, *rest)

    SqliteEventLog.create = create  # type: ignore[method-assign]


def hide_instead_of_delete() -> None:
    find = SqliteEventLog.read_run

    async def delete(self: SqliteRunRetention, run: Any, *_: Any) -> bool:
        hidden.add(run)
        return True

    async def stored(self: SqliteEventLog, run: Any) -> Any:
        return None if run in hidden else await find(self, run)

    hidden: set[Any] = set()
    SqliteRunRetention.delete = delete  # type: ignore[method-assign]
    SqliteEventLog.read_run = stored  # type: ignore[method-assign]


def purge_partially() -> None:
    take_away = retention._delete_piece

    def careless(*arguments: Any) -> bool:
        take_away(*arguments)
        return False

    retention._delete_piece = careless


def skip_event_on_resume() -> None:
    parse = events.streams.parse_cursor

    def beyond(text: str | None) -> Cursor:
        cursor = parse(text)
        return cursor if text is None else Cursor(cursor.sequence + 1, True)

    events.streams.parse_cursor = beyond


def leave_faults_unarmed() -> None:
    faults.arm = lambda actions: None
