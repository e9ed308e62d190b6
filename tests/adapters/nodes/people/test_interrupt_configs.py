"""Whatever config passes its registration can be asked: no run meets a question that the host refuses."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, FakeContext, node_call, run_node
from tests.harness.definitions import example_count
from weftwork.ports.node_outcome import Failed, InterruptPending, Suspended
from weftwork.protocol.people.approvals import ACTIONS
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt
from weftwork.protocol.workflow.node_config import check_config

SCHEMAS = st.sampled_from([{}, {"type": "string"}, {"type": "text"}, {"$ref": "#/x"}, {"minimum": 1}])
MOMENTS = st.integers(0, 12)
NAMES = st.sampled_from(["a", "b", "c", ""])
QUESTIONS = st.lists(
    st.fixed_dictionaries(
        {"id": NAMES, "question": st.sampled_from(["?", "", "{{ports.none}}"])}, optional={"schema": SCHEMAS}
    ),
    max_size=3,
)
TIMES: dict[str, st.SearchStrategy[Any]] = {
    "timeoutMs": MOMENTS,
    "remindAfterMs": st.lists(MOMENTS, max_size=3) | st.just(list(range(1, 17))),
}
ASKED: dict[str, st.SearchStrategy[Any]] = {**TIMES, "key": st.sampled_from(["k", "", "x" * 256, "x" * 257])}
VOTING: dict[str, st.SearchStrategy[Any]] = {
    "actions": st.lists(st.sampled_from([*ACTIONS, "edit"]), max_size=3),
    "requiredApprovals": st.integers(0, 3),
    "approversList": st.lists(NAMES, max_size=3),
    "rejectionPolicy": st.sampled_from(["single-veto", "majority", "none"]),
    "override": st.booleans(),
    "overrideBypassesQuorum": st.booleans(),
}
TEXT = st.sampled_from(["plain", "", "{{ports.none}}", "x" * 9_000])
DATA = st.one_of(
    st.fixed_dictionaries({"artifactId": NAMES, "artifactType": NAMES, "title": NAMES}, optional=VOTING),
    st.fixed_dictionaries({"questions": QUESTIONS}),
    st.fixed_dictionaries({"eventType": NAMES}, optional={"correlation": st.just({"a": 1})}),
    st.fixed_dictionaries({"customKind": NAMES}),
    st.fixed_dictionaries({"agentId": st.sampled_from(["a", "abc"]), "threshold": st.just(1), "observed": MOMENTS}),
)
CONFIGS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "core.approvalGate": st.fixed_dictionaries(
        {},
        optional={
            **ASKED,
            **VOTING,
            "timeoutSec": MOMENTS,
            "title": TEXT,
            "description": TEXT,
            "resumeSchema": SCHEMAS,
        },
    ),
    "core.clarificationGate": st.fixed_dictionaries({"questions": QUESTIONS}, optional=ASKED),
    "core.interrupt": st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["approval", "clarification", "custom", "external-event", "low-confidence"]),
            "data": DATA,
        },
        optional={**ASKED, "resumeSchema": SCHEMAS, "defaultValue": st.sampled_from([None, "a", 1])},
    ),
    "core.conversationGate": st.fixed_dictionaries(
        {},
        optional={**TIMES, "prompt": TEXT, "prompts": st.lists(TEXT, max_size=2), "title": TEXT, "initialPrompt": TEXT}
        | {"turnCount": st.integers(0, 3), "outcomeSchema": SCHEMAS, "conversationId": TEXT},
    ),
}


def questions(type_id: str, config: dict[str, Any]) -> list[Interrupt]:
    """What such a node asks first; nothing if it fails before."""
    scope = EvaluatingScope()
    context = FakeContext(scope)
    given = node_call(config, {"none": ""}, scope, node_id="n" * 128)
    try:
        found = run_node(type_id, given, context)
    except InterruptPending:
        return context.asked
    if isinstance(found, Suspended):
        return [found.interrupt]
    assert isinstance(found, Failed)
    assert found.code in ("node_config_invalid", "node_input_missing")
    return []


@pytest.mark.rule("int-08")
@pytest.mark.parametrize("type_id", CONFIGS)
def test_what_is_registered_can_be_asked(type_id: str) -> None:
    asked: list[Interrupt] = []

    @settings(max_examples=example_count(150), deadline=None)
    @given(CONFIGS[type_id])
    def check(config: dict[str, Any]) -> None:
        if check_config(TYPES[type_id].declaration, config, ""):
            return
        found = questions(type_id, config)
        asked.extend(found)
        for each in found:
            assert check_interrupt(each) == []

    check()
    assert any(each.kind not in NON_BLOCKING_KINDS for each in asked)


def test_the_check_at_registration_is_what_makes_it_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.nodes.people.interrupt_request.check_interrupt", lambda asked: [])
    config = {"questions": [{"id": "a", "question": "?"}] * 2}
    assert check_config(TYPES["core.clarificationGate"].declaration, config, "") == []
    assert check_interrupt(questions("core.clarificationGate", config)[0]) != []
