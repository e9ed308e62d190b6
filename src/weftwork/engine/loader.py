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
from weftwork.protocol.run import ENGINE_VERSION, TERMINAL, RunKey
from weftwork.protocol.state import RunState

log = logging.getLogger("weftwork.run")

MOST: Final = 64
"""Resting runs whose state is kept: a long conversation is not folded anew for each of its turns."""
MOST_BYTES: Final = 262_144
"""What the log of one of them may weigh, which is about what its state holds."""


class Loaded(msgspec.Struct, frozen=True):
    """A run as the store has it, and the fold of that."""

    state: RunState
    stored: Stored
    weight: int
    """Of its log."""


class Loader:
    """Whoever takes a run from here moves it; it is given back when it rests."""

    def __init__(self, runtime: Runtime, catalog: Catalog) -> None:
        self._runtime = runtime
        self._catalog = catalog
        self._resting: OrderedDict[RunKey, Loaded] = OrderedDict()

    def keep(self, loaded: Loaded) -> None:
        """The run rests like this. One that hides something is not kept: what that is, is learnt from the log alone."""
        state = loaded.state
        if loaded.weight <= MOST_BYTES and not state.plan.guarded:
            self._resting[state.header.key] = loaded
            if len(self._resting) > MOST:
                self._resting.popitem(last=False)

    def forget(self, run: RunKey) -> None:
        self._resting.pop(run, None)

    async def load(self, run: RunKey) -> Loaded | None:
        """The run, or None if it is over or not there, or cannot be moved by this host. Raises StoreUnavailable."""
        if (known := self._resting.pop(run, None)) is not None:
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
