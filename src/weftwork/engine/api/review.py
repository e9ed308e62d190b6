"""Debug bundles, comparisons and earlier states of runs for callers.

A bundle reads the log page by page and writes it in chunks. A comparison reads two logs page by page, side by side. An
earlier state is a fold of the log up to an event.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

import msgspec

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.runs import Runs, Slices, sliced_snapshot
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.host.imported_runs import check_replayable
from weftwork.engine.host.run_loader import unloadable_fault
from weftwork.engine.host.set_aside import most_state, refusal_of
from weftwork.engine.media.assets import Assets
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.earlier_states import EarlierStates
from weftwork.engine.run.replay import RunTooLarge
from weftwork.engine.run.state_rows import projection_of, state_row
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.annotations import AnnotationStore
from weftwork.ports.storage.assets import StoredAsset
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.pieces import Piece
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS
from weftwork.protocol.review.bundle_media import media_digests
from weftwork.protocol.review.bundled_run import BundledRun
from weftwork.protocol.review.debug_bundle import MAX_ANNOTATION_BYTES, MAX_BYTES, DebugBundle, run_limit
from weftwork.protocol.review.outcome_diff import MAX_OUTCOME_EVENTS, LastOutputs, OutcomeDiff
from weftwork.protocol.review.run_diff import RunDiff
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import ENGINE_VERSION, RunKey, Status
from weftwork.protocol.run.imports import is_imported
from weftwork.protocol.run.projection import (
    StateRow,
    StoredRun,
    check_look_back,
    child_members,
    children_after,
    has_children,
    is_large,
)
from weftwork.protocol.run.size_errors import refusal, set_aside_error
from weftwork.protocol.workflow.plan import Plan

T = TypeVar("T")

MAX_CONCURRENT_LOOKS: Final = 4
"""Earlier states that are folded concurrently. Each is in memory as a whole."""
PAGE_EVENTS: Final = 256
PAGE_BYTES: Final = 65_536
"""Size of a page of the log; the event that reaches it is the last."""
MAX_CONCURRENT_READS: Final = 4
"""Pages that are read concurrently for all bundles together."""
THREAD_BYTES: Final = 262_144
"""More is written in a thread, because the search for media in it would block the event loop."""

NO_MEMBERS: Final[Mapping[str, Any]] = MappingProxyType({})
SEARCH_WEIGHT: Final = 8
"""Work to mask a byte, compared with that to encode it."""


class DocumentThread(msgspec.Struct, eq=False):
    """Work on documents of bundles: on the event loop if they are small, else in a thread, one at a time.

    A scan of a large text keeps the GIL. After each scan the loop competes for it with every thread that has another.
    """

    _slot: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(1))

    async def run(self, size: int, function: Callable[..., T], *arguments: Any) -> T:
        if size <= THREAD_BYTES:
            return function(*arguments)
        await self._slot.acquire()
        work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
        # A cancelled request cannot stop its thread, which keeps the slot until it has ended.
        work.add_done_callback(self._release)
        return await asyncio.shield(work)

    def _release(self, work: asyncio.Future[Any]) -> None:
        self._slot.release()
        # Read, because the request that would have read the exception may be gone.
        if not work.cancelled():
            work.exception()


class MediaLinks(msgspec.Struct, eq=False):
    """bundle-08: the URLs of the media of one run. A URL of the host is given only for an asset that it opens; other
    media are named by their mediaRef."""

    _assets: Assets | None
    _partition: str
    _run_id: str
    _thread: DocumentThread = msgspec.field(default_factory=DocumentThread)
    _served: dict[bytes, bool] = msgspec.field(default_factory=dict[bytes, bool])

    async def look_up(self, documents: Iterable[bytes]) -> None:
        """Find the assets with the bytes of media in these documents. Raises StoreUnavailable."""
        assets, documents = self._assets, list(documents)
        if assets is None:
            return
        digests = await self._thread.run(sum(map(len, documents)), media_digests, documents)
        for sha256 in digests - self._served.keys():
            self._served[sha256] = await assets.is_served(self._partition, sha256.hex())

    def url(self, sha256: bytes, media_type: str, name: str) -> str:
        """The URL of media in a document that was passed to `look_up`."""
        if self._assets is None or not self._served.get(sha256, False):
            return media_ref(sha256.hex())
        # The URL depends on partition and digest only.
        asset = StoredAsset(self._partition, sha256.hex(), "", 0, media_type, 0, 0)
        return self._assets.url(asset, media_type, self._run_id, name)


class BundleStream(msgspec.Struct, eq=False):
    """bundle-07: writes one bundle. It holds one page of the log at a time, and a limited number of spans."""

    _bundle: DebugBundle
    _log: EventLog
    _caller: Principal
    _run: RunKey
    _reads: asyncio.Semaphore
    _links: MediaLinks
    _thread: DocumentThread
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
        page = self._caller.visible_events(page)
        await self._links.look_up(event.document for event in page)
        return await self._thread.run(sum(event.size for event in page), self._bundle.write_events, page)


class Bundles(msgspec.Struct, eq=False):
    """Debug bundles for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _service: Runs
    version: str
    _annotations: AnnotationStore
    _reads: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_READS))
    _thread: DocumentThread = msgspec.field(default_factory=DocumentThread)

    async def open(
        self, principal: Principal, run_id: str, most_events: int | None = None, cap: int = MAX_BYTES
    ) -> BundleStream:
        """A bundle of the caller's run in its current state."""
        run = await self._service.read_run(principal, run_id)
        links = self.media_links(principal, run_id)
        definition = {"definition": await self._service.definition(run.header)}
        bundled = await self._bundle_run(principal, run, run_limit(cap), links, definition)
        page = await self._annotations.page(run.header.key, None, MAX_ANNOTATIONS, MAX_ANNOTATION_BYTES)
        annotations = [each.document for each in require_run(page).annotations]
        await links.look_up(annotations)
        now, more = self._runtime.clock.now(), require_run(page).more
        arguments = run, bundled, self.version, now, most_events, cap, links.url, annotations, more
        bundle = await self._thread.run(sum(map(len, annotations)), DebugBundle, *arguments)
        # Not kept by the bundle: it has up to 3 MB, and a client may read slowly.
        head, bundle.head = bundle.head, b""
        reading = principal, run.header.key, self._reads, links, self._thread
        return BundleStream(bundle, self._runtime.log, *reading, head)

    async def _bundle_run(
        self, principal: Principal, run: StoredRun, limit: int, links: MediaLinks, more: Mapping[str, Any] = NO_MEMBERS
    ) -> BundledRun:
        """The run with `more` members, within `limit`. Yields to the event loop after each slice of work, because the
        state may have many megabytes; most of them are never encoded, because a member is left when it exceeds the
        limit."""
        slices = Slices()
        if is_large(run):
            children = await self._service.child_members(principal, run.header.run_id) if has_children(run) else {}
            snapshot = await sliced_snapshot(run, children, slices)
        else:
            snapshot = await self._service.make_snapshot(run)
        if run.header.imported is not None and is_imported(run.header):
            # The status at which its events end.
            snapshot["status"] = run.header.imported.status
        bundled = BundledRun({**snapshot, **more}, limit)
        for part in bundled.parts():
            if not part.is_literal:
                await links.look_up([part.document])
            await self._thread.run(len(part.document), bundled.add, part, links.url)
            await slices.spend(SEARCH_WEIGHT * len(part.document))
        return bundled

    def media_links(self, principal: Principal, run_id: str) -> MediaLinks:
        """The URLs of the media of a run, or of events that test endpoints recorded for its id."""
        return MediaLinks(self._runtime.assets, principal.partition, run_id, self._thread)


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
            # A thread, because outputs of many megabytes are searched for their members, and compared.
            diff = await asyncio.to_thread(RunDiff, a, b) if is_large(a) or is_large(b) else RunDiff(a, b)
            while diff.has_next:
                await self._compare_page(principal, diff, a, b)
        return diff.document()

    async def compare_outcomes(self, principal: Principal, run_id: str, against: str) -> dict[str, Any]:
        """How the outcome of the run `against` differs from that of the run `run_id`, in their current states."""
        async with self._slots:
            a = await self._read_run(principal, run_id)
            b = a if run_id == against else await self._read_run(principal, against)
            diff = await asyncio.to_thread(OutcomeDiff, a, b) if is_large(a) or is_large(b) else OutcomeDiff(a, b)
            if a is not b:
                one, other = await self._last_outputs(principal, diff, a), await self._last_outputs(principal, diff, b)
                for node_id, *sequences in one.differing(other):
                    events = [
                        None if sequence is None else await self._event(principal, run, sequence)
                        for run, sequence in zip((a, b), sequences, strict=True)
                    ]
                    if sum(event.size for event in events if event is not None) > THREAD_BYTES:
                        await asyncio.to_thread(diff.add_outputs, node_id, *events)
                    else:
                        diff.add_outputs(node_id, *events)
        return diff.document()

    async def _last_outputs(self, principal: Principal, diff: OutcomeDiff, run: StoredRun) -> LastOutputs:
        """The last outputs of each node. Holds one page of the log at a time."""
        found, start, last = LastOutputs(diff.form), 0, run.projection.last_sequence
        if last >= MAX_OUTCOME_EVENTS:
            diff.cut_events()
            last = MAX_OUTCOME_EVENTS - 1
        while page := await self._page(principal, run, start, last):
            for event in page:
                found.add(event)
            start = page[-1].sequence + 1
        return found

    async def _event(self, principal: Principal, run: StoredRun, sequence: int) -> Event:
        return (await self._page(principal, run, sequence, sequence))[0]

    async def _compare_page(self, principal: Principal, diff: RunDiff, a: StoredRun, b: StoredRun) -> None:
        """Compare as far as one page of each log reaches."""
        start = diff.next_sequence
        pages = [await self._page(principal, run, start, diff.last_sequence) for run in (a, b)]
        while diff.has_next:
            at = diff.next_sequence - start
            pair = [page[at] if at < len(page) else None for page in pages]
            for run, event in zip((a, b), pair, strict=True):
                if event is None and run.projection.last_sequence >= diff.next_sequence:
                    return  # the page has ended before the log; the next call reads another page
            diff.add(*pair)

    async def _page(self, principal: Principal, run: StoredRun, start: int, last: int) -> list[Event]:
        """A page of the events from `start` to `last`; at least one event if there is one."""
        end = min(run.projection.last_sequence, last)
        if start > end:
            return []
        # A store may answer without yielding; let other tasks have the event loop.
        await asyncio.sleep(0)
        # The page is empty if the run was deleted in the meantime; require_run raises then.
        most = min(DIFF_PAGE_EVENTS, end - start + 1)
        page = require_run(await self._runtime.log.read(run.header.key, start - 1, most, DIFF_PAGE_BYTES))
        # Masked before they are compared, because the caller must not learn that two hidden texts differ.
        return principal.visible_events(page)

    async def _read_run(self, principal: Principal, run_id: str) -> StoredRun:
        return require_run(await self._executor.read_run(principal.run(run_id)))


