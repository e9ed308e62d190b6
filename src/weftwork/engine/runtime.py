"""What every live run shares: the ports it may use and the limits it obeys."""

from collections.abc import Mapping

import msgspec

from weftwork.engine.assets import Assets
from weftwork.engine.feeds import Feeds
from weftwork.engine.nursery import Nursery
from weftwork.engine.turns import Turns
from weftwork.ports.clock import Clock
from weftwork.ports.eventlog import EventLog
from weftwork.ports.ids import Ids
from weftwork.ports.models import Models
from weftwork.ports.nodes import NodeType
from weftwork.ports.outbound import Outbound
from weftwork.protocol.envelope.builtin import BUILTIN
from weftwork.protocol.envelope.kind import Kinds
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
    turns: Turns = msgspec.field(default_factory=Turns)
    nursery: Nursery | None = None
    """Makes child runs; the executor brings it."""
    models: Models | None = None
    assets: Assets | None = None
    outbound: Outbound | None = None
    """The one way out, for what models are shown."""
    kinds: Kinds = BUILTIN
    """Kinds of envelopes that are known; discovery advertises those of them that are shown."""
