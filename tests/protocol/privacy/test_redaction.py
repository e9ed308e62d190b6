"""Hidden values: masked where the plan says, back in place for the engine, and never resolved from a text."""

import copy
import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, for_all, header_of, node, plan_of, variable, workflow
from weftwork.protocol.fold.fold import fold
from weftwork.protocol.json import schema
from weftwork.protocol.privacy import redaction
from weftwork.protocol.privacy.redaction import Redactor, reveal, visible_variable
from weftwork.protocol.privacy.secret_matcher import SecretMatcher, redaction_marker
from weftwork.protocol.run.effects import EffectRef, outcome_interrupt
from weftwork.protocol.run.events import Fact

CANARY = "canary-3c41"
PLAN = plan_of(
    workflow(
        [
            node("a", "core.identity", outputSensitivity={"out": True, "open": False}),
            node("b", "core.identity"),
            node("t", "core.identity", inputs={"x": {"type": "variable", "variableName": "secret"}}),
        ],
        [edge("a", "b")],
        [
            variable("secret", "object", sensitive=True, defaultValue={"deep": ["default-secret"]}),
            variable("name", sensitive=True),
            variable("plain"),
        ],
    )
)
SHAPES: dict[str, Any] = {
    "text": "any-text",
    "short text": "x",
    "number": 4711,
    "small number": 0,
    "fraction": 2.5,
    "flag": True,
    "nothing": None,
    "object": {"member-name": {"deep": [CANARY, 7, False]}},
    "array": [CANARY, 1, True, None, {"member-name": 1}],
}


def redactor(**inputs: Any) -> Redactor:
    made = Redactor(PLAN)
    made.learn_inputs(inputs)
    return made


@pytest.mark.rule("hide-01")
def test_a_marker_names_what_it_stands_for() -> None:
    assert redaction_marker("name") == "[REDACTED:name]"
    assert redactor(name=CANARY).visible_value([CANARY]) == ["[REDACTED:name]"]


@pytest.mark.rule("hide-02")
@each_case("shape", *SHAPES)
def test_sensitive_variables_are_shown_as_their_marker(shape: str) -> None:
    assert visible_variable(PLAN, "secret", SHAPES[shape]) == redaction_marker("secret")
    assert visible_variable(PLAN, "plain", SHAPES[shape]) == SHAPES[shape]
    assert visible_variable(plan_of(workflow([node("a")])), "secret", SHAPES[shape]) == SHAPES[shape]


WHOLE: dict[str, tuple[str, str | None, str, str]] = {
    "an input": ("run.started", None, "/inputs/secret", redaction_marker("secret")),
    "a declared output": ("node.completed", "a", "/outputs/out", redaction_marker("a.out")),
    "any output of a node that was given it": (
        "node.completed",
        "t",
        "/outputs/any~1port",
        redaction_marker("t.any/port"),
    ),
    "a declared output of the run": ("run.completed", None, "/outputs/a/out", redaction_marker("a.out")),
    "any output of the run": ("run.completed", None, "/outputs/t/x", redaction_marker("t.x")),
    "a variable that changes": ("variable.changed", None, "/next", redaction_marker("secret")),
    "a variable that changed": ("variable.changed", None, "/previous", redaction_marker("secret")),
}


def payload_at(pointer: str, value: Any) -> dict[str, Any]:
    document: Any = value
    for token in reversed(pointer.split("/")[1:]):
        document = {token.replace("~1", "/"): document}
    return document


@pytest.mark.rule("hide-03", "hide-04")
@fails_without(redaction, "is_hidden_output", lambda nodes, node_id, port: False, match="was given it")
@each_case("shape", *SHAPES)
@each_case("place", *WHOLE)
def test_a_place_is_hidden_whole_whatever_stands_there(place: str, shape: str) -> None:
    kind, node_id, pointer, marker = WHOLE[place]
    more = {"name": "secret"} if kind == "variable.changed" else {}
    payload = {**payload_at(pointer, SHAPES[shape]), **more}
    shown, removed = redactor().hide_payload(kind, node_id, payload)
    assert shown == {**payload_at(pointer, marker), **more}
    assert removed == [(pointer, SHAPES[shape])]
    assert reveal(copy.deepcopy(shown), removed) == payload


@pytest.mark.rule("hide-03", "hide-04")
@pytest.mark.parametrize(("kind", "node_id"), [("node.failed", "t"), ("run.failed", None)])
def test_details_of_a_node_that_was_given_something_sensitive_are_hidden(kind: str, node_id: str | None) -> None:
    error = {"code": "bad_thing", "message": f"bad {CANARY}", "details": {"member-name": [4711, True]}}
    payload = {"nodeId": "t", "failedNodeId": "t", "error": error}
    shown, removed = redactor(name=CANARY).hide_payload(kind, node_id, payload)
    hidden = {
        "code": "bad_thing",
        "message": f"bad {redaction_marker('name')}",
        "details": {"redacted": redaction_marker("t.error")},
    }
    assert shown == {**payload, "error": hidden}
    assert schema.check_payload(kind, shown) == []
    assert redactor(name=CANARY).visible_error("t", error) == hidden
    assert reveal(shown, removed) == payload


