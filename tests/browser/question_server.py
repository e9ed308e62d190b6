"""A server that asks one question: the page at its address, and the form behind it."""

import struct
import zlib
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.browser.local_server import LocalServer
from weftwork.adapters.http.page import form_body, pages
from weftwork.adapters.http.page.layout import CONTENT_TYPE
from weftwork.adapters.http.page.outcome_view import Decision
from weftwork.adapters.http.page.site import HEADERS
from weftwork.adapters.http.page.submission import submitted_answer
from weftwork.adapters.http.page.surface_view import pressed_label
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.people.answer_pages import InterruptOutcome
from weftwork.protocol.surfaces.question_form import question_surface
from weftwork.protocol.wire.v1.interrupts import ORGANISATION_LOGO_PATH

Headers = list[tuple[bytes, bytes]]
LOGO_SIZE = 64


def draw_logo() -> bytes:
    """A ring in the colour of the sample organisation, as PNG."""
    middle = (LOGO_SIZE - 1) / 2

    def pixel(x: int, y: int) -> bytes:
        away = ((x - middle) ** 2 + (y - middle) ** 2) ** 0.5
        return bytes((11, 93, 102, round(255 * min(1, max(0, 10 - abs(away - 20))))))

    rows = [b"".join(pixel(x, y) for x in range(LOGO_SIZE)) for y in range(LOGO_SIZE)]
    head = struct.pack(">IIBBBBB", LOGO_SIZE, LOGO_SIZE, 8, 6, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = (b"IHDR" + head, b"IDAT" + body, b"IEND")
    parts = [struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each)) for each in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


LOGO = draw_logo()


class QuestionServer(LocalServer):
    """Serves `question` at /v1/interrupts/token and a logo, and keeps what is answered. The page has `headers`."""

    def __init__(self, question: dict[str, Any], headers: Headers | None = None, document: bytes | None = None) -> None:
        self.question = question
        self.headers = HEADERS if headers is None else headers
        self.document = document
        """Shown instead of the question's page."""
        self.answers: list[Any] = []
        self.refusals: list[str] = []
        self.paths: list[str] = []
        """All that was asked for here."""
        super().__init__(self._handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/interrupts/token"

    def render(self) -> bytes:
        return self.document if self.document is not None else pages.render_question(self.question, "token")

    def receive_answer(self, body: bytes) -> tuple[int, bytes]:
        """As the route does: an answer, or the form again with what is wrong."""
        fields = form_body.decode_form(body)
        surface = question_surface(self.question)
        try:
            self.answers.append(submitted_answer(self.question, surface, fields))
        except ClientFault as fault:
            self.refusals.append(fault.message)
            return fault.status, pages.render_question(self.question, "token", fields, fault)
        outcome = InterruptOutcome("resolved", "completed", kind=self.question["kind"])
        decision = Decision(self.answers[-1], pressed_label(surface, fields))
        return 200, pages.render_receipt(outcome, self.question, decision)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        asker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_GET(self) -> None:
                asker.paths.append(self.path)
                if self.path == ORGANISATION_LOGO_PATH:
                    self._send(200, LOGO, b"image/png")
                    return
                found = self.path == "/v1/interrupts/token"
                self._send(200 if found else 404, asker.render() if found else b"")

            def do_POST(self) -> None:
                asker.paths.append(self.path)
                assert self.headers["content-type"] == "application/x-www-form-urlencoded"
                self._send(*asker.receive_answer(self.rfile.read(int(self.headers["content-length"]))))

            def _send(self, status: int, body: bytes, kind: bytes = CONTENT_TYPE) -> None:
                self.send_response(status)
                for name, value in asker.headers:
                    self.send_header(name.decode(), value.decode())
                self.send_header("content-type", kind.decode())
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        return Handler
