"""What every live run shares: the ports it may use and the limits it obeys.

Nearly every package of the engine imports this module, so it sits below them. It names what it carries from them by
type only; children are prepared by the host, and are known here as the protocol `ChildFactory`.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from weftwork.engine.media.assets import Assets
from weftwork.engine.nodes.concurrency import ConcurrencyLimiter
from weftwork.engine.streams.feeds import Feeds
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.models import ModelProviders
from weftwork.ports.node_outcome import ChildRequest, Failed, NewChild
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.ports.outbound import Outbound
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.ports.storage.event_log import STORE_RETRY_MS, EventLog
from weftwork.ports.storage.idempotency import IdempotencyRecords
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindSet
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits


class ChildFactory(Protocol):
    """Prepares child runs for the nodes that start them. The executor's ChildStarter implements it."""

    async def prepare(self, state: RunState, call: NodeCall, wanted: ChildRequest) -> NewChild | Failed:
        """The child of a node, or why there can be none; nothing is stored yet. Raises StoreUnavailable."""
        ...


class Runtime(msgspec.Struct, frozen=True):
    """The engine's surroundings, handed to it by the composition root."""

    log: EventLog
    queries: RunQueries
    child_runs: ChildRuns
    records: IdempotencyRecords
    feeds: Feeds
    clock: Clock
    ids: Ids
    types: Mapping[str, NodeType]
    limits: Limits = Limits()
    provided: frozenset[str] = frozenset()
    """Runtime capabilities offered to nodes; discovery advertises the same set."""
    limiter: ConcurrencyLimiter = msgspec.field(default_factory=ConcurrencyLimiter)
    child_starter: ChildFactory | None = None
    """Set by the executor."""
    models: ModelProviders | None = None
    assets: Assets | None = None
    outbound: Outbound | None = None
    """The one client for requests to other hosts; fetches media for models."""
    kinds: KindSet = BUILTIN_KINDS
    """Envelope kinds that are known; discovery advertises those that are displayed."""

    async def wait_for_store(self) -> None:
        """Wait before the next attempt at a store that is unavailable."""
        await self.clock.sleep_until(self.clock.now() + STORE_RETRY_MS)
