"""core.interrupt on its own."""

from typing import Any

import pytest

from tests.adapters.nodes.fake_context import node_call, run_node
from weftwork.adapters.nodes.people.gates import SINGLE_INTERRUPT_KINDS
from weftwork.ports.node_outcome import Completed, Failed, Suspended
from weftwork.protocol.run.interrupts import STATUS_BY_KIND, TIMEOUT_REASON, Interrupt, Resolution

TYPE = "core.interrupt"
DATA: dict[str, dict[str, Any]] = {
    "approval": {"artifactId": "a", "artifactType": "t", "title": "T", "actions": ["accept", "reject"]},
    "clarification": {"questions": [{"id": "a", "question": "A?"}]},
    "custom": {"customKind": "pick", "payload": 1},
    "external-event": {"eventType": "paid", "correlation": {"orderId": 1}},
    "low-confidence": {"agentId": "agent", "threshold": 0.7, "observed": 0.5},
}


def late(kind: str) -> dict[str, Resolution]:
    return {"node": Resolution(reason=TIMEOUT_REASON, kind=kind)}


def test_every_single_question_can_be_asked() -> None:
    assert set(SINGLE_INTERRUPT_KINDS) == set(DATA) == set(STATUS_BY_KIND) - {"conversation.exchange"}


@pytest.mark.parametrize("kind", DATA)
def test_a_question_is_asked_with_its_times(kind: str) -> None:
    config = {"kind": kind, "data": DATA[kind], "timeoutMs": 9, "remindAfterMs": [1, 2], "resumeSchema": {}}
    assert run_node(TYPE, node_call(config)) == Suspended(Interrupt(kind, "node", DATA[kind], {}, 9, (1, 2)))


@pytest.mark.parametrize("kind", [each for each in DATA if each != "approval"])
def test_when_the_time_is_up_the_default_counts_even_if_it_is_null(kind: str) -> None:
    config: dict[str, Any] = {"kind": kind, "data": DATA[kind], "timeoutMs": 9}
    found = run_node(TYPE, node_call(config, answers=late(config["kind"])))
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("interrupt_timeout", False)
    for value in (None, {"paid": False}):
        assert run_node(TYPE, node_call({**config, "defaultValue": value}, answers=late(config["kind"]))) == Completed(
            {"output": value}
        )


def test_ports_bring_what_is_not_known_before() -> None:
    config = {"kind": "custom", "data": DATA["custom"]}
    found = run_node(TYPE, node_call(config, {"payload": [2], "correlation": {"x": 1}}))
    assert found == Suspended(Interrupt("custom", "node", {"customKind": "pick", "payload": [2]}))
    event = {"kind": "external-event", "data": DATA["external-event"]}
    found = run_node(TYPE, node_call(event, {"payload": [2], "correlation": {"x": 1}}))
    assert found == Suspended(Interrupt("external-event", "node", {"eventType": "paid", "correlation": {"x": 1}}))


def test_an_event_needs_something_to_be_known_by() -> None:
    found = run_node(TYPE, node_call({"kind": "external-event", "data": {"eventType": "paid"}}))
    assert isinstance(found, Failed)
    assert (found.code, found.retryable) == ("node_input_missing", False)


@pytest.mark.rule("node-06")
def test_an_approval_ends_as_that_of_a_gate() -> None:
    config = {"kind": "approval", "data": DATA["approval"]}
    for resolution, reason in (
        (Resolution({"action": "reject"}, kind="approval"), "rejected"),
        (late("approval")["node"], "timeout"),
    ):
        found = run_node(TYPE, node_call(config, answers={"node": resolution}))
        assert isinstance(found, Failed)
        assert (found.code, found.details) == ("interrupt_rejected", {"reason": reason})
    value = {"action": "accept", "decidedBy": "ada"}
    assert run_node(TYPE, node_call(config, answers={"node": Resolution(value, kind="approval")})) == Completed(
        {"output": value}
    )


def test_a_key_names_the_question_in_every_round() -> None:
    config = {"kind": "custom", "data": DATA["custom"], "key": "k"}
    found = run_node(TYPE, node_call(config, iteration=3))
    assert found == Suspended(Interrupt("custom", "k", DATA["custom"]))
    answered = {"k": Resolution(0)}
    assert run_node(TYPE, node_call(config, iteration=3, answers=answered)) == Completed({"output": 0})
