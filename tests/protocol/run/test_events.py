"""Event types, their payloads in the log (payloads.txt), their one encoding, and batches that are written whole."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.harness.payload_types import EVENT_TYPES, PAYLOAD_TYPES
from weftwork.ports.node_outcome import EmitEvent
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run import events, model_payloads, payloads
from weftwork.protocol.run.batch import (
    MAX_SEQUENCE,
    Batch,
    CancelRequest,
    ChildResult,
    IdempotencyRecord,
    check_batch,
    check_first_batch,
    check_first_fork_batch,
)
from weftwork.protocol.run.events import (
    CANCEL_REQUESTED,
    CATALOGUE,
    Draft,
    Event,
    Payload,
    copy_event,
    is_author_event_type,
    is_event_type,
)
from weftwork.protocol.run.header import Fork, Owner, Parent, RunHeader, RunKey
from weftwork.protocol.run.projection import Projection


def enumerated(part: Any) -> set[str]:
    """The members of the list that holds run.started, wherever it stands."""
    if isinstance(part, dict) and "run.started" in part.get("enum", []):
        return set(part["enum"])
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return set().union(*map(enumerated, inner))


@pytest.mark.rule("evt-01")
def test_the_catalogue_is_the_list_of_the_event_schema() -> None:
    assert enumerated(schema.document("run-event")) == CATALOGUE
    assert len(CATALOGUE) == 107
    for synthetic in ("state.snapshot", "ai.message.chunk", "run.annotated", "run.cancelling", "interrupt.vote"):
        assert synthetic not in CATALOGUE


@pytest.mark.rule("evt-01")
@each_case("name", *sorted(CATALOGUE))
def test_every_type_of_the_catalogue_is_a_type(name: str) -> None:
    assert is_event_type(name)


VENDOR_TYPES = [CANCEL_REQUESTED, *"acme.thing media.image acme.Thing_2.sub-part runs.thing".split()]
NO_TYPES = """
    run.thing run.cancelling node.thing approval.thing clarification.thing cap.thing channel.thing replay.thing
    vendor.acme.thing core.thing openwop.thing local.x private.x community.x acme Acme.thing acme. acme..x
