"""Spans of envelopes, of how reliable answers were, and of what they cost."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count, header_of, node, plan_of, workflow
from weftwork.protocol.review.spans import (
    MAX_ATTRIBUTE,
    MAX_SPAN_EVENTS,
    RELIABILITY_ATTRIBUTES,
    SPAN_EVENT_TYPES,
    RunSpans,
    envelope_spans,
    project_spans,
)
from weftwork.protocol.run.events import ENVELOPE_RECORDED, Event, Fact
from weftwork.protocol.timestamps import iso

PLAN = plan_of(workflow([node("a")]))
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
    run, at_node, told = project_spans(header_of(PLAN), facts((ENVELOPE_RECORDED, RECORDED)))
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
    *_, told = project_spans(header_of(PLAN), facts((ENVELOPE_RECORDED, drifted), trust="untrusted"))
    assert told["attributes"]["envelope_schema_version_drift"] is True
    assert told["attributes"]["envelope_schema_version_floor"] == 1
    assert told["attributes"]["envelope_content_trust"] == "untrusted"
    assert told["attributes"]["envelope_outcome"] == "gated"
    assert told["status"] == "error"
    *_, plain = project_spans(header_of(PLAN), facts((ENVELOPE_RECORDED, {**RECORDED, "drift": False})))
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
@pytest.mark.parametrize("kind", RELIABILITY_ATTRIBUTES)
def test_a_node_tells_how_its_answers_came_about(kind: str) -> None:
    _, at_node = project_spans(header_of(PLAN), facts((kind, SAID[kind])))
    assert EXPECTED[kind].items() <= at_node["attributes"].items()
    assert at_node["events"] == [{"name": kind, "timestamp": iso(1002), "attributes": EXPECTED[kind]}]
    assert "never told" not in json.dumps(at_node)


@pytest.mark.rule("trace-06")
def test_the_list_of_a_span_is_bounded_and_its_attributes_are_the_last() -> None:
    many = [("envelope.retry.attempted", {"attempt": at, "reason": "unknown"}) for at in range(2, 40)]
    _, at_node = project_spans(header_of(PLAN), facts(*many))
    assert len(at_node["events"]) == MAX_SPAN_EVENTS
    assert at_node["attributes"]["openwop.envelope.retry.attempt"] == 39


@pytest.mark.rule("trace-07")
def test_of_what_a_call_cost_only_the_listed_is_told() -> None:
    leaky = {"credentialRef": "c", "openwop.cost.evil": "x", "prompt": "what is never told", "costEstimateUsd": 1.5}
    usage = {"provider": "p", "model": "m", "inputTokens": 100, "outputTokens": 50, **leaky}
    _, at_node = project_spans(
        header_of(PLAN), facts(("provider.usage", usage), ("provider.usage", {**usage, "inputTokens": 1}))
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
@settings(max_examples=example_count(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([ENVELOPE_RECORDED, "provider.usage", *RELIABILITY_ATTRIBUTES]), payloads()),
        max_size=6,
    )
)
def test_no_payload_breaks_a_span_or_swells_it(said: list[tuple[str, dict[str, Any]]]) -> None:
    for span in project_spans(header_of(PLAN), facts(*said)):
        for value in span["attributes"].values():
            assert isinstance(value, str | int | bool)
            assert not isinstance(value, str) or len(value) <= MAX_ATTRIBUTE


def test_a_bound_on_spans_is_kept_and_told() -> None:
    found = RunSpans(header_of(PLAN), most=2)
    for fact in facts((ENVELOPE_RECORDED, RECORDED)):
        assert fact.type in SPAN_EVENT_TYPES
        found.add(fact)
    assert (len(found.spans), found.is_truncated) == (2, True)
    assert found.spans[1]["endedAt"] is not None
    assert not RunSpans(header_of(PLAN), most=2).is_truncated
