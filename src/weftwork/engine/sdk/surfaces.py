"""Surfaces that a node writes itself, without a model."""

from typing import Any

from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import Emission, NodeContext
from weftwork.protocol.envelopes.handling import envelope_failure, surface_envelope
from weftwork.protocol.envelopes.outcome import Accepted


async def emit_surface(context: NodeContext, payload: Any, turn: str) -> Accepted | Failed | None:
    """surf-33 (RFC 0102): record a surface and emit its event, without asking anybody. `turn` identifies the emission
    in the node: a repeated one, also in a later entry, gets the recorded surface.

    Returns None on a host that renders no surfaces: it has recorded the surface without an event.
    """
    outcome = await context.emit_envelope(surface_envelope(payload), Emission(f"surface/{turn}", asks=False))
    if (failure := envelope_failure(outcome)) is not None:
        return Failed(failure.code, failure.message, failure.details or None, retryable=False)
    return outcome if isinstance(outcome, Accepted) else None