""".split()


@pytest.mark.rule("evt-02")
def test_a_vendor_type_stays_out_of_the_protocols_families() -> None:
    assert [name for name in VENDOR_TYPES if not is_event_type(name)] == []
    assert [name for name in (*NO_TYPES, "acme.thing\n", "acme.th ing", "") if is_event_type(name)] == []


def test_without_the_closed_families_a_stranger_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_CLOSED_FAMILIES", ())
    assert is_event_type("run.cancelling")


FRAMES = ("state.snapshot", "ai.message.chunk", "run.annotated", "stream.opened", "heartbeat.stateChanged")


@pytest.mark.rule("evt-06")
@fails_without(events, "RESERVED_FAMILIES", frozenset(), match=r"state\.snapshot")
def test_node_code_has_no_type_in_a_family_of_the_protocol_or_of_the_host() -> None:
    families = {
        name.partition(".")[0] for name in (*CATALOGUE, *UNIVERSAL_KINDS, *DISPLAY_KINDS, *FRAMES, CANCEL_REQUESTED)
    }
    names = [*FRAMES, *CATALOGUE, *NO_TYPES, *(f"{family}.other" for family in sorted(families)), "conformance.x"]
    assert [name for name in names if is_author_event_type(name)] == []
    assert all(map(is_author_event_type, ("acme.progress", "acme.sub.thing-2", "acme.run.started", "agents.moved")))


def event(**more: Any) -> Event:
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "sequence": 0,
        "event_id": "event-1",
        "type": "acme.thing",
        "timestamp": 1_767_225_600_042,
        "payload": b"{}",
    }
    return Event(**{**fields, **more})


@pytest.mark.rule("evt-03")
@for_all(
    150,
    node_id=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    causation_id=st.none() | st.text('a"\\\n', min_size=1, max_size=4),
    payload=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.integers() | st.none()),
)
def test_a_document_leaves_out_what_it_does_not_have(node_id: Any, causation_id: Any, payload: Any) -> None:
    encoded = event(node_id=node_id, causation_id=causation_id, payload=encode_stored(payload)).document
    assert b"\n" not in encoded
    document = msgspec.json.decode(encoded)
    optional = {"nodeId": node_id, "causationId": causation_id}
    assert document == {
        "eventId": "event-1",
        "runId": "run-1",
        "type": "acme.thing",
        "sequence": 0,
        "timestamp": "2026-01-01T00:00:00.042Z",
        "schemaVersion": 1,
        "engineVersion": "1",
        "payload": payload,
    } | {name: value for name, value in optional.items() if value is not None}
    assert schema.check("run-event", document) == []


def test_an_event_is_encoded_once_for_all_readers() -> None:
    one = event(node_id="a")
    assert one.document is one.document
    assert schema.check("run-event", {**msgspec.json.decode(one.document), "nodeId": None})


def test_terminal_events_are_three() -> None:
    assert {name for name in CATALOGUE if event(type=name).is_terminal} == {
        "run.completed",
        "run.failed",
        "run.cancelled",
    }


RECORDED = dict(line.split(" ", 1) for line in Path(__file__).with_name("payloads.txt").read_text("utf-8").splitlines())
SAMPLES: tuple[Payload, ...] = (
    payloads.RunStarted("w", {"x": 1}, {"tenant": "t", "principal": "p"}),
    payloads.RunCompleted({"n": {"y": None}}),
    payloads.RunFailed({"code": "c", "message": "m"}, "n"),
    payloads.RunCancelled("enough", "run-1"),
    payloads.CancelRequested("enough", "run-1"),
    payloads.RunForked("run-1", 4, "2026-01-31T08:05:09.042Z", {"x": 1}, "n", "run-0"),
    payloads.ReplayDiverged("run-1", 4, "output", "node.completed", "e-4"),
    payloads.RunPaused("immediate", "lunch"),
    payloads.PauseRequested("drain-current-node", "lunch"),
    payloads.RunResumed("back"),
    payloads.LimitBreached({"code": "c", "message": "m"}),
    payloads.SetAside({"code": "c", "message": "m"}),
    payloads.CapBreached("schema", 3, 4, "n"),
    payloads.LoopbackLimit("n", 11, 10),
    payloads.VersionPinned("change", 2, "n"),
    payloads.NodeStarted("n", "core.noop", 1, {"provider": "p", "model": "m"}),
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
        *("n", "/0.0", "p", "m", "text", "stop", 3, 5, "end", "harm"),
        *([{}], ["asset:1"], [{}], {"code": "c"}, {"v1": "k"}),
    ),
    model_payloads.ProviderWaiting("n", "p", "c", "2026-01-31T08:05:09.042Z"),
    model_payloads.ProviderRetried("n"),
    model_payloads.OutputChunk("n", "run-1", "text", False, {}),
    model_payloads.ModelSubstituted("n", "p", "m", "q", "k", ["vision-input"]),
    model_payloads.ModelInsufficient("n", "p", "m", ["vision-input"], True),
    model_payloads.ProviderUsage("p", "m", 3, 5, 8, "n", 2, 0.25),
    model_payloads.EnvelopeRecorded(
        "n",
        "turn",
        "e",
        "kind",
        1,
        "gated",
        None,
        0,
        {},
        True,
        2,
        "c",
        "why",
        ["kind"],
        "fail-node",
        "schema",
        3,
        4,
        "l",
        "00-t",
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


@each_case("payload", *SAMPLES)
def test_payloads_are_encoded_as_they_were(payload: Payload) -> None:
    draft = Draft.of(payload, "n")
    assert (draft.type, encode_stored(draft.payload).decode()) == (payload.event_type, RECORDED[payload.event_type])
    assert EmitEvent.of(payload) == EmitEvent(payload.event_type, draft.payload)


@each_case("payload", *SAMPLES)
def test_members_that_may_be_absent_are_left_out(payload: Payload) -> None:
    count = len(payload.__struct_fields__) - len(payload.__struct_defaults__)
    required = payload.__struct_fields__[:count]
    struct: Any = type(payload)
    least = struct(*(getattr(payload, name) for name in required))
    assert list(least.members()) == list(payload.__struct_encode_fields__[:count])


def test_a_draft_shares_the_values_of_its_payload() -> None:
    outputs = {"large": ["value"]}
    assert Draft.of(payloads.NodeCompleted("n", outputs), "n").payload["outputs"] is outputs


RUN = RunKey("live:acme", "run-1")


def numbered_event(sequence: int) -> Event:
    return Event("run-1", sequence, f"id-{sequence}", "log.appended", 0, b"{}")


SOUND = Batch((numbered_event(3), numbered_event(4)), Projection("running", 4))
BROKEN = {
    "a gap": replace(SOUND, events=(numbered_event(3), numbered_event(5))),
    "a repetition": replace(SOUND, events=(numbered_event(3), numbered_event(3))),
    "a late start": replace(SOUND, events=(numbered_event(4), numbered_event(5)), projection=Projection("running", 5)),
    "another run's event": replace(SOUND, events=(numbered_event(3), replace(numbered_event(4), run_id="run-2"))),
    "a projection that runs ahead": replace(SOUND, projection=Projection("running", 5)),
    "an end without a time": replace(SOUND, projection=Projection("completed", 4)),
    "a time without an end": replace(SOUND, projection=Projection("running", 4, completed_at=1)),
    "another tenant's record": replace(SOUND, record=IdempotencyRecord("live:other", "slot", "f", b"", 0)),
}


@pytest.mark.rule("fold-02")
@each_case("batch", *BROKEN.values())
def test_an_unsound_batch_is_refused(batch: Batch) -> None:
    check_batch(RUN, 2, SOUND)
    with pytest.raises(HostFault):
        check_batch(RUN, 2, batch)


@pytest.mark.rule("fold-02")
def test_a_log_has_a_last_sequence() -> None:
    last = Batch((numbered_event(MAX_SEQUENCE),), Projection("running", MAX_SEQUENCE))
    check_batch(RUN, MAX_SEQUENCE - 1, last)
    beyond = Batch((numbered_event(MAX_SEQUENCE + 1),), Projection("running", MAX_SEQUENCE + 1))
    with pytest.raises(HostFault):
        check_batch(RUN, MAX_SEQUENCE, beyond)


FORK = RunHeader("run-1", "live:acme", Owner("acme", "key-1"), "flow", "0", 0, fork=Fork("run-0", 3, "branch"))
PARENT = Parent("run-0", "n", "k", "core.dispatch", "run-0")
BROKEN_FORKS = {
    "no fork": (replace(FORK, fork=None), SOUND),
    "a negative start": (
        replace(FORK, fork=Fork("run-0", -1, "branch")),
        Batch((numbered_event(-1),), Projection("running", -1)),
    ),
    "a child": (replace(FORK, parent=PARENT), SOUND),
    "another prefix": (replace(FORK, fork=Fork("run-0", 4, "branch")), SOUND),
    "a record in the batch": (FORK, replace(SOUND, record=IdempotencyRecord("live:acme", "slot", "f", b"", 0))),
    "a message to a child": (FORK, replace(SOUND, cancel_requests=(CancelRequest("run-2", "why"),))),
    "a message to a parent": (FORK, replace(SOUND, child_result=ChildResult("run-1", "n", "k", 4, "running"))),
    **{name: (FORK, broken) for name, broken in BROKEN.items()},
}


@pytest.mark.rule("fold-02")
@each_case("header, first", *BROKEN_FORKS.values())
def test_an_unsound_fork_is_refused(header: RunHeader, first: Batch) -> None:
    assert check_first_fork_batch(FORK, None, SOUND) == FORK.fork
    check_first_fork_batch(FORK, None, Batch((), Projection("running", 2)))
    with pytest.raises(HostFault):
        check_first_fork_batch(header, None, first)


@pytest.mark.rule("fold-02")
def test_a_run_with_a_prefix_is_created_with_a_copy_only() -> None:
    for first in (None, SOUND):
        with pytest.raises(HostFault):
            check_first_batch(FORK, None, first)
    check_first_batch(replace(FORK, fork=Fork("run-0", 0, "branch")), None, None)
    with pytest.raises(HostFault):
        check_first_fork_batch(FORK, IdempotencyRecord("live:other", "slot", "f", b"", 0), SOUND)


def test_a_copy_of_an_event_has_another_run_and_nothing_else() -> None:
    event = replace(numbered_event(3), payload=b'{"runId":"run-1"}', node_id="n", causation_id="c", interrupt_id="i")
    document = event.document
    copied = copy_event(event, "run-2")
    assert copied.document == document.replace(b'"runId":"run-1","type"', b'"runId":"run-2","type"')
    assert event.document == document
    assert copied == replace(event, run_id="run-2", _document=copied._document)


@each_case(
    "payload, wanted",
    (b'{"nodeId":"n","runId":"run-1","chunk":"run-1"}', b'{"nodeId":"n","runId":"run-2","chunk":"run-1"}'),
    (b'{"meta":{"runId":"run-1"},"runId":"run-1"}', b'{"meta":{"runId":"run-1"},"runId":"run-2"}'),
    (b'{"a\\"runId":"run-1","n":1e3}', b'{"a\\"runId":"run-1","n":1e3}'),
)
def test_a_copied_chunk_names_its_run(payload: bytes, wanted: bytes) -> None:
    event = replace(numbered_event(3), type="output.chunk", payload=payload)
    assert copy_event(event, "run-2").payload == wanted
