"""Decides what follows when a model has answered, and when it has sent an envelope. Pure.

`project_envelope` tells the same for an envelope outside any run, for callers that only want to know.
"""

from weftwork.engine.decide.decision import (
    NOTHING,
    Decision,
    error_object,
    passes_log_level,
    running_node,
)
from weftwork.engine.decide.inputs import EnvelopeEmitted, ModelAnswered, NodeSuspended
from weftwork.engine.decide.interrupts import interrupt_events, suspend_node
from weftwork.protocol.envelopes.gate_rules import EnvelopeContract
from weftwork.protocol.envelopes.handling import (
    JudgedEnvelope,
    clarification_interrupt,
    envelope_failure,
    outcome_events,
    with_cause,
)
from weftwork.protocol.envelopes.kinds import CLARIFICATION_KIND
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.people.interrupt_events import request_refusal
from weftwork.protocol.run import payloads
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.interrupts import interrupt_id


def record_answer(state: RunState, given: ModelAnswered) -> Decision:
    """model-01 (readings, Model calls): an answer is recorded once, in one commit with all that follows from it."""
    node = running_node(state, given.node_id, given.entry_sequence)
    if node is None or given.answer.call in node.model_answers:
        return NOTHING
    return Decision((Draft.of(given.answer, given.node_id), *given.along))


def record_envelope(state: RunState, given: EnvelopeEmitted) -> Decision:
    """env-26 (RFC 0021, deduplication): the first under a correlation id is recorded, and its handler runs with that.

    A clarification makes its node wait in the very commit that records it.
    """
    judged, question = given.judged, given.interrupt
    running = running_node(state, given.node_id, given.entry_sequence)
    if running is None or state.stop is not None or judged.correlation_id in state.envelopes:
        return NOTHING
    logged = payloads.LogAppended.event_type
    drafts = tuple(
        draft
        for draft in outcome_events(judged, given.contract)
        if draft.type != logged or passes_log_level(state, draft.payload["level"])
    )
    if question is not None and question.key not in state.resolutions and request_refusal(state, question) is None:
        asked = suspend_node(state, NodeSuspended(given.node_id, question, given.entry_sequence))
        drafts += with_cause(asked, judged.correlation_id, judged.outcome.content_trust)
    return Decision(drafts)


def project_envelope(judged: JudgedEnvelope, contract: EnvelopeContract, asked_before: int) -> tuple[Draft, ...]:
    """env-32 (RFC 0021, projection): the record, what its handler adds, and the question or the failure that follows.

    `asked_before` is how many questions the node has asked.
    """
    outcome, node_id = judged.outcome, judged.node_id
    more: tuple[Draft, ...] = ()
    if isinstance(outcome, Accepted) and judged.type == CLARIFICATION_KIND:
        more = interrupt_events(node_id, interrupt_id(node_id, asked_before + 1), clarification_interrupt(outcome))
    elif (failure := envelope_failure(outcome)) is not None:
        error = error_object(failure.code, failure.message, failure.details)
        more = (Draft.of(payloads.NodeFailed(node_id, error), node_id),)
    return (*outcome_events(judged, contract), *with_cause(more, judged.correlation_id, outcome.content_trust))
