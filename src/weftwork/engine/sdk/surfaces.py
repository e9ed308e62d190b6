"""Surfaces that a node writes itself, without a model."""

from typing import Any

from weftwork.ports.node_outcome import Failed
from weftwork.ports.nodes import Emission, NodeContext
from weftwork.protocol.envelopes.handling import envelope_failure, surface_envelope
from weftwork.protocol.envelopes.outcome import Accepted, Gated
from weftwork.protocol.envelopes.reassembly import derive_envelope_id


async def emit_surface(context: NodeContext, payload: Any, turn: str) -> str | Failed:
    """surf-33 (RFC 0102): record a surface, emit its event and return its id, without asking anybody. `turn` identifies
    the emission in the node: a repeated one, also in a later entry, gets the recorded surface.

    A host that renders no surfaces records the surface and emits no event.
    """
    outcome = await context.emit_envelope(surface_envelope(payload), Emission(f"surface/{turn}", asks=False))
    if isinstance(outcome, Accepted):
        return outcome.envelope_id
    if (failure := envelope_failure(outcome)) is not None or not isinstance(outcome, Gated):
        assert failure is not None, "an outcome that is neither accepted nor gated is a failure"
        return Failed(failure.code, failure.message, failure.details or None, retryable=False)
    return derive_envelope_id(outcome.correlation_id)
