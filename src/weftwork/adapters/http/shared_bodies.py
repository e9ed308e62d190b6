"""Large documents in pieces, kept once for all clients that read the same one, and limited in total.

Theory. A document is encoded once, in pieces that never change. Each client only keeps its position in them, so a
client that does not read costs one chunk in its connection. A document is freed with its last reader. While several
documents that are being sent exceed MAX_PENDING_BYTES, a client that does not read is disconnected: it cannot be waited
for, because that would keep its document.

What differs between the readers of a snapshot, the tokens of open interrupts, is a Placeholder in the pieces.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from weftwork.protocol.json.pieces import Piece, Placeholder

MAX_PENDING_BYTES: Final = 64 * 2**20
"""Total size of the large documents that slow clients have not read yet."""
MAX_KEPT_TEXTS: Final = 32
"""Texts of placeholders that are kept for one client. Those of further placeholders are made again when they are due,
and such a document is sent without its length."""

Insert = Callable[[Placeholder], bytes]
"""Makes the text in the place of a Placeholder."""


class SharedBody:
    """A document in pieces. A piece that occurs several times in it counts once in its size."""

    __slots__ = ("__weakref__", "pieces", "size")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces
        held = {_identity(piece): len(piece) for piece in pieces if not isinstance(piece, Placeholder)}
        self.size = sum(held.values())


def _identity(piece: bytes | memoryview) -> int:
    return id(piece.obj) if isinstance(piece, memoryview) else id(piece)


B = TypeVar("B", bound=SharedBody)


class SharedBodies:
    """All documents that are being sent, by their kind and what they show."""

    def __init__(self) -> None:
        self._pending: WeakValueDictionary[object, SharedBody] = WeakValueDictionary()

    @property
    def size(self) -> int:
        return sum([body.size for body in self._pending.values()])

    def may_wait(self) -> bool:
        """lim-40 (host): whether a client that does not read may be waited for."""
        # A single document is never too large, or else no slow client could read it.
        return len(self._pending) <= 1 or self.size <= MAX_PENDING_BYTES

    def get(self, key: object) -> SharedBody | None:
        return self._pending.get(key)

    def add(self, key: object, body: B) -> B:
        """The document with this key that is being sent already, or else this one. The key names the type as well."""
        pending = self._pending.get(key)
        if isinstance(pending, type(body)):
            return pending
        self._pending[key] = body
        return body


class LargeBody:
    """One client's view of a shared document."""

    __slots__ = ("_insert", "_shared", "_texts", "may_wait")

    def __init__(self, shared: SharedBody, may_wait: Callable[[], bool], insert: Insert | None = None) -> None:
        self._shared = shared
        self._insert = insert
        self._texts: dict[int, bytes] = {}
        self.may_wait = may_wait

    @property
    def length(self) -> int | None:
        """The length in bytes; None if there are more than MAX_KEPT_TEXTS placeholders."""
        places = {id(piece) for piece in self._shared.pieces if isinstance(piece, Placeholder)}
        if self._insert is not None and len(places) > MAX_KEPT_TEXTS:
            return None
        return sum([len(piece) for piece in self.chunks()])

    def chunks(self) -> Iterator[bytes | memoryview]:
        for piece in self._shared.pieces:
            if not isinstance(piece, Placeholder):
                yield piece
            elif self._insert is not None:
                yield self._text(self._insert, piece)

    def _text(self, insert: Insert, place: Placeholder) -> bytes:
        # The first ones are kept, because a placeholder that occurs twice has the same text in both places.
        text = self._texts.get(id(place))
        if text is None:
            text = insert(place)
            if len(self._texts) < MAX_KEPT_TEXTS:
                self._texts[id(place)] = text
        return text
