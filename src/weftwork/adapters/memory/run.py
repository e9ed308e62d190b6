"""One run in memory: its encoded header, its log and what is cached of it."""

from typing import Any

import msgspec
from msgspec.structs import replace

from weftwork.ports.annotations import Annotation
from weftwork.ports.eventlog import Batch, Hidden, Projection, StateRow, Stored
from weftwork.protocol.events import Event
from weftwork.protocol.run import TERMINAL, RunHeader

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(RunHeader).decode


class MemoryRun:
    """`number` is the order of creation in the whole store."""

    def __init__(self, header: RunHeader, hidden: tuple[Hidden, ...], number: int) -> None:
        self.key = header.key
        self.number = number
        self.workflow_id = header.workflow_id
        self.scope_id = header.scope_id
        self.tags = frozenset(header.tags)
        self.kinship = header.parent
        self.parent: MemoryRun | None = None
        self.children: dict[int, MemoryRun] = {}
        # Bytes, as in every store: what the caller does to its header later does not reach us.
        self.header = _encode(header)
        self.projection = Projection("pending")
        self.events: list[Event] = []
        self.hidden: list[Hidden] = list(hidden)
        self.annotations: dict[str, Annotation] = {}
        self.rows: dict[tuple[str, str], StateRow] = {}

    @property
    def ended(self) -> bool:
        return self.projection.status in TERMINAL

    def apply(self, batch: Batch) -> None:
        """Add a checked batch."""
        self.events += batch.events
        self.hidden += batch.hidden
        # Where an interrupt is listed is known to the lists, as in every store.
        for row in batch.rows:
            self.rows[row.kind, row.name] = row if row.listed is None else replace(row, listed=None)
        self.projection = batch.projection

    def stored(self, with_rows: bool) -> Stored:
        rows: Any = (row for _, row in sorted(self.rows.items())) if with_rows else ()
        projection = self.projection if with_rows else replace(self.projection, outputs=None)
        return Stored(_decode(self.header), projection, tuple(rows))
