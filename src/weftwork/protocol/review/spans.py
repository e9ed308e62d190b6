"""Spans of a run, derived from its log. A span contains nothing that the log does not contain.

Names and attributes follow OpenWOP observability (openwop.run, openwop.node.<typeId>, cost attributes), RFC 0021
(openwop.envelope) and RFC 0032 (reliability). The members of a span follow the debug bundle. For envelopes and model
calls, a span has names, numbers and codes, never content. The trace is the caller's W3C trace context if there is one.
Span ids are derived from the log, so the same log always gives the same spans.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.run.events import ENVELOPE_RECORDED, TERMINAL_TYPES, TRUSTED, Event, Fact
from weftwork.protocol.run.header import Fork, RunHeader
from weftwork.protocol.timestamps import iso

RUN_SPAN: Final = "openwop.run"
ENVELOPE_SPAN: Final = "openwop.envelope"
MAX_SPAN_EVENTS: Final = 16
"""Events that one span lists. Later events still update the attributes of the span."""

MAX_ATTRIBUTE: Final = 256
"""Characters of a string attribute."""

RELIABILITY_ATTRIBUTES: Final[dict[str, dict[str, str]]] = {
    "envelope.retry.attempted": {
        "attempt": "openwop.envelope.retry.attempt",
        "reason": "openwop.envelope.retry.reason",
    },
    "envelope.retry.exhausted": {
        "totalAttempts": "openwop.envelope.retry.total_attempts",
        "finalReason": "openwop.envelope.retry.final_reason",
    },
    "envelope.refusal": {"safetyCategory": "openwop.envelope.refusal.safety_category"},
    "envelope.truncated": {
        "stopReason": "openwop.envelope.truncated.stop_reason",
        "outputTokenCount": "openwop.envelope.truncated.output_token_count",
    },
    "envelope.nlToFormat.engaged": {"fallbackCalls": "openwop.envelope.nl_to_format.fallback_calls"},
    "envelope.recovery.applied": {
        "path": "openwop.envelope.recovery.path",
        "byteOffset": "openwop.envelope.recovery.byte_offset",
    },
}
"""trace-06 (RFC 0032): the attribute for each event member that a node span includes. Texts of refusals and errors are
not included."""

_NODE_END_STATUS: Final = {"node.completed": "ok", "node.failed": "error", "node.cancelled": "unset"}
_USAGE: Final = "provider.usage"
DIVERGED: Final = "replay.diverged"
SPAN_EVENT_TYPES: Final = frozenset(
    {
        "run.started",
        "node.started",
        DIVERGED,
        ENVELOPE_RECORDED,
        _USAGE,
        *_NODE_END_STATUS,
        *RELIABILITY_ATTRIBUTES,
        *TERMINAL_TYPES,
    }
)
"""Event types that affect spans. The payloads of all others need not be decoded."""

_ENVELOPE_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "type": ("envelope_type", "openwop.envelope_kind"),
    "status": ("envelope_outcome",),
    "correlationId": ("envelope_correlation_id",),
    "schemaVersion": ("envelope_schema_version",),
    "floor": ("envelope_schema_version_floor",),
    "envelopeId": ("envelope_id", "openwop.envelope_id"),
}
_TOKEN_ATTRIBUTES: Final = {"inputTokens": "openwop.cost.tokens.input", "outputTokens": "openwop.cost.tokens.output"}
_TOTAL_TOKENS_ATTRIBUTE: Final = "openwop.cost.tokens.total"
_PROVIDER_ATTRIBUTE: Final = "openwop.cost.provider"

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class TraceContext(msgspec.Struct, frozen=True):
    """A trace id, and the caller's span id if there is one."""

    trace_id: str
    parent_id: str | None = None


def parse_traceparent(header: str | None) -> TraceContext | None:
    """trace-01 (W3C Trace Context 3.2): the caller's context; None for an absent or invalid header."""
    match = _TRACEPARENT.fullmatch(header) if header else None
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if match[2] == "0" * 32 or match[3] == "0" * 16:
        return None
    return TraceContext(match[2], match[3])


def span_id(*names: str | int) -> str:
    """A span id of 16 hexadecimal digits, determined by the names."""
    return hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()[:16]


def format_traceparent(trace_id: str, span: str) -> str:
    """trace-02: the `traceparent` header that the host sends, with the sampled flag set."""
    return f"00-{trace_id}-{span}-01"


