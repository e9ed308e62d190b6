"""Annotations of runs. They are stored next to the event log, belong to one run, and are deleted with it.

Ordering: per run, in the order of their commits.
Atomicity: each call is one transaction; all of it is durable when the call returns, or none of it.
Tenancy: a run of another partition does not exist.
"""

from typing import Literal, Protocol

import msgspec

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import RunKey

AddResult = Literal["added", "full", "absent"]
"""The annotation was stored; the run has reached its limit of annotations; or there is no such run."""


class Annotation(msgspec.Struct, frozen=True):
    """One annotation; `document` is its JSON as it is served."""

    annotation_id: str
    document: bytes


class AnnotationPage(msgspec.Struct, frozen=True):
    """One page. `more` says that there are annotations after its last one."""

    annotations: tuple[Annotation, ...]
    more: bool


class AnnotationStore(Protocol):
    """Raises StoreUnavailable. Implementations are proved by `weftwork.testing.storage`."""

    async def add(
        self,
        run: RunKey,
        annotation: Annotation,
        most: int,
        record: IdempotencyRecord | None = None,
        assets: tuple[str, ...] = (),
    ) -> AddResult | SlotTaken:
        """Store an annotation, together with the record, if the run exists and has fewer than `most` annotations.

        From then on the run refers to the existing ones of `assets`, which are sha256 digests.

        With `record`: if its slot is taken, which is checked first, return SlotTaken. Every result except "added" means
        that nothing was written. Raises HostFault for an id that the run already has, or a record of another partition.
        """
        ...

    async def find(self, run: RunKey, annotation_id: str) -> Annotation | None: ...

    async def page(self, run: RunKey, after: str | None, limit: int, budget: int) -> AnnotationPage | None:
        """Annotations after the one with id `after`, oldest first, at most `limit`; None if there is no such run.

        The page ends with the annotation whose document brings the total to `budget` bytes. After an unknown id the
        page is empty.
        """
        ...

    async def locate(self, run: RunKey, event_id: str, within: int) -> int | None:
        """The sequence of the event of that id among the first `within` of the run's log, or None."""
        ...
