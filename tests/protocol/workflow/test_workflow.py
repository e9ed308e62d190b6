"""Workflow definitions: each check with the place it points at."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import TYPES, example_count, node, plan_of, workflow
from tests.protocol.workflow.bad_definitions import CASES, GOOD, linked, with_changes
from weftwork.protocol.json import canonical, schema
from weftwork.protocol.json.values import has_type
from weftwork.protocol.workflow import validation as module
from weftwork.protocol.workflow.definition import RetryPolicy
from weftwork.protocol.workflow.node_types import NEVER_PROVIDED, missing_capabilities
from weftwork.protocol.workflow.plan import plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow


def violations(document: dict[str, Any]) -> list[str]:
    parsed, found = parse_workflow(document, TYPES)
    assert (parsed is None) is bool(found)
    if parsed is not None:
        plan, found = plan_workflow(parsed)
        assert (plan is None) is bool(found)
    return [f"{each.pointer} {each.rule}" for each in found]


@pytest.mark.rule("wf-01")
def test_a_good_definition_is_read_whole() -> None:
    parsed, found = parse_workflow(GOOD, TYPES)
    assert parsed is not None
    assert found == []
    assert (parsed.id, parsed.version, parsed.timeout_ms) == ("sample", "1.0.0", 5)
    assert parsed.document is GOOD
    assert parsed.digest == canonical.digest(GOOD)
    a, b, c = parsed.nodes
    assert (a.is_primary, b.is_primary, a.disabled, b.disabled) == (True, False, False, True)
    assert b.sensitive_outputs == {"p"}
    assert (b.ports["y"].node_id, b.ports["y"].output_key, b.ports["y"].optional) == ("a", "x", True)
    assert c.config == {"code": "boom"}
    assert [(e.source_output, e.target_input, e.trigger_rule) for e in parsed.edges] == [
        ("output", "input", "all_success"),
        ("o", "i", "any_failed"),
    ]
    v, n = parsed.variables
    assert (v.has_default, v.default, v.sensitive, v.required) == (True, "x", True, False)
    assert (n.has_default, n.default, n.sensitive, n.required) == (False, None, False, True)


@pytest.mark.rule("wf-01", "wf-02", "wf-03", "wf-13", "wf-14", "wf-17", "wf-18")
@pytest.mark.parametrize("name", CASES)
def test_a_bad_definition_is_refused_with_every_violation(name: str) -> None:
    changes, expected = CASES[name]
    assert ", ".join(violations(with_changes(changes))) == expected


@pytest.mark.rule("wf-13")
def test_settings_of_a_node_win_over_those_of_the_workflow() -> None:
    own = {"maxRetries": 1, "retryDelayMs": 7, "retryBackoff": 1.5, "retryMaxDelayMs": 9, "timeoutMs": 11, "other": 1}
    parsed, found = parse_workflow(with_changes({"/settings/maxRetries": 3, "/nodes/0/settings": own}), TYPES)
    assert parsed is not None, found
    assert (parsed.nodes[0].retry, parsed.nodes[0].timeout_ms) == (RetryPolicy(1, 7, 1.5, 9), 11)
    assert (parsed.nodes[1].retry, parsed.nodes[1].timeout_ms) == (RetryPolicy(3), 0)


def test_what_only_describes_is_kept() -> None:
    more = {
        "/nodes/0/envelopeContract": {"accepts": ["x"]},
        "/nodes/0/agent": {"agentId": "writer"},
        "/nodes/0/groupId": "g",
        "/groups": [
            {"id": "g", "name": "G", "nodeIds": ["a"], "position": {"x": 0, "y": 0}, "size": {"width": 1, "height": 1}}
        ],
    }
    assert violations(with_changes(more)) == []


def test_nothing_is_refused_for_being_empty() -> None:
    assert violations(with_changes({"/settings/maxRetries": 0, "/configurableSchema": {}, "/channels": {}})) == []


@pytest.mark.rule("wf-03")
def test_a_connection_may_reach_over_nodes_in_between() -> None:
    assert violations(with_changes({"/nodes/2/inputs/x": linked("a")})) == []


@pytest.mark.rule("wf-01")
@pytest.mark.parametrize("name", ["id", "name", "version", "nodes", "edges", "triggers", "variables", "metadata"])
def test_shape_is_judged_by_the_schema_first(name: str) -> None:
    document = {key: value for key, value in GOOD.items() if key != name}
    assert violations(document) == [" required"]


@pytest.mark.parametrize(
    ("guard", "case"),
    [
        ("_check_unique", "edge id twice"),
        ("_check_ports", "connection to nowhere"),
        ("_check_unique", "variable twice"),
        ("_check_unique", "trigger twice"),
        ("_check_channel_writes", "channel written as a variable"),
        ("_check_outputs", "sensitivity of an output that is not given"),
    ],
)
def test_without_its_check_a_bad_definition_would_be_read(
    monkeypatch: pytest.MonkeyPatch, guard: str, case: str
) -> None:
    monkeypatch.setattr(module, guard, lambda *arguments: [])
    assert parse_workflow(with_changes(CASES[case][0]), TYPES)[1] == []


@pytest.mark.rule("wf-04")
@settings(max_examples=example_count(100), deadline=None)
@given(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({}),
    st.sampled_from(["string", "number", "boolean", "object", "array"]),
)
def test_a_value_has_its_declared_type(value: Any, name: str) -> None:
    kinds = {str: "string", int: "number", float: "number", bool: "boolean", dict: "object", list: "array"}
    assert has_type(value, name) is (kinds.get(type(value)) == name)


@pytest.mark.rule("node-01")
def test_what_a_node_lacks_is_named_in_declared_order() -> None:
    assert missing_capabilities(("b", "a", "c"), frozenset({"a"})) == ["b", "c"]
    assert missing_capabilities((), frozenset()) == []
    assert missing_capabilities(("a",), frozenset({"a", "b"})) == []


@pytest.mark.rule("node-02")
def test_one_capability_is_never_provided() -> None:
    assert missing_capabilities((NEVER_PROVIDED,), frozenset({NEVER_PROVIDED})) == [NEVER_PROVIDED]
    assert TYPES["conformance.requiresMissing"].requires == (NEVER_PROVIDED,)


def test_every_built_in_type_declares_schemas_that_compile() -> None:
    for type_id, declaration in TYPES.items():
        assert declaration.type_id == type_id
        for part in (declaration.inputs, declaration.outputs, declaration.config):
            assert {each.rule for each in schema.check_inline(part, {}, "")} <= {"required", "anyOf", "minProperties"}


def test_the_plan_knows_what_must_be_hidden() -> None:
    plan = plan_of(GOOD)
    assert (plan.sensitive_variables, plan.has_sensitive_data) == ({"v"}, True)
    assert plan_of(workflow([node("a")])).has_sensitive_data is False
    assert plan_of(workflow([node("a", outputSensitivity={"p": True})])).has_sensitive_data is True
