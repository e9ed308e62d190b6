"""An emission: an envelope that a model sent, with what holds for it beside the host's own rules."""

import msgspec

from weftwork.protocol.envelope.contract import OPEN, Contract
from weftwork.protocol.envelope.kind import Kind


class Emission(msgspec.Struct, frozen=True):
    """Where an envelope comes from. The same in every entry of the node, so that its ids are."""

    turn: str = "0"
    """Which answer of a model in this entry it stands in."""
    index: int = 0
    """How many envelopes of that answer stand before it."""
    schema_rounds: int = 0
    """Schemas asked for, and answers sent back for correction, for this emission so far."""
    contract: Contract = OPEN
    kinds: tuple[Kind, ...] = ()
    """Kinds that are known to this node alone."""
