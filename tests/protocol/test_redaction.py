"""Hidden values: masked everywhere in the log, back in place for the engine, and never resolved from a text."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.definition import edge, examples, header_of, node, plan_of, variable, workflow
from weftwork.protocol import redaction
from weftwork.protocol.events import Fact
from weftwork.protocol.fold import fold
from weftwork.protocol.redaction import Redactor, mask, reveal, shown_variable

CANARY = "canary-3c41"
PLAN = plan_of(
    workflow(
        [node("a", "core.identity", outputSensitivity={"out": True, "open": False}), node("b", "core.identity")],
        [edge("a", "b")],
        [
            variable("secret", "object", sensitive=True, defaultValue={"deep": ["default-secret"]}),
            variable("name", sensitive=True),
            variable("plain"),
        ],
    )
)


def redactor(**inputs: Any) -> Redactor:
    made = Redactor(PLAN)
    made.learn_inputs(inputs)
    return made


@pytest.mark.rule("hide-01")
def test_a_marker_names_what_it_stands_for() -> None:
    assert mask("name") == "[REDACTED:name]"
    assert redactor(name=CANARY).hide(CANARY, {}) == ("[REDACTED:name]", [("", CANARY)])


@pytest.mark.rule("hide-02")
def test_sensitive_variables_are_shown_as_their_marker() -> None:
    assert shown_variable(PLAN, "secret", {"a": 1}) == mask("secret")
    assert shown_variable(PLAN, "name", None) == mask("name")
    assert shown_variable(PLAN, "plain", "x") == "x"
    assert shown_variable(plan_of(workflow([node("a")])), "secret", 1) == 1


PAYLOADS: dict[str, tuple[str, str | None, dict[str, Any], dict[str, Any]]] = {
    "inputs by name": (
        "run.started", None,
        {"inputs": {"name": CANARY, "secret": {"pin": 7}, "plain": "x"}},
        {"inputs": {"name": mask("name"), "secret": mask("secret"), "plain": "x"}},
    ),
    "inputs by value": (
        "run.started", None,
        {"inputs": {"plain": CANARY, "list": [{"x": f"<{CANARY}>"}]}},
        {"inputs": {"plain": mask("name"), "list": [{"x": f"<{mask('name')}>"}]}},
    ),
    "an output that is not declared": (
        "node.completed", "b",
        {"nodeId": "b", "outputs": {"x": {"y": [1, CANARY]}}},
        {"nodeId": "b", "outputs": {"x": {"y": [1, mask("name")]}}},
    ),
    "a sensitive port": (
        "node.completed", "a",
        {"nodeId": "a", "outputs": {"out": [1, {"k": "v"}], "open": 2}},
        {"nodeId": "a", "outputs": {"out": mask("a.out"), "open": 2}},
    ),
    "outputs of the run": (
        "run.completed", None,
        {"outputs": {"a": {"out": 5, "open": 2}, "b": {"out": CANARY}}},
        {"outputs": {"a": {"out": mask("a.out"), "open": 2}, "b": {"out": mask("name")}}},
    ),
    "the text of an error": (
        "node.failed", "b",
        {"nodeId": "b", "error": {"code": "x", "message": f"bad {CANARY}{CANARY}", "details": {"v": CANARY}}},
        {
            "nodeId": "b",
            "error": {"code": "x", "message": f"bad {mask('name') * 2}", "details": {"v": mask("name")}},
        },
    ),
    "a change of a variable": (
        "variable.changed", "b",
        {"name": "secret", "previous": {"a": 1}, "next": {"b": "b-secret"}},
        {"name": "secret", "previous": mask("secret"), "next": mask("secret")},
    ),
    "a change of another": (
        "variable.changed", "b",
        {"name": "plain", "previous": 1, "next": CANARY},
        {"name": "plain", "previous": 1, "next": mask("name")},
    ),
    "the default of a variable": (
        "node.completed", "b",
        {"nodeId": "b", "outputs": {"x": "so default-secret it is"}},
        {"nodeId": "b", "outputs": {"x": f"so {mask('secret')} it is"}},
    ),
}  # fmt: skip


@pytest.mark.rule("hide-03", "hide-04")
@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_is_masked_and_comes_back(name: str) -> None:
    kind, node_id, payload, expected = PAYLOADS[name]
    before = copy.deepcopy(payload)
    shown, removed = redactor(name=CANARY).hide_payload(kind, node_id, payload)
    assert shown == expected
    assert payload == before
    assert reveal(copy.deepcopy(shown), removed) == before


def test_a_sensitive_output_is_known_from_then_on() -> None:
    made = redactor()
    made.hide_payload("node.completed", "a", {"outputs": {"out": {"deep": [CANARY]}}})
    assert made.hide({"later": f"x{CANARY}"}, {})[0] == {"later": f"x{mask('a.out')}"}


def test_a_changed_variable_is_known_from_then_on() -> None:
    made = redactor()
    made.hide_payload("variable.changed", None, {"name": "name", "next": CANARY})
    assert made.hide([CANARY], {})[0] == [mask("name")]


def test_a_cold_redactor_learns_from_the_state_what_the_warm_one_knew() -> None:
    facts = [
        Fact(0, "run.started", {}, 0),
        Fact(1, "node.completed", {"outputs": {"out": "out-secret", "open": "fine"}}, 0, "a"),
        Fact(2, "variable.changed", {"name": "name", "next": CANARY}, 0),
    ]
    made = Redactor(PLAN)
    made.learn_state(fold(PLAN, header_of(PLAN), {}, facts))
    shown, _ = made.hide(["out-secret", "fine", CANARY, "default-secret"], {})
    assert shown == [mask("a.out"), "fine", mask("name"), mask("secret")]


def test_short_texts_are_hidden_whole_only() -> None:
    made = redactor(name="abc")
    assert made.hide(["abc", "abcd"], {})[0] == [mask("name"), "abcd"]
    assert redactor(name="abcd").hide(["abcde"], {})[0] == [f"{mask('name')}e"]
    assert redactor(name="").hide(["", "x"], {})[0] == ["", "x"]


@pytest.mark.rule("hide-03", "hide-04")
def test_numbers_are_hidden_too() -> None:
    made = redactor(secret={"pin": 4711, "rate": 1234.0, "small": 7, "flag": True})
    value = {"a": [4711, 4711.0, 1234, 7, 1, True, None], "text": "it was 4711, or 1234.5", "near": 4712}
    shown, removed = made.hide_payload("node.completed", "b", {"outputs": value})
    marker = mask("secret")
    assert shown["outputs"] == {
        "a": [marker, marker, marker, 7, 1, True, None],
        "text": f"it was {marker}, or {marker}.5",
        "near": 4712,
    }
    back = reveal(shown, removed)
    assert json.dumps(back) == json.dumps({"outputs": value})


@pytest.mark.rule("hide-03")
def test_the_numbers_of_a_breach_stay_numbers() -> None:
    breach = {"kind": "run-duration", "limit": 4711, "observed": 4712, "nodeId": CANARY}
    shown, removed = redactor(name=CANARY, secret=4711).hide_payload("cap.breached", None, breach)
    assert shown == {**breach, "nodeId": mask("name")}
    assert reveal(shown, removed) == breach


def test_a_text_inside_another_does_not_leave_the_rest_of_it_open() -> None:
    made = Redactor(PLAN)
    made.learn("name", "inner")
    made.learn("secret", "outer-inner-outer")
    assert made.hide("<outer-inner-outer> <inner>", {})[0] == f"<{mask('secret')}> <{mask('name')}>"


@pytest.mark.rule("hide-04")
def test_a_marker_typed_by_hand_is_only_a_text() -> None:
    typed = {"inputs": {"plain": mask("name"), "name": CANARY}}
    shown, removed = redactor(name=CANARY).hide_payload("run.started", None, typed)
    assert shown["inputs"]["plain"] == mask("name")
    assert reveal(copy.deepcopy(shown), removed) == typed


@pytest.mark.rule("hide-04")
@pytest.mark.parametrize("value", [CANARY, [CANARY], {"a/b~c": {"~1": CANARY, "": [[CANARY]]}}])
def test_pointers_with_odd_names_lead_back(value: Any) -> None:
    shown, removed = redactor(name=CANARY).hide(value, {})
    assert CANARY not in json.dumps(shown)
    assert reveal(shown, removed) == value


def documents(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.text("ab/~0", max_size=3)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))


TEXTS = st.sampled_from(["", "x", CANARY, f"a{CANARY}b", CANARY * 2, CANARY[1:], mask("name"), "abcd-default-secret"])


@pytest.mark.rule("hide-03", "hide-04")
@settings(max_examples=examples(200), deadline=None)
@given(documents(TEXTS | st.integers() | st.none()), st.booleans())
def test_what_is_hidden_holds_no_secret_and_can_be_revealed(value: Any, in_variable: bool) -> None:
    payload = {"inputs": {"secret" if in_variable else "plain": value}}
    shown, removed = redactor(name=CANARY).hide_payload("run.started", None, payload)
    assert CANARY not in json.dumps(shown)
    assert reveal(copy.deepcopy(shown), removed) == payload


@settings(max_examples=examples(100), deadline=None)
@given(documents(TEXTS))
def test_texts_inside_a_sensitive_value_are_hidden_elsewhere(value: Any) -> None:
    shown, _ = redactor(secret={"v": [value, CANARY]}, name="other-name").hide({"copy": value}, {})
    assert CANARY not in json.dumps(shown)


def test_without_the_scrubber_a_copy_would_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction.Redactor, "_scrub", lambda self, text: text)
    shown, _ = redactor(name=CANARY).hide_payload("run.started", None, {"inputs": {"plain": CANARY}})
    assert CANARY in json.dumps(shown)
