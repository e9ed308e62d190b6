"""One request and its answer, as the server sees them; a whole answer leaves in one piece."""

from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from weftwork.adapters.http.asgi import Headers

WHOLE_BYTES: Final = 32_768
"""Answers up to this size are written at once; larger ones go out at the client's pace."""


class Cycle(RequestResponseCycle):
    """uvicorn's, with a shorter way for what most answers are: head and body, known from the start."""

    def respond(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send head and body with one write; says no, and has sent nothing, if that is not possible now.

        The headers say how long the body is. Raises ValueError for one that would be more than a line.
        """
        if self.flow.write_paused or self.disconnected or self.response_started or len(body) > WHOLE_BYTES:
            return False
        lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in (*self.default_headers, *headers)]]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a header is more than one line")
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.transport.write(b"%b\r\n%b" % (head, body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True
