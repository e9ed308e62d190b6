"""HTTP subjects: our host and the bare servers, started on a free port and asked for runs."""

import http.client
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.harness.postgres_server import PostgresServer

from bench.child_process import ROOT, ChildProcess, free_port
from bench.load.runs import drive
from bench.meter import ServerCpu, StageCpu, cpu_seconds, server_cpu_seconds
from bench.plan import KEY, TEST_KEY, BenchError, Sample

READY: Final = "/.well-known/openwop"
READY_SECONDS: Final = 60.0
END_SECONDS: Final = 120.0
LOOK_SECONDS: Final = 0.05
KEPT_SECONDS: Final = 5.0
"""A connection that was quiet for longer may have been closed by the host."""
MODULE: Final = "weftwork.cli.main"
NAMES: Final = {1: "one-step", 3: "three-step"}


class Host:
    """A process that answers the run operations of OpenWOP over HTTP."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str | Path],
        folder: Path,
        wrapper: Sequence[str] = (),
        server: ServerCpu | None = None,
    ) -> None:
        """`server` is that of the store."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.port = free_port()
        self._began = time.perf_counter()
        self.child = ChildProcess(name, module, [*arguments, "--port", str(self.port)], folder, wrapper)
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_SECONDS)
        self._used = 0.0
        self._cpu = StageCpu(self.pid, server)

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self.child.__exit__()

    @property
    def pid(self) -> int:
        return self.child.pid

    def wait(self) -> float:
        """Seconds from the start of the process to its first answer."""
        while time.perf_counter() - self._began < READY_SECONDS:
            self.child.check()
            probe = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READY_SECONDS)
            try:
                probe.request("GET", READY)
                if probe.getresponse().status == 200:
                    return time.perf_counter() - self._began
            except OSError:
                time.sleep(0.002)
            finally:
                probe.close()
        raise self.child.failure(f"was not ready within {READY_SECONDS:.0f} s")

    def run(self, steps: int, clients: int, runs: int, seconds: float) -> Sample:
        """One stage."""
        return self.drive(NAMES[steps], clients, runs, seconds)

    def drive(self, workflow: str, clients: int, runs: int, seconds: float = 600.0) -> Sample:
        self._cpu.begin()
        try:
            sample = drive(self.port, workflow, clients, runs, seconds)
        except BenchError as error:
            raise self.child.failure(f"failed ({error})") from None
        return self._cpu.end(sample)

    def complete(self, workflow: str, runs: int, inputs: dict[str, Any] | None = None) -> float:
        """CPU seconds of runs from the first create to the last end.

        Looks seldom, and at a list, which shows no node states.
        """
        before = cpu_seconds(self.pid)
        for _ in range(runs):
            self.call("POST", "/v1/runs", {"workflowId": workflow, "inputs": inputs or {}})
        until = time.monotonic() + END_SECONDS
        while self.call("GET", "/v1/runs?status=pending,running&limit=1")["runs"]:
            if time.monotonic() > until:
                raise BenchError(f"the {workflow} runs did not end within {END_SECONDS:.0f} s")
            time.sleep(LOOK_SECONDS)
        used = cpu_seconds(self.pid) - before
        if self.call("GET", "/v1/runs?status=failed,cancelled&limit=1")["runs"]:
            raise BenchError(f"a run of {workflow} did not complete")
        return used

    def newest(self) -> Any:
        """The run that was created last."""
        run = self.call("GET", "/v1/runs?limit=1")["runs"][0]["runId"]
        return self.call("GET", f"/v1/runs/{run}")

    def call(self, method: str, path: str, document: Any = None) -> Any:
        """One request outside of any load; the answer's document."""
        if time.monotonic() - self._used > KEPT_SECONDS:
            self._connection.close()
        body = msgspec.json.encode(document) if document is not None else None
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        self._used = time.monotonic()
        if answer.status not in (200, 201):
            raise self.child.failure(f"answered {method} {path} with {answer.status}: {text[:200]!r}")
        return msgspec.json.decode(text)


def weftwork(
    folder: Path,
    *workflows: Path,
    nodes: str = "",
    model_script: Path | None = None,
    module: str = MODULE,
    wrapper: Sequence[str] = (),
    keys: Sequence[str] = (),
    server: PostgresServer | None = None,
) -> Host:
    """Our host as it is shipped, on a store of its own, perhaps with a module of nodes in Python and with more keys.

    Another `module` must end in the same command; see Child for `wrapper`. With `server`, the store is on that
    PostgreSQL server.
    """
    store = ["--store", "sqlite"] if server is None else ["--store", server.url(), "--migrate"]
    arguments: list[str | Path] = ["serve", *store, "--data", folder / "data"]
    for key in (KEY, TEST_KEY):
        arguments += ["--api-key", f"{key}=bench"]
    for key in keys:
        arguments += ["--api-key", key]
    for one in (ROOT / "bench" / "workflows", *workflows):
        arguments += ["--workflows", one]
    if nodes:
        arguments += ["--nodes", nodes]
    if model_script is not None:
        arguments += ["--model-script", model_script]
    if server is None:
        return Host("weftwork", module, arguments, folder, wrapper)
    return Host("weftwork_postgres", module, arguments, folder, wrapper, lambda: server_cpu_seconds(server.pid))


def bare_files(folder: Path, file: Path) -> Host:
    """A server that answers every request with this file."""
    return Host("bare_files", "bench.subjects.bare_files", ["--file", file], folder)


def bare_memory(folder: Path) -> Host:
    return Host("bare_memory", "bench.subjects.bare_app", ["--store", "memory"], folder)


def bare_sqlite(folder: Path) -> Host:
    return Host("bare_sqlite", "bench.subjects.bare_app", ["--store", "sqlite", "--file", folder / "bare.db"], folder)
