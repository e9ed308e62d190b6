"""Annotations at rest: beside the log, under the run they speak of, and gone with it.

Ordering: per run, in the order of their commits.
Atomicity: each call is one transaction; all of it is durable when the call returns, or none of it.
Tenancy: a run of another partition is not there.
"""

from typing import Literal, Protocol

import msgspec

from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.batch import IdempotencyRecord
from weftwork.protocol.run.header import RunKey

AddResult = Literal["added", "full", "absent"]
"""What became of an annotation: kept; refused, since the run has as many as it may; or there is no such run."""


class Annotation(msgspec.Struct, frozen=True):
    """One annotation; `document` is what every reader is given."""

    annotation_id: str
    document: bytes


class AnnotationPage(msgspec.Struct, frozen=True):
    """One page. `more` says that there are others behind its last one."""

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
        """Keep an annotation of a run that is there and has less than `most`, together with the record.

        The run refers to `assets` from then on, as far as they are there; they are sha256 digests.

        With `record`: if its slot is taken, which is checked first, return SlotTaken. Whatever is not "added" has
        written nothing. Raises HostFault for an id that the run has already, or a record of another partition.
        """
        ...

    async def find(self, run: RunKey, annotation_id: str) -> Annotation | None:
        """One annotation of the run, or None."""
        ...

    async def page(self, run: RunKey, after: str | None, limit: int, budget: int) -> AnnotationPage | None:
        """Annotations behind the one of that id, oldest first, at most `limit`; None if there is no such run.

        None behind the one with which their documents reach so many bytes. Behind an unknown id there is nothing.
        """
        ...

    async def locate(self, run: RunKey, event_id: str, within: int) -> int | None:
        """The sequence of the event of that id among the first `within` of the run's log, or None."""
        ...
