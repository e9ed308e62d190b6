"""Decides about answers and envelopes of models. Pure.

`project_envelope` computes the events of an envelope outside of any run, for callers that only preview them.
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


def record_answer(state: RunState, answered: ModelAnswered) -> Decision:
    """model-01 (readings, Model calls): an answer is recorded once, in one commit with the events that follow from
    it."""
    node = running_node(state, answered.node_id, answered.entry_sequence)
    if node is None or answered.answer.call in node.model_answers:
        return NOTHING
    return Decision((Draft.of(answered.answer, answered.node_id), *answered.along))


def record_envelope(state: RunState, emitted: EnvelopeEmitted) -> Decision:
    """env-26 (RFC 0021, deduplication): the first envelope with a correlation id is recorded, in one commit with the
    events of its handler; later ones give an empty decision.

    A clarification suspends its node in the same commit.
    """
    judged, interrupt = emitted.judged, emitted.interrupt
    running = running_node(state, emitted.node_id, emitted.entry_sequence)
    if running is None or state.stop is not None or judged.correlation_id in state.envelopes:
        return NOTHING
    drafts = recorded_events(state, judged, emitted.contract)
    if interrupt is not None and interrupt.key not in state.resolutions and request_refusal(state, interrupt) is None:
        requested = suspend_node(state, NodeSuspended(emitted.node_id, interrupt, emitted.entry_sequence))
        drafts += with_cause(requested, judged.correlation_id, judged.outcome.content_trust)
    return Decision(drafts)


def recorded_events(state: RunState, judged: JudgedEnvelope, contract: EnvelopeContract) -> tuple[Draft, ...]:
    """The record of an outcome and the events of its handler, without log lines below the log level of the run."""
    log_type = payloads.LogAppended.event_type
    return tuple(
        draft
        for draft in outcome_events(judged, contract)
        if draft.type != log_type or passes_log_level(state, draft.payload["level"])
    )


def project_envelope(judged: JudgedEnvelope, contract: EnvelopeContract, asked_before: int) -> tuple[Draft, ...]:
    """env-32 (RFC 0021, projection): the events of the outcome and its handler, and those of the interrupt or the
    failure that follows.

    `asked_before` is the number of interrupts that the node has requested.
    """
    outcome, node_id = judged.outcome, judged.node_id
    more: tuple[Draft, ...] = ()
    if isinstance(outcome, Accepted) and judged.type == CLARIFICATION_KIND:
        more = interrupt_events(node_id, interrupt_id(node_id, asked_before + 1), clarification_interrupt(outcome))
    elif (failure := envelope_failure(outcome)) is not None:
        error = error_object(failure.code, failure.message, failure.details)
        more = (Draft.of(payloads.NodeFailed(node_id, error), node_id),)
    return (*outcome_events(judged, contract), *with_cause(more, judged.correlation_id, outcome.content_trust))
