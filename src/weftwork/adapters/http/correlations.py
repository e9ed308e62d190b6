"""Correlations: what the seam on the gate remembers of the envelopes that it was shown, while there is room."""

from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

import msgspec

from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.envelope.partial import Pieces
from weftwork.protocol.envelope.rules import Known
from weftwork.protocol.json_value import is_object

ENTRIES_KEPT: Final = 10_000
BYTES_KEPT: Final = 16 * 2**20
"""Of payloads in recorded outcomes; the oldest go first."""
PIECES_KEPT: Final = 32
"""Envelopes that are not whole yet."""

T = TypeVar("T")


class First(msgspec.Struct, frozen=True):
    """The first envelope that was seen under a correlation id."""

    type: str
    envelope_id: str


class Kept(Generic[T]):
    """Values by partition, run and correlation id. The first one under a key stays, the oldest keys go."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[tuple[str, str, str], tuple[T, int]] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: tuple[str, str, str]) -> T | None:
        found = self._values.get(key)
        return None if found is None else found[0]

    def put(self, key: tuple[str, str, str], value: T, weight: int = 0) -> None:
        if key in self._values:
            return
        self._values[key] = value, weight
        self._weight += weight
        while len(self._values) > self._most or (self._weight > BYTES_KEPT and len(self._values) > 1):
            self._weight -= self._values.popitem(last=False)[1][1]

    def clear(self, partition: str) -> None:
        for key in [each for each in self._values if each[0] == partition]:
            self._weight -= self._values.pop(key)[1]


class Correlations:
    """seen: in any call; recorded: for a named run, with the outcome; written: runs that have the events of it."""

    def __init__(self) -> None:
        self.seen = Kept[First](ENTRIES_KEPT)
        self.recorded = Kept[Known](ENTRIES_KEPT)
        self.written = Kept[tuple[str, ...]](ENTRIES_KEPT)
        self._pieces = Kept[Pieces](PIECES_KEPT)

    def record(self, key: tuple[str, str, str], known: Known) -> None:
        self.recorded.put(key, known, len(encode_stored(getattr(known.outcome, "payload", None))))

    def piece(self, partition: str, envelope: Any) -> Pieces | None:
        """What has come of the envelope that this is a piece of; None if it is none."""
        if not is_object(envelope) or "partial" not in envelope:
            return None
        key = (partition, "", str(envelope.get("correlationId")))
        self._pieces.put(key, Pieces())
        return self._pieces.get(key)

    def clear(self, partition: str) -> None:
        """Forget everything of a partition."""
        for each in (self.seen, self.recorded, self.written, self._pieces):
            each.clear(partition)
