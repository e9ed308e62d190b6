"""Counts the expression work that runs between two iterations of the event loop, from outside of what limits it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from weftwork.protocol.expressions.expression import Evaluation
from weftwork.protocol.expressions.job import ExpressionJob, JobResult, perform_job


class LoopMeter:
    """`longest` is the greatest sum of loop units between two iterations; `total` the sum of all."""

    def __init__(self) -> None:
        self.total = 0
        self.longest = 0
        self._current = 0
        self._thread = threading.get_ident()

    def count(self, units: int) -> None:
        if threading.get_ident() == self._thread:
            self.total += units
            self._current += units
            self.longest = max(self.longest, self._current)

    async def watch(self) -> None:
        while True:
            self._current = 0
            await asyncio.sleep(0)


@contextmanager
def metered_loop() -> Iterator[LoopMeter]:
    """Inside a running loop: every evaluation in its thread is counted."""
    meter = LoopMeter()
    compute = Evaluation.compute

    def counted(evaluation: Evaluation) -> Any:
        meter.count(evaluation.loop_units)
        return compute(evaluation)

    watcher = asyncio.ensure_future(meter.watch())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluation, "compute", counted)
        try:
            yield meter
        finally:
            watcher.cancel()


class ThreadWorkers:
    """Expression workers that are threads, which nothing can interrupt. `jobs` are the sources that were evaluated."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    async def evaluate(self, partition: str, job: ExpressionJob) -> JobResult:
        self.jobs.append(job.source)
        return await asyncio.to_thread(perform_job, job)

    async def close(self) -> None:
        pass
