"""The search for copies of sensitive texts in what is large or made to be slow: bounded, and nothing gets through."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count, node, plan_of, variable, workflow
from weftwork.protocol.json import schema
from weftwork.protocol.privacy import redaction
from weftwork.protocol.privacy.redaction import COPY_NAME, MAX_EXACT_TEXT, MAX_EXACT_VALUES, Redactor, reveal
from weftwork.protocol.privacy.secret_matcher import MAX_TEXT, MIN_TEXT, SecretMatcher, redaction_marker

SECRET = "canary-9d2e"
PLAN = plan_of(workflow([node("a")], [], [variable("secret", sensitive=True), variable("plain", "object")]))
WHOLE = redaction_marker(COPY_NAME)


def redactor() -> Redactor:
    made = Redactor(PLAN)
    made.learn_inputs({"secret": SECRET})
    return made


def knowing(*texts: str) -> SecretMatcher:
    made = SecretMatcher()
    made.learn_value("***", list(texts))
    return made


LETTERS = [*range(1, 0x250), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F9F6, 0x10FFFF]


def test_every_letter_is_searched_for_as_it_is() -> None:
    """The linear-time engine is given a pattern, in which many letters mean something else."""
    for at in range(0, len(LETTERS), 32):
        texts = [f"ab{chr(code)}cd" for code in LETTERS[at : at + 32]]
        made = knowing(*texts)
        for text in texts:
            assert not made.is_absent(f"x{text}x"), repr(text)
            assert made.mask(f"x{text}x") == "x***x"
        for code in LETTERS:
            if f"ab{chr(code)}cd" not in texts:
                assert made.is_absent(f"ab{chr(code)}cd"), hex(code)


TEXTS = st.text(st.sampled_from("ab.*+?()[]{}|^$\\/-\n\t é\U0001f9f6"), max_size=8)


@settings(max_examples=example_count(100, 6000), deadline=None)
@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6).map("".join))
def test_both_engines_find_the_same(learnt: list[str], text: str) -> None:
    made = knowing(*learnt)
    found = any(each[:MAX_TEXT] in text for each in learnt if len(each) >= MIN_TEXT)
    assert made.is_absent(text) is not found
    assert made.is_absent({"a": [1, None, {"b": text}]}) is not found
    assert made.is_absent({text: [True, 2.5]})


def large(kind: str) -> dict[str, Any]:
    """Inputs in which a copy stands where it would be too much work to find it."""
    copied = f"<{SECRET}>"
    return {
        "text": {"plain": "a" * (MAX_EXACT_TEXT + 1) + copied},
        "texts": {"plain": {"list": ["a" * 1000 + copied] * 40}},
        "list": {"plain": {"list": ["fine"] * MAX_EXACT_VALUES + [copied]}},
        "object": {"plain": {f"k{at}": copied for at in range(MAX_EXACT_VALUES + 1)}},
        "inputs": {f"k{at}": copied for at in range(MAX_EXACT_VALUES + 1)},
        "deep": {"plain": {"a": [[{"b": [7] * MAX_EXACT_VALUES}], copied, [1, [copied]]]}},
    }[kind]


KINDS = ["text", "texts", "list", "object", "inputs", "deep"]


@pytest.mark.rule("hide-03", "hide-04")
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_is_too_large_is_hidden_whole(kind: str) -> None:
    inputs = {**large(kind), "secret": SECRET, "other": ["fine", 7], "small": f"a {SECRET}"}
    payload = {"workflowId": "sample", "inputs": inputs, "owner": {"tenant": "acme"}}
    before = copy.deepcopy(payload)
    shown, removed = redactor().hide_payload("run.started", None, payload)
    told = json.dumps(shown)
    assert SECRET not in told
    assert WHOLE in told
    assert schema.check_payload("run.started", shown) == []
    assert payload == before
    assert reveal(copy.deepcopy(shown), removed) == before
    if kind != "inputs":
        assert shown["inputs"]["other"] == ["fine", 7]
    header, taken = redactor().hide_inputs(inputs)
    assert SECRET not in json.dumps(header)
    assert reveal(copy.deepcopy(header), taken) == before["inputs"]


@pytest.mark.rule("hide-03")
def test_a_large_value_without_a_copy_stays_as_it_is() -> None:
    inputs = {"plain": {"list": ["a" * 1000] * 500, "many": list(range(50_000))}, "secret": SECRET}
    shown, removed = redactor().hide_inputs(inputs)
    assert shown == {**inputs, "secret": redaction_marker("secret")}
    assert removed == [("/secret", SECRET)]


def texts_gone_through(inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Characters that the slow pattern was given."""
    given: list[int] = []
    honest = SecretMatcher.mask

    def counted(self: SecretMatcher, text: str) -> str:
        given.append(len(text))
        return honest(self, text)

    with monkeypatch.context() as patch:
        patch.setattr(SecretMatcher, "mask", counted)
        redactor().hide_inputs(inputs)
    return sum(given)


@pytest.mark.parametrize("kind", KINDS)
def test_the_slow_pattern_is_given_little(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert texts_gone_through(large(kind), monkeypatch) <= MAX_EXACT_TEXT
    monkeypatch.setattr(redaction, "MAX_EXACT_TEXT", 2**40)
    monkeypatch.setattr(redaction, "MAX_EXACT_VALUES", 2**40)
    everything = texts_gone_through(large(kind), monkeypatch)
    assert everything > MAX_EXACT_TEXT or kind in ("list", "object", "inputs", "deep")


def test_without_the_first_look_every_text_would_be_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"plain": {"list": ["a" * 100] * 50}}
    assert texts_gone_through(inputs, monkeypatch) == 0
    monkeypatch.setattr(SecretMatcher, "is_absent", lambda self, value: False)
    assert texts_gone_through(inputs, monkeypatch) == 5000
