"""A library that runs inside a process: orders come in as JSON lines, samples go out."""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from bench.child_process import ChildProcess
from bench.meter import ServerCpu, StageCpu
from bench.plan import Sample

START_SECONDS: Final = 120.0
STALL_SECONDS: Final = 60.0


class Order(msgspec.Struct, frozen=True):
    """So many runs, or as many as begin within so many seconds."""

    steps: int
    workers: int
    runs: int
    seconds: float


class OrderDealer:
    """Deals out an order to its workers. Safe to share between threads."""

    def __init__(self, order: Order) -> None:
        self._left = iter(range(order.runs))
        self._until = time.perf_counter() + order.seconds

    def take(self) -> bool:
        return next(self._left, None) is not None and time.perf_counter() < self._until


class PeerLibrary:
    """The bench's side: a child that takes orders."""

    def __init__(
        self, name: str, module: str, folder: Path, store: str | None = None, server: ServerCpu | None = None
    ) -> None:
        """`store` is what the library writes to, a file in the folder if it is not named. `server` is that of the
        store."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.child = ChildProcess(name, module, [store or folder / "peer.db"], folder)
        self._cpu = StageCpu(self.child.pid, server)

    def __enter__(self) -> "PeerLibrary":
        return self

    def __exit__(self, *_: object) -> None:
        self.child.__exit__()

    @property
    def pid(self) -> int:
        return self.child.pid

    def wait(self) -> float:
        began = time.perf_counter()
        self.child.receive(START_SECONDS)
        return time.perf_counter() - began

    def run(self, steps: int, clients: int, runs: int, seconds: float) -> Sample:
        """One stage."""
        self._cpu.begin()
        self.child.send(Order(steps, clients, runs, seconds))
        return self._cpu.end(msgspec.convert(self.child.receive(seconds + STALL_SECONDS), Sample))


def serve(work: Callable[[Order], list[float]]) -> None:
    """The child's side: answer orders until the bench closes the pipe."""
    # Output of a library must not mix with the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    os.write(answers, b"true\n")
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        began = time.perf_counter()
        latencies = work(order)
        sample = Sample(time.perf_counter() - began, latencies)
        with os.fdopen(os.dup(answers), "wb") as out:
            out.write(msgspec.json.encode(sample) + b"\n")


def in_threads(once: Callable[[], object], order: Order) -> list[float]:
    """Carry out an order with as many threads as it has workers; the latencies."""
    turns = OrderDealer(order)
    latencies: list[float] = []

    def worker() -> None:
        while turns.take():
            began = time.perf_counter()
            once()
            latencies.append((time.perf_counter() - began) * 1000)

    with ThreadPoolExecutor(order.workers) as pool:
        for future in [pool.submit(worker) for _ in range(order.workers)]:
            future.result()
    return latencies
