"""Reads server-sent events from a stream of bytes (WHATWG HTML, section 9.2), as far as this wire uses them.

Each byte is looked at once per step, so the time is linear in the size of the stream, however it is split. Chunks may
end within a line, within a line ending or within a character.
"""

from collections.abc import Iterator
from typing import Final

MAX_EVENT_BYTES: Final = 16 * 2**20
"""The limit of one line, and of the data of one event; an event with an image can be megabytes long."""


class EventTooLarge(Exception):
    """A line or an event exceeds MAX_EVENT_BYTES."""


class EventReader:
    """Collects lines to events, and returns the data of each event."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        """The beginning of a line, in pieces."""
        self._part_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._after_return = False
        self._is_first = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that are complete with this chunk. Raises EventTooLarge."""
        if (
            chunk.startswith(b"data: ")
            and chunk.endswith(b"\n\n")
            and chunk.find(b"\n") == len(chunk) - 2
            and b"\r" not in chunk
            and not (self._parts or self._data or self._is_first)
            and len(chunk) <= MAX_EVENT_BYTES
        ):
            # One whole event: most pieces of a stream that is not faster than its reader.
            self._after_return = False
            return iter((chunk[6:-2],))
        return self._feed(chunk)

    def _feed(self, chunk: bytes) -> Iterator[bytes]:
        if self._after_return and chunk.startswith(b"\n"):
            # The second half of a line ending.
            self._after_return = False
            chunk = chunk[1:]
        if not chunk:
            return
        self._after_return = chunk.endswith(b"\r")
        lines = chunk.splitlines(keepends=True)
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        for line in lines:
            self._count(len(line))
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts.clear()
            self._part_bytes = 0
            if (data := self._line(line.rstrip(b"\r\n"))) is not None:
                yield data
        if rest:
            self._count(len(rest))
            self._parts.append(rest)

    def end(self) -> Iterator[bytes]:
        """The data of an event that the stream has not ended with an empty line."""
        if self._parts:
            self._line(b"".join(self._parts))
            self._parts.clear()
        if (data := self._line(b"")) is not None:
            yield data

    def _count(self, size: int) -> None:
        self._part_bytes += size
        if self._part_bytes > MAX_EVENT_BYTES:
            raise EventTooLarge

    def _line(self, line: bytes) -> bytes | None:
        """Process a line; the data of an event if the line ends one."""
        if not line:
            if not self._data:
                return None
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            self._data.clear()
            self._data_bytes = 0
            return data
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            self._data_bytes += len(value) + 1
            if self._data_bytes > MAX_EVENT_BYTES:
                raise EventTooLarge
            self._data.append(value)
        return None
