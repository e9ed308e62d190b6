"""How the events about models change the state of a run: recorded answers, and the outcomes of their envelopes."""

from collections.abc import Callable
from typing import Final

import msgspec

from weftwork.protocol.envelopes.handling import recorded_outcome
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.fold.state import NodeState, RunState
from weftwork.protocol.run.events import ENVELOPE_RECORDED, MODEL_ANSWERED, Fact


def _model_answered(state: RunState, fact: Fact) -> None:
    """model-01 (readings, Model calls): an answer that is recorded is not asked for again while the node runs."""
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.model_answers[fact.payload["call"]] = fact.payload


def _output_chunk(state: RunState, fact: Fact) -> None:
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.streaming = not fact.payload["isLast"]


def _envelope_recorded(state: RunState, fact: Fact) -> None:
    """env-26 (RFC 0021, deduplication): the first outcome under a correlation id stands, for the life of the run."""
    known = recorded_outcome(fact.payload, fact.content_trust)
    state.envelopes.setdefault(fact.payload["correlationId"], known)
    node = state.nodes.get(fact.node_id or "")
    if node is not None:
        node.envelope_ids.append(fact.payload["correlationId"])


def drop_payloads(state: RunState, node: NodeState) -> None:
    """Nobody asks any more what the node sent: that it was sent is kept, and the payloads are not."""
    for correlation_id in node.envelope_ids:
        known = state.envelopes.get(correlation_id)
        if known is not None and isinstance(known.outcome, Accepted):
            outcome = msgspec.structs.replace(known.outcome, payload=None)
            state.envelopes[correlation_id] = msgspec.structs.replace(known, outcome=outcome)
    node.envelope_ids = []


ENVELOPE_CHANGES: Final[dict[str, Callable[[RunState, Fact], None]]] = {
    MODEL_ANSWERED: _model_answered,
    "output.chunk": _output_chunk,
    ENVELOPE_RECORDED: _envelope_recorded,
}
