"""Envelopes for the seam on the gate, and what it and the test log say."""

from itertools import count
from typing import Any

from tests.live.host import KEY, Host

ACCEPT = "/v1/host/sample/envelope/accept"
TEST = "/v1/host/sample/test"
TS = "2026-01-31T08:05:09.042Z"
VENDOR = "vendor.acme.plan"
UNIVERSAL = ("clarification.request", "schema.request", "schema.response", "error")
PAYLOADS: dict[str, Any] = {
    "clarification.request": {"questions": [{"id": "q1", "question": "Which one?"}]},
    "schema.request": {"envelopeType": VENDOR},
    "schema.response": {"envelopeType": VENDOR, "ack": True},
    "error": {"code": "ambiguous_intent", "message": "It can mean two things."},
    "media.image": {"url": "https://host.example/a.png", "bytes": 5},
    "ui.a2ui-surface": {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": "Hello"}]}},
    VENDOR: {"steps": ["one"]},
}
_numbers = count(1)


def envelope(kind: str, payload: Any = None, meta: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    """A good envelope, under a correlation id that nobody has used."""
    number = next(_numbers)
    return {
        "type": kind,
        "schemaVersion": 1,
        "envelopeId": f"e-{number}",
        "correlationId": f"c-{number}",
        "payload": PAYLOADS[kind] if payload is None else payload,
        "meta": {"source": "ai-generation", "ts": TS, **(meta or {})},
        **members,
    }


def accept_envelope(host: Host, document: Any, key: str = KEY, **body: Any) -> Any:
    """The outcome; always with 200."""
    answer = host.call("POST", ACCEPT, {"envelope": document, **body}, key=key)
    assert answer.status == 200, answer.body
    return answer.document


def run_id() -> str:
    """Of a run that does not exist."""
    return f"no-run-{next(_numbers)}"


def events_in_test_log(host: Host, run: str, query: str = "", key: str = KEY) -> list[Any]:
    return host.call("GET", f"{TEST}/runs/{run}/events{query}", key=key).document["events"]


def spans(host: Host, run: str) -> list[Any]:
    return host.call("GET", f"{TEST}/otel/spans?runId={run}").document["spans"]
