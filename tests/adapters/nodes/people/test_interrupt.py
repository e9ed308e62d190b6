"""core.interrupt and the configurations of nodes that ask: what is shown, and what is refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.nodes.fake_context import TYPES, EvaluatingScope, FakeContext, final_failure, node_call, run_node
from tests.harness import definitions
from tests.harness.cases import each_case, present
from tests.harness.definitions import FULL, edge, example_count, node, workflow
from weftwork.adapters.nodes.builtin import builtin_types
from weftwork.adapters.nodes.people.gates import SINGLE_INTERRUPT_KINDS
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, Suspended
from weftwork.protocol.people.approvals import ACTIONS
from weftwork.protocol.people.interrupt_validation import check_interrupt
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, STATUS_BY_KIND, TIMEOUT_REASON, Interrupt, Resolution
from weftwork.protocol.workflow.definition import Node
from weftwork.protocol.workflow.node_config import check_config
from weftwork.protocol.workflow.registration import find_gated_node
from weftwork.protocol.workflow.validation import parse_workflow

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


@each_case("kind", *DATA)
def test_a_question_is_asked_with_its_times(kind: str) -> None:
    config = {"kind": kind, "data": DATA[kind], "timeoutMs": 9, "remindAfterMs": [1, 2], "resumeSchema": {}}
    assert run_node(TYPE, node_call(config)) == Suspended(Interrupt(kind, "node", DATA[kind], {}, 9, (1, 2)))


@each_case("kind", *[each for each in DATA if each != "approval"])
def test_when_the_time_is_up_the_default_counts_even_if_it_is_null(kind: str) -> None:
    config: dict[str, Any] = {"kind": kind, "data": DATA[kind], "timeoutMs": 9}
    assert final_failure(run_node(TYPE, node_call(config, answers=late(config["kind"]))))[0] == "interrupt_timeout"
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
CONFIG_DATA = st.one_of(
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
            "data": CONFIG_DATA,
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
@each_case("type_id", *CONFIGS)
def test_what_is_registered_can_be_asked(type_id: str) -> None:
    asked: list[Interrupt] = []

    @settings(max_examples=example_count(150), deadline=None, derandomize=not FULL)
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


def wrong(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None) -> list[tuple[str, str]]:
    _, violations = parse_workflow(workflow(list(nodes), edges), definitions.TYPES)
    return [(each.pointer, each.rule) for each in violations]


@pytest.mark.rule("node-07")
def test_what_a_schema_cannot_say_is_refused_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = node("gate", "core.approvalGate", config={"requiredApprovals": 3, "approversList": ["a", "b"]})
    late = node("late", "core.clarificationGate", config={"defaultAnswers": {"a": 1}})
    never = node("never", "core.approvalGate", config={"actions": ["reject", "refine"], "requiredApprovals": 2})

    def check() -> None:
        assert wrong(node("a"), gate, late, never) == [
            ("/nodes/1/config/requiredApprovals", "maximum"),
            ("/nodes/2/config/defaultAnswers", "required"),
            ("/nodes/3/config/actions", "contains"),
        ]

    check()
    monkeypatch.setattr("weftwork.adapters.nodes.people.gates.check_voting", lambda data: [])
    with pytest.raises(AssertionError):
        check()


def test_templates_are_read_with_the_definition_in_lists_too() -> None:
    questions = [{"id": "a", "question": "A?"}, {"id": "b", "question": "{{1 +}}"}]
    ask = node("ask", "core.clarificationGate", config={"questions": questions})
    talk = node("talk", "core.conversationGate", config={"prompts": ["{{answer}}", "{{other}}"], "endWhen": "turn +"})
    gate = node("gate", "core.approvalGate", config={"title": "{{"})
    assert wrong(ask, talk, gate) == [
        ("/nodes/0/config/questions/1/question", "template"),
        ("/nodes/1/config/endWhen", "expression"),
        ("/nodes/1/config/prompts/1", "template"),
        ("/nodes/2/config/title", "template"),
    ]


def test_a_question_that_reads_a_node_has_to_come_after_it() -> None:
    questions = [{"id": "a", "question": "{{nodes.late.outputs.x}}?"}]
    ask = node("ask", "core.clarificationGate", config={"questions": questions})
    late = node("late", "core.transform", config={"fields": {"x": "1"}})
    assert wrong(ask, late, edges=[edge("late", "ask")]) == []
    parsed, _ = parse_workflow(workflow([ask, late], [edge("late", "ask")]), definitions.TYPES)
    assert present(parsed).nodes[0].output_reads == (("/config/questions/0/question", "late"),)


def test_the_channel_of_a_conversation_is_known_also_if_nobody_names_it() -> None:
    document = workflow(
        [node("a", "core.conversationGate"), node("b", "core.conversationGate", config={"channel": "c"}), node("z")]
    )
    parsed, violations = parse_workflow(document, definitions.TYPES)
    assert parsed is not None, violations
    written: list[Node] = list(parsed.nodes)
    assert [each.writes_channel for each in written] == ["conversation", "c", None]


@pytest.mark.rule("wf-09")
def test_without_conversations_a_workflow_with_one_finds_its_gate_shut() -> None:
    document = workflow([node("talk", "core.conversationGate")])
    for conversation in (True, False):
        types = {each.declaration.type_id for each in builtin_types(conversation=conversation)}
        assert (find_gated_node(document, types) is None) == conversation
        assert ("core.approvalGate" in types, "core.clarificationGate" in types) == (True, True)