HIDDEN_NAME = redaction_marker("name")
READABLE: dict[str, tuple[str, str | None, dict[str, Any], dict[str, Any]]] = {
    "other inputs": (
        "run.started", None,
        {"inputs": {"plain": f"<{CANARY}>", "list": [{"x": CANARY, "n": 4711}], CANARY: 1}},
        {"inputs": {"plain": f"<{HIDDEN_NAME}>", "list": [{"x": HIDDEN_NAME, "n": 4711}], CANARY: 1}},
    ),
    "outputs of other nodes": (
        "node.completed", "b",
        {"nodeId": "b", "outputs": {"out": [1, CANARY], "open": {"k": "v"}}},
        {"nodeId": "b", "outputs": {"out": [1, HIDDEN_NAME], "open": {"k": "v"}}},
    ),
    "ports that are not declared": (
        "node.completed", "a",
        {"nodeId": "a", "outputs": {"open": 2, "other": [True]}},
        {"nodeId": "a", "outputs": {"open": 2, "other": [True]}},
    ),
    "outputs of the run": (
        "run.completed", None,
        {"outputs": {"a": {"open": 2}, "b": {"out": CANARY, "x": 1}}},
        {"outputs": {"a": {"open": 2}, "b": {"out": HIDDEN_NAME, "x": 1}}},
    ),
    "errors of other nodes": (
        "node.failed", "b",
        {"error": {"code": CANARY, "message": f"bad {CANARY}", "details": {"v": CANARY, "n": 1}}},
        {"error": {"code": CANARY, "message": f"bad {HIDDEN_NAME}", "details": {"v": HIDDEN_NAME, "n": 1}}},
    ),
    "a change of another variable": (
        "variable.changed", "b",
        {"name": "plain", "previous": 1, "next": CANARY},
        {"name": "plain", "previous": 1, "next": HIDDEN_NAME},
    ),
    "the reason of a cancel": ("run.cancelled", None, {"reason": CANARY}, {"reason": HIDDEN_NAME}),
    "the reason of a cancel that waits": (
        "weftwork.run.cancel-requested", None, {"reason": CANARY}, {"reason": HIDDEN_NAME},
    ),
    "a line of a log": (
        "log.appended", "b",
        {"level": "info", "message": CANARY, "fields": {"f": CANARY}, "nodeId": CANARY},
        {"level": "info", "message": HIDDEN_NAME, "fields": {"f": HIDDEN_NAME}, "nodeId": CANARY},
    ),
    "the default of a variable": (
        "node.completed", "b",
        {"nodeId": "b", "outputs": {"x": "so default-secret it is"}},
        {"nodeId": "b", "outputs": {"x": f"so {redaction_marker('secret')} it is"}},
    ),
}  # fmt: skip


@pytest.mark.rule("hide-03", "hide-04")
@fails_without(SecretMatcher, "mask", lambda self, text: text, match="other inputs")
@each_case("name", *READABLE)
def test_elsewhere_only_copies_of_texts_are_masked(name: str) -> None:
    kind, node_id, payload, expected = READABLE[name]
    before = copy.deepcopy(payload)
    shown, removed = redactor(name=CANARY).hide_payload(kind, node_id, payload)
    assert shown == expected
    assert payload == before
    assert reveal(copy.deepcopy(shown), removed) == before


BREACH = {"kind": "run-duration", "limit": 4711, "observed": 4712, "nodeId": "b"}
STRUCTURE: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "a start": ("run.started", None, {"workflowId": "sample", "inputs": {}, "owner": {"tenant": "acme"}}),
    "a node's start": ("node.started", "b", {"nodeId": "b", "typeId": "core.identity", "attempt": 1}),
    "a completed node": ("node.completed", "b", {"nodeId": "node-b", "outputs": {}}),
    "a skipped node": ("node.skipped", "b", {"nodeId": "b", "reason": "trigger-rule"}),
    "a breach": ("cap.breached", "b", BREACH),
    "a breach's end": ("run.failed", None, {"error": {"code": "run_timeout", "message": "m...", "details": BREACH}}),
    "a claim": ("weftwork.effect.claimed", "b", {"nodeId": "node-b", "item": "3"}),
}


@pytest.mark.rule("hide-03")
@each_case("name", *STRUCTURE)
def test_what_the_protocol_says_itself_is_never_rewritten(name: str) -> None:
    kind, node_id, payload = STRUCTURE[name]
    words = ["core", "core.identity", "sample", "acme", "node-b", "trigger-rule", "run-duration", "run_timeout", "m..."]
    assert redactor(name=words[0], secret=words).hide_payload(kind, node_id, payload) == (payload, [])


