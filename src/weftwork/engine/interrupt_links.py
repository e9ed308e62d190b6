"""Links to interrupts: tokens made, dated and opened again. The only user of the signer for interrupts."""

from typing import Any, Final

from weftwork.engine.signer import Signer
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.protocol.interrupt_token import (
    PURPOSE,
    READ_MS,
    Intent,
    InterruptToken,
    expiry,
    join,
    run_out,
    signed_part,
    split,
    unknown,
)
from weftwork.protocol.run import RunKey
from weftwork.protocol.timestamp import milliseconds

DAY_MS: Final = 86_400_000


class InterruptLinks:
    """`public` is where people reach the host, without a slash at the end; empty if nobody has said so."""

    def __init__(
        self, signer: Signer, clock: Clock, ids: Ids, prefix: str, public: str = "", link_days: int = 7
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._ids = ids
        self._prefix = prefix
        self.public = public
        self._lasts = link_days * DAY_MS

    def path(self, text: str) -> str:
        return self._prefix + text

    def url(self, text: str) -> str:
        """Absolute where it is known how the host is reached, else the path."""
        return self.public + self.path(text)

    def for_reader(self, run: RunKey, row: dict[str, Any], intent: Intent) -> str:
        """tok-03 (readings, Interrupt tokens): the token that comes with a read of an open interrupt."""
        return self._made(run, row, intent, None, READ_MS)[0]

    def for_person(
        self, run: RunKey, row: dict[str, Any], intent: Intent, person: str | None, seconds: int | None
    ) -> tuple[str, InterruptToken]:
        """tok-03 (readings, Interrupt tokens): lasts to the deadline of the interrupt, or the days of the setting if it
        has none; `seconds` can make that shorter, never longer."""
        due = _due(row)
        longest = self._lasts if due is None else max(0, due - self._clock.now())
        return self._made(run, row, intent, person, longest if seconds is None else min(longest, seconds * 1000))

    def opened(self, text: str) -> InterruptToken:
        """tok-04: what a token says, now that it can be believed. Raises ClientFault.

        Its form first, then its signature, then its time; nothing has been looked up for a token that we did not make.
        """
        found = split(text)
        if found is None:
            raise unknown()
        token, payload, signature = found
        if not self._signer.verify(PURPOSE, token.kid, payload, signature):
            raise unknown()
        if token.expired(self._clock.now()):
            raise run_out()
        return token

    def _made(
        self, run: RunKey, row: dict[str, Any], intent: Intent, person: str | None, lasts: int
    ) -> tuple[str, InterruptToken]:
        token = InterruptToken(
            kid=self._signer.kid,
            tenant=run.partition,
            run_id=run.run_id,
            interrupt_id=row["interruptId"],
            intent=intent,
            expires_at=expiry(self._clock.now(), lasts, _due(row)),
            jti=self._ids.event_ids(1)[0],
            person=person,
        )
        payload = signed_part(token)
        return join(payload, self._signer.sign(PURPOSE, payload)), token


def _due(row: dict[str, Any]) -> int | None:
    text = row.get("dueAt")
    return milliseconds(text) if text is not None else None
