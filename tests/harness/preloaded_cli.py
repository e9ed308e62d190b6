"""Starts `weftwork` commands by forking a process that has the package loaded already.

Half of the CPU time of the suite went into the imports of hosts and commands. With this plug-in, a `subprocess` whose
command line is `python -m weftwork.cli.main ...`, or names another of `MODULES` or a script which changes the package
before it runs the command, becomes a fork of one loaded process per test worker. It is a process like any other: it has
its own pid, which is a child of the test's process, and its own standard streams, environment and working directory,
and runs the module as `python -m` does. Everything else is started as usual: other command lines, commands whose
environment the interpreter reads when it starts, and all commands under WEFTWORK_PROOF=full.
"""

import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODULES = ("weftwork.cli.main", "tests.adapters.blobs.killed_writer", "tests.adapters.sqlite.killed_store")
PROGRAMS = {str(Path(__file__).parents[1] / "live" / name) for name in ("sabotage.py", "later_host.py")}
"""Scripts that change the loaded package and then run the command."""
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tests.harness.preloaded_cli import serve_forks; serve_forks()"
)
PR_SET_CHILD_SUBREAPER = 36
READ_AT_START = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_")
"""Beginnings of the names of variables that are read before a program starts."""

_real_fork_exec: Callable[..., int] = subprocess._fork_exec  # type: ignore[attr-defined]
_lock = threading.Lock()
_loaded: "LoadedProcess | None" = None


def pytest_configure(config: pytest.Config) -> None:
    if sys.platform == "linux" and os.environ.get("WEFTWORK_PROOF") != "full":
        subprocess._fork_exec = _fork_exec  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    global _loaded
    subprocess._fork_exec = _real_fork_exec  # type: ignore[attr-defined]
    if _loaded is not None:
        _loaded.close()
        _loaded = None


def _fork_exec(args: Any, executables: Any, close_fds: bool, kept: Any, cwd: Any, env: Any, *more: Any) -> int:
    """In place of the function of the same name in `subprocess`, whose arguments these are."""
    global _loaded
    (
        p2cread,
        _,
        _,
        c2pwrite,
        _,
        errwrite,
        _,
        _,
        restore_signals,
        new_session,
        group,
        gid,
        gids,
        uid,
        umask,
        before,
        *_,
    ) = more
    arguments = [os.fsdecode(each) for each in args]
    plain = close_fds and len(kept) == 1 and restore_signals and group == -1 and before is None
    as_is = plain and (gid, gids, uid, umask) == (None, None, None, -1)
    variables = dict(os.environb) if env is None else dict(each.split(b"=", 1) for each in env)
    program = arguments[2] if len(arguments) > 2 else ""
    known = arguments[:2] == [sys.executable, "-m"] and program in MODULES
    known = known or (arguments[:2] == [sys.executable, "-P"] and program in PROGRAMS)
    if not as_is or not known or not _starts_alike(variables):
        return _real_fork_exec(args, executables, close_fds, kept, cwd, env, *more)
    with _lock:
        if _loaded is None:
            _loaded = LoadedProcess()
        streams = [own if given == -1 else given for own, given in enumerate((p2cread, c2pwrite, errwrite))]
        folder = os.getcwd() if cwd is None else os.fsdecode(cwd)
        texts = {os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()}
        return _loaded.fork([arguments[3:], folder, texts, bool(new_session), program], streams)


def _starts_alike(variables: dict[bytes, bytes]) -> bool:
    def read(given: Any) -> dict[bytes, bytes]:
        return {name: value for name, value in given.items() if os.fsdecode(name).startswith(READ_AT_START)}

    return read(variables) == read(os.environb)


class LoadedProcess:
    """The process that has the package loaded, seen from a test."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        line = [sys.executable, "-c", START, str(Path(__file__).parents[2]), str(theirs.fileno())]
        self._process = subprocess.Popen(line, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()

    def fork(self, request: Any, streams: list[int]) -> int:
        """The pid of a new child of this process. The loaded process forks twice: its grandchild becomes an orphan, and
        orphans go to the nearest ancestor that takes them."""
        prctl = ctypes.CDLL(None).prctl
        text = json.dumps(request).encode("utf-8", "surrogateescape")
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._socket, [len(text).to_bytes(4)], streams)
            self._socket.sendall(text)
            return int.from_bytes(_receive(self._socket, 4))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def close(self) -> None:
        self._socket.close()
        self._process.wait(30)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("the loaded process has ended")
        data += piece
    return data


def serve_forks() -> None:
    """The loaded process: forks until the test's process is gone. In a fork, runs the command and ends with it."""
    _load()
    connection = socket.socket(fileno=int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        head, streams, _, _ = socket.recv_fds(connection, 4, 3)
        if not head:
            return
        arguments, folder, variables, new_session, program = json.loads(_receive(connection, int.from_bytes(head)))
        reader, writer = os.pipe()
        if not (middle := os.fork()):
            if pid := os.fork():
                os.write(writer, pid.to_bytes(4))
                os._exit(0)
            os.close(reader)
            os.close(writer)
            connection.close()
            _become(streams, folder, variables, new_session)
            sys.argv[1:] = arguments
            sys.modules.pop(MODULES[0] if program in PROGRAMS else program, None)
            if program in PROGRAMS:
                # As -P has it, no folder comes before those of the interpreter.
                del sys.path[:2]
                sys.argv[0] = program
                runpy.run_path(program, run_name="__main__")
            else:
                runpy._run_module_as_main(program)  # type: ignore[attr-defined]
            return
        pid = os.read(reader, 4)
        os.waitpid(middle, 0)
        for each in (reader, writer, *streams):
            os.close(each)
        connection.sendall(pid)


def _load() -> None:
    import weftwork

    for found in pkgutil.walk_packages(weftwork.__path__, "weftwork."):
        if not found.name.startswith(("weftwork.testing", "weftwork.conformance")):
            importlib.import_module(found.name)
    gc.freeze()


def _become(streams: list[int], folder: str, variables: dict[str, str], new_session: bool) -> None:
    """Take on what a new process gets from the one that starts it."""
    if new_session:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(folder)
    sys.path[0] = os.getcwd()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        raw = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115 - open until the process ends
        by_line = name == "stderr" or os.isatty(number)
        made = io.TextIOWrapper(raw, old.encoding, old.errors, "\n" if number else None, by_line)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
