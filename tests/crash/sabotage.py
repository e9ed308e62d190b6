"""A host with one guard taken away, so that a proof can show that it would notice."""

import asyncio
import os
import signal
from collections import defaultdict
from typing import Any

import msgspec
from msgspec.structs import replace

from weftwork.adapters.blobs.folder_tree import FolderTree
from weftwork.adapters.blobs.local import PARTIAL, LocalBlobs, LocalSink
from weftwork.adapters.http.routes import events
from weftwork.adapters.sqlite import assets, child_runs, forks, retention, transactions
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.adapters.sqlite.forks import SqliteForks
from weftwork.adapters.sqlite.idempotency import save_record
from weftwork.adapters.sqlite.retention import SqliteRunRetention
from weftwork.adapters.system import faults
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.engine.decide import envelopes, transitions
from weftwork.engine.decide.child_runs import receive_results
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.interrupts import answer_interrupt
from weftwork.engine.host.alarm import Alarm
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.recovery import RecoveryProgress
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.engine.models.model_calls import EntryModelCalls
from weftwork.engine.nodes.effect_ledger import EffectLedger
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.engine.run import activity, live_run
from weftwork.engine.signer import Signer
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.blobs import Blob
from weftwork.ports.storage.child_runs import PendingChildResult
from weftwork.ports.storage.event_log import RunCreated
from weftwork.protocol.fold import facts
from weftwork.protocol.run.batch import Batch, check_batch
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.interrupts import InterruptState
from weftwork.protocol.wire.streams import Cursor

_create = SqliteEventLog.create


def _store_an_hour_later(name: str, acknowledged: Any = None) -> None:
    store = getattr(SqliteEventLog, name)

    async def acknowledge(self: SqliteEventLog, *arguments: Any) -> Any:
        async def later() -> None:
            await asyncio.sleep(3600)
            await store(self, *arguments)

        self.late = asyncio.create_task(later())  # type: ignore[attr-defined]
        return acknowledged

    setattr(SqliteEventLog, name, acknowledge)


def acknowledge_run_before_storing() -> None:
    _store_an_hour_later("create", RunCreated())


def acknowledge_append_before_storing() -> None:
    """From the first request to a run on. What the run does before it is stored, so that it can be asked something."""
    store = SqliteEventLog.append
    _store_an_hour_later("append")
    store_later = SqliteEventLog.append
    requested: set[RunKey] = set()

    async def acknowledge(self: SqliteEventLog, run: RunKey, expected: int, batch: Batch, *others: Any) -> Any:
        if batch.record is not None:
            requested.add(run)
        append = store_later if run in requested else store
        return await append(self, run, expected, batch, *others)

    SqliteEventLog.append = acknowledge  # type: ignore[method-assign]


def _skip(owner: Any, name: str) -> None:
    async def nothing(*_: Any) -> int:
        return 0

    setattr(owner, name, nothing)


def skip_recovery() -> None:
    async def nothing() -> RecoveryProgress:
        return RecoveryProgress(0, done=True)

    Executor.start_recovery = lambda self: asyncio.create_task(nothing())


def skip_message_recovery() -> None:
    _skip(ChildMessages, "recover")


def skip_orphan_scan() -> None:
    _skip(AssetSweep, "delete_strays")


def skip_claims() -> None:
    _skip(EffectLedger, "_claim")


def restart_running_nodes() -> None:
    resume = live_run.LiveRun.resume

    seen: set[RunKey] = set()

    def again(self: live_run.LiveRun, stored: Any) -> None:
        # Once per run, so that a run that is loaded after each wait ends.
        for node_id in list(self.state.running) if self.key not in seen else ():
            seen.add(self.key)
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
    EntryContext.long_wait_end = property(lambda self: 0)  # type: ignore[method-assign]


def retry_without_delay() -> None:
    # A run that waits for its retry is loaded at the start of a host, as every other one.
    facts.LONG_WAIT_MS = 10**15  # type: ignore[misc]
    wait = activity.Timers._wait

    def at_once(self: activity.Timers, place: tuple[str, str, int], due: int, *rest: Any) -> Any:
        return wait(self, place, 0, *rest)

    activity.Timers._wait = at_once  # type: ignore[method-assign]


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


def keep_votes_in_memory() -> None:
    real = answer_interrupt
    memory: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)

    def answer(state: Any, given: Any) -> Decision:
        for name, each in list(state.open_interrupts.items()):
            known = memory[state.header.run_id, name]
            state.open_interrupts[name] = msgspec.structs.replace(each, votes={**each.votes, **known})
        found = real(state, given)
        if found.refusal is None and [event.type for event in found.events] == ["approval.granted"]:
            (vote,) = found.events
            memory[state.header.run_id, vote.interrupt_id or ""][vote.payload["principal"]] = "accept"
            return Decision()
        return found

    transitions.answer_interrupt = answer


def skip_alarm() -> None:
    Alarm.start = lambda self: None  # type: ignore[method-assign]


def sign_with_new_secret() -> None:
    load = Signer.load

    async def anew(self: Signer) -> None:
        await load(self)
        for row in self.all():
            self._rows[row.kid] = msgspec.structs.replace(row, secret=self._ids.secret(32))

    Signer.load = anew  # type: ignore[method-assign]


