"""The annotations port in memory. A run holds its annotations, so they go with it."""

from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.event_log import MemoryEventLog
from weftwork.adapters.memory.open_state import OpenState
from weftwork.ports.storage.annotations import AddResult, Annotation, AnnotationPage
from weftwork.ports.storage.event_log import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import RunKey


class MemoryAnnotations:
    """Implements ports.storage.annotations.AnnotationStore. No call of the log waits, so each method is atomic."""

    def __init__(self, state: OpenState, log: MemoryEventLog, assets: MemoryAssets) -> None:
        self._assets = assets
        self._state = state
        self._log = log

    async def add(
        self,
        run: RunKey,
        annotation: Annotation,
        most: int,
        record: IdempotencyRecord | None = None,
        assets: tuple[str, ...] = (),
    ) -> AddResult | SlotTaken:
        self._state.check_open()
        check_record(run, record)
        if record is not None:
            known = await self._log.find_record(record.partition, record.slot, record.expired_before)
            if known is not None:
                return SlotTaken(known)
        found = self._log.find_run(run)
        if found is None:
            return "absent"
        if len(found.annotations) >= most:
            return "full"
        if annotation.annotation_id in found.annotations:
            raise HostFault(f"the annotation id {annotation.annotation_id} is in use")
        found.annotations[annotation.annotation_id] = annotation
        self._assets.add_references(run, assets)
        if record is not None:
            await self._log.save_record(record)
        return "added"

    async def find(self, run: RunKey, annotation_id: str) -> Annotation | None:
        self._state.check_open()
        found = self._log.find_run(run)
        return found.annotations.get(annotation_id) if found is not None else None

    async def page(self, run: RunKey, after: str | None, limit: int, budget: int) -> AnnotationPage | None:
        self._state.check_open()
        found = self._log.find_run(run)
        if found is None:
            return None
        kept = list(found.annotations.values())
        if after is not None:
            kept = kept[list(found.annotations).index(after) + 1 :] if after in found.annotations else []
        taken: list[Annotation] = []
        for annotation in kept[: max(limit, 1)]:
            taken.append(annotation)
            budget -= len(annotation.document)
            if budget <= 0:
                break
        return AnnotationPage(tuple(taken), len(taken) < len(kept))

    async def locate(self, run: RunKey, event_id: str, within: int) -> int | None:
        self._state.check_open()
        found = self._log.find_run(run)
        events = found.events[: max(within, 0)] if found is not None else []
        return next((event.sequence for event in events if event.event_id == event_id), None)
