"""The ledger: what clients asked of a host and what they were told, written down as they go."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class TrackedCreate:
    """One wish for one run, however often it was sent. Its tag is its own, so its runs can be counted."""

    tag: str
    body: dict[str, Any]
    key: str | None
    run_id: str | None = None
    answer: bytes | None = None
    new_run_ids: list[str] = field(default_factory=list)
    """Runs that were answered as new: no more than one, whoever sends it how often."""

    @property
    def workflow(self) -> str:
        return self.body["workflowId"]


@dataclass
class TrackedCancel:
    """One wish that a run end. `answer` is None while nobody was told how it went."""

    run_id: str
    key: str | None
    answer: bytes | None = None
    status: str | None = None


@dataclass
class TrackedDelete:
    """One wish that an ended run be gone. `done` once somebody was told so."""

    run_id: str
    key: str | None
    done: bool = False


@dataclass
class TrackedSteer:
    """One pause, resume or answer, with a tag of its own. `taken` is None while nobody was told how it went."""

    run_id: str
    tag: str
    was_accepted: bool | None = None


@dataclass
class ClientHistory:
    """What must be there, what may be there, and what was seen. Clients in several threads may write to it."""

    creates: dict[str, TrackedCreate] = field(default_factory=dict)
    cancels: list[TrackedCancel] = field(default_factory=list)
    deletes: list[TrackedDelete] = field(default_factory=list)
    steers: list[TrackedSteer] = field(default_factory=list)
    streams: list[tuple[str, bytes]] = field(default_factory=list)
    """Run id, and the body of a stream from its beginning as far as it came."""
    pages: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    """Run id, and events that were read from its beginning."""
    keys: list[str] = field(default_factory=list)

    def acknowledged(self) -> dict[str, TrackedCreate]:
        """Run id -> wish, for those that were answered and that nobody wanted to be deleted."""
        doomed = {wish.run_id for wish in self.deletes}
        wishes = self.creates.values()
        return {wish.run_id: wish for wish in wishes if wish.run_id is not None and wish.run_id not in doomed}
