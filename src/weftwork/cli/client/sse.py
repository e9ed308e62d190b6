"""Event streams as a client reads them: the frames on the wire, and one stream over many connections."""

from typing import Any, Final, NamedTuple

from weftwork.cli.console.documents import as_object
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array

MAX_FRAME_BYTES: Final = 64 * 2**20


class ReceivedFrame(NamedTuple):
    """One server-sent event. `data` is decoded; an id that was not sent is that of the frame before, or empty."""

    event: str
    data: Any
    id: str

    @property
    def event_type(self) -> str:
        """The type of the event: that of its document, since a host may name the frame after its mode."""
        named = as_object(self.data).get("type")
        return named if isinstance(named, str) else self.event

    @property
    def sequence(self) -> int | None:
        """The place of the event in the log of its run."""
        found = [as_object(self.data).get(name) for name in ("sequence", "seq")]
        known = next((each for each in found if isinstance(each, int) and not isinstance(each, bool)), None)
        if known is None and self.id.isascii() and self.id.isdecimal() and len(self.id) < 17:
            return int(self.id)
        return known


class FrameTooLarge(Exception):
    """A frame is beyond any bound."""


class UnreadableFrame(NamedTuple):
    """A frame whose data is not JSON."""

    id: str


class FrameParser:
    """Cuts what arrives into frames, wherever the pieces end. Lines end with LF, CR or both."""

    def __init__(self) -> None:
        self.retry_ms: int | None = None
        self._id = ""
        self._rest = b""
        self._after_cr = False
        self._started = False
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ReceivedFrame | UnreadableFrame]:
        """The frames that are complete now; frames of many events are taken apart."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        self._after_cr = piece.endswith(b"\r")
        text = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        # Only whole lines are looked at, and no line twice: a frame may come in very many pieces.
        *lines, rest = text.split(b"\n")
        self._size += len(piece)
        if not lines:
            self._rest += rest
        else:
            lines[0] = self._rest + lines[0]
            self._rest = rest
        found: list[ReceivedFrame | UnreadableFrame] = []
        for line in lines:
            found += self._line(line)
        if self._size > MAX_FRAME_BYTES:
            raise FrameTooLarge
        return found

    def _line(self, line: bytes) -> list[ReceivedFrame | UnreadableFrame]:
        if not self._started:
            line, self._started = line.removeprefix(b"\xef\xbb\xbf"), True
        if not line:
            return self._frame()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 9:
            self.retry_ms = int(value)
        return []

    def _frame(self) -> list[ReceivedFrame | UnreadableFrame]:
        event, data = self._event or "message", b"\n".join(self._data)
        self._event, self._data, self._size = "", [], len(self._rest)
        if not data:
            return []
        try:
            document = decode(data)
        except ClientFault:
            return [UnreadableFrame(self._id)]
        if event == "batch" and is_array(document):
            return [frame_of_document(each, self._id) for each in document]
        return [ReceivedFrame(event, document, self._id)]


def frame_of_document(document: Any, last_id: str) -> ReceivedFrame:
    """An event that came among others, by its own sequence."""
    frame = ReceivedFrame("message", document, "")
    sequence = frame.sequence
    return ReceivedFrame(frame.event_type, document, last_id if sequence is None else str(sequence))
