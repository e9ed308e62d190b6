"""What a run hides: its redactor, and its inputs as its header may show them."""

from typing import Any

from weftwork.ports.eventlog import Hidden
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.graph import Plan
from weftwork.protocol.redaction import Redactor
from weftwork.protocol.state import RunState


def redactor_of(state: RunState) -> Redactor | None:
    """One that knows all that the run has to hide by now; None if there is nothing."""
    if not state.plan.guarded:
        return None
    redactor = Redactor(state.plan)
    redactor.learn_inputs(state.inputs)
    redactor.learn_state(state)
    return redactor


def hide_inputs(plan: Plan, inputs: dict[str, Any]) -> tuple[dict[str, Any], tuple[Hidden, ...]]:
    """hide-01 (readings, What the log may hide): the inputs with masks, and what is behind them."""
    if not plan.guarded:
        return inputs, ()
    redactor = Redactor(plan)
    redactor.learn_inputs(inputs)
    shown, removed = redactor.hide_inputs(inputs)
    return shown, tuple(Hidden(-1, pointer, encode_stored(value)) for pointer, value in removed)