class EarlierRun(msgspec.Struct, frozen=True):
    """A run as it was directly after an event, and the child runs that it had started by then."""

    run: StoredRun
    children: tuple[StoredRun, ...] = ()


class LookBack:
    """Earlier states of runs for callers. Raises ClientFault or StoreUnavailable."""

    def __init__(self, runtime: Runtime, catalog: WorkflowCatalog, executor: Executor, service: Runs) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._executor = executor
        self._service = service
        self._states = EarlierStates(runtime.log, most_state(runtime.limits), runtime.loop_share)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_LOOKS)

    async def run_after(self, principal: Principal, run_id: str, sequence: int) -> EarlierRun:
        """look-01: the run directly after the event `sequence` was committed, as its readers saw it then."""
        stored = await self._service.read_run(principal, run_id)
        check_look_back(sequence, stored.projection.last_sequence)
        if sequence == stored.projection.last_sequence:
            children = await self._service.children(stored.header.key) if has_children(stored) else []
            return EarlierRun(stored, tuple(children))
        if (fault := refusal_of(stored.projection)) is not None:
            raise fault
        async with self._slots:
            # Folds the whole log of an imported run.
            await check_replayable(self._runtime, self._catalog, stored.header, stored.projection.last_sequence)
            plan = await self._plan(stored)
            try:
                state = await self._states.state_after(stored.header, plan, sequence)
            except RunTooLarge as reason:
                error = set_aside_error(reason.code, self._runtime.limits, reason.observed)
                raise refusal(stored.projection.status, error) from None
            # A shorter log is that of a run that was deleted in the meantime.
            require_run(state.last_sequence == sequence)
            return await self._make_run(state)

    async def _plan(self, stored: StoredRun) -> Plan:
        header = stored.header
        try:
            if header.engine_version > ENGINE_VERSION:
                raise HostFault("a newer version of the host wrote it")
            return await self._catalog.pinned_plan(header.workflow_id, header.definition)
        except HostFault as fault:
            message = (
                f"This host cannot fold the log of the run: {fault}. Restart the host with the node types that the run "
                "needs, or leave out atSequence."
            )
            raise unloadable_fault(message) from None

    async def _make_run(self, state: RunState) -> EarlierRun:
        """The stored form of a state. Yields to the event loop after each slice of work, because the state may have
        many megabytes."""
        slices, redactor = Slices(), make_redactor(state)
        rows: list[StateRow] = []
        for kind, name in sorted(state.changed_rows):
            rows.append(state_row(state, redactor, kind, name))
            await slices.spend(len(rows[-1].value))
        run = StoredRun(state.header, projection_of(state, None), tuple(rows))
        if not state.children_started:
            return EarlierRun(run)
        children = await self._service.children(state.header.key)
        statuses = {child.run_id: child.status for node in state.nodes.values() for child in node.children.values()}
        known = children_after(children, state.children_started, state.last_event_at, cast(dict[str, Status], statuses))
        return EarlierRun(run, tuple(known))

    async def document(self, earlier: EarlierRun) -> dict[str, Any] | None:
        """The snapshot of an earlier run; None if it is large, so that it must be made by `pieces`."""
        if is_large(earlier.run):
            return None
        return await self._service.make_snapshot(earlier.run, earlier.children)

    async def pieces(self, earlier: EarlierRun) -> tuple[Piece, ...]:
        """The snapshot of an earlier run in pieces. The places of tokens must be left empty: an interrupt of the past
        cannot be answered."""
        return await self._service.snapshot_pieces(earlier.run, child_members(earlier.children))
