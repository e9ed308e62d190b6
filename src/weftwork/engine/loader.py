"""Loading runs: from the store, or as they were left if they rest since a short while."""

import logging
from collections import OrderedDict
from typing import Final

import msgspec

from weftwork.engine.catalog import Catalog
from weftwork.engine.recover import load_state
from weftwork.engine.runtime import Runtime
from weftwork.ports.eventlog import Stored
from weftwork.protocol.errors import HostFault
from weftwork.protocol.redaction import Redactor
from weftwork.protocol.run import ENGINE_VERSION, TERMINAL, RunKey
from weftwork.protocol.state import RunState

log = logging.getLogger("weftwork.run")

MOST: Final = 64
"""Resting runs whose state is kept: a long conversation is not folded anew for each of its turns."""
MOST_PARENTS: Final = 1024
"""The same of runs that wait for children, which are sooner heard of again."""
MOST_BYTES: Final = 16 * 2**20
"""What their logs may weigh together, which is about what the states hold."""


class Loaded(msgspec.Struct, frozen=True):
    """A run as the store has it, and the fold of that."""

    state: RunState
    stored: Stored
    weight: int
    """Of its log."""
    redactor: Redactor | None = None
    """What it has learnt to hide, if that is known."""


class Loader:
    """Whoever takes a run from here moves it; it is given back when it rests."""

    def __init__(self, runtime: Runtime, catalog: Catalog) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._resting: dict[bool, OrderedDict[RunKey, Loaded]] = {True: OrderedDict(), False: OrderedDict()}
        """Those that wait for children apart from the others."""
        self._weight = 0

    def keep(self, loaded: Loaded) -> None:
        """The run rests like this."""
        parents = bool(loaded.state.awaiting)
        kept, most = self._resting[parents], MOST_PARENTS if parents else MOST
        kept[loaded.state.header.key] = loaded
        self._weight += loaded.weight
        while kept and (len(kept) > most or self._weight > MOST_BYTES):
            self._weight -= kept.popitem(last=False)[1].weight

    def forget(self, run: RunKey) -> None:
        self._taken(run)

    def _taken(self, run: RunKey) -> Loaded | None:
        known = self._resting[True].pop(run, None) or self._resting[False].pop(run, None)
        if known is not None:
            self._weight -= known.weight
        return known

    async def load(self, run: RunKey) -> Loaded | None:
        """The run, or None if it is over or not there, or cannot be moved by this host. Raises StoreUnavailable."""
        if (known := self._taken(run)) is not None:
            return known
        stored = await self._runtime.log.stored(run)
        if stored is None or stored.projection.status in TERMINAL:
            return None
        header = stored.header
        try:
            if header.engine_version > ENGINE_VERSION:
                raise HostFault(f"the run was written by engine version {header.engine_version}")
            plan = await self._catalog.pinned(header.workflow_id, header.definition)
        except HostFault as fault:
            log.error("run left as it is: %s", fault, extra={"runId": run.run_id})
            return None
        weights: list[int] = []
        state = await load_state(self._runtime.log, header, plan, weights.append)
        return Loaded(state, stored, sum(weights))
