"""Every event of the host has a class, and a replay begins where a decision began."""

from typing import Any

import pytest

from tests.harness.cases import each_case
from weftwork.protocol.replay.event_classes import event_class, is_recorded_end, may_share_decision
from weftwork.protocol.run.events import Event


@pytest.mark.rule("replay-01")
@each_case(
    "kind, expected",
    ("run.started", "decided"),
    ("node.started", "decided"),
    ("node.completed", "ends-entry"),
    ("node.suspended", "ends-entry"),
    ("variable.changed", "produced"),
    ("log.appended", "produced"),
    ("acme.shop.sold", "produced"),
    ("interrupt.requested", "produced"),
    ("interrupt.resolved", "fact"),
    ("weftwork.effect.recorded", "fact"),
    ("weftwork.of.a.later.version", "fact"),
    ("weftwork.run.forked", "fact"),
    ("run.paused", "fact"),
    ("output.chunk", "fact"),
    ("replay.diverged", "fact"),
)
def test_what_a_replay_does_with_an_event_depends_on_its_type(kind: str, expected: str) -> None:
    assert event_class(kind) == expected


@pytest.mark.rule("replay-01")
@each_case(
    "kind, payload, expected",
    ("node.failed", {"error": {"code": "node_timeout"}}, True),
    ("node.retried", {"lastError": {"code": "node_heartbeat_lost"}}, True),
    ("node.failed", {"error": {"code": "acme_failed"}}, False),
    ("node.suspended", {"key": "weftwork.effect-unknown:abc:0:1"}, True),
    ("node.suspended", {"key": "approve"}, False),
    ("node.completed", {"outputs": {}}, False),
)
def test_timeouts_and_questions_of_the_host_are_facts(kind: str, payload: dict[str, Any], expected: bool) -> None:
    assert is_recorded_end(kind, payload) is expected


def event(kind: str, node_id: str | None) -> Event:
    return Event("run", 1, "event", kind, 0, b"{}", node_id)


@pytest.mark.rule("replay-06")
@each_case(
    "before, after, expected",
    (("node.skipped", "a"), ("node.skipped", "b"), True),
    (("node.cancelled", "a"), ("run.failed", None), True),
    (("variable.changed", "a"), ("node.completed", "a"), True),
    (("variable.changed", "a"), ("node.completed", "b"), False),
    (("node.started", "a"), ("node.completed", "a"), False),
    (("node.completed", "a"), ("run.completed", None), False),
    (("weftwork.effect.recorded", "a"), ("node.completed", "a"), False),
)
def test_events_of_one_decision_are_not_separated(before: Any, after: Any, expected: bool) -> None:
    assert may_share_decision(event(*before), event(*after)) is expected
