"""A host that breaks its word about interrupts, so that a proof can show that it would notice."""

import asyncio
from collections import defaultdict
from typing import Any

import msgspec

from weftwork.adapters.sqlite import transactions
from weftwork.adapters.sqlite.event_log import SqliteEventLog
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.interrupts import answer_interrupt
from weftwork.engine.host.alarm import Alarm
from weftwork.engine.signer import Signer
from weftwork.protocol.run.interrupts import InterruptState


def acknowledge_answer_before_storing() -> None:
    store = SqliteEventLog.append

    async def append(self: SqliteEventLog, *arguments: Any) -> None:
        async def later() -> None:
            await asyncio.sleep(3600)
            await store(self, *arguments)

        self.late = asyncio.create_task(later())  # type: ignore[attr-defined]

    SqliteEventLog.append = append  # type: ignore[method-assign]


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
