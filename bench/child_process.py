"""Processes of the bench: started with a log of their own, asked in JSON lines, and always ended."""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.meter import tree
from bench.plan import BenchError

ROOT: Final = Path(__file__).parents[1]
TAIL_LINES: Final = 15
_FOREIGN = ("WEFTWORK_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "DBOS_", "OTEL_")


def environment() -> dict[str, str]:
    """The environment without variables that would trace or tune what is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return {**kept, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def end_all() -> None:
    """Kill all children of this process: an interrupt may arrive between a start and the code that would stop it."""
    for pid in tree(os.getpid())[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            os.wait()


class ChildProcess:
    """One process in a group of its own, so that Ctrl-C reaches the bench alone and the bench ends the rest."""

    def __init__(
        self, name: str, module: str, arguments: Sequence[str | Path], folder: Path, wrapper: Sequence[str] = ()
    ) -> None:
        """`wrapper` is a command that runs the interpreter, such as valgrind; it must keep the process id."""
        self.name = name
        self.log = folder / f"{name}.log"
        self._rest = b""
        command = [*wrapper, sys.executable, "-m", module, *map(str, arguments)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> "ChildProcess":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def check(self) -> None:
        """Raises BenchError when the process has ended."""
        if self._process.poll() is not None:
            raise self.failure(f"ended with status {self._process.returncode}")

    def failure(self, said: str) -> BenchError:
        lines = self.log.read_text("utf-8", errors="replace").splitlines()[-TAIL_LINES:]
        return BenchError("\n".join([f"{self.name} {said}; the end of its log:", *(f"    {line}" for line in lines)]))

    def send(self, order: Any) -> None:
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), msgspec.json.encode(order) + b"\n")
        except BrokenPipeError:
            raise self._gone() from None

    def receive(self, seconds: float) -> Any:
        """The next JSON line; raises BenchError when the process ends or says nothing for so long."""
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            if not select.select([pipe], [], [], seconds)[0]:
                raise self.failure(f"said nothing for {seconds:.0f} s")
            piece = os.read(pipe, 65_536)
            if not piece:
                raise self._gone()
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return msgspec.json.decode(line)

    def _gone(self) -> BenchError:
        self._process.wait()
        return self.failure(f"ended with status {self._process.returncode}")
