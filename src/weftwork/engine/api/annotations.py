"""Annotations for callers: feedback on a run, stored next to its log.

The text of a caller may repeat values that the run hides, or contain a credential. `SecretScanner` learns the hidden
values from the log, and masks copies of them and credentials before an annotation is stored.
"""

import asyncio
from collections import OrderedDict
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.executor import Executor
from weftwork.engine.read_back import known_outcome
from weftwork.engine.run.append import make_redactor
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.run.replay import RunTooLarge, load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage import annotations as port
from weftwork.ports.storage.event_log import EventLog
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault, invalid
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.privacy.redaction import COPY_NAME, Redactor
from weftwork.protocol.privacy.secret_matcher import redaction_marker
from weftwork.protocol.review import annotations
from weftwork.protocol.run.batch import ReplayableOutcome
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.imports import is_imported
from weftwork.protocol.run.projection import StoredRun
from weftwork.protocol.wire.streams import annotated_frame
from weftwork.protocol.workflow.plan import Plan

MAX_CACHED_REDACTORS: Final = 64
"""Runs whose hidden texts are cached. The hidden texts of a run are few and short, also for a large run."""
MAX_EVENTS_SEARCHED: Final = 50_000
"""The number of events at the start of a log among which a target event is searched, because ids are not indexed."""
PAGE_BYTES: Final = 4 * 2**20


class AnnotationResult(msgspec.Struct, frozen=True):
    """The stored JSON of an annotation."""

    document: bytes
    replayed: bool = False


class _AnnotationRecord(ReplayableOutcome, frozen=True, rename="camel"):
    """The outcome under the caller's idempotency key. It has the id and not the text, which is deleted with the run."""

    annotation_id: str


class Annotations:
    """Annotations for callers. Raises ClientFault or StoreUnavailable."""

    def __init__(
        self, runtime: Runtime, catalog: WorkflowCatalog, executor: Executor, store: port.AnnotationStore
    ) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._executor = executor
        self._store = store
        self._scanner = SecretScanner(runtime.log, runtime.limits.max_run_state_bytes, runtime.loop_share)

    async def create(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None
    ) -> AnnotationResult:
        """Store an annotation of a run, live or ended. Durable on return."""
        added: port.Annotation | None = None

        async def add(claim: IdempotencyClaim) -> _AnnotationRecord | SlotTaken:
            nonlocal added
            new = added = await self._make(principal, run_id, document, claim.now)
            outcome = _AnnotationRecord(new.annotation_id)
            assets = tuple(sorted(referenced_assets(new.document, principal.partition)))
            record, most = claim.make_record(outcome), annotations.MAX_ANNOTATIONS
            verdict = await known_outcome(
                self._runtime.clock,
                self._store.add(principal.run(run_id), new, most, record, assets),
                partial(self._find_added, principal.run(run_id), new),
            )
            if isinstance(verdict, SlotTaken):
                return verdict
            require_run(verdict != "absent")
            if verdict == "full":
                raise annotations.annotation_limit_fault()
            await self._notify_readers(principal, run_id, new, claim.now)
            return outcome

        operation = f"createAnnotation/{run_id}"
        outcome_record = await idempotent(self._runtime, principal, operation, key, document, _AnnotationRecord, add)
        if added is None or outcome_record.replayed:
            added = require_run(await self._store.find(principal.run(run_id), outcome_record.annotation_id))
        return AnnotationResult(added.document, outcome_record.replayed)

    async def _find_added(self, run: RunKey, new: port.Annotation) -> port.AddResult | None:
        return "added" if await self._store.find(run, new.annotation_id) is not None else None

    async def _make(self, principal: Principal, run_id: str, document: Any, now: int) -> port.Annotation:
        """The annotation to store: validated against its run, with copies of hidden values masked."""
        annotations.check_annotation(document)
        stored = require_run(await self._executor.read_run(principal.run(run_id)))
        plan = await self._plan(stored)
        await self._check_target(stored, plan, document.get("target", {}))
        texts = await self._scanner.redact(stored, plan, annotations.annotation_texts(document))
        (annotation_id,) = self._runtime.ids.event_ids(1)
        stored_document = annotations.annotation_document(annotation_id, run_id, principal.key_id, now, document, texts)
        return port.Annotation(annotation_id, stored_document)

    async def page(self, principal: Principal, run_id: str, after: str | None, limit: int) -> port.AnnotationPage:
        """A page of the run's annotations, oldest first. A page ends at 4 MiB, so it may be shorter than `limit`."""
        return require_run(await self._store.page(principal.run(run_id), after, limit, PAGE_BYTES))

    async def _plan(self, stored: StoredRun) -> Plan | None:
        """The definition of the run, or None if this host can no longer read it, or if the run is imported: its bundle
        could name the definition of another tenant, and its events could contradict it."""
        if is_imported(stored.header):
            return None
        try:
            return await self._catalog.pinned_plan(stored.header.workflow_id, stored.header.definition)
        except HostFault:
            return None

    async def _check_target(self, stored: StoredRun, plan: Plan | None, target: dict[str, str]) -> None:
        """fb-05 (RFC 0056): the target must exist: a node of the run's definition, or an event of its log."""
        node_id, event_id = target.get("nodeId"), target.get("eventId")
        if node_id is not None:
            nodes = plan.nodes if plan is not None else [row.name for row in stored.rows if row.kind == "node"]
            if node_id not in nodes:
                raise invalid("The run has no such node.", "/target/nodeId")
        if event_id is not None and await self._store.locate(stored.header.key, event_id, MAX_EVENTS_SEARCHED) is None:
            raise invalid(
                f"There is no such event among the first {MAX_EVENTS_SEARCHED} of the run.", "/target/eventId"
            )

    async def _notify_readers(self, principal: Principal, run_id: str, new: port.Annotation, now: int) -> None:
        """Notify the current streams of the run. A run without events has no streams to notify, because a notification
        follows an event."""
        run = principal.run(run_id)
        projection = await self._executor.projection(run)
        if projection is not None and projection.last_sequence >= 0:
            sequence = projection.last_sequence
            frame = annotated_frame(run_id, new.annotation_id, new.document, sequence, now)
            self._runtime.feeds.notify(run, sequence, frame)


