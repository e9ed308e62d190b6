"""A request to a live run: an input that somebody waits for."""

import asyncio
from collections.abc import Callable

import msgspec

from weftwork.engine.inputs import Input
from weftwork.ports.eventlog import EventLog, Record, Recorded, Stored, StoreUnavailable
from weftwork.protocol.run import Status

Answer = Status | Recorded | Stored | None
"""How a run stands once that is durable; what a repeat was answered; the run itself, if it has ended; None if none."""
MakeRecord = Callable[[Status], Record]
"""Makes the idempotency record once the outcome is known, so that a repeat is answered word for word."""


class RunOver(Exception):
    """The run ended before the request was looked at; the stored outcome answers it."""


class Request(msgspec.Struct):
    """An input, the idempotency record to commit along with it, and whoever waits, who may have gone away."""

    given: Input
    done: asyncio.Future[Status | Recorded]
    record: MakeRecord | None = None

    def make_record(self, status: Status) -> Record | None:
        return self.record(status) if self.record is not None else None

    def answer(self, outcome: Status | Recorded) -> None:
        if not self.done.done():
            self.done.set_result(outcome)

    async def answer_alone(self, log: EventLog, status: Status) -> None:
        """Answer what changes nothing. It still leaves its record behind before that."""
        record = self.make_record(status)
        try:
            taken = await log.remember(record) if record is not None else None
        except StoreUnavailable as error:
            self.refuse(error)
        else:
            self.answer(taken or status)

    def refuse(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)
