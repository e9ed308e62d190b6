"""The ports and limits that all live runs share.

Nearly every package of the engine imports this module, so it is at the bottom of the engine. It refers to the code that
prepares child runs by the protocol `ChildFactory` only, because that code is in `engine/host` above it.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from weftwork.engine.fence import ExecutorFence
from weftwork.engine.media.assets import Assets
from weftwork.engine.nodes.concurrency import ConcurrencyLimiter
from weftwork.engine.nodes.entry_expressions import EntryExpressions
from weftwork.engine.run.loop_share import LoopShare
from weftwork.engine.streams.feeds import Feeds
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.ports.clock import Clock
from weftwork.ports.expression_workers import ExpressionWorkers
from weftwork.ports.ids import Ids
from weftwork.ports.models import ModelProviders
from weftwork.ports.node_outcome import ChildRequest, Failed, NewChild
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.ports.outbound import Outbound
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.ports.storage.event_log import STORE_RETRY_MS, EventLog
from weftwork.ports.storage.forks import Forks
from weftwork.ports.storage.idempotency import IdempotencyRecords
from weftwork.ports.storage.ownership import RunOwnership
from weftwork.ports.storage.run_queries import RunQueries
from weftwork.protocol.envelopes.instructions import UNIVERSAL_DIRECTIVE
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindSet
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.capability_gate import NO_MODELS, ModelCatalogue
from weftwork.protocol.run.effects import EffectRef
from weftwork.protocol.run.header import RunHeader


class ChildFactory(Protocol):
    """Prepares child runs for the nodes that start them. The executor's ChildStarter implements it."""

    async def prepare(self, state: RunState, call: NodeCall, request: ChildRequest) -> NewChild | Failed:
        """The child run of a node, or why it cannot be started. Stores nothing. Raises StoreUnavailable."""
        ...


class ReplayRecords(Protocol):
    """The outcomes that a replay has on record, for nodes that it calls again. The replay in progress implements it."""

    async def take_effect(self, node_id: str, visit: int, effect: EffectRef) -> bool:
        """Add the recorded claim and outcome of an effect to the log of the replay; False without a record."""
        ...

    async def take_answer(self, node_id: str, visit: int, call: str) -> bool:
        """Add the recorded answer of a model call to the log of the replay; False without a record."""
        ...

    def on_denied(self) -> None:
        """Called when a node needs something that has no record, before its attempt fails."""
        ...


class Runtime(msgspec.Struct, frozen=True):
    """The ports of the engine, as the composition root passes them in."""

    log: EventLog
    ownership: RunOwnership
    queries: RunQueries
    child_runs: ChildRuns
    forks: Forks
    records: IdempotencyRecords
    feeds: Feeds
    clock: Clock
    ids: Ids
    types: Mapping[str, NodeType]
    limits: Limits = Limits()
    fence: ExecutorFence = msgspec.field(default_factory=ExecutorFence)
    provided: frozenset[str] = frozenset()
    """Runtime capabilities offered to nodes; discovery advertises the same set."""
    limiter: ConcurrencyLimiter = msgspec.field(default_factory=ConcurrencyLimiter)
    loop_share: LoopShare = msgspec.field(default_factory=LoopShare)
    expression_workers: ExpressionWorkers | None = None
    """None: expressions of any cost run on the event loop."""
    child_starter: ChildFactory | None = None
    """Set by the executor."""
    tenant_logs: TenantLogs | None = None
    """Counts the logs of tenants, if these are limited."""
    models: ModelProviders | None = None
    model_catalogue: ModelCatalogue = NO_MODELS
    """The capabilities of these models, for nodes that require some; discovery advertises the same."""
    replay: ReplayRecords | None = None
    """Set in the copy of the runtime with which a replay calls nodes again."""
    assets: Assets | None = None
    outbound: Outbound | None = None
    """The client for all requests to other hosts; here it fetches media for models."""
    kinds: KindSet = BUILTIN_KINDS
    """The envelope kinds of the host; discovery advertises those that are displayed."""
    prompt_directive: str = UNIVERSAL_DIRECTIVE
    """Instructions of the host in every system prompt; may be empty."""

    def make_evaluator(self, header: RunHeader) -> EntryExpressions:
        """The evaluator for one call of a node."""
        return EntryExpressions(self.loop_share, self.expression_workers, header)

    async def wait_for_store(self) -> None:
        """Wait before the next attempt at a store that is unavailable."""
        await self.clock.sleep(STORE_RETRY_MS)
