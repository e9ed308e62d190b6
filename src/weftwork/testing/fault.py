"""Faults that a test asks for, and the places where they happen: commits of the host."""

from collections.abc import Iterable
from typing import Any

import msgspec

from weftwork.protocol.events import EFFECT_RECORDED, Event


class Fault(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The commit at which it happens: the one of that number, or the first one that records that step or holds an
    event of that type. `node` narrows the last two down, `nth` takes a later one."""

    at: int = 0
    step: str = ""
    event: str = ""
    node: str = ""
    nth: int = 1

    def __post_init__(self) -> None:
        if bool(self.at) + bool(self.step) + bool(self.event) != 1 or self.at < 0 or self.nth < 1:
            raise ValueError("a fault is at a commit (1 is the first), at a step or at an event, and at one of them")

    def meets(self, number: int, events: Iterable[Event]) -> bool:
        """Whether this commit is such a one."""
        return number == self.at or any(self._means(event) for event in events)

    def _means(self, event: Event) -> bool:
        if self.node not in ("", event.node_id) or event.type != (EFFECT_RECORDED if self.step else self.event):
            return False
        payload: dict[str, Any] = msgspec.json.decode(event.payload)
        return not self.step or payload.get("step") == self.step


class Crash(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The process dies at this commit: before it is written, or with `written` after, and before anybody knows."""

    written: bool = False


class LostAnswer(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The commit is written, and the host hears that the store is not there."""


class Outage(Fault, frozen=True, kw_only=True, repr_omit_defaults=True):
    """The store refuses this commit and those after it, `times` in all."""

    times: int = 1


class Faults:
    """The faults of one run, and which of them have happened."""

    def __init__(self, asked: Iterable[Fault]) -> None:
        self._asked = [*asked]
        self._met = [0] * len(self._asked)
        self._fired: set[int] = set()
        self._refusing = 0
        self.commits = 0

    def commit(self, events: Iterable[Event]) -> Fault | None:
        """The host is about to commit: what goes wrong."""
        self.commits += 1
        listed = [*events]
        due: Fault | None = None
        for index, fault in enumerate(self._asked):
            if not fault.meets(self.commits, listed):
                continue
            self._met[index] += 1
            if due is None and index not in self._fired and self._met[index] >= fault.nth:
                self._fired.add(index)
                due = fault
        if isinstance(due, Outage):
            self._refusing = due.times
        if self._refusing and not isinstance(due, Crash):
            self._refusing -= 1
            return due or Outage(at=self.commits)
        return due

    @property
    def happened(self) -> tuple[Fault, ...]:
        return tuple(fault for index, fault in enumerate(self._asked) if index in self._fired)

    @property
    def unreached(self) -> list[Fault]:
        return [fault for index, fault in enumerate(self._asked) if index not in self._fired]
