"""A real host: `weftwork serve` as a subprocess, and requests to it."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tests.live.stream import Stream

KEY = "key-of-acme"
OTHER_KEY = "key-of-other"
TEST_KEY = "hk_test_of_acme"
KEYS = ("--api-key", f"{KEY}=acme", "--api-key", f"{OTHER_KEY}=other", "--api-key", f"{TEST_KEY}=acme")
TIMEOUT_SECONDS = 120.0

T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, seconds: float = TIMEOUT_SECONDS) -> T:
    """What `look` returns once it is neither None nor False; fails after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.01)


def environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours without the settings of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEFTWORK_")}
    return {**kept, "XDG_DATA_HOME": str(folder / "xdg"), **(extra or {})}


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "weftwork.cli.main", *map(str, args)]


def weftwork(folder: Path, *args: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args),
        cwd=folder,
        env=environment(folder, env),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


class Answer(NamedTuple):
    """A whole response. Header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Host:
    """One `weftwork serve`. Its output is in files, so that no pipe can fill up."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path, errors: Path, data: Path) -> None:
        self.process = process
        self.data = data
        self._output = output
        self._errors = errors
        self.port = 0

    @property
    def output(self) -> str:
        return self._output.read_text("utf-8")

    @property
    def errors(self) -> str:
        return self._errors.read_text("utf-8")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for_start(self) -> None:
        def look() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"the host ended with {self.process.returncode}: {self.errors}")
            return "  try " in self.output and self.output.endswith("\n")

        until(look, "the host to start")
        self.port = int(self.output.split("listens on http://", 1)[1].split()[0].rsplit(":", 1)[1])

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)

    def call(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        key: str | None = KEY,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        sent = {"Accept": "application/json", **(headers or {})}
        if key is not None:
            sent.setdefault("Authorization", f"Bearer {key}")
        if document is not None:
            body = json.dumps(document).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def pages(self, path: str, member: str) -> list[dict[str, Any]]:
        """All rows of a list, page by page; the path has a query."""
        rows: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.call("GET", f"{path}{cursor}").document
            rows += page[member]
            if "nextCursor" not in page:
                return rows
            cursor = f"&cursor={page['nextCursor']}"

    def create(self, workflow_id: str, key: str = KEY, **members: Any) -> str:
        answer = self.call("POST", "/v1/runs", {"workflowId": workflow_id, **members}, key=key)
        assert answer.status == 201, answer.body
        return answer.document["runId"]

    def snapshot(self, run_id: str, key: str = KEY) -> dict[str, Any]:
        answer = self.call("GET", f"/v1/runs/{run_id}", key=key)
        assert answer.status == 200, answer.body
        return answer.document

    def log(self, run_id: str, key: str = KEY) -> list[dict[str, Any]]:
        """All events of a run, once it has ended."""
        events: list[dict[str, Any]] = []
        while True:
            last = events[-1]["sequence"] if events else -1
            page = self.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=15", key=key).document
            events += page["events"]
            if page["isComplete"]:
                return events
            assert page["events"], "the run did not go on"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_SECONDS)

    def stream(self, run_id: str, query: str = "", last: str | None = None, key: str = KEY) -> Stream:
        """A server-sent event stream on a socket of its own."""
        lines = [f"GET /v1/runs/{run_id}/events{query} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}"]
        lines += ["Accept: text/event-stream"] + ([f"Last-Event-ID: {last}"] if last is not None else [])
        connection = self.connect()
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return Stream(connection)


def launch(
    folder: Path,
    *args: str | Path,
    env: Mapping[str, str] | None = None,
    data: Path | None = None,
    cwd: Path | None = None,
    program: Sequence[str] | None = None,
) -> Host:
    """A host on a free port with the keys above, which may not live long enough to listen. `program` stands for the
    command line of the product."""
    folder.mkdir(parents=True, exist_ok=True)
    data = data or folder / "data"
    number = len(list(folder.glob("out-*")))
    output, errors = folder / f"out-{number}", folder / f"err-{number}"
    given = ("serve", "--port", "0", "--data", data, *KEYS, *args)
    line = command(*given) if program is None else [*program, *map(str, given)]
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(line, stdout=out, stderr=err, env=environment(folder, env), cwd=cwd)
    return Host(process, output, errors, data)


@contextlib.contextmanager
def start_host(folder: Path, *args: str | Path, store: str = "sqlite", **more: Any) -> Iterator[Host]:
    """A host that listens, as `launch` makes it; killed at the end if it still runs."""
    host = launch(folder, "--store", store, *args, **more)
    try:
        host.wait_for_start()
        yield host
    finally:
        if host.process.poll() is None:
            host.kill()
