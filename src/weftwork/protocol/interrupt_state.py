"""An interrupt as the fold of the log knows it."""

from typing import Any, Literal

import msgspec


class InterruptState(msgspec.Struct):
    """A question and what became of it."""

    interrupt_id: str
    node_id: str
    kind: str
    key: str
    data: Any
    requested_at: int
    resume_schema: dict[str, Any] | None = None
    timeout_ms: int | None = None
    status: Literal["open", "resolved", "cancelled", "closed"] = "open"
    """`cancelled` with its run; `closed` when the run ended in another way first."""
    votes: dict[str, str] = {}
    """Who has voted how, of several who approve; the newest vote of each counts."""
    said: int = 0
    """Votes and remarks so far."""
    remind_after_ms: tuple[int, ...] = ()
    reminded: int = 0

    @property
    def due(self) -> int | None:
        """When its time is up."""
        return self.requested_at + self.timeout_ms if self.timeout_ms is not None else None

    @property
    def next_reminder(self) -> int | None:
        left = self.remind_after_ms[self.reminded :]
        return self.requested_at + left[0] if left else None
