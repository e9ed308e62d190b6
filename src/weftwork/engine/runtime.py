"""What every live run shares: the ports it may use and the limits it obeys."""

from collections.abc import Mapping

import msgspec

from weftwork.engine.host.child_start import ChildStarter
from weftwork.engine.media.assets import Assets
from weftwork.engine.nodes.concurrency import ConcurrencyLimiter
from weftwork.engine.streams.feeds import Feeds
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.models import ModelProviders
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound
from weftwork.ports.storage.event_log import EventLog
from weftwork.protocol.envelopes.kind import KindSet
from weftwork.protocol.envelopes.kind_registry import BUILTIN_KINDS
from weftwork.protocol.limits import Limits


class Runtime(msgspec.Struct, frozen=True):
    """The engine's surroundings, handed to it by the composition root."""

    log: EventLog
    feeds: Feeds
    clock: Clock
    ids: Ids
    types: Mapping[str, NodeType]
    limits: Limits = Limits()
    provided: frozenset[str] = frozenset()
    """Runtime capabilities offered to nodes; discovery advertises the same set."""
    limiter: ConcurrencyLimiter = msgspec.field(default_factory=ConcurrencyLimiter)
    child_starter: ChildStarter | None = None
    """Makes child runs; the executor brings it."""
    models: ModelProviders | None = None
    assets: Assets | None = None
    outbound: Outbound | None = None
    """The one way out, for what models are shown."""
    kinds: KindSet = BUILTIN_KINDS
    """Kinds of envelopes that are known; discovery advertises those of them that are shown."""
