"""Runs the model server as a child process, and starts it again when it ends.

The host holds the port of the server for its whole lifetime with a socket that is bound and does not listen. So while
the server is not running, no other program can take the port, and with it the key and the prompts that the host sends.
The server process shares the port through SO_REUSEPORT, which the kernel allows only for processes of the same user.
"""

import asyncio
import logging
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from weftwork.adapters.model_server.server_process import LOOPBACK, READY, ServerOptions

log = logging.getLogger("weftwork.model_server")

MAX_LOG_BYTES: Final = 2**20
"""The size of the log file at which it becomes FILE.1, which replaces the previous FILE.1."""
FIRST_DELAY_S: Final = 0.5
MAX_DELAY_S: Final = 30.0
STABLE_S: Final = 60.0
"""A server that has run for so long starts again with the first delay."""
SLOTS: Final = 2
SLOT_TOKENS: Final = 4096
BASE_MEMORY: Final = 2 * 2**30
"""The address space of a server, in addition to twice the size of its weights. A server with a model of 100 MB needs
700 MB: the program itself, the weights, and the state of its slots."""
MAX_THREADS: Final = 8
_CODE: Final = """
import sys
sys.path[:] = sys.argv[1:]
from weftwork.adapters.model_server.server_process import main
main()
"""
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The only variables that the server inherits: some builds of Python do not start without them."""


def restart_delay(failures: int) -> float:
    """Seconds until the next start, after so many starts in a row that did not last: doubles up to MAX_DELAY_S."""
    return min(MAX_DELAY_S, FIRST_DELAY_S * 2 ** min(failures - 1, 16))


class ModelServer:
    """A model server of this machine. `start` returns at once; requests fail until the server is ready."""

    def __init__(self, weights: Path, model: str, log_file: Path, key: str) -> None:
        """Reserves a port. `key`: the key that requests must have. `log_file`: where the output of the server goes."""
        self.weights = weights
        self.model = model
        self.log_file = log_file
        self.key = key
        self._port = _reserve_port()
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._failed = asyncio.Event()

    @property
    def base_url(self) -> str:
        return f"http://{LOOPBACK}:{self._port.getsockname()[1]}/v1"

    @property
    def pid(self) -> int | None:
        """The process of the server; None between two starts."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        self._task = asyncio.create_task(self._supervise())

    async def ready(self) -> bool:
        """Wait until the server answers requests, or ends before it does; returns whether it answers."""
        self._failed.clear()
        waiters = [asyncio.ensure_future(each.wait()) for each in (self._ready, self._failed)]
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waiter in waiters:
                waiter.cancel()
        return self._ready.is_set()

    async def close(self) -> None:
        """End the server, and release its port."""
        self._stop.set()
        self._kill()
        if self._task is not None:
            await self._task
        self._port.close()

    async def _supervise(self) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        with _LogFile(self.log_file) as output:
            while not self._stop.is_set():
                began = loop.time()
                status = await self._run(output)
                if self._stop.is_set():
                    return
                failures = 1 if loop.time() - began >= STABLE_S else failures + 1
                delay = restart_delay(failures)
                fields = {"status": status, "delay_s": delay, "log_file": str(self.log_file)}
                log.warning("model server ended; it starts again", extra=fields)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), delay)

    async def _run(self, output: "_LogFile") -> int | str:
        """Run the server once; returns its exit status, or why it could not be started."""
        paths = [path for path in sys.path if path]
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        command = (sys.executable, "-I", "-S", "-c", _CODE, *paths)
        try:
            options = self._options()
            self._process = process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, cwd="/"
            )
        except OSError as error:
            self._failed.set()
            return repr(error)
        assert process.stdin is not None
        try:
            if self._stop.is_set():
                self._kill()
            process.stdin.write(msgspec.json.encode(options) + b"\n")
            await asyncio.gather(self._await_ready(process), _copy_output(process, output))
            return await process.wait()
        finally:
            self._process = None
            if not self._ready.is_set():
                self._failed.set()
            self._ready.clear()
            process.stdin.close()

    def _options(self) -> ServerOptions:
        """Raises OSError if the weights are gone."""
        size = self.weights.stat().st_size
        return ServerOptions(
            str(self.weights),
            self.model,
            self._port.getsockname()[1],
            self.key,
            # One core is for the host: threads of the model that wait for each other need a core each.
            threads=max(1, min(MAX_THREADS, (os.cpu_count() or 2) - 1)),
            slots=SLOTS,
            slot_tokens=SLOT_TOKENS,
            max_memory=BASE_MEMORY + 2 * size,
        )

    async def _await_ready(self, process: Process) -> None:
        assert process.stdout is not None
        if await process.stdout.readline() == READY:
            self._ready.set()
            log.info("model server ready", extra={"model": self.model, "url": self.base_url, "pid": process.pid})

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()


async def _copy_output(process: Process, output: "_LogFile") -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(65_536):
        output.write(chunk)


def _reserve_port() -> socket.socket:
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    port.bind((LOOPBACK, 0))
    return port


class _LogFile:
    """A file of a limited size for the output of the server. An output that cannot be written is dropped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def __enter__(self) -> "_LogFile":
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def write(self, data: bytes) -> None:
        with suppress(OSError):
            if self._file is not None and os.fstat(self._file).st_size + len(data) > MAX_LOG_BYTES:
                self._close()
                self._path.replace(f"{self._path}.1")
                self._open()
            if self._file is not None:
                os.write(self._file, data)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
