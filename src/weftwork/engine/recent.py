"""Runs that ended just now: whoever waited for them asks right away."""

from collections import OrderedDict
from typing import Final

from weftwork.ports.eventlog import Stored
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.run import RunKey

MOST: Final = 256
"""Runs that are kept."""
MOST_BYTES: Final = 16_384
"""The largest that is."""


class Recent:
    """The newest of them as the store has them, if they are small."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: OrderedDict[RunKey, Stored] = OrderedDict()

    def get(self, run: RunKey) -> Stored | None:
        return self._runs.get(run)

    def keep(self, run: RunKey, stored: Stored) -> None:
        if _size(stored) <= MOST_BYTES:
            self._runs[run] = stored
            if len(self._runs) > MOST:
                self._runs.popitem(last=False)

    def forget(self, run: RunKey) -> None:
        self._runs.pop(run, None)


def _size(run: Stored) -> int:
    """About how much memory a kept run costs; inputs are counted as the variables they became."""
    options = run.header.configurable
    size = sum(len(row.value) for row in run.rows) + len(run.projection.outputs or b"")
    return size + (len(encode_stored(options)) if options else 0)
