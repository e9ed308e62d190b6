"""A counting sink: the world outside the host, which counts what reaches it by its key."""

import contextlib
import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from tests.live import until


class CountingSink(ThreadingHTTPServer):
    """Listens on loopback. What has arrived whole is counted before it is answered."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.counts: Counter[str] = Counter()
        self.answers = threading.Event()
        """While not set, nothing is answered."""
        self.answers.set()
        self._busy = 0
        self._lock = threading.Lock()
        self._rng = random.Random(seed)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/effect"

    @contextlib.contextmanager
    def listening(self) -> Iterator["CountingSink"]:
        thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self.answers.set()
            self.shutdown()
            self.server_close()
            thread.join(20)

    def settle(self) -> None:
        """Return when all is counted that came from hosts which are dead by now: then a look tells the truth."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server_port, timeout=20)
        with contextlib.closing(connection):
            # Connections are taken in order, so those before this one are in somebody's hands.
            connection.request("GET", "/")
            connection.getresponse().read()
        until(lambda: self._busy == 0, "the sink to have counted everything")

    def count_request(self, key: str) -> None:
        """Count it, and take a little while, so that something is always under way when a host dies."""
        with self._lock:
            self.counts[key] += 1
            pause = self._rng.uniform(0, 0.03)
        time.sleep(pause)
        self.answers.wait(20)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._busy += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._busy -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A host that was killed hangs up; that is no error."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 20

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        if len(self.rfile.read(length)) == length:
            cast(CountingSink, self.server).count_request(self.headers["Idempotency-Key"])
            self._answer()

    def _answer(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nobody reads it."""
