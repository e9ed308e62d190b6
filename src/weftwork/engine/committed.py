"""What the store holds of a live run, kept beside it so that readers need not ask."""

from weftwork.ports.eventlog import Batch, Projection, StateRow, Stored
from weftwork.protocol.run import RunHeader


class Committed:
    """Moves only by what is durable; the state of the run may be ahead of it."""

    __slots__ = ("_header", "_projection", "_rows")

    def __init__(self, header: RunHeader) -> None:
        self._header = header
        self._projection = Projection("pending")
        self._rows: dict[tuple[str, str], StateRow] = {}

    def add(self, batch: Batch) -> None:
        """A batch was committed."""
        self._projection = batch.projection
        for row in batch.rows:
            self._rows[row.kind, row.name] = row

    def replace(self, stored: Stored) -> None:
        """The store was asked, and holds this."""
        self._projection = stored.projection
        self._rows = {(row.kind, row.name): row for row in stored.rows}

    def stored(self) -> Stored:
        return Stored(self._header, self._projection, tuple(self._rows.values()))
