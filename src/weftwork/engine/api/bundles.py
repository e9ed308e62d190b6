"""Debug bundles for callers: the log of a run is read page by page and written in chunks."""

import asyncio
from typing import Final

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.runs import Runs
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.assets import StoredAsset
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.review.debug_bundle import MAX_BYTES, AssetLink, DebugBundle
from weftwork.protocol.run.projection import StoredRun

PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 65_536
"""Read of the log at once; the event that reaches it is the last."""
MAX_CONCURRENT_READS: Final = 4
"""Pages read at the same time, however many bundles are being written."""


class BundleStream:
    """bundle-07: one bundle on its way. It holds one page of the log at a time, and spans up to their bound."""

    def __init__(self, bundle: DebugBundle, log: EventLog, run: StoredRun, reads: asyncio.Semaphore) -> None:
        self._bundle = bundle
        self._log = log
        self._key = run.header.key
        self._reads = reads
        self._next: bytes | None = bundle.head
        self._sequence = -1
        self._ended = False

    async def next_chunk(self) -> bytes | None:
        """The next piece; None behind the last one. Raises StoreUnavailable, or ClientFault for a run that was deleted
        meanwhile: what was given until then is no document."""
        if self._next is not None:
            piece, self._next = self._next, None
            return piece
        if self._ended:
            return None
        if self._bundle.is_full or self._sequence >= self._bundle.last_sequence:
            self._ended = True
            return self._bundle.tail()
        async with self._reads:
            # Stores that have everything at hand do not wait, and others must have their turn.
            await asyncio.sleep(0)
            page = require_run(await self._log.read(self._key, self._sequence, PAGE_EVENTS, PAGE_BYTES))
        self._sequence = page[-1].sequence
        return self._bundle.write_events(page)


class Bundles:
    """Raises ClientFault or StoreUnavailable."""

    def __init__(self, runtime: Runtime, service: Runs, version: str) -> None:
        self._log = runtime.log
        self._clock = runtime.clock
        self._service = service
        self._assets = runtime.assets
        self.version = version
        self._reads = asyncio.Semaphore(MAX_CONCURRENT_READS)

    async def open(
        self, principal: Principal, run_id: str, most_events: int | None = None, cap: int = MAX_BYTES
    ) -> BundleStream:
        """A bundle of the caller's run, as it stands now."""
        run = await self._service.read_run(principal, run_id)
        snapshot = await self._service.make_snapshot(run)
        link = self.media_link(principal.partition, run_id)
        bundle = DebugBundle(run, snapshot, self.version, self._clock.now(), most_events, cap, link)
        return BundleStream(bundle, self._log, run, self._reads)

    def media_link(self, partition: str, run_id: str) -> AssetLink | None:
        """bundle-08: makes the URLs that the host gives to media of a run; None where no assets are kept."""
        assets = self._assets
        if assets is None:
            return None

        def made(sha256: bytes, media_type: str, name: str) -> str:
            # Only what names it matters here: inline media are kept as assets when they are recorded.
            asset = StoredAsset(partition, sha256.hex(), "", 0, media_type, 0, 0)
            return assets.url(asset, media_type, run_id, name)

        return made
