"""A small host that is not ours: it answers what a test tells it to, and remembers what it was asked."""

import contextlib
import json
import threading
from collections.abc import Callable, Generator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from click.testing import CliRunner, Result

from tests import live
from tests.live import Host
from weftwork.cli.main import main

KEY = "key-of-somebody"


class ReceivedRequest(NamedTuple):
    """A request. Header names are lower case."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


class CannedResponse(NamedTuple):
    """An answer."""

    status: int = 200
    document: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    raw: bytes | None = None
    stream: Callable[[Callable[[bytes], object]], object] | None = None
    """Sends what it likes as an event stream; when it returns, the connection ends."""


HANG_UP = CannedResponse(0)
"""The connection ends without an answer."""
DISCOVERY = {"protocolVersion": "1.0", "implementation": {"name": "elsewhere", "version": "7"}}
NOT_FOUND = CannedResponse(404, {"error": "not_found", "message": "Nothing here."})

Reply = CannedResponse | Callable[[ReceivedRequest], CannedResponse]


class ForeignHost:
    """Its address, its answers by `METHOD path`, and what it was asked."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {"GET /.well-known/openwop": CannedResponse(200, DISCOVERY)}
        self.requests: list[ReceivedRequest] = []
        self.url = ""

    def reply(self, asked: ReceivedRequest) -> CannedResponse:
        self.requests.append(asked)
        found = self.replies.get(f"{asked.method} {asked.path}", NOT_FOUND)
        return found if isinstance(found, CannedResponse) else found(asked)

    def run_command(self, *args: str, key: str | None = KEY, given: bytes | None = None) -> Result:
        """A command of ours against this host."""
        return run_command(self.url, *args, key=key, given=given)


def run_command(url: str, *args: str, key: str | None = KEY, given: bytes | None = None) -> Result:
    """A command in this process, with `given` on standard input. Whatever it raises is an error of the test."""
    env = {"WEFTWORK_URL": url, "WEFTWORK_KEY": key, "WEFTWORK_DATA": "/nowhere/at/all"}
    result = CliRunner(env=env).invoke(main, args, input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert key is None or key not in result.output
    return result


def run_on(host: Host, *args: str, code: int = 0, key: str = live.KEY, given: bytes | None = None) -> Result:
    """A command in this process against a host of our own; it ends with `code`."""
    done = run_command(host.address, *args, key=key, given=given)
    assert done.exit_code == code, done.output
    return done


@contextlib.contextmanager
def open_foreign_host() -> Generator[ForeignHost]:
    foreign = ForeignHost()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            is_json = headers.get("content-type") == "application/json"
            document = (json.loads(body) if is_json else body) if body else None
            said = foreign.reply(ReceivedRequest(self.command, parts.path, parse_qs(parts.query), headers, document))
            if said is HANG_UP:
                return
            if said.stream is not None:
                self._stream(said.stream, said.headers)
                return
            sent = said.raw if said.raw is not None else json.dumps(said.document).encode()
            self.send_response_only(said.status)
            kept = {"Content-Type": "application/json", "Content-Length": str(len(sent)), **said.headers}
            for name, value in kept.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def _stream(self, send: Callable[[Callable[[bytes], object]], object], headers: Mapping[str, str]) -> None:
            self.send_response_only(200)
            for name, value in {"Content-Type": "text/event-stream", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever listened has gone
                send(self.wfile.write)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        foreign.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield foreign
        finally:
            server.shutdown()
            thread.join(120)
