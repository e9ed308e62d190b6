"""Compares two runs for callers: their logs are read in parallel, page by page."""

import asyncio
from typing import Any, Final

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.protocol.review.run_diff import RunDiff
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.projection import StoredRun

PAGE: Final = 256
PAGE_BYTES: Final = 262_144
"""Read of each log at once; the event that reaches it is the last."""
MAX_CONCURRENT_DIFFS: Final = 2
"""Comparisons that are made at the same time; each holds two states, two pages and what it found."""


class RunDiffs:
    """Raises ClientFault or StoreUnavailable."""

    def __init__(self, runtime: Runtime, executor: Executor) -> None:
        self._log = runtime.log
        self._executor = executor
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_DIFFS)

    async def compare(self, principal: Principal, run_id: str, against: str) -> dict[str, Any]:
        """How run b, the other one, differs from run a, as both stand now."""
        async with self._slots:
            a = await self._read_run(principal, run_id)
            b = a if run_id == against else await self._read_run(principal, against)
            diff = RunDiff(a, b)
            while diff.has_next:
                await self._compare_page(diff, a, b)
        return diff.document()

    async def _compare_page(self, diff: RunDiff, a: StoredRun, b: StoredRun) -> None:
        """Compare as far as one page of each log reaches."""
        start = diff.next_sequence
        pages = [await self._page(run, start, diff.last_sequence) for run in (a, b)]
        while diff.has_next:
            pair = [_event_at(page, diff.next_sequence - start) for page in pages]
            for run, event in zip((a, b), pair, strict=True):
                if event is None and run.projection.last_sequence >= diff.next_sequence:
                    return  # its page is at an end, and its log is not
            diff.add(*pair)

    async def _page(self, run: StoredRun, start: int, last: int) -> list[Event]:
        """Events of the run from `start` on, and not behind `last`; at least one if there is one."""
        end = min(run.projection.last_sequence, last)
        if start > end:
            return []
        # Nothing, if it was deleted meanwhile.
        return require_run(await self._log.read(run.header.key, start - 1, min(PAGE, end - start + 1), PAGE_BYTES))

    async def _read_run(self, principal: Principal, run_id: str) -> StoredRun:
        return require_run(await self._executor.read_run(principal.run(run_id)))


def _event_at(page: list[Event], index: int) -> Event | None:
    return page[index] if index < len(page) else None
