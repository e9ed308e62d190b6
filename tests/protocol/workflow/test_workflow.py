"""Workflow definitions: how they are handed in, each check and problem with the place it points at, gated types."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import TYPES, edge, for_all, node, plan_of, variable, workflow
from tests.protocol.workflow.bad_definitions import CASES, GOOD, linked, with_changes
from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.protocol.json import canonical, schema
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.pointers import match_pointer_pattern
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import has_type
from weftwork.protocol.workflow import node_config, registration, taint
from weftwork.protocol.workflow import validation as validation_module
from weftwork.protocol.workflow.definition import RetryPolicy
from weftwork.protocol.workflow.node_config import variables_read, variables_written
from weftwork.protocol.workflow.node_types import NEVER_PROVIDED, missing_capabilities
from weftwork.protocol.workflow.plan import plan_workflow
from weftwork.protocol.workflow.registration import (
    GATED_NODE_TYPES,
    MAX_DEFINITION_BYTES,
    MAX_LISTED_VIOLATIONS,
    MAX_POINTER_LENGTH,
    MAX_VERSION_LENGTH,
    GatedNode,
    Problem,
    capability_required,
    check_shape,
    check_version_length,
    find_gated_node,
    find_problems,
    read_test_definition,
    registration_refusal,
)
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
@each_case("name", *CASES)
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


def test_members_that_only_describe_or_are_empty_are_kept() -> None:
    more = {
        "/nodes/0/envelopeContract": {"accepts": ["x"]},
        "/nodes/0/agent": {"agentId": "writer"},
        "/nodes/0/groupId": "g",
        "/groups": [
            {"id": "g", "name": "G", "nodeIds": ["a"], "position": {"x": 0, "y": 0}, "size": {"width": 1, "height": 1}}
        ],
    }
    assert violations(with_changes(more)) == []
    assert violations(with_changes({"/settings/maxRetries": 0, "/configurableSchema": {}, "/channels": {}})) == []


@pytest.mark.rule("wf-03")
def test_a_connection_may_reach_over_nodes_in_between() -> None:
    assert violations(with_changes({"/nodes/2/inputs/x": linked("a")})) == []


@pytest.mark.rule("wf-01")
@each_case("name", "id", "name", "version", "nodes", "edges", "triggers", "variables", "metadata")
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
    monkeypatch.setattr(validation_module, guard, lambda *arguments: [])
    assert parse_workflow(with_changes(CASES[case][0]), TYPES)[1] == []


@pytest.mark.rule("wf-04")
@for_all(
    100,
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([]) | st.just({}),
    st.sampled_from(["string", "number", "boolean", "object", "array"]),
)
def test_a_value_has_its_declared_type(value: Any, name: str) -> None:
    kinds = {str: "string", int: "number", float: "number", bool: "boolean", dict: "object", list: "array"}
    assert has_type(value, name) is (kinds.get(type(value)) == name)


@pytest.mark.rule("node-01", "node-02")
def test_what_a_node_lacks_is_named_in_order_and_one_capability_is_never_provided() -> None:
    assert missing_capabilities(("b", "a", "c"), frozenset({"a"})) == ["b", "c"]
    assert missing_capabilities((), frozenset()) == []
    assert missing_capabilities(("a",), frozenset({"a", "b"})) == []
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


CALL = "core.subWorkflow"


def calling(node_id: str = "call", **config: Any) -> dict[str, Any]:
    return node(node_id, CALL, config={"workflowId": "child", **config})


@each_case(
    "pattern, found",
    ("/a", [("/a", {"x/y": [1, 2]})]),
    ("/a/*", [("/a/x~1y", [1, 2])]),
    ("/a/*/*", [("/a/x~1y/0", 1), ("/a/x~1y/1", 2)]),
    ("/*", [("/a", {"x/y": [1, 2]}), ("/b", 3)]),
    ("/b/*", []),
    ("/c", []),
    ("/a/x~1y/0", []),
)
def test_what_stands_at_a_pattern(pattern: str, found: list[tuple[str, Any]]) -> None:
    assert list(match_pointer_pattern({"a": {"x/y": [1, 2]}, "b": 3}, pattern)) == found


def test_variables_of_mappings_and_of_single_members() -> None:
    nodes = [
        calling(inputMapping={"c": "p", "d": "q"}, outputMapping={"r/s": "c", "t": "c"}),
        node("set", "core.setVariable", config={"name": "x", "value": 1}),
        node("get", "core.getVariable", config={"name": "y"}),
        node("none"),
    ]
    parsed, _ = parse_workflow(workflow(nodes), TYPES)
    assert parsed is not None
    assert [list(variables_read(each)) for each in parsed.nodes] == [["p", "q"], [], ["y"], []]
    assert [list(variables_written(each)) for each in parsed.nodes] == [
        [("/outputMapping/r~1s", "r/s"), ("/outputMapping/t", "t")],
        [("/name", "x")],
        [],
        [],
    ]


@pytest.mark.rule("wf-17")
@fails_without(node_config, "variables_written", lambda node: iter(()))
def test_a_channel_takes_nothing_of_a_child_as_if_it_were_a_variable() -> None:
    document = workflow([calling(outputMapping={"v": "a", "ch": "a"})], channels={"ch": {"reducer": "append"}})
    assert violations(document) == ["/nodes/0/config/outputMapping/ch reference"]


@pytest.mark.rule("hide-03")
@fails_without(taint, "variables_read", lambda node: iter(()))
@fails_without(taint, "variables_written", lambda node: iter(()))
def test_what_comes_back_from_a_child_that_was_given_a_secret_is_hidden() -> None:
    nodes = [
        calling("in", inputMapping={"c": "secret"}, outputMapping={"back": "d"}),
        calling("again", inputMapping={"c": "back"}, outputMapping={"far": "d"}),
        calling("plain", inputMapping={"c": "open"}, outputMapping={"shown": "d"}),
    ]
    found = plan_of(workflow(nodes, variables=[variable("secret", sensitive=True), variable("open")])).taint
    assert (found.variables, found.nodes) == ({"secret", "back", "far"}, {"in", "again"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(sorted(GATED_NODE_TYPES)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["nodes", "typeId", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.rule("wf-09")
@pytest.mark.parametrize("type_id", GATED_NODE_TYPES)
def test_a_gated_type_is_found_unless_the_host_has_it(type_id: str) -> None:
    document = workflow([node("a"), node("b", type_id), node("c", "core.dispatch")])
    assert find_gated_node(document, {"core.noop"}) == GatedNode(1, type_id, "b")
    assert find_gated_node(workflow([node("a"), node("b", type_id)]), {"core.noop", type_id}) is None
    fault = capability_required(GatedNode(1, type_id, "b"), "/definition")
    assert (fault.code, fault.status) == ("capability_required", 422)
    assert fault.details == {
        "pointer": "/definition/nodes/1/typeId",
        "requiredCapability": GATED_NODE_TYPES[type_id],
        "offendingTypeId": type_id,
        "nodeId": "b",
    }


@pytest.mark.rule("wf-09")
@pytest.mark.parametrize("node_id", [None, 7, "x" * 129])
def test_what_is_no_id_is_not_repeated(node_id: Any) -> None:
    found = find_gated_node({"nodes": [{"typeId": "core.dispatch", "id": node_id}]}, ())
    assert found == GatedNode(0, "core.dispatch", None)
    assert "nodeId" not in (capability_required(GatedNode(0, "core.dispatch", None)).details or {})


@given(JSON)
def test_any_document_can_be_looked_through(document: Any) -> None:
    found = find_gated_node(document, ())
    if found is not None:
        assert document["nodes"][found.index]["typeId"] == found.type_id
    assert find_gated_node(document, GATED_NODE_TYPES) is None


WHOLE = workflow([node("a")])
SHORT = {"workflowId": "probe", "nodes": [{"nodeId": "n", "typeId": "core.noop", "config": {}}]}


@pytest.mark.rule("wf-10")
def test_a_refusal_points_at_the_first_violation_and_lists_a_bounded_number() -> None:
    found = [Violation("/nodes/0/id", "unique", "another node has the same id"), Violation("", "required", "x")]
    fault = registration_refusal(found, "/definition")
    assert fault.code == "validation_error"
    assert fault.details == {
        "pointer": "/definition/nodes/0/id",
        "violations": [
            {"pointer": "/definition/nodes/0/id", "keyword": "unique", "message": "another node has the same id"},
            {"pointer": "/definition", "keyword": "required", "message": "x"},
        ],
    }
    long = "/metadata/" + "x" * MAX_POINTER_LENGTH
    listed = (registration_refusal([Violation(long, "k", "m")] * (MAX_LISTED_VIOLATIONS + 1)).details or {})[
        "violations"
    ]
    assert len(listed) == MAX_LISTED_VIOLATIONS
    assert {each["pointer"] for each in listed} == {"/metadata"}
    assert (registration_refusal([Violation("/" + "x" * MAX_POINTER_LENGTH, "k", "m")]).details or {})["pointer"] == ""


@pytest.mark.parametrize(("length", "count"), [(1, 0), (MAX_VERSION_LENGTH, 0), (MAX_VERSION_LENGTH + 1, 1)])
def test_a_version_can_be_asked_for_by_its_name(length: int, count: int) -> None:
    assert len(check_version_length("v" * length)) == count


@pytest.mark.rule("wf-12")
def test_the_seam_takes_a_definition_in_two_forms() -> None:
    assert read_test_definition(WHOLE) == (WHOLE, "")
    assert read_test_definition({"definition": WHOLE}) == (WHOLE, "/definition")
    assert read_test_definition({**WHOLE, "definition": {}})[1] == ""


@pytest.mark.rule("wf-12")
def test_the_short_form_becomes_a_definition() -> None:
    made, at = read_test_definition(SHORT)
    parsed, violations = parse_workflow(made, TYPES)
    assert (violations, at) == ([], "")
    assert parsed is not None
    assert (parsed.id, [each.id for each in parsed.nodes]) == ("probe", ["n"])
    assert read_test_definition(SHORT)[0] == made
    other = {**SHORT, "nodes": [{"nodeId": "m", "typeId": "core.noop"}]}
    assert read_test_definition(other)[0]["version"] != made["version"]
    assert read_test_definition({**SHORT, "version": "7", "name": "Mine"})[0] == {
        **made,
        "version": "7",
        "name": "Mine",
    }


@pytest.mark.rule("wf-19")
@fails_without("weftwork.protocol.workflow.registration._chain_nodes", lambda document: document)
def test_only_nodes_with_ids_of_their_own_are_chained() -> None:
    chained = read_test_definition(workflow([node("b"), node("a"), node("c")]))[0]
    assert [(each["sourceNodeId"], each["targetNodeId"]) for each in chained["edges"]] == [("b", "a"), ("a", "c")]
    assert parse_workflow(chained, TYPES)[1] == []
    drawn = workflow([node("a"), node("b"), node("c")], [edge("a", "c")])
    for unchanged in (drawn, workflow([node("a"), node("a")]), {"id": "w", "nodes": 7}, {"id": "w", "nodes": [{}, 1]}):
        assert read_test_definition(unchanged) == (unchanged, "")


@pytest.mark.rule("wf-12")
@each_case(
    "body",
    *(
        [None, 1, "x", [], {}, {"definition": None}, {"workflowId": "probe"}, {"workflowId": 7, "nodes": [1]}]
        + [{**SHORT, "nodes": nodes} for nodes in (None, {}, [None], [{}], [{"typeId": "core.noop"}])]
        + [{**SHORT, "colour": "red"}]
    ),
)
def test_what_is_no_form_is_no_definition(body: Any) -> None:
    made, _ = read_test_definition(body)
    assert schema.check("workflow-definition", made)


SOUND = workflow([node("a"), node("b")], [edge("a", "b")], [variable("x", required=True)])


def registered(document: Any) -> list[tuple[str, str]]:
    """What a host says about it."""

    async def ask() -> list[tuple[str, str]]:
        store = MemoryStore()
        await store.open()
        return [
            (each.pointer, each.message) for each in await WorkflowCatalog(store.definitions, TYPES).register(document)
        ]

    return asyncio.run(ask())


def with_node(**members: Any) -> dict[str, Any]:
    return workflow([node("a"), {**node("b"), **members}], [edge("a", "b")])


BAD: list[tuple[Any, str, str]] = [
    ([], "", "[]"),
    ({**SOUND, "colour": "red"}, "/colour", '"colour": "red"'),
    ({name: value for name, value in SOUND.items() if name != "edges"}, "", '{"id": "sample"'),
    (with_node(typeId="core.nothing"), "/nodes/1/typeId", '"core.nothing"'),
    (with_node(config=5), "/nodes/1/config", "5, "),
    (with_node(typeId="core.fail", config={"code": "Bad Code"}), "/nodes/1/config/code", '"Bad Code"'),
    (with_node(typeId="core.identity", config={"o/d~d é": 1}), "/nodes/1/config/o~1d~0d \\xe9", '"o/d~d é": 1'),
    (with_node(id="a"), "/nodes/1/id", '"a"'),
    (with_node(inputs={"x": {"type": "variable"}}), "/nodes/1/inputs/x", '{"type": "variable"}'),
    (workflow([node("a")], [edge("a", "gone")]), "/edges/0/targetNodeId", '"gone"'),
    (workflow([node("a")], [], [variable("x", defaultValue=1)]), "/variables/0/defaultValue", "1}"),
]


@each_case("document, pointer, there", *BAD)
@each_case("indent", None, 2)
def test_a_problem_is_the_one_a_host_names_and_is_told_where_it_stands(
    document: Any, pointer: str, there: str, indent: int | None
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    found, problems = find_problems(text.encode(), TYPES)
    assert found is None
    assert [(each.pointer, each.message) for each in problems] == registered(document)
    place = next(each for each in problems if each.pointer == pointer)
    rest = "\n".join(text.split("\n")[place.line - 1 :])[place.column - 1 :]
    assert "".join(rest.split()).startswith("".join(there.split()))


def test_a_good_definition_has_no_problem_and_a_right_shape_may_still_have_one() -> None:
    text = json.dumps(SOUND).encode()
    assert find_problems(text, TYPES) == (SOUND, [])
    assert registered(SOUND) == []
    assert check_shape(text) == (SOUND, [])
    document = with_node(typeId="core.nothing")
    text = json.dumps(document).encode()
    assert check_shape(text) == (document, [])
    assert find_problems(text, TYPES)[0] is None


def test_problems_come_in_the_order_of_the_text() -> None:
    document = {"zebra": 1, **with_node(config=5), "ant": 2}
    _, problems = find_problems(json.dumps(document, indent=1).encode(), TYPES)
    assert [each.pointer for each in problems] == ["/zebra", "/nodes/1/config", "/ant"]
    assert sorted(problems, key=lambda each: each.line) == problems


UNREADABLE = [
    (b'{\n  "id": "x",\n}', Problem(3, 1, "", "The document is not valid JSON at line 3 column 1.")),
    (b'{"a": 1,\n "b": 2,\n "a": 3}', Problem(3, 2, "/a", "An object repeats a member name.")),
    (b'{"nodes": [{"id": 1,\n  "id": 2}]}', Problem(2, 3, "/nodes/0/id", "An object repeats a member name.")),
    (b'{"id":\n "\xff"}', Problem(2, 3, "", "The document is not valid UTF-8 at byte 9.")),
    (b'{"id":\n 9007199254740993}', None),
    (b'{"id":\n "\\u0000"}', None),
    (b'{"id":\n NaN}', None),
    (b"\xef\xbb\xbf{}", Problem(1, 1, "", "The document starts with a byte-order mark; send plain UTF-8.")),
    (b'{"a":\n' + b"[" * 100 + b"]" * 100 + b"}", None),
]


@each_case("data, wanted", *UNREADABLE)
def test_what_the_decoder_refuses_has_a_place_too(data: bytes, wanted: Problem | None) -> None:
    _, problems = find_problems(data, TYPES)
    assert len(problems) == 1
    if wanted is not None:
        assert problems == [wanted]
    else:
        assert problems[0].line in (1, 2)
        assert problems[0].pointer.startswith(("/id", "/a/0"))
        assert problems[0].message


def test_a_text_beyond_the_limit_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(SOUND).encode()
    longest = text + b" " * (MAX_DEFINITION_BYTES - len(text))
    assert check_shape(longest) == (SOUND, [])
    read: list[int] = []
    monkeypatch.setattr(registration, "decode", lambda data: (read.append(len(data)), decode(data))[1])
    assert check_shape(longest + b" ") == (None, [Problem(1, 1, "", "is larger than the limit of 16,777,216 bytes")])
    assert read == []
    monkeypatch.setattr(registration, "MAX_DEFINITION_BYTES", 2**30)
    assert check_shape(longest + b" ") == (SOUND, [])
