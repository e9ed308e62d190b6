"""The fork point of a retry."""

from typing import Any

import pytest

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.replay.fork_points import LogEntry, RetryPoint, RetrySearch, refuse_repeated_effects


def point(events: list[tuple[Any, ...]], status: str = "failed", from_node: str | None = None) -> RetryPoint:
    """Of a log of (type, node, step); the last `run.failed` names its node."""
    search = RetrySearch(from_node)
    for sequence, (kind, *rest) in enumerate(events):
        node_id = rest[0] if rest else None
        more = rest[1] if len(rest) > 1 else ""
        step, code = ("", more) if kind == "node.failed" else (more, "")
        search.add(LogEntry(sequence, kind, node_id, step, code))
    return search.point(status)


STARTED = [("run.started",), ("node.started", "a"), ("node.completed", "a"), ("node.started", "b")]


@pytest.mark.rule("retry-02")
def test_it_is_the_failure_of_the_node_that_failed_the_run() -> None:
    log = [*STARTED, ("weftwork.effect.claimed", "b", "pay"), ("node.failed", "b"), ("run.failed", "b")]
    assert point(log) == RetryPoint(5, "b")


@pytest.mark.rule("retry-02")
def test_the_failure_of_a_later_attempt_counts() -> None:
    log = [*STARTED, ("node.retried", "b"), ("node.started", "b"), ("node.failed", "b"), ("run.failed", "b")]
    assert point(log) == RetryPoint(6, "b")


@pytest.mark.rule("retry-02")
def test_an_answer_that_failed_its_node_is_part_of_the_failure() -> None:
    asked = [*STARTED, ("interrupt.requested", "b"), ("node.suspended", "b")]
    answer = [("interrupt.resolved", "b"), ("approval.received", "b"), ("node.resumed", "b")]
    failed = [("node.failed", "b", "interrupt_rejected"), ("run.failed", "b")]
    assert point([*asked, *answer, *failed]) == RetryPoint(6, "b")
    assert point([*asked, *answer, *asked[4:], *answer, *failed]) == RetryPoint(11, "b")


@pytest.mark.rule("retry-02")
def test_an_answer_after_which_the_node_went_on_is_kept() -> None:
    asked = [*STARTED, ("interrupt.requested", "b"), ("node.suspended", "b"), ("interrupt.resolved", "b")]
    assert point([*asked, ("node.resumed", "b"), ("node.failed", "b"), ("run.failed", "b")]) == RetryPoint(8, "b")


@pytest.mark.rule("retry-02")
@pytest.mark.parametrize("kind", ["cap.breached", "workflow.loopback-limit", "weftwork.run.cancel-requested"])
def test_a_run_that_was_stopped_is_retried_from_before_the_stop(kind: str) -> None:
    log = [*STARTED, (kind,), ("node.cancelled", "b"), ("run.failed", None)]
    assert point(log) == RetryPoint(4, None)


@pytest.mark.rule("retry-02")
@pytest.mark.parametrize("status", ["completed", "running", "waiting-approval"])
def test_a_run_that_did_not_fail_is_retried_only_from_a_node(status: str) -> None:
    with pytest.raises(ClientFault) as caught:
        point([*STARTED, ("run.completed",)], status)
    assert (caught.value.code, caught.value.details) == ("conflict", {"runStatus": status})
    assert point(STARTED, status, "a") == RetryPoint(1, None)


@pytest.mark.rule("retry-02")
def test_an_unknown_node_is_refused_with_a_similar_one() -> None:
    with pytest.raises(ClientFault, match="extract"):
        point([("run.started",), ("node.started", "extract")], from_node="extrct")


@pytest.mark.rule("retry-03")
def test_effects_after_the_fork_point_are_named() -> None:
    effects = [("weftwork.effect.claimed", "b", "pay"), ("weftwork.effect.claimed", "b", "")]
    log = [*STARTED, *effects, ("node.failed", "b"), ("run.failed", "b")]
    found = point(log, from_node="b")
    assert found.repeated == (("b", "pay"), ("b", ""))
    fault = refuse_repeated_effects(found)
    assert fault.code == "conflict"
    assert fault.details == {"repeatedEffects": [{"nodeId": "b", "step": "pay"}, {"nodeId": "b"}]}