@pytest.mark.rule("hide-03")
@each_case(
    "kind, member",
    ("weftwork.effect.claimed", "step"),
    ("weftwork.effect.recorded", "step"),
    ("version.pinned", "changeId"),
)
def test_a_name_that_an_author_made_of_a_secret_does_not_show_it(kind: str, member: str) -> None:
    payload = {"nodeId": "b", member: f"pay {CANARY}"}
    shown, removed = redactor(name=CANARY).hide_payload(kind, "b", payload)
    assert shown == {"nodeId": "b", member: f"pay {redaction_marker('name')}"}
    assert reveal(shown, removed) == payload


@pytest.mark.rule("hide-03")
def test_the_question_what_became_of_an_effect_can_be_read() -> None:
    asked = outcome_interrupt("t", 0, EffectRef(f"pay {CANARY}"), 1)
    payload = {"kind": "custom", "key": asked.key, "data": asked.data}
    made = redactor(name=CANARY)
    shown, _ = made.hide_payload("interrupt.requested", "t", payload)
    assert shown["data"]["payload"]["answers"] == asked.data["payload"]["answers"]
    assert CANARY not in str(shown)
    assert made.visible_interrupt("t", "custom", {"data": asked.data})["data"] == shown["data"]
    event = {"kind": "external-event", "key": "k", "data": {"eventType": "paid", "correlation": {"of": 1}}}
    hidden, _ = made.hide_payload("interrupt.requested", "t", event)
    assert hidden["data"]["correlation"] == {"of": redaction_marker("t.data.correlation.of")}


@pytest.mark.rule("hide-03", "hide-04")
def test_what_an_author_says_and_the_header_hold_no_copies() -> None:
    kind, payload = "acme.thing", {"any": [f"x{CANARY}"], "more": "fine"}
    shown, removed = redactor(name=CANARY).hide_payload(kind, "b", payload)
    assert shown == {"any": [f"x{redaction_marker('name')}"], "more": "fine"}
    assert reveal(shown, removed) == payload
    inputs = {"secret": {"member-name": 4711}, "plain": CANARY, "flag": True}
    shown, removed = redactor(name=CANARY).hide_inputs(inputs)
    assert shown == {"secret": redaction_marker("secret"), "plain": redaction_marker("name"), "flag": True}
    assert reveal(shown, removed) == inputs


def test_a_hidden_output_and_a_changed_variable_are_known_from_then_on() -> None:
    made = redactor()
    made.hide_payload("node.completed", "a", {"outputs": {"out": {"deep": [CANARY]}, "open": "fine"}})
    made.hide_payload("node.completed", "t", {"outputs": {"x": "made-of-it"}})
    assert made.visible_value([f"x{CANARY}", "made-of-it", "fine"]) == [
        f"x{redaction_marker('a.out')}",
        redaction_marker("t.x"),
        "fine",
    ]
    made = redactor()
    made.hide_payload("variable.changed", None, {"name": "name", "next": CANARY})
    assert made.visible_value([CANARY]) == [redaction_marker("name")]


def test_a_cold_redactor_learns_from_the_state_what_the_warm_one_knew() -> None:
    facts = [
        Fact(0, "run.started", {}, 0),
        Fact(1, "node.completed", {"outputs": {"out": "out-secret", "open": "fine"}}, 0, "a"),
        Fact(2, "node.completed", {"outputs": {"x": "made-of-it"}}, 0, "t"),
        Fact(3, "variable.changed", {"name": "name", "next": CANARY}, 0),
    ]
    made = Redactor(PLAN)
    made.learn_state(fold(PLAN, header_of(PLAN), {}, facts))
    shown = made.visible_value(["out-secret", "fine", "made-of-it", CANARY, "default-secret"])
    assert shown == [
        redaction_marker("a.out"),
        "fine",
        redaction_marker("t.x"),
        redaction_marker("name"),
        redaction_marker("secret"),
    ]


@pytest.mark.rule("hide-04")
def test_a_marker_typed_by_hand_is_only_a_text() -> None:
    typed = {"inputs": {"plain": redaction_marker("name"), "name": CANARY}}
    shown, removed = redactor(name=CANARY).hide_payload("run.started", None, typed)
    assert shown["inputs"]["plain"] == redaction_marker("name")
    assert [pointer for pointer, _ in removed] == ["/inputs/name"]
    assert reveal(copy.deepcopy(shown), removed) == typed


TEXTS = st.sampled_from(
    ["", "x", CANARY, f"a{CANARY}b", CANARY * 2, CANARY[1:], redaction_marker("name"), "abcd-default-secret"]
)
DOCUMENTS = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~0", max_size=3), inner, max_size=3),
)


@pytest.mark.rule("hide-03", "hide-04")
@for_all(100, DOCUMENTS, st.booleans(), full=4_000)
def test_what_is_hidden_holds_no_secret_and_can_be_revealed(value: Any, in_variable: bool) -> None:
    payload = {"inputs": {"secret" if in_variable else "plain": value}}
    shown, removed = redactor(name=CANARY).hide_payload("run.started", None, payload)
    assert CANARY not in json.dumps(shown)
    assert reveal(copy.deepcopy(shown), removed) == payload