class SecretScanner(msgspec.Struct, eq=False):
    """Masks copies of a run's hidden values in texts. Reads one log at a time, and reads it again only if it has
    grown."""

    _log: EventLog
    _most: int
    """The size of the largest state that is loaded; texts about a larger run are masked as a whole."""
    _share: LoopShare | None = None
    _lock: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(1))
    _cache: OrderedDict[RunKey, tuple[int, Redactor]] = msgspec.field(
        default_factory=OrderedDict[RunKey, tuple[int, Redactor]]
    )

    async def redact(self, run: StoredRun, plan: Plan | None, texts: dict[str, str]) -> dict[str, Any]:
        """hide-09: the texts with credentials and with copies of hidden values masked. Without a plan, every text is
        masked as a whole if the run has hidden values."""
        if not texts:
            return texts
        has_hidden = plan is not None and plan.has_sensitive_data
        if not has_hidden:
            has_hidden = bool(await self._log.hidden_values(run.header.key))
        if not has_hidden:
            return {name: mask_credentials_in_text(text) for name, text in texts.items()}
        if plan is None:
            return {name: redaction_marker(COPY_NAME) for name in texts}
        try:
            async with self._lock:
                redactor = await self._redactor(run, plan)
        except RunTooLarge:
            return {name: redaction_marker(COPY_NAME) for name in texts}
        visible: dict[str, str] = redactor.visible_value(texts)
        return {name: mask_credentials_in_text(text) for name, text in visible.items()}

    async def _redactor(self, run: StoredRun, plan: Plan) -> Redactor:
        key = run.header.key
        last, redactor = self._cache.get(key, (-2, None))
        if redactor is None or last < run.projection.last_sequence:
            state = await load_state(self._log, run.header, plan, self._most, self._share)
            redactor = make_redactor(state) or Redactor(plan)
            self._cache[key] = state.last_sequence, redactor
        self._cache.move_to_end(key)
        if len(self._cache) > MAX_CACHED_REDACTORS:
            self._cache.popitem(last=False)
        return redactor
