"""Trace context, and spans as a projection of the log: of nodes, of envelopes, and of what answers cost."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import edge, for_all, header_of, node, plan_of, workflow
from weftwork.protocol.review.spans import (
    MAX_ATTRIBUTE,
    MAX_SPAN_EVENTS,
    RELIABILITY_ATTRIBUTES,
    SPAN_EVENT_TYPES,
    RunSpans,
    TraceContext,
    envelope_spans,
    format_traceparent,
    parse_traceparent,
    project_spans,
    span_id,
    trace_of,
)
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Event, Fact
from weftwork.protocol.timestamps import iso

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PLAN = plan_of(workflow([node("a"), node("b")], [edge("a", "b")]))


@pytest.mark.rule("trace-01")
@each_case(
    "header, read",
    (f"00-{TRACE}-{SPAN}-01", True),
    (f"00-{TRACE}-{SPAN}-00", True),
    (f"cc-{TRACE}-{SPAN}-01-later", True),
    (f"cc-{TRACE}-{SPAN}-01", True),
    (f"00-{TRACE}-{SPAN}-01-later", False),
    (f"ff-{TRACE}-{SPAN}-01", False),
    (f"cc-{TRACE}-{SPAN}-01later", False),
    (f"00-{'0' * 32}-{SPAN}-01", False),
    (f"00-{TRACE}-{'0' * 16}-01", False),
    (f"00-{TRACE.upper()}-{SPAN}-01", False),
    (f"00-{TRACE[:-1]}-{SPAN}-01", False),
    (f"00-{TRACE}-{SPAN}-1", False),
    (f" 00-{TRACE}-{SPAN}-01", False),
    (f"00-{TRACE}-{SPAN}-01\n", False),
    ("", False),
    (None, False),
)
def test_a_traceparent_is_read_by_its_grammar_or_counts_as_absent(header: str | None, read: bool) -> None:
    assert parse_traceparent(header) == (TraceContext(TRACE, SPAN) if read else None)


@for_all(100, st.text("0123456789abcdefg-", max_size=60), full=4_000)
def test_any_text_is_a_traceparent_or_absent(text: str) -> None:
    parse_traceparent(text)


@pytest.mark.rule("trace-02")
def test_span_ids_are_derived_from_names_and_sent_in_a_header_that_is_sampled() -> None:
    sent = format_traceparent(TRACE, span_id("run-1", 2))
    assert sent.startswith("00-")
    assert sent.endswith("-01")
    assert parse_traceparent(sent) == TraceContext(TRACE, span_id("run-1", 2))
    assert span_id("a", 1) == span_id("a", 1)
    assert len({span_id("a", 1), span_id("a1"), span_id("a", 11), span_id("a", 1, 1), span_id("", "a1")}) == 5


@pytest.mark.rule("trace-03")
def test_a_run_belongs_to_its_callers_trace_or_to_one_of_its_own() -> None:
    given_one = header_of(PLAN, traceparent=f"00-{TRACE}-{SPAN}-01")
    assert trace_of(given_one) == TraceContext(TRACE, SPAN)
    own = trace_of(header_of(PLAN))
    assert own == trace_of(header_of(PLAN, traceparent="broken"))
    assert own.parent_id is None
    assert parse_traceparent(format_traceparent(own.trace_id, SPAN)) is not None
    assert own != trace_of(header_of(PLAN, run_id="run-2"))


def fact(sequence: int, kind: str, node_id: str | None = None, **payload: Any) -> Fact:
    if kind == "node.started":
        payload = {"nodeId": node_id, "typeId": "core.noop", **payload}
    return Fact(sequence, kind, payload, 1_000 + sequence, node_id)


STARTED = [fact(0, "run.started"), fact(1, "node.started", "a", attempt=1)]
AGAIN = fact(3, "node.started", "a", attempt=2)
OPEN = ("unset", None)
LOGS: dict[str, tuple[list[Fact], list[tuple[str, tuple[str, int | None]]]]] = {
    "nothing yet": ([], [("openwop.run", OPEN)]),
    "running": (STARTED, [("openwop.run", OPEN), ("a", OPEN)]),
    "completed": (
        [*STARTED, fact(2, "node.completed", "a"), fact(3, "run.completed")],
        [("openwop.run", ("ok", 3)), ("a", ("ok", 2))],
    ),
    "failed": (
        [*STARTED, fact(2, "node.failed", "a"), fact(3, "run.failed")],
        [("openwop.run", ("error", 3)), ("a", ("error", 2))],
    ),
    "cancelled": (
        [*STARTED, fact(2, "weftwork.run.cancel-requested"), fact(3, "node.cancelled", "a"), fact(4, "run.cancelled")],
        [("openwop.run", ("ok", 4)), ("a", ("unset", 3))],
    ),
    "another attempt": (
        [
            *STARTED,
            fact(2, "node.failed", "a"),
            fact(3, "node.started", "a", attempt=2),
            fact(4, "node.completed", "a"),
        ],
        [("openwop.run", OPEN), ("a", ("error", 2)), ("a", ("ok", 4))],
    ),
    "skipped and unknown": (
        [*STARTED, fact(2, "node.skipped", "b"), fact(3, "other.thing"), fact(4, "node.completed", "b")],
        [("openwop.run", OPEN), ("a", OPEN)],
    ),
}


@pytest.mark.rule("trace-04")
@each_case("name", *LOGS)
def test_a_log_gives_one_span_for_the_run_and_one_for_each_attempt(name: str) -> None:
    facts, expected = LOGS[name]
    found = project_spans(header_of(PLAN), facts)
    assert len(found) == len(expected)
    for span, (owner, (status, end)) in zip(found, expected, strict=True):
        assert span["attributes"].get("openwop.node_id", span["name"]) == owner
        assert span["status"] == status
        assert span["endedAt"] == (None if end is None else iso(1_000 + end))
        assert span["attributes"].get("openwop.event_seq") == end
    run, *nodes = found
    assert all((each["traceId"], each["parentSpanId"]) == (run["traceId"], run["spanId"]) for each in nodes)
    assert all(each["name"] == "openwop.node.core.noop" for each in nodes)
    assert len({each["spanId"] for each in found}) == len(found)
    assert run["startedAt"] == iso(1_000)
    assert project_spans(header_of(PLAN), facts) == found


def test_a_span_names_the_run_the_workflow_and_the_attempt() -> None:
    facts, _ = LOGS["another attempt"]
    run, first, second = project_spans(header_of(PLAN, traceparent=f"00-{TRACE}-{SPAN}-01"), facts)
    assert run["parentSpanId"] == SPAN
    assert run["attributes"] == {"openwop.run_id": "run-1", "openwop.workflow_id": "sample"}
    assert first["attributes"]["openwop.node_attempt"] == 1
    assert second["attributes"] == {
        "openwop.run_id": "run-1",
        "openwop.workflow_id": "sample",
        "openwop.node_id": "a",
        "openwop.node_type": "core.noop",
        "openwop.node_attempt": 2,
        "openwop.event_type": "node.completed",
        "openwop.event_seq": 4,
    }


ONE_NODE = plan_of(workflow([node("a")]))
RECORDED = {
    "nodeId": "a",
    "correlationId": "corr-1",
    "envelopeId": "env-1",
    "type": "clarification.request",
    "schemaVersion": 1,
    "status": "accepted",
    "redactionCount": 2,
    "payload": {"questions": ["what is never told"]},
    "reason": "what is never told",
}
SAID: dict[str, dict[str, Any]] = {
    "envelope.retry.attempted": {"attempt": 2, "reason": "truncation", "previousError": "what is never told"},
    "envelope.retry.exhausted": {"totalAttempts": 3, "finalReason": "refusal", "finalError": "what is never told"},
    "envelope.refusal": {"provider": "p", "model": "m", "refusalText": "what is never told", "safetyCategory": "harm"},
    "envelope.truncated": {"provider": "p", "model": "m", "stopReason": "length", "outputTokenCount": 7},
    "envelope.nlToFormat.engaged": {"originalEnvelopeType": "what is never told", "fallbackCalls": 1},
    "envelope.recovery.applied": {"path": "jsonrepair", "byteOffset": 12},
}
EXPECTED: dict[str, dict[str, Any]] = {
    "envelope.retry.attempted": {
        "openwop.envelope.retry.attempt": 2,
        "openwop.envelope.retry.reason": "truncation",
    },
    "envelope.retry.exhausted": {
        "openwop.envelope.retry.total_attempts": 3,
        "openwop.envelope.retry.final_reason": "refusal",
    },
    "envelope.refusal": {"openwop.envelope.refusal.safety_category": "harm"},
    "envelope.truncated": {
        "openwop.envelope.truncated.stop_reason": "length",
        "openwop.envelope.truncated.output_token_count": 7,
    },
    "envelope.nlToFormat.engaged": {"openwop.envelope.nl_to_format.fallback_calls": 1},
    "envelope.recovery.applied": {
        "openwop.envelope.recovery.path": "jsonrepair",
        "openwop.envelope.recovery.byte_offset": 12,
    },
}


def facts(*said: tuple[str, dict[str, Any]], trust: Any = None) -> list[Fact]:
    started = [
        Fact(0, "run.started", {}, 1000),
        Fact(1, "node.started", {"nodeId": "a", "typeId": "core.ai.callPrompt", "attempt": 1}, 1001, "a"),
    ]
    told = [Fact(2 + at, kind, load, 1002 + at, "a", content_trust=trust) for at, (kind, load) in enumerate(said)]
    end = len(told) + 2
    return [*started, *told, Fact(end, "node.completed", {"nodeId": "a", "outputs": {}}, 1000 + end, "a")]


@pytest.mark.rule("trace-05")
def test_an_outcome_is_a_span_below_its_node() -> None:
    run, at_node, told = project_spans(header_of(ONE_NODE), facts((ENVELOPE_RECORDED, RECORDED)))
    assert (told["name"], told["parentSpanId"], told["traceId"]) == (
        "openwop.envelope",
        at_node["spanId"],
        run["traceId"],
    )
    assert told["startedAt"] == told["endedAt"] == iso(1002)
    assert told["status"] == "ok"
    assert told["attributes"] == {
        "openwop.run_id": "run-1",
        "openwop.node_id": "a",
        "envelope_type": "clarification.request",
        "openwop.envelope_kind": "clarification.request",
        "envelope_outcome": "accepted",
        "envelope_correlation_id": "corr-1",
        "envelope_schema_version": 1,
        "envelope_id": "env-1",
        "openwop.envelope_id": "env-1",
        "envelope_content_trust": "trusted",
        "openwop.event_type": ENVELOPE_RECORDED,
        "openwop.event_seq": 2,
    }


@pytest.mark.rule("trace-05")
def test_drift_the_floor_and_trust_are_told_where_there_are_some() -> None:
    drifted = {**RECORDED, "drift": True, "floor": 1, "status": "gated"}
    *_, told = project_spans(header_of(ONE_NODE), facts((ENVELOPE_RECORDED, drifted), trust="untrusted"))
    assert told["attributes"]["envelope_schema_version_drift"] is True
    assert told["attributes"]["envelope_schema_version_floor"] == 1
    assert told["attributes"]["envelope_content_trust"] == "untrusted"
    assert told["attributes"]["envelope_outcome"] == "gated"
    assert told["status"] == "error"
    *_, plain = project_spans(header_of(ONE_NODE), facts((ENVELOPE_RECORDED, {**RECORDED, "drift": False})))
    assert "envelope_schema_version_drift" not in plain["attributes"]


@pytest.mark.rule("trace-05")
def test_events_without_a_run_have_the_same_spans() -> None:
    event = Event("probe", 0, "e", ENVELOPE_RECORDED, 5, msgspec.json.encode(RECORDED), "a", content_trust="untrusted")
    other = Event("probe", 1, "f", "log.appended", 5, b'{"level":"info","message":"x"}')
    (told,) = envelope_spans("probe", [event, other])
    assert told["parentSpanId"] is None
    assert told["attributes"]["openwop.run_id"] == "probe"
    assert told["attributes"]["envelope_content_trust"] == "untrusted"
    assert envelope_spans("probe", [event, other]) == [told]


@pytest.mark.rule("trace-06")
@each_case("kind", *RELIABILITY_ATTRIBUTES)
def test_a_node_tells_how_its_answers_came_about(kind: str) -> None:
    _, at_node = project_spans(header_of(ONE_NODE), facts((kind, SAID[kind])))
    assert EXPECTED[kind].items() <= at_node["attributes"].items()
    assert at_node["events"] == [{"name": kind, "timestamp": iso(1002), "attributes": EXPECTED[kind]}]
    assert "never told" not in json.dumps(at_node)


@pytest.mark.rule("trace-06")
def test_the_list_of_a_span_is_bounded_and_its_attributes_are_the_last() -> None:
    many = [("envelope.retry.attempted", {"attempt": at, "reason": "unknown"}) for at in range(2, 40)]
    _, at_node = project_spans(header_of(ONE_NODE), facts(*many))
    assert len(at_node["events"]) == MAX_SPAN_EVENTS
    assert at_node["attributes"]["openwop.envelope.retry.attempt"] == 39


@pytest.mark.rule("trace-07")
def test_of_what_a_call_cost_only_the_listed_is_told() -> None:
    leaky = {"credentialRef": "c", "openwop.cost.evil": "x", "prompt": "what is never told", "costEstimateUsd": 1.5}
    usage = {"provider": "p", "model": "m", "inputTokens": 100, "outputTokens": 50, **leaky}
    _, at_node = project_spans(
        header_of(ONE_NODE), facts(("provider.usage", usage), ("provider.usage", {**usage, "inputTokens": 1}))
    )
    cost = {name: value for name, value in at_node["attributes"].items() if "cost" in name}
    assert cost == {
        "openwop.cost.tokens.input": 101,
        "openwop.cost.tokens.output": 100,
        "openwop.cost.tokens.total": 201,
        "openwop.cost.provider": "p",
    }
    assert "never told" not in json.dumps(at_node)


def payloads() -> st.SearchStrategy[dict[str, Any]]:
    odd = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=300) | st.just([{}])
    names = sorted({*RECORDED, "drift", "floor", "inputTokens", "outputTokens", "provider"})
    known = st.sampled_from([*names, *(name for said in SAID.values() for name in said)])
    return st.dictionaries(known | st.text(max_size=8), odd, max_size=12)


@pytest.mark.rule("trace-05", "trace-06", "trace-07")
@for_all(
    100,
    st.lists(
        st.tuples(st.sampled_from([ENVELOPE_RECORDED, "provider.usage", *RELIABILITY_ATTRIBUTES]), payloads()),
        max_size=6,
    ),
    full=4_000,
)
def test_no_payload_breaks_a_span_or_swells_it(said: list[tuple[str, dict[str, Any]]]) -> None:
    for span in project_spans(header_of(ONE_NODE), facts(*said)):
        for value in span["attributes"].values():
            assert isinstance(value, str | int | bool)
            assert not isinstance(value, str) or len(value) <= MAX_ATTRIBUTE


def test_a_bound_on_spans_is_kept_and_told() -> None:
    found = RunSpans(header_of(ONE_NODE), most=2)
    for fact in facts((ENVELOPE_RECORDED, RECORDED)):
        assert fact.type in SPAN_EVENT_TYPES
        found.add(fact)
    assert (len(found.spans), found.is_truncated) == (2, True)
    assert found.spans[1]["endedAt"] is not None
    assert not RunSpans(header_of(ONE_NODE), most=2).is_truncated