def skip_inbox_index() -> None:
    transactions.set_open = lambda *arguments: None


def restart_timeouts() -> None:
    began = SystemClock().now()

    def due(self: InterruptState) -> int | None:
        return max(self.requested_at, began) + self.timeout_ms if self.timeout_ms is not None else None

    InterruptState.due = property(due)  # type: ignore[method-assign, assignment]


_append = SqliteEventLog.append
DELAY_SECONDS = 0.5


def store_children_late() -> None:
    async def append(self: SqliteEventLog, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        taken = await _append(self, run, expected, replace(batch, child_creates=()), *fence)
        if batch.child_creates:
            await asyncio.sleep(3600)
            for spawn in batch.child_creates:
                await self.create(spawn.header, spawn.hidden, None, False, None, *fence)
        return taken

    SqliteEventLog.append = append  # type: ignore[method-assign, assignment]


def store_children_early() -> None:
    async def append(self: SqliteEventLog, run: RunKey, expected: int, batch: Batch, *fence: Any) -> Any:
        check_batch(run, expected, batch)
        for spawn in batch.child_creates:
            await self.create(spawn.header, spawn.hidden, None, False, None, *fence)
        if batch.child_creates:
            await asyncio.sleep(DELAY_SECONDS)
        return await _append(self, run, expected, replace(batch, child_creates=()), *fence)

    SqliteEventLog.append = append  # type: ignore[method-assign, assignment]


def drop_child_results() -> None:
    child_runs.put_result = lambda *arguments: None


def drop_cancel_requests() -> None:
    child_runs.put_cancel_requests = child_runs.put_cascade = lambda *arguments: None


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


_BELONGINGS: dict[str, Any] = retention.RUN_TABLES  # type: ignore[assignment]


def drop_references() -> None:
    transactions.add_references = lambda *_: None


def sweep_referenced() -> None:
    assets.UNREFERENCED = "SELECT asset_no, key, size FROM assets WHERE held_until <= ? ORDER BY held_until LIMIT ?"


def commit_blob_late() -> None:
    rename = LocalSink._rename
    tasks: set[Any] = set()

    async def keep(self: Any) -> Any:
        if self._buffer or self._descriptor is None:
            await self._flush()
        await self._run(lambda: self._sync(self._clock.now()))
        digest = self._hash.hexdigest()
        key = self._new_key(digest)

        async def later() -> None:
            await asyncio.sleep(3600)
            await self._pool.run(lambda: rename(self, key))

        tasks.add(asyncio.create_task(later()))
        self._closed = self._cleaned_up = True
        return Blob(key, digest, self.size)

    LocalSink.commit = keep  # type: ignore[method-assign]


def delete_blob_before_row() -> None:
    prune = AssetSweep.prune

    async def bytes_first(self: Any, limit: int = 200) -> Any:
        for _, key, _ in await self._rows._read(assets._unreferenced, self._clock.now(), limit):
            await self._blobs.delete(key)
            fault_point("asset.deleted")
        return await prune(self, limit)

    AssetSweep.prune = bytes_first  # type: ignore[method-assign]


def keep_partial_files() -> None:
    def prepared(self: Any) -> FolderTree:
        folders = FolderTree(self._path)
        with folders.make((PARTIAL,)):
            return folders

    LocalBlobs._prepare = prepared  # type: ignore[method-assign]


def keep_references_of_deleted_runs() -> None:
    del _BELONGINGS["asset_refs"]


def drop_references_of_other_runs() -> None:
    taken = "DELETE FROM asset_refs WHERE ?1 IS NOT NULL AND asset_no = ?2"
    _BELONGINGS["asset_refs"] = _BELONGINGS["asset_refs"]._replace(delete=taken)


def record_answer_twice() -> None:
    send, judge = envelopes.record_envelope, EntryModelCalls.emit_envelope

    def trusting(state: Any, given: Any) -> Any:
        known, state.envelopes = state.envelopes, {}
        try:
            return send(state, given)
        finally:
            state.envelopes = known

    async def emit(self: Any, document: Any, emission: Any) -> Any:
        known = self._state.envelopes
        self._gate._state = _StateWithoutEnvelopes(self._state)
        assert known is self._state.envelopes
        return await judge(self, document, emission)

    transitions.record_envelope = trusting
    EntryModelCalls.emit_envelope = emit  # type: ignore[method-assign]


class _StateWithoutEnvelopes:
    def __init__(self, state: Any) -> None:
        self._state = state
        self.envelopes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


def store_interrupt_separately() -> None:
    send = envelopes.record_envelope
    transitions.record_envelope = lambda state, given: send(state, msgspec.structs.replace(given, interrupt=None))


def store_forks_without_prefix() -> None:
    forks._copy_source = lambda *_: None


def drop_records_of_forks() -> None:
    create = SqliteForks.create

    async def unrecorded(self: SqliteForks, header: Any, first: Any, record: Any = None, *rest: Any) -> Any:
        return await create(self, header, first, None, *rest)

    SqliteForks.create = unrecorded  # type: ignore[method-assign]
