"""Valgrind's callgrind: find or install it, wrap a command in it, and read instructions by thread from its dumps."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.plan import BenchError

PROGRAMS: Final = ("valgrind", "vgdb")
INSTALL: Final = ("apt-get", "install", "-y", "-q", "-o", "Acquire::Retries=3", "valgrind")
COMMANDS: Final = (INSTALL, ("apt-get", "update", "-q"), INSTALL)
"""The package lists may be missing or out of date."""
COMMAND_SECONDS: Final = 60.0
LOOP_THREAD: Final = 1
"""Valgrind numbers threads from 1, the thread that starts the process. It runs the event loop."""
SQLITE: Final = "/apsw/"
"""Part of the path of the library that holds SQLite. Only threads of the store call it."""
_TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)
_DUMP = re.compile(r"\.(\d+)-(\d+)$")

Run = Callable[[list[str]], int]


def run(command: list[str]) -> int:
    """Run a command to its end, its output on standard error; its exit status, or 127 if there is no such program."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, stdout=2, check=False).returncode
    except FileNotFoundError:
        return 127


def missing(find: Callable[[str], str | None] = shutil.which) -> list[str]:
    return [name for name in PROGRAMS if find(name) is None]


def require(find: Callable[[str], str | None], root: bool, run: Run) -> None:
    """Return when valgrind is installed, by apt if it has to be and root may. Raises BenchError."""
    if missing(find) and root:
        for command in COMMANDS:
            if run(list(command)) == 0 and not missing(find):
                break
    lacking = missing(find)
    if lacking:
        why = "apt-get could not install it" if root else "only root can install it with apt-get"
        raise BenchError(f"{' and '.join(lacking)} not found, and {why}: install the package valgrind")


def check_interpreter(path: Path) -> None:
    """Raises BenchError unless this is a binary: valgrind would count a script's shell, not the interpreter."""
    if path.resolve().read_bytes()[:4] != b"\x7fELF":
        raise BenchError(
            f"{path} is not a binary but perhaps a script: run make cost with a virtual environment's Python"
        )


class Callgrind:
    """Callgrind around one process that this process starts. It counts nothing until `begin`."""

    def __init__(self, folder: Path) -> None:
        check_interpreter(Path(sys.executable))
        self._out = folder / "callgrind.out"
        self._dumps = 0
        # Valgrind's pipes would stay in the temporary folder if the process is killed.
        self._pipes = f"--vgdb-prefix={folder / 'vgdb-pipe'}"
        self.wrapper: tuple[str, ...] = (
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--separate-threads=yes",
            f"--callgrind-out-file={self._out}",
            self._pipes,
        )
        """Goes before the command of the process."""

    def begin(self, pid: int) -> None:
        """Count from now on."""
        self._tell(pid, "instrumentation", "on")

    def zero(self, pid: int) -> None:
        self._tell(pid, "zero")

    def dump(self, pid: int) -> dict[str, int]:
        """Instructions since the last `zero` or `dump`: of the `loop`, of the `writer` and of all `others`."""
        self._tell(pid, "dump")
        self._dumps += 1
        found = {
            int(match[2]): path.read_text("utf-8", errors="replace")
            for path in self._out.parent.glob(f"{self._out.name}.*")
            if (match := _DUMP.search(path.name)) and int(match[1]) == self._dumps
        }
        return by_thread(found)

    def _tell(self, pid: int, *words: str) -> None:
        line = ["vgdb", self._pipes, f"--pid={pid}", *words]
        try:
            ended = subprocess.run(line, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise BenchError(f"{' '.join(line)} had no answer within {COMMAND_SECONDS:.0f} s") from None
        if ended.returncode:
            raise BenchError(f"{' '.join(line)} failed: {(ended.stderr or ended.stdout).strip()}")


def by_thread(dumps: dict[int, str]) -> dict[str, int]:
    """Sum the texts of one dump, by thread number, to `loop`, `writer` and `others`.

    The writer is the thread that uses SQLite and has the most instructions: readers of the store have few or none.
    """
    totals: dict[int, int] = {}
    for thread, text in dumps.items():
        match = _TOTAL.search(text)
        if match is None:
            raise BenchError(f"the dump of thread {thread} has no totals")
        totals[thread] = int(match[1])
    loop = totals.pop(LOOP_THREAD, 0)
    of_store = [thread for thread in totals if SQLITE in dumps[thread]]
    if not loop or not of_store:
        raise BenchError("the dump has no instructions of the event loop or of the store")
    writer = totals.pop(max(of_store, key=lambda thread: totals[thread]))
    return {"loop": loop, "writer": writer, "others": sum(totals.values())}
