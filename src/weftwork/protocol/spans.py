"""Spans as a projection of the log: nothing is recorded that the log does not already say.

Names and attributes: OpenWOP observability (openwop.run, openwop.node.<typeId>). The fields of a span are those
of a debug bundle (OpenWOP debug-bundle).
"""

from collections.abc import Iterable
from typing import Any

from weftwork.protocol.events import TERMINAL_TYPES, Fact
from weftwork.protocol.run import RunHeader
from weftwork.protocol.timestamp import iso
from weftwork.protocol.trace import TraceContext, parse_traceparent, span_id

_NODE_ENDS = {
    "node.completed": "ok",
    "node.failed": "error",
    "node.cancelled": "unset",
}


def trace_of(header: RunHeader) -> TraceContext:
    """trace-03 (OpenWOP debug-bundle): the caller's trace if it sent one, else one derived from the run id."""
    derived = TraceContext(span_id(header.run_id, "trace", 0) + span_id(header.run_id, "trace", 1))
    return parse_traceparent(header.traceparent) or derived


def spans(header: RunHeader, facts: Iterable[Fact]) -> list[dict[str, Any]]:
    """trace-04: one span for the run and one per node attempt, in order of their start."""
    context = trace_of(header)
    run = _span("openwop.run", context.trace_id, span_id(header.run_id), context.parent_id, header.created_at)
    run["attributes"] = {"openwop.run_id": header.run_id, "openwop.workflow_id": header.workflow_id}
    found = [run]
    open_nodes: dict[str, dict[str, Any]] = {}
    for fact in facts:
        if fact.type == "run.started":
            run["startedAt"] = iso(fact.timestamp)
        elif fact.type == "node.started" and fact.node_id is not None:
            open_nodes[fact.node_id] = node = _node_span(header, context, run, fact)
            found.append(node)
        elif fact.type in _NODE_ENDS and fact.node_id in open_nodes:
            _close(open_nodes.pop(fact.node_id), fact, _NODE_ENDS[fact.type])
        elif fact.type in TERMINAL_TYPES:
            _close(run, fact, "error" if fact.type == "run.failed" else "ok")
    return found


def _node_span(header: RunHeader, context: TraceContext, run: dict[str, Any], fact: Fact) -> dict[str, Any]:
    attempt = fact.payload.get("attempt", 1)
    type_id = fact.payload["typeId"]
    identity = span_id(header.run_id, str(fact.node_id), attempt, fact.sequence)
    node = _span(f"openwop.node.{type_id}", context.trace_id, identity, run["spanId"], fact.timestamp)
    node["attributes"] = {
        "openwop.run_id": header.run_id,
        "openwop.workflow_id": header.workflow_id,
        "openwop.node_id": fact.node_id,
        "openwop.node_type": type_id,
        "openwop.node_attempt": attempt,
    }
    return node


def _span(name: str, trace_id: str, identity: str, parent: str | None, start: int) -> dict[str, Any]:
    return {
        "name": name,
        "traceId": trace_id,
        "spanId": identity,
        "parentSpanId": parent,
        "startedAt": iso(start),
        "endedAt": None,
        "status": "unset",
    }


def _close(span: dict[str, Any], fact: Fact, status: str) -> None:
    span["endedAt"] = iso(fact.timestamp)
    span["status"] = status
    span["attributes"]["openwop.event_type"] = fact.type
    span["attributes"]["openwop.event_seq"] = fact.sequence
