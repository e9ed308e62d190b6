"""Faults for tests, and the event log that injects them.

A fault happens at a commit. After a crash, no call to the store returns in the dead process.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

import msgspec

from weftwork.ports.storage.event_log import EventLog, OutcomeUnknown, RunCreated, ScopeTaken, StoreUnavailable
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import Batch, HiddenValue, IdempotencyRecord
from weftwork.protocol.run.events import EFFECT_RECORDED, Event
from weftwork.protocol.run.header import RunHeader, RunKey
from weftwork.testing.call_recorder import ProcessGuard

T = TypeVar("T")


class Fault(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A fault and the commit at which it happens.

    The commit is given by its number `at` (1 is the first), by the `step` whose result it records, or by the type of an
    `event` that it contains. `node` restricts the last two to one node. `nth` selects a later matching commit.
    """

    at: int = 0
    step: str = ""
    event: str = ""
    node: str = ""
    nth: int = 1

    def __post_init__(self) -> None:
        if bool(self.at) + bool(self.step) + bool(self.event) != 1 or self.at < 0 or self.nth < 1:
            raise ValueError(
                "a fault needs exactly one of at= (1 is the first commit), step= and event=; nth= starts at 1"
            )

    def matches(self, number: int, events: Iterable[Event]) -> bool:
        return number == self.at or any(self._matches_event(event) for event in events)

    def _matches_event(self, event: Event) -> bool:
        if self.node not in ("", event.node_id) or event.type != (EFFECT_RECORDED if self.step else self.event):
            return False
        payload: dict[str, Any] = msgspec.json.decode(event.payload)
        return not self.step or payload.get("step") == self.step


class Crash(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The process dies at this commit: before it is written, or, if `written`, after it is written and before the host
    receives the confirmation."""

    written: bool = False


class LostAnswer(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The commit is written, but the host receives OutcomeUnknown, and has to read it back."""


class Outage(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The store refuses this commit and the following ones, `times` commits in total."""

    times: int = 1


class FaultPlan:
    """The faults of one run, and which of them have happened."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._faults = [*faults]
        self._match_counts = [0] * len(self._faults)
        self._fired: set[int] = set()
        self._refusing = 0
        self.commits = 0

    def on_commit(self, events: Iterable[Event]) -> Fault | None:
        """Count a commit, and return the fault that happens at it, if any."""
        self.commits += 1
        committed = [*events]
        due: Fault | None = None
        for index, fault in enumerate(self._faults):
            if not fault.matches(self.commits, committed):
                continue
            self._match_counts[index] += 1
            if due is None and index not in self._fired and self._match_counts[index] >= fault.nth:
                self._fired.add(index)
                due = fault
        if isinstance(due, Outage):
            self._refusing = due.times
        if self._refusing and not isinstance(due, Crash):
            self._refusing -= 1
            return due or Outage(at=self.commits)
        return due

    @property
    def fired(self) -> tuple[Fault, ...]:
        return tuple(fault for index, fault in enumerate(self._faults) if index in self._fired)

    @property
    def unreached(self) -> list[Fault]:
        return [fault for index, fault in enumerate(self._faults) if index not in self._fired]


class ProcessPort:
    """A storage port of one simulated process. After the death of the process, no call returns."""

    def __init__(self, port: Any, process: ProcessGuard) -> None:
        self._port = port
        self._process = process

    @classmethod
    def wrap(cls, port: T, process: ProcessGuard, *arguments: Any) -> T:
        return cast("T", cls(port, process, *arguments))

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any) -> Any:
            await self._require_alive()
            return await getattr(self._port, name)(*arguments)

        return call

    async def _require_alive(self) -> None:
        """Return at once while the process is alive; never return after its death."""
        if self._process.is_dead:
            await asyncio.get_running_loop().create_future()


class FaultyLog(ProcessPort):
    """Implements ports.storage.event_log.EventLog with injected faults. At a crash, it awaits `settle` before the
    commit and calls `kill` after it."""

    def __init__(
        self,
        log: EventLog,
        process: ProcessGuard,
        faults: FaultPlan,
        settle: Callable[[], Awaitable[None]],
        kill: Callable[[], None],
    ) -> None:
        super().__init__(log, process)
        self._faults = faults
        self._settle = settle
        self._kill = kill

    async def create(
        self,
        header: RunHeader,
        hidden: tuple[HiddenValue, ...] = (),
        record: IdempotencyRecord | None = None,
        exclusive: bool = False,
        first: Batch | None = None,
        fence: int = 0,
    ) -> RunCreated | SlotTaken | ScopeTaken:
        return await self._commit(first, lambda: self._port.create(header, hidden, record, exclusive, first, fence))

    async def append(self, run: RunKey, expected: int, batch: Batch, fence: int | None = None) -> SlotTaken | None:
        return await self._commit(batch, lambda: self._port.append(run, expected, batch, fence))

    async def _commit(self, batch: Batch | None, write: Callable[[], Any]) -> Any:
        await self._require_alive()
        fault = self._faults.on_commit(batch.events if batch is not None else ())
        if fault is None:
            return await write()
        if isinstance(fault, Crash):
            await self._settle()
            if fault.written:
                await write()
            self._kill()
            return await self._require_alive()
        if isinstance(fault, LostAnswer):
            await write()
            raise OutcomeUnknown("injected by the test")
        raise StoreUnavailable("injected by the test")
