"""When events are the same, and which kind of difference there is."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from weftwork.protocol.replay.comparison import ProducedEvent, comparable_payload, find_difference

SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("channel.written", {"channel": "c", "writtenAt": "2026-01-01"}, {"channel": "c", "writtenAt": "2027-01-01"}),
    ("channel.written", {"channel": "c", "writtenAt": "2026-01-01"}, {"channel": "c"}),
    ("conversation.opened", {"initialTurn": {"ts": 1, "role": "user"}}, {"initialTurn": {"role": "user"}}),
    ("conversation.exchanged", {"turn": {"ts": 1}}, {"turn": {"ts": 2}}),
    ("conversation.closed", {"finalTurn": {"ts": 1}}, {"finalTurn": {"ts": 2}}),
    ("node.retried", {"nodeId": "a", "delayMs": 1}, {"nodeId": "a", "delayMs": 2}),
    ("node.completed", {"nodeId": "a", "outputs": {}}, {"outputs": {}, "nodeId": "a"}),
    ("node.failed", {"error": {"code": "c", "message": "was"}}, {"error": {"code": "c", "message": "is"}}),
    ("run.failed", {"error": {"code": "c", "message": "was"}}, {"error": {"code": "c"}}),
    ("node.retried", {"lastError": {"code": "c", "message": "was"}}, {"lastError": {"code": "c", "message": "is"}}),
]
DIFFERENT: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("node.completed", {"outputs": {"writtenAt": 1}}, {"outputs": {"writtenAt": 2}}),
    ("variable.changed", {"next": {"ts": 1}}, {"next": {"ts": 2}}),
    ("node.retried", {"nodeId": "a", "attempt": 1}, {"nodeId": "a", "attempt": 2}),
    ("channel.written", {"channel": "c"}, {"channel": "d"}),
    ("node.failed", {"error": {"code": "c", "details": {"n": 1}}}, {"error": {"code": "c", "details": {"n": 2}}}),
    ("run.failed", {"error": {"code": "c"}}, {"error": {"code": "d"}}),
    ("node.completed", {"error": {"message": "was"}}, {"error": {"message": "is"}}),
]


@pytest.mark.rule("replay-02")
@each_case("kind, one, other", *SAME)
def test_the_time_of_an_event_is_not_compared(kind: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert comparable_payload(kind, one) == comparable_payload(kind, other)


@pytest.mark.rule("replay-02")
@each_case("kind, one, other", *DIFFERENT)
def test_everything_else_is_compared(kind: str, one: dict[str, Any], other: dict[str, Any]) -> None:
    assert comparable_payload(kind, one) != comparable_payload(kind, other)


def events(text: str) -> list[ProducedEvent]:
    """Each word is an event: its type, `?` for one that belongs to an answer, and its payload."""
    return [
        ProducedEvent(kind.rstrip("?"), payload.encode(), kind.endswith("?"))
        for kind, _, payload in (each.partition("=") for each in text.split())
    ]


@pytest.mark.rule("replay-03")
@each_case(
    "recorded, produced, expected",
    ("a b", "a b", None),
    ("", "", None),
    ("a? b", "b", None),
    ("a? b", "a b", None),
    ("a b?", "a", None),
    ("a=1 b", "a=2 b", ("output", 0)),
    ("a b", "a c", ("type-mismatch", 1)),
    ("a b", "b", ("missing", 0)),
    ("a b", "a", ("missing", 1)),
    ("a", "a b", ("extra", 0)),
    ("b", "a b", ("extra", 0)),
    ("a? b", "c", ("type-mismatch", 1)),
)
def test_the_first_difference_has_a_kind(recorded: str, produced: str, expected: Any) -> None:
    assert find_difference(events(recorded), events(produced)) == expected
