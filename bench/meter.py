"""CPU time and memory of a process and all that it started, read from outside it."""

import os
import time
from collections.abc import Callable

import msgspec

from bench.plan import Sample

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CPU_CLOCK = 2
_PEAK = "5"
"""Written to clear_refs, this resets the kernel's peak value."""


ServerCpu = Callable[[], float]
"""CPU time of a database server so far."""


class StageCpu:
    """Adds to the sample of a stage the CPU time of its subject, and that of the subject's database server."""

    def __init__(self, pid: int, server: ServerCpu | None) -> None:
        self._pid = pid
        self._server = server
        self._before = self._server_before = 0.0

    def begin(self) -> None:
        self._before = cpu_seconds(self._pid)
        self._server_before = self._server() if self._server else 0.0

    def end(self, sample: Sample) -> Sample:
        server = self._server() - self._server_before if self._server else 0.0
        used = cpu_seconds(self._pid) - self._before
        return msgspec.structs.replace(sample, cpu_seconds=used, server_cpu_seconds=server)


def tree(pid: int) -> list[int]:
    """The process and every live descendant."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                below.setdefault(int(_stat(int(name))[1]), []).append(int(name))
            except OSError:
                continue
    found: list[int] = []
    left = [pid]
    while left:
        one = left.pop()
        found.append(one)
        left += below.get(one, [])
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of the tree so far."""
    return sum(map(_cpu, tree(pid)))


def server_cpu_seconds(pid: int) -> float:
    """The same for a server whose processes come and go: with the time of those that have ended."""
    return cpu_seconds(pid) + _ended_cpu(pid)


def rss_mib(pid: int) -> float:
    """Resident memory of the tree now."""
    return sum(map(_resident, tree(pid))) * _PAGE / 2**20


def forget_peak(pid: int) -> None:
    """Let `peak_mib` count from now on."""
    for one in tree(pid):
        with open(f"/proc/{one}/clear_refs", "w", encoding="ascii") as file:
            file.write(_PEAK)


def peak_mib(pid: int) -> float:
    """The most resident memory that the processes of the tree had, each at its own time."""
    return sum(map(_peak, tree(pid))) / 1024


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may hold anything."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def _cpu(pid: int) -> float:
    # The kernel's CPU clock of another process: the sum that /proc shows in hundredths, in nanoseconds.
    try:
        return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
    except OSError:
        pass
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _ended_cpu(pid: int) -> float:
    """Of the children that have ended, in hundredths of a second."""
    fields = _stat(pid)
    return (int(fields[13]) + int(fields[14])) / _TICKS


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1])
    except OSError:
        return 0


def _peak(pid: int) -> int:
    """In KiB."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0
