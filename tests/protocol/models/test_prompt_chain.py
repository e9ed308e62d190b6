"""The chain of layers: whose reference counts, and what is told of the others."""

import pytest

from weftwork.protocol.json import schema
from weftwork.protocol.models.prompt_templates import (
    NO_CANDIDATE,
    PromptTemplate,
    PromptTemplates,
    ResolvedPrompt,
    resolve_prompts,
)

LIBRARY = PromptTemplates(
    [
        PromptTemplate("s", "1.0.0", "system", "text"),
        PromptTemplate("u", "1.0.0", "user", "text"),
        PromptTemplate("f", "1.0.0", "few-shot", "text"),
        PromptTemplate("h", "1.0.0", "schema-hint", "text"),
        PromptTemplate("other", "2.1.0", "system", "text"),
    ]
)


def layers(slot: ResolvedPrompt) -> list[tuple[str, bool, str | None]]:
    payload = {"nodeId": "n", "kind": slot.kind, "chain": list(slot.chain), "resolved": slot.ref.text}
    assert schema.check_payload("agent.promptResolved", payload) == []
    assert [entry for entry in slot.chain if entry["applied"]] == [
        entry for entry in slot.chain if entry["applied"] and entry["source"] == slot.ref.text
    ]
    assert sum(entry["applied"] for entry in slot.chain) == 1
    assert all(entry["applied"] or entry["reason"] for entry in slot.chain)
    return [(entry["layer"], entry["applied"], entry.get("source")) for entry in slot.chain]


@pytest.mark.rule("prompt-04")
def test_the_node_comes_before_the_workflow() -> None:
    (slot,) = resolve_prompts({"systemPromptRef": "prompt:s"}, {"system": "prompt:other"}, {}, LIBRARY)
    assert (slot.kind, slot.ref.text, slot.override_text) == ("system", "prompt:s@1.0.0", None)
    assert layers(slot) == [
        ("node", True, "prompt:s@1.0.0"),
        ("agent-intrinsic", False, None),
        ("workflow-defaults", False, "prompt:other"),
        ("host-defaults", False, None),
    ]
    assert slot.chain[2]["reason"] == "superseded by the layer node"
    assert slot.chain[3]["reason"] == NO_CANDIDATE


@pytest.mark.rule("prompt-04")
def test_the_workflow_says_what_the_node_does_not() -> None:
    (slot,) = resolve_prompts({}, {"system": "prompt:other"}, {}, LIBRARY)
    assert slot.ref.text == "prompt:other@2.1.0"
    assert layers(slot)[0] == ("node", False, None)
    assert layers(slot)[2] == ("workflow-defaults", True, "prompt:other@2.1.0")


@pytest.mark.rule("prompt-04")
@pytest.mark.parametrize("own", [True, False])
def test_a_text_of_the_run_comes_before_all(own: bool) -> None:
    config = {"systemPromptRef": "prompt:s"} if own else {}
    (slot,) = resolve_prompts(config, {} if own else {"system": "prompt:s"}, {"s": "instead"}, LIBRARY)
    assert slot.override_text == "instead"
    assert slot.ref.text == "prompt:s@1.0.0"
    assert layers(slot)[0] == ("run-configurable", True, "prompt:s@1.0.0")
    other = resolve_prompts(config, {} if own else {"system": "prompt:s"}, {"x": "instead"}, LIBRARY)[0]
    assert other.override_text is None
    assert layers(other)[0] == ("run-configurable", False, None)


@pytest.mark.rule("prompt-04")
def test_slots_stand_in_the_order_of_the_conversation() -> None:
    config = {
        "userPromptRef": "prompt:u",
        "fewShotPromptRefs": ["prompt:f", "prompt:f@1.0.0"],
        "schemaHintPromptRef": {"templateId": "h"},
        "additionalPromptRefs": ["prompt:other", "prompt:none"],
    }
    found = resolve_prompts(config, {"system": "prompt:s", "user": "prompt:other"}, {}, LIBRARY)
    # A template of a list that is a system prompt leaves the workflow's default no place.
    assert [(slot.kind, slot.ref.template_id) for slot in found] == [
        ("system", "other"),
        ("schema-hint", "h"),
        ("few-shot", "f"),
        ("few-shot", "f"),
        ("user", "u"),
        ("user", "none"),
    ]
    assert [slot.template is None for slot in found] == [False] * 5 + [True]
    assert found[-1].ref.text == "prompt:none"
    assert resolve_prompts({}, {}, {}, LIBRARY) == []
