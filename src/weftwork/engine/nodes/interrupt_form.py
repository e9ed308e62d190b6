"""Forms that a node writes itself: a surface passes the gate and is recorded in the commit of its interrupt.

Surfaces of models take the same gate and leave the same events; see `decide.envelopes`.
"""

from typing import Any

import msgspec

from weftwork.engine.decide.envelopes import recorded_events
from weftwork.engine.models.envelope_gate import EnvelopeGate
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import Failed, Suspended
from weftwork.ports.nodes import Emission, NodeCall
from weftwork.protocol.envelopes.gate_rules import OPEN_CONTRACT
from weftwork.protocol.envelopes.handling import bind_surface, envelope_failure, surface_envelope
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.surfaces.surface import parse_surface


class RecordedForm(msgspec.Struct, frozen=True):
    """An interrupt with its form, and the events that record the form. surf-38 (RFC 0102, trust): the form has the
    trust of everything that its node has received or read so far."""

    interrupt: Interrupt
    drafts: tuple[Draft, ...] = ()
    cause: str | None = None
    """The correlation id of the envelope with the form."""


def record_form(
    runtime: Runtime, state: RunState, call: NodeCall, redactor: Redactor | None, suspended: Suspended
) -> RecordedForm | Failed:
    """surf-32 (RFC 0102): the interrupt of a node with the surface in `Interrupt.form` as its form, or the failure of
    the node if the gate refuses the surface.

    A host that renders no surfaces records the surface and requests the interrupt without a form.
    """
    interrupt = suspended.interrupt
    is_untrusted = suspended.untrusted or state.nodes[call.node_id].untrusted
    gate = EnvelopeGate(runtime, state, call, call.node_id, "", redactor, lambda: is_untrusted, _is_never_foreign)
    emission = Emission(f"form/{interrupt.key}", form_of=interrupt)
    result = gate.judge(surface_envelope(interrupt.form), emission)
    if (failure := envelope_failure(result.outcome)) is not None:
        return Failed(failure.code, failure.message, failure.details or None, retryable=False)
    drafts = () if result.judged is None else recorded_events(state, result.judged, OPEN_CONTRACT)
    if not isinstance(result.outcome, Accepted):
        return RecordedForm(msgspec.structs.replace(interrupt, form=None), drafts)
    bound = bind_surface(interrupt, result.outcome, parse_surface(result.outcome.payload))
    return RecordedForm(bound, drafts, result.outcome.correlation_id)


def _is_never_foreign(_: Any) -> bool:
    """Surfaces refer to no assets."""
    return False
