"""What is wrong with a node that asks is told with its definition, at its place, and never met by a run."""

from typing import Any

import pytest

from tests.harness.definitions import TYPES, edge, node, workflow
from weftwork.adapters.nodes.builtin import builtin_types
from weftwork.protocol.workflow.definition import Node
from weftwork.protocol.workflow.registration import find_gated_node
from weftwork.protocol.workflow.validation import parse_workflow


def wrong(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None) -> list[tuple[str, str]]:
    _, violations = parse_workflow(workflow(list(nodes), edges), TYPES)
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
    parsed, _ = parse_workflow(workflow([ask, late], [edge("late", "ask")]), TYPES)
    assert parsed is not None
    assert parsed.nodes[0].output_reads == (("/config/questions/0/question", "late"),)


def test_the_channel_of_a_conversation_is_known_also_if_nobody_names_it() -> None:
    document = workflow(
        [node("a", "core.conversationGate"), node("b", "core.conversationGate", config={"channel": "c"}), node("z")]
    )
    parsed, violations = parse_workflow(document, TYPES)
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
