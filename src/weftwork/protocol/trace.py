"""W3C trace context: reading `traceparent`, and ids for spans that a replay derives again."""

import hashlib
import re

import msgspec

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class TraceContext(msgspec.Struct, frozen=True):
    """A trace and the span that called us, if any."""

    trace_id: str
    parent_id: str | None = None


def parse_traceparent(header: str | None) -> TraceContext | None:
    """trace-01 (W3C Trace Context 3.2): the caller's context, or None for an absent or broken header."""
    match = _TRACEPARENT.fullmatch(header) if header else None
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if match[2] == "0" * 32 or match[3] == "0" * 16:
        return None
    return TraceContext(match[2], match[3])


def span_id(*names: str | int) -> str:
    """16 hex digits, the same for the same names, so that spans projected twice are equal."""
    return hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()[:16]


def traceparent(trace_id: str, span: str) -> str:
    """trace-02: the header we emit; sampled."""
    return f"00-{trace_id}-{span}-01"
