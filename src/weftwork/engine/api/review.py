"""Debug bundles and comparisons of runs for callers.

A bundle reads the log page by page and writes it in chunks. A comparison reads two logs page by page, side by side.
"""

import asyncio
from typing import Any, Final

import msgspec

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.runs import Runs
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.annotations import AnnotationStore
from weftwork.ports.storage.assets import StoredAsset
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS
from weftwork.protocol.review.debug_bundle import MAX_ANNOTATION_BYTES, MAX_BYTES, AssetLink, DebugBundle
from weftwork.protocol.review.run_diff import RunDiff
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun

PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 65_536
"""Size of a page of the log; the event that reaches it is the last."""
MAX_CONCURRENT_READS: Final = 4
"""Pages that are read concurrently for all bundles together."""


class BundleStream(msgspec.Struct, eq=False):
    """bundle-07: writes one bundle. It holds one page of the log at a time, and a limited number of spans."""

    _bundle: DebugBundle
    _log: EventLog
    _run: RunKey
    _reads: asyncio.Semaphore
    _next: bytes | None
    _sequence: int = -1
    _ended: bool = False

    async def next_chunk(self) -> bytes | None:
        """The next chunk, or None after the last one. Raises StoreUnavailable, or ClientFault if the run was deleted
        during the stream; then the chunks so far are not a complete document."""
        if self._next is not None:
            piece, self._next = self._next, None
            return piece
        if self._ended:
            return None
        if self._bundle.is_full or self._sequence >= self._bundle.last_sequence:
            self._ended = True
            return self._bundle.tail()
        async with self._reads:
            # A store may answer without yielding; let other tasks have the event loop.
            await asyncio.sleep(0)
            page = require_run(await self._log.read(self._run, self._sequence, PAGE_EVENTS, PAGE_BYTES))
        self._sequence = page[-1].sequence
        return self._bundle.write_events(page)


class Bundles(msgspec.Struct, eq=False):
    """Debug bundles for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _service: Runs
    version: str
    _annotations: AnnotationStore
    _reads: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_READS))

    async def open(
        self, principal: Principal, run_id: str, most_events: int | None = None, cap: int = MAX_BYTES
    ) -> BundleStream:
        """A bundle of the caller's run in its current state."""
        run = await self._service.read_run(principal, run_id)
        snapshot = await self._service.make_snapshot(run)
        link = self.media_link(principal.partition, run_id)
        page = await self._annotations.page(run.header.key, None, MAX_ANNOTATIONS, MAX_ANNOTATION_BYTES)
        annotations = [each.document for each in require_run(page).annotations]
        now = self._runtime.clock.now()
        bundle = DebugBundle(
            run, snapshot, self.version, now, most_events, cap, link, annotations, require_run(page).more
        )
        return BundleStream(bundle, self._runtime.log, run.header.key, self._reads, bundle.head)

    def media_link(self, partition: str, run_id: str) -> AssetLink | None:
        """bundle-08: a function that makes the host's URLs for media of a run; None if the host stores no assets."""
        assets = self._runtime.assets
        if assets is None:
            return None

        def make_url(sha256: bytes, media_type: str, name: str) -> str:
            # The URL depends on partition and digest only. Inline media were stored as assets when they were recorded.
            asset = StoredAsset(partition, sha256.hex(), "", 0, media_type, 0, 0)
            return assets.url(asset, media_type, run_id, name)

        return make_url


DIFF_PAGE_EVENTS: Final = 256
DIFF_PAGE_BYTES: Final = 262_144
"""Size of a page of each log; the event that reaches it is the last."""
MAX_CONCURRENT_DIFFS: Final = 2
"""Comparisons that run concurrently. Each holds two states, two pages and its differences in memory."""


class RunDiffs(msgspec.Struct, eq=False):
    """Comparisons of runs for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _executor: Executor
    _slots: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_DIFFS))

    async def compare(self, principal: Principal, run_id: str, against: str) -> dict[str, Any]:
        """The differences of the run `against` from the run `run_id`, in their current states."""
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
            at = diff.next_sequence - start
            pair = [page[at] if at < len(page) else None for page in pages]
            for run, event in zip((a, b), pair, strict=True):
                if event is None and run.projection.last_sequence >= diff.next_sequence:
                    return  # the page has ended before the log; the next call reads another page
            diff.add(*pair)

    async def _page(self, run: StoredRun, start: int, last: int) -> list[Event]:
        """A page of the events from `start` to `last`; at least one event if there is one."""
        end = min(run.projection.last_sequence, last)
        if start > end:
            return []
        # The page is empty if the run was deleted in the meantime; require_run raises then.
        most = min(DIFF_PAGE_EVENTS, end - start + 1)
        return require_run(await self._runtime.log.read(run.header.key, start - 1, most, DIFF_PAGE_BYTES))

    async def _read_run(self, principal: Principal, run_id: str) -> StoredRun:
        return require_run(await self._executor.read_run(principal.run(run_id)))
