"""The annotations port in memory. A run holds its annotations, so they go with it."""

from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.adapters.memory.idempotency import MemoryIdempotencyRecords
from weftwork.adapters.memory.run_table import RunTable
from weftwork.ports.storage.annotations import AddResult, Annotation, AnnotationPage
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.batch import IdempotencyRecord, check_record
from weftwork.protocol.run.header import RunKey


class MemoryAnnotations:
    """Implements ports.storage.annotations.AnnotationStore. No method awaits anything, so each is atomic."""

    def __init__(self, table: RunTable, records: MemoryIdempotencyRecords, assets: MemoryAssets) -> None:
        self._table = table
        self._records = records
        self._assets = assets

    async def add(
        self,
        run: RunKey,
        annotation: Annotation,
        most: int,
        record: IdempotencyRecord | None = None,
        assets: tuple[str, ...] = (),
    ) -> AddResult | SlotTaken:
        self._table.check_open()
        check_record(run, record)
        taken = self._records.find_taken(record)
        if taken is not None:
            return taken
        found = self._table.runs.get(run)
        if found is None:
            return "absent"
        if len(found.annotations) >= most:
            return "full"
        if annotation.annotation_id in found.annotations:
            raise HostFault(f"the annotation id {annotation.annotation_id} is in use")
        found.annotations[annotation.annotation_id] = annotation
        self._assets.add_references(run, assets)
        self._records.put(record)
        return "added"

    async def find(self, run: RunKey, annotation_id: str) -> Annotation | None:
        self._table.check_open()
        found = self._table.runs.get(run)
        return found.annotations.get(annotation_id) if found is not None else None

    async def page(self, run: RunKey, after: str | None, limit: int, budget: int) -> AnnotationPage | None:
        self._table.check_open()
        found = self._table.runs.get(run)
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
        self._table.check_open()
        found = self._table.runs.get(run)
        events = found.events[: max(within, 0)] if found is not None else []
        return next((event.sequence for event in events if event.event_id == event_id), None)
