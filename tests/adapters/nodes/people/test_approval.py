"""core.approvalGate on its own: what it asks, and what it makes of what became of that."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.adapters.nodes.fake_context import BROKEN_SOURCE, EvaluatingScope, FakeScope, node_call, run_node
from weftwork.adapters.nodes.people import gates
from weftwork.adapters.nodes.people.gates import MAX_DESCRIPTION, MAX_TITLE
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, Suspended
from weftwork.protocol.json.schema import check_inline, document
from weftwork.protocol.people.approvals import QUORUM_NOT_REACHED
from weftwork.protocol.run.interrupts import TIMEOUT_REASON, Interrupt, Resolution

GATE = "core.approvalGate"
SUSPEND = document("suspend-request")["$id"]


def asked(config: dict[str, Any], inputs: dict[str, Any] | None = None, **more: Any) -> Interrupt:
    found = run_node(GATE, node_call(config, inputs, EvaluatingScope({}, {"who": "Ada"}), **more))
    assert isinstance(found, Suspended)
    assert check_inline({"$ref": f"{SUSPEND}#/$defs/approval"}, found.interrupt.data, "") == []
    return found.interrupt


def decided(resolution: Resolution, config: dict[str, Any] | None = None, **inputs: Any) -> NodeOutcome:
    return run_node(GATE, node_call(config or {}, inputs, answers={"node": replace(resolution, kind="approval")}))


def answer(action: str, **more: Any) -> Resolution:
    return Resolution({"action": action, "decidedBy": "ada", **more}, by="key_1")


def test_without_config_anybody_may_accept_or_reject() -> None:
    plain = {"artifactId": "node", "artifactType": "approval", "title": "Approval needed"}
    assert asked({}) == Interrupt("approval", "node", {**plain, "actions": ["accept", "reject"]})


def test_what_the_config_says_is_what_is_asked() -> None:
    config: dict[str, Any] = {
        "title": "Send it, {{variables.who}}?",
        "description": "To {{ports.to}}.",
        "artifactId": "letter/1",
        "artifactType": "letter",
        "artifactData": {"text": "old"},
        "actions": ["accept", "ask"],
        "requiredApprovals": 2,
        "approversList": ["a", "b"],
        "rejectionPolicy": "majority",
        "override": True,
        "overrideBypassesQuorum": True,
        "profile": "openwop-interrupt-auth-required",
        "timeoutSec": 3,
        "remindAfterMs": [1, 2],
        "resumeSchema": {"type": "object"},
        "key": "mine",
    }
    found = asked(config, {"to": "Bob", "artifactData": {"text": "new"}})
    assert found.data == {
        **{name: config[name] for name in config.keys() & found.data.keys()},
        "title": "Send it, Ada?",
        "description": "To Bob.",
        "artifactData": {"text": "new"},
    }
    assert config.keys() - found.data.keys() == {"timeoutSec", "remindAfterMs", "resumeSchema", "key"}
    assert (found.key, found.resume_schema) == ("mine", {"type": "object"})
    assert (found.timeout_ms, found.remind_after_ms) == (3_000, (1, 2))
    assert asked({"timeoutMs": 7}).timeout_ms == 7


def test_names_come_from_the_node_and_its_round() -> None:
    assert (asked({}, iteration=2).key, asked({}, iteration=2).data["artifactId"]) == ("node:2", "node-2")
    assert asked({"artifactId": "a", "key": "k"}, iteration=2).data["artifactId"] == "a"
    assert asked({"artifactId": "a"}, {"artifactId": "b"}).data["artifactId"] == "b"
    assert asked({"artifactData": None}).data["artifactData"] is None


def test_texts_are_never_empty_and_never_long() -> None:
    found = asked({"title": "{{ports.t}}", "description": "{{ports.d}}"}, {"t": "", "d": "d" * MAX_DESCRIPTION * 2})
    assert found.data["title"] == "Approval needed"
    assert len(found.data["description"]) == MAX_DESCRIPTION
    assert len(asked({"title": "{{ports.t}}"}, {"t": "t" * 9_000}).data["title"]) == MAX_TITLE
    fault = run_node(GATE, node_call({"title": BROKEN_SOURCE}, scope=FakeScope()))
    assert isinstance(fault, Failed)
    assert (fault.code, fault.retryable) == ("expression_failed", False)


def test_an_approval_completes_the_node() -> None:
    plain = {"action": "accept", "approved": True, "decidedBy": "ada"}
    assert decided(answer("accept")) == Completed(plain)
    assert decided(answer("accept", comment="fine"), artifactData=[1]) == Completed(
        {**plain, "feedback": "fine", "artifactData": [1]}
    )
    votes = {"ada": "accept", "bob": "accept"}
    quorum = Resolution({"action": "accept"}, by="bob", votes=votes)
    assert decided(quorum) == Completed({**plain, "decidedBy": "bob", "votes": votes})


def test_what_was_edited_takes_the_place_of_what_was_asked() -> None:
    for edited in ({"a": 2}, None):
        found = decided(answer("edit-accept", editedArtifactData=edited), {"artifactData": {"a": 1}})
        assert found == Completed(
            {"action": "edit-accept", "approved": True, "decidedBy": "ada", "artifactData": edited}
        )


def test_a_wish_for_something_better_completes_the_node_without_approval() -> None:
    better = {"scope": "whole", "text": "shorter"}
    found = decided(answer("refine", refineFeedback=better), {"artifactData": 1})
    assert found == Completed(
        {"action": "refine", "approved": False, "decidedBy": "ada", "refineFeedback": better, "artifactData": 1}
    )


@pytest.mark.rule("node-06")
@pytest.mark.parametrize(
    ("resolution", "details"),
    [
        (answer("reject"), {"reason": "rejected", "decidedBy": "ada"}),
        (answer("reject", feedback="no"), {"reason": "rejected", "decidedBy": "ada", "feedback": "no"}),
        (Resolution({"action": "reject"}, "rejected"), {"reason": "rejected"}),
        (
            Resolution({"action": "reject"}, "rejected", QUORUM_NOT_REACHED, "bob"),
            {"reason": "quorum-not-reached", "decidedBy": "bob"},
        ),
        (Resolution(None, "rejected", TIMEOUT_REASON), {"reason": "timeout"}),
    ],
)
def test_a_rejection_fails_the_node_for_good(
    resolution: Resolution, details: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = decided(resolution)
    assert isinstance(found, Failed)
    assert (found.code, found.details, found.retryable) == ("interrupt_rejected", details, False)
    monkeypatch.setattr(gates, "rejection_failure", lambda resolution: None)
    if resolution.timed_out:
        with pytest.raises(TypeError):
            decided(resolution)
    else:
        assert isinstance(decided(resolution), Completed)
