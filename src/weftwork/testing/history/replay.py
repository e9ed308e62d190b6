"""Replays a recorded history with the nodes of a test, on the real replay of the engine.

The recorded run is put into an in-memory store, and a replay of it is executed from its first event. Nothing outside of
the run is called: models, steps and people answer from the record.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from weftwork.adapters.python.declaration.node_discovery import envelope_kinds_near
from weftwork.engine.media.assets import DAY_MS
from weftwork.engine.replay.replayer import find_first_difference
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.limits import Limits
from weftwork.protocol.replay.event_classes import event_class
from weftwork.protocol.replay.history import MAX_HISTORY_BYTES, History, read_history
from weftwork.protocol.replay.masked_nodes import nodes_behind_masks, take_over_outcomes
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Fork
from weftwork.protocol.run.projection import Projection
from weftwork.protocol.workflow.plan import Plan
from weftwork.testing.deterministic import ManualClock, ManualTimeLoop
from weftwork.testing.errors import Diverged, Refused, Unending
from weftwork.testing.fake_model import FakeModel
from weftwork.testing.fake_outbound import FakeOutbound
from weftwork.testing.faults import FaultPlan
from weftwork.testing.history.difference import describe
from weftwork.testing.media import Asset
from weftwork.testing.runner import (
    DEFAULT_SECONDS,
    Document,
    Functions,
    Kinds,
    check_no_loop,
    in_thread,
    load_nodes,
    read_document,
)
from weftwork.testing.simulated_host import HostProcess, SimulatedHost

REPLAY_ID: Final = "replay"


class ReplayedHistory(msgspec.Struct, frozen=True):
    """The result of a replay that is as recorded."""

    run_id: str
    status: str
    """The status of the recorded run: completed, failed or cancelled, or that of a run which had not ended."""
    events: int
    """The number of events that were replayed."""
    called: tuple[str, ...]
    """The nodes whose code was called, in the order of their first call."""
    taken_over: tuple[str, ...]
    """The nodes with effects and those that read masked values. Their recorded outcome was taken over, so a change of
    their code cannot be seen."""
    checked_until: int
    """The last sequence that was compared. It is that of the last event, unless a decision depends on a masked
    value."""


def replay(
    file: str | Path,
    *,
    nodes: Functions = (),
    workflow: Document | None = None,
    kinds: Kinds = (),
    assets: Iterable[Asset] = (),
    limits: Limits | None = None,
    seconds: float = DEFAULT_SECONDS,
) -> ReplayedHistory:
    """Replay a history that `weftwork history record` has written, with these nodes.

    Every decision is taken again, every pure node is called again, and all are compared with the record. `workflow`
    replaces the recorded definition, to see whether a changed one does the same. `assets` are the media that nodes
    read. `kinds` and `limits` are those of `run_workflow`.

    Raises Diverged, an AssertionError, with the first difference; Refused if the file is not a history, or the workflow
    needs a node that is not in `nodes`; and Unending if the replay takes longer than `seconds`.
    """
    check_no_loop()
    history = _read(Path(file))
    functions = load_nodes(nodes)
    clock = ManualClock(history.events[-1].timestamp)
    all_kinds = [each.kind for each in (*envelope_kinds_near(functions), *kinds)]
    host = SimulatedHost(
        functions, clock, FakeOutbound(), FaultPlan(()), limits or Limits(), FakeModel(), kinds=all_kinds
    )
    document = None if workflow is None else read_document(workflow)
    scenario = _HistoryReplay(host, history, document, [*assets], Path(file).name)
    loop = ManualTimeLoop(clock, seconds, lambda: scenario.busy)
    try:
        return loop.run_until_complete(scenario.play(loop))
    finally:
        loop.shut_down()
        scenario.close()


areplay = in_thread(replay)


def _read(file: Path) -> History:
    data = file.read_bytes()
    if len(data) > MAX_HISTORY_BYTES:
        raise Refused(f"{file} is larger than {MAX_HISTORY_BYTES // 2**20} MiB")
    try:
        return read_history(data)
    except ClientFault as fault:
        where = (fault.details or {}).get("pointer", "")
        raise Refused(f"{file} is not a history: {fault.message} {where}".rstrip()) from None


class _HistoryReplay:
    """One replay."""

    def __init__(
        self,
        host: SimulatedHost,
        history: History,
        document: dict[str, Any] | None,
        assets: list[Asset],
        name: str,
    ) -> None:
        self._host = host
        self._history = history
        self._document = document
        self._assets = assets
        self._name = name
        self._process: HostProcess | None = None

    @property
    def busy(self) -> int:
        return self._process.threads.busy if self._process is not None else 0

    def close(self) -> None:
        if self._process is not None:
            self._process.threads.close()

    async def play(self, loop: ManualTimeLoop) -> ReplayedHistory:
        """Execute the replay. The clock advances when nothing else can happen."""
        self._process = process = HostProcess(self._host)
        executing = asyncio.create_task(self._execute(process))
        while True:
            await loop.idle()
            if executing.done():
                return executing.result()
            if not loop.advance_to_next():
                raise Unending(f"{self._name}: nothing is left to run, and no timer is set")

    async def _execute(self, process: HostProcess) -> ReplayedHistory:
        host, history, log = self._host, self._history, self._host.store.log
        await host.store.open()
        await host.blobs.open()
        await process.signer.load()
        plan = await self._plan(process)
        masked = (
            frozenset[str]() if history.masked is None else nodes_behind_masks(plan, history.events, history.masked)
        )
        header = msgspec.structs.replace(
            history.header, definition=plan.workflow.digest, expression_limits=host.limits.expressions
        )
        for each in self._assets:
            await process.assets.put(header.partition, each.data, host.limits.upload_days * DAY_MS)
        fork = Fork(header.run_id, 0, "replay", len(history.events) - 1, header.run_id)
        own = msgspec.structs.replace(header, run_id=f"{REPLAY_ID}-{header.run_id}", fork=fork)
        await log.create(header, first=_source_batch(history.events))
        await log.create(own)
        found = await find_first_difference(process.runtime, take_over_outcomes(plan, masked), own)
        replayed = await log.read(own.key, -1, len(history.events) + 1)
        if found is None:
            assert [each.event_id for each in replayed] == [each.event_id for each in history.events], self._name
            return self._result(plan, masked, len(history.events) - 1)
        difference = describe(self._name, history.events, len(replayed), found, host.calls)
        if not self._depends_on_masks(plan, masked, difference):
            raise difference
        return self._result(plan, masked, difference.sequence - 1)

    def _result(self, plan: Plan, masked: frozenset[str], checked_until: int) -> ReplayedHistory:
        started = [each.node_id for each in self._history.events if each.type == "node.started"]
        taken_over = [
            node_id
            for node_id in dict.fromkeys(filter(None, started))
            if node_id in masked or plan.nodes[node_id].node.declaration.effect != "pure"
        ]
        called = dict.fromkeys(each.node_id.partition("[")[0] for each in self._host.calls.performed if not each.step)
        history = self._history
        return ReplayedHistory(
            history.header.run_id,
            history.status,
            len(history.events),
            tuple(called),
            tuple(taken_over),
            checked_until,
        )

    async def _plan(self, process: HostProcess) -> Plan:
        """The plan of the workflow of the test, or of the recorded definition, which was valid when it was recorded."""
        document = self._history.definition if self._document is None else self._document
        plan, violations = await process.catalog.check_async(document, pinned=self._document is None)
        if plan is None:
            lines = "\n".join(f"  {each.pointer or '/'}: {each.message}" for each in violations)
            raise Refused(f"{self._name}: the workflow cannot be replayed with these nodes:\n{lines}")
        return plan

    def _depends_on_masks(self, plan: Plan, masked: frozenset[str], difference: Diverged) -> bool:
        """Whether the difference is in a decision that a masked value may have caused."""
        if not masked or difference.sequence >= len(self._history.events):
            return False
        event = self._history.events[difference.sequence]
        has_condition = any(each.condition is not None for each in plan.workflow.edges)
        return has_condition and event_class(event.type) == "decided"


def _source_batch(events: tuple[Event, ...]) -> Batch:
    last = events[-1]
    status: Any = last.type.removeprefix("run.") if last.is_terminal else "running"
    started = next((each.timestamp for each in events if each.type == "run.started"), None)
    return Batch(events, Projection(status, last.sequence, started, last.timestamp if last.is_terminal else None), ())
