"""Notifications to the readers of a run that are not events of its log, such as a new annotation.

A notification has no sequence in the log, so a reader cannot resume from it. A reader that connects later, or is so
slow that newer notifications have taken its place, does not get it; what it announces can be read in another way.
"""

from collections import deque
from typing import Final

import msgspec

from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.streams import StreamFrame

MAX_NOTIFICATION_BYTES: Final = 1_048_576
"""What all notes may weigh; beyond it the oldest are dropped."""


class Notification(msgspec.Struct, frozen=True):
    """A frame that comes behind the event `sequence`. `number` is its place among the notes of all runs."""

    number: int
    sequence: int
    frame: StreamFrame

    @property
    def size(self) -> int:
        return len(self.frame.data)


class Notifications:
    """The newest notes of all runs that somebody reads."""

    def __init__(self) -> None:
        self.count = 0
        self._runs: dict[RunKey, deque[Notification]] = {}
        self._order: deque[RunKey] = deque()
        """The run of each note, oldest first."""
        self._size = 0

    def add(self, run: RunKey, sequence: int, frame: StreamFrame) -> None:
        self.count += 1
        note = Notification(self.count, sequence, frame)
        self._runs.setdefault(run, deque()).append(note)
        self._order.append(run)
        self._size += note.size
        while self._size > MAX_NOTIFICATION_BYTES and len(self._order) > 1:
            self._drop_oldest()

    def after(self, run: RunKey, told: int) -> list[Notification]:
        """The notes of a run behind number `told`, oldest first."""
        kept = self._runs.get(run)
        return [note for note in kept if note.number > told] if kept is not None else []

    def forget(self, run: RunKey) -> None:
        """Nobody reads this run any more."""
        kept = self._runs.pop(run, None)
        if kept is not None:
            self._size -= sum([note.size for note in kept])
            self._order = deque([each for each in self._order if each != run])

    def _drop_oldest(self) -> None:
        run = self._order.popleft()
        kept = self._runs[run]
        self._size -= kept.popleft().size
        if not kept:
            del self._runs[run]
