"""Trace context, and spans as a projection of the log."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import edge, example_count, header_of, node, plan_of, workflow
from weftwork.protocol.review.spans import (
    TraceContext,
    format_traceparent,
    parse_traceparent,
    project_spans,
    span_id,
    trace_of,
)
from weftwork.protocol.run.events import Fact
from weftwork.protocol.timestamps import iso

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PLAN = plan_of(workflow([node("a"), node("b")], [edge("a", "b")]))


@pytest.mark.rule("trace-01")
@pytest.mark.parametrize(
    ("header", "read"),
    [
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
    ],
)
def test_a_traceparent_is_read_by_its_grammar_or_counts_as_absent(header: str | None, read: bool) -> None:
    assert parse_traceparent(header) == (TraceContext(TRACE, SPAN) if read else None)


@settings(max_examples=example_count(200), deadline=None)
@given(st.text("0123456789abcdefg-", max_size=60))
def test_any_text_is_a_traceparent_or_absent(text: str) -> None:
    parse_traceparent(text)


@pytest.mark.rule("trace-02")
def test_the_header_we_send_can_be_read_and_is_sampled() -> None:
    sent = format_traceparent(TRACE, span_id("run-1", 2))
    assert sent.startswith("00-")
    assert sent.endswith("-01")
    assert parse_traceparent(sent) == TraceContext(TRACE, span_id("run-1", 2))


def test_span_ids_are_derived_from_names() -> None:
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
@pytest.mark.parametrize("name", LOGS)
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