def trace_of(header: RunHeader) -> TraceContext:
    """trace-03 (OpenWOP debug-bundle): the caller's trace if there is one, otherwise a trace derived from the run
    id."""
    return parse_traceparent(header.traceparent) or _derived_trace(header.run_id)


def project_spans(header: RunHeader, facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """trace-04: one span for the run, one per node attempt and one per recorded envelope, in order of their start."""
    spans = RunSpans(header)
    for fact in facts:
        spans.add(fact)
    return spans.spans


def envelope_spans(run_id: str, events: Iterable[Event]) -> list[dict[str, Any]]:
    """trace-05: the envelope spans of events that do not belong to a run of the host."""
    trace = _derived_trace(run_id).trace_id
    return [
        _envelope_span(run_id, trace, None, span_fact(event)) for event in events if event.type == ENVELOPE_RECORDED
    ]


def span_fact(event: Event) -> Fact:
    """The event with its decoded payload as the log shows it: hidden values stay hidden."""
    payload, at = msgspec.json.decode(event.payload), event.timestamp
    return Fact(event.sequence, event.type, payload, at, event.node_id, event.event_id, event.content_trust)


def _add_fork(span: dict[str, Any], fork: Fork) -> None:
    """trace-08 (OpenWOP replay): the span of a fork names its source and links to the span of it."""
    span["attributes"] |= {
        "openwop.replay.source_run_id": fork.run_id,
        "openwop.replay.from_seq": fork.from_seq,
        "openwop.replay.mode": fork.mode,
    }
    span["links"] = [{"traceId": fork.trace_id, "spanId": span_id(fork.run_id)}]


class RunSpans:
    """The spans of one run, built while its log is read. At most `most` spans are created; `is_truncated` is set if
    there would be more."""

    def __init__(self, header: RunHeader, most: int | None = None) -> None:
        self._header = header
        self._max_spans = most
        self._trace = trace_of(header)
        run = _new_span(
            RUN_SPAN, self._trace.trace_id, span_id(header.run_id), self._trace.parent_id, header.created_at
        )
        run["attributes"] = {"openwop.run_id": header.run_id, "openwop.workflow_id": header.workflow_id}
        if header.fork is not None:
            _add_fork(run, header.fork)
        self._run = run
        self._open: dict[str, dict[str, Any]] = {}
        self.spans: list[dict[str, Any]] = [run]
        self.is_truncated = False

    def add(self, fact: Fact) -> dict[str, Any] | None:
        """Apply the next event. Returns the span that was created or changed, or None."""
        node_id = fact.node_id
        if fact.type == "run.started":
            self._run["startedAt"] = iso(fact.timestamp)
            return self._run
        if fact.type in TERMINAL_TYPES:
            _close_span(self._run, fact, "error" if fact.type == "run.failed" else "ok")
            return self._run
        if fact.type == DIVERGED:
            self._run["attributes"]["openwop.replay.diverged"] = True
            return self._run
        if fact.type == "node.started" and node_id is not None:
            return self._begin(_node_span(self._header, self._trace, self._run, fact), node_id)
        node = self._open.get(node_id) if node_id is not None else None
        if fact.type == ENVELOPE_RECORDED:
            parent = (node or self._run)["spanId"]
            return self._begin(_envelope_span(self._header.run_id, self._trace.trace_id, parent, fact))
        if node is None:
            return None
        if fact.type in _NODE_END_STATUS:
            del self._open[str(node_id)]
            _close_span(node, fact, _NODE_END_STATUS[fact.type])
        elif fact.type in RELIABILITY_ATTRIBUTES:
            _add_span_event(node, fact)
        elif fact.type == _USAGE:
            add_cost(node["attributes"], fact.payload)
        else:
            return None
        return node

    def _begin(self, span: dict[str, Any], node_id: str | None = None) -> dict[str, Any] | None:
        if self._max_spans is not None and len(self.spans) >= self._max_spans:
            self.is_truncated = True
            return None
        if node_id is not None:
            self._open[node_id] = span
        self.spans.append(span)
        return span


def _node_span(header: RunHeader, context: TraceContext, run: dict[str, Any], fact: Fact) -> dict[str, Any]:
    attempt = fact.payload.get("attempt", 1)
    type_id = fact.payload["typeId"]
    identity = span_id(header.run_id, str(fact.node_id), attempt, fact.sequence)
    node = _new_span(f"openwop.node.{type_id}", context.trace_id, identity, run["spanId"], fact.timestamp)
    node["attributes"] = {
        "openwop.run_id": header.run_id,
        "openwop.workflow_id": header.workflow_id,
        "openwop.node_id": fact.node_id,
        "openwop.node_type": type_id,
        "openwop.node_attempt": attempt,
    }
    return node


def _envelope_span(run_id: str, trace_id: str, parent: str | None, fact: Fact) -> dict[str, Any]:
    """The span of a recorded outcome. It has no duration, because the outcome is a single event."""
    span = _new_span(ENVELOPE_SPAN, trace_id, span_id(run_id, ENVELOPE_SPAN, fact.sequence), parent, fact.timestamp)
    attributes = {"openwop.run_id": run_id, **envelope_attributes(fact.payload, fact.content_trust)}
    if fact.node_id is not None:
        attributes["openwop.node_id"] = fact.node_id
    span["attributes"] = attributes
    _close_span(span, fact, "ok" if fact.payload.get("status") == "accepted" else "error")
    return span


def _derived_trace(run_id: str) -> TraceContext:
    return TraceContext(span_id(run_id, "trace", 0) + span_id(run_id, "trace", 1))


def _new_span(name: str, trace_id: str, identity: str, parent: str | None, start: int) -> dict[str, Any]:
    return {
        "name": name,
        "traceId": trace_id,
        "spanId": identity,
        "parentSpanId": parent,
        "startedAt": iso(start),
        "endedAt": None,
        "status": "unset",
    }


def _add_span_event(span: dict[str, Any], fact: Fact) -> None:
    attributes = reliability_attributes(fact.type, fact.payload)
    span["attributes"] |= attributes
    events: list[dict[str, Any]] = span.setdefault("events", [])
    if len(events) < MAX_SPAN_EVENTS:
        events.append({"name": fact.type, "timestamp": iso(fact.timestamp), "attributes": attributes})


def _close_span(span: dict[str, Any], fact: Fact, status: str) -> None:
    span["endedAt"] = iso(fact.timestamp)
    span["status"] = status
    span["attributes"]["openwop.event_type"] = fact.type
    span["attributes"]["openwop.event_seq"] = fact.sequence


def envelope_attributes(payload: dict[str, Any], trust: str | None) -> dict[str, Any]:
    """trace-05 (RFC 0021): the attributes of a recorded outcome, without its payload. The drift attribute is present
    only if there is drift, and the trace of the envelope only if it is valid. The label is text of a model, and
    therefore not an attribute."""
    attributes: dict[str, Any] = {}
    for member, names in _ENVELOPE_ATTRIBUTES.items():
        if (value := _attribute_value(payload.get(member))) is not None:
            attributes |= dict.fromkeys(names, value)
    if payload.get("drift") is True:
        attributes["envelope_schema_version_drift"] = True
    traceparent = payload.get("traceparent")
    if isinstance(traceparent, str) and parse_traceparent(traceparent) is not None:
        attributes["envelope_traceparent"] = traceparent[:MAX_ATTRIBUTE]
    attributes["envelope_content_trust"] = trust or TRUSTED
    return attributes


def reliability_attributes(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """trace-06: the attributes of one of the six reliability events."""
    values = {name: _attribute_value(payload.get(member)) for member, name in RELIABILITY_ATTRIBUTES[kind].items()}
    return {name: value for name, value in values.items() if value is not None}


def add_cost(attributes: dict[str, Any], payload: dict[str, Any]) -> None:
    """trace-07 (OpenWOP observability): add the tokens of one call to the attributes, and set the provider. Nothing
    else of the call is included."""
    for member, name in _TOKEN_ATTRIBUTES.items():
        attributes[name] = attributes.get(name, 0) + token_count(payload.get(member))
    attributes[_TOTAL_TOKENS_ATTRIBUTE] = sum(attributes[name] for name in _TOKEN_ATTRIBUTES.values())
    if (provider := _attribute_value(payload.get("provider"))) is not None:
        attributes[_PROVIDER_ATTRIBUTE] = provider


def token_count(value: Any) -> int:
    """The value if it is a non-negative integer, otherwise 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _attribute_value(value: Any) -> str | int | bool | None:
    """The value as an attribute, with credentials masked; None for a value that is not a string, integer or boolean."""
    if isinstance(value, str):
        return mask_credentials_in_text(value)[:MAX_ATTRIBUTE]
    return value if isinstance(value, bool | int) else None
