"""What each payload looks like in the log: payloads.txt has one line for each type of event."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.payload_types import EVENT_TYPES, PAYLOAD_TYPES
from weftwork.ports.node_outcome import EmitEvent
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run import model_payloads, payloads
from weftwork.protocol.run.events import Draft, Payload, is_event_type

RECORDED = dict(line.split(" ", 1) for line in Path(__file__).with_name("payloads.txt").read_text("utf-8").splitlines())
SAMPLES: tuple[Payload, ...] = (
    payloads.RunStarted("w", {"x": 1}, {"tenant": "t", "principal": "p"}),
    payloads.RunCompleted({"n": {"y": None}}),
    payloads.RunFailed({"code": "c", "message": "m"}, "n"),
    payloads.RunCancelled("enough", "run-1"),
    payloads.CancelRequested("enough", "run-1"),
    payloads.RunPaused("immediate", "lunch"),
    payloads.PauseRequested("drain-current-node", "lunch"),
    payloads.RunResumed("back"),
    payloads.CapBreached("schema", 3, 4, "n"),
    payloads.LoopbackLimit("n", 11, 10),
    payloads.VersionPinned("change", 2, "n"),
    payloads.NodeStarted("n", "core.noop", 1),
    payloads.NodeCompleted("n", {"y": None}),
    payloads.NodeFailed("n", {"code": "c", "message": "m"}, 2),
    payloads.NodeRetried("n", 2, 1000, {"code": "c", "message": "m"}),
    payloads.NodeSuspended("n", "n.1", "low-confidence", "k", "low-confidence", [60000], "agent", 0.5, 0.25),
    payloads.NodeResumed("n", "n.1"),
    payloads.NodeSkipped("n", "disabled"),
    payloads.NodeCancelled("n"),
    payloads.MapItem(0, None),
    payloads.EffectClaimed("n", "charge", "3"),
    payloads.EffectRecorded("n", "charge", "3", None, {"code": "c", "message": "m"}),
    payloads.ExternalContent("n", "asset:1"),
    payloads.VariableChanged("x", None, "n"),
    payloads.ChannelWritten("c", None, "append", "n", 2),
    payloads.LogAppended("info", "text", "n", {"a": 1}),
    payloads.ArtifactCreated("a", "report", "n", "1", None, "short"),
    payloads.ChildStarted("run-2", "w", "k", True),
    payloads.ChildStatus("run-2", "k", "cancelling", "enough"),
    payloads.ChildEnded("run-2", "k", "completed", {"code": "c", "message": "m"}, {"x": 1}, ["secret"], {"n": {}}),
    payloads.OrchestratorDecided("agent", {"kind": "terminate"}),
    payloads.NodeDispatched("run-2", "worker"),
    payloads.WorkflowChainEvent("output.harvested", "worker", "run-1", "run-2", {"code": "c", "message": "m"}, ["x"]),
    payloads.ConfidenceEscalated(0.25, 0.5, "clarify", "run-1", {"kind": "terminate"}, "worker"),
    payloads.InterruptRequested("custom", "k", {"customKind": "x"}, {"type": "string"}, 1000),
    payloads.InterruptResolved("n", "n.1", "custom", None, "p", "accepted", "timeout"),
    payloads.InterruptReminder("n", "n.1", 2),
    payloads.ApprovalRequested("n", "n.1", "a", "report", ["accept"], "Title", ["p"], 2),
    payloads.ApprovalReceived("n", "accept", "p", "yes", "good", {"text": "more"}, None),
    payloads.ApprovalGranted("n", "p", {"granted": 1, "required": 2}),
    payloads.ApprovalRejected("n", "p", "no"),
    payloads.ApprovalOverridden("n", "p", "urgent"),
    payloads.ApprovalRemark("n", "p", "ask", "why?"),
    payloads.ClarificationRequested("n", "n.1", [{"id": "q", "question": "What?"}]),
    payloads.ClarificationResolved("n", {"q": "this"}, "p"),
    payloads.ConversationOpened("talk", {"turnIndex": 0}, ["multi-turn"], "agent"),
    payloads.ConversationExchanged("talk", 1, {"turnIndex": 1}),
    payloads.ConversationClosed("talk", 1, {"turnIndex": 1}, {"reason": "done"}),
    model_payloads.ModelAnswered(
        "n", "/0.0", "p", "m", "text", "stop", 3, 5, "end", "harm", [{}], ["asset:1"], [{}], {"code": "c"}
    ),
    model_payloads.OutputChunk("n", "run-1", "text", False, {}),
    model_payloads.ProviderUsage("p", "m", 3, 5, 8, "n"),
    model_payloads.EnvelopeRecorded(
        "n", "turn", "e", "kind", 1, "gated", None, 0, {}, True, 2, "c", "why", ["kind"], "fail-node", "schema", 3, 4
    ),
    model_payloads.EnvelopeRetryAttempted("n", 2, "truncation", "wrong"),
    model_payloads.EnvelopeRetryExhausted("n", 3, "truncation", "wrong"),
    model_payloads.EnvelopeRefusal("n", "p", "m", None, None),
    model_payloads.EnvelopeTruncated("n", "p", "m", "length", True, None),
    model_payloads.NlToFormatEngaged("n", "kind", 1),
    model_payloads.EnvelopeRecoveryApplied("n", "direct", None),
    model_payloads.PromptResolved("n", "system", [{}], "ref", "agent"),
    model_payloads.PromptComposed(
        "n", ["ref"], "system-only", "h", {"x": "h"}, "trusted", "text", {"x": 1}, "text", "text"
    ),
)
"""One of each type with all of its members, in the order in which the code gives them."""


def test_every_payload_has_a_sample_and_a_type_of_its_own() -> None:
    assert {type(each) for each in SAMPLES} == set(PAYLOAD_TYPES)
    assert sorted(RECORDED) == sorted(each.event_type for each in PAYLOAD_TYPES)
    assert all(is_event_type(each) for each in EVENT_TYPES)


@pytest.mark.parametrize("payload", SAMPLES, ids=lambda each: each.event_type)
def test_payloads_are_encoded_as_they_were(payload: Payload) -> None:
    draft = Draft.of(payload, "n")
    assert (draft.type, encode_stored(draft.payload).decode()) == (payload.event_type, RECORDED[payload.event_type])
    assert EmitEvent.of(payload) == EmitEvent(payload.event_type, draft.payload)


@pytest.mark.parametrize("payload", SAMPLES, ids=lambda each: each.event_type)
def test_members_that_may_be_absent_are_left_out(payload: Payload) -> None:
    count = len(payload.__struct_fields__) - len(payload.__struct_defaults__)
    required = payload.__struct_fields__[:count]
    struct: Any = type(payload)
    least = struct(*(getattr(payload, name) for name in required))
    assert list(least.members()) == list(payload.__struct_encode_fields__[:count])


def test_a_draft_shares_the_values_of_its_payload() -> None:
    outputs = {"large": ["value"]}
    assert Draft.of(payloads.NodeCompleted("n", outputs), "n").payload["outputs"] is outputs
