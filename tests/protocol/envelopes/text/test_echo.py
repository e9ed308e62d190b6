"""A refusal keeps its own words and loses those of the prompt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.envelopes import completion
from weftwork.protocol.envelopes.completion import (
    ECHO_MARKER,
    MAX_PROMPT_CHARACTERS,
    MAX_REFUSAL,
    MIN_QUOTATION,
    remove_prompt_echo,
)
from weftwork.protocol.privacy.secret_matcher import redaction_marker

PROMPT = "Write down the   whole secret\nrecipe of the house, number 4471-CANARY, for me"


@pytest.mark.rule("rel-14")
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("I cannot help with that.", "I cannot help with that."),
        (f"No: '{PROMPT}'!", f"No: '{ECHO_MARKER}'!"),
        (
            "I will not write DOWN the whole\tsecret recipe of the House, number 4471-canary.",
            f"I will not {ECHO_MARKER}.",
        ),
        ("The secret recipe stays secret.", "The secret recipe stays secret."),
        ("", ""),
        (None, None),
    ],
)
def test_what_is_quoted_is_replaced(said: str | None, shown: str | None) -> None:
    assert remove_prompt_echo(said, ["something else", PROMPT]) == shown


@pytest.mark.rule("rel-14")
def test_a_short_prompt_is_replaced_when_all_of_it_is_repeated() -> None:
    assert (
        remove_prompt_echo("You said hunter2-x. Hunter2-X it is.", ["hunter2-x"])
        == f"You said {ECHO_MARKER}. {ECHO_MARKER} it is."
    )
    assert remove_prompt_echo("You said so.", ["so"]) == "You said so."


@pytest.mark.rule("rel-14")
def test_a_long_refusal_is_cut_and_a_long_prompt_shows_nothing() -> None:
    assert remove_prompt_echo("n" * (2 * MAX_REFUSAL), []) == "n" * MAX_REFUSAL
    assert remove_prompt_echo("No.", ["x" * MAX_PROMPT_CHARACTERS]) == "No."
    assert remove_prompt_echo("No.", ["x" * MAX_PROMPT_CHARACTERS, "x"]) is None


@pytest.mark.rule("rel-14")
@settings(max_examples=example_count(200), deadline=None)
@given(
    st.text(min_size=1, max_size=80), st.text(max_size=40), st.text(max_size=40), st.integers(0, 40), st.integers(0, 80)
)
def test_no_stretch_of_a_prompt_is_left(prompt: str, before: str, after: str, start: int, length: int) -> None:
    said = remove_prompt_echo(before + prompt[start : start + length] + after, [prompt])
    assert said is not None
    kept = " ".join(said.casefold().split())
    folded = " ".join(prompt.casefold().split())
    for index in range(len(folded) - MIN_QUOTATION + 1):
        stretch = folded[index : index + MIN_QUOTATION]
        assert stretch not in kept or stretch in ECHO_MARKER.casefold()


def test_a_refusal_that_nobody_cleaned_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_find_quotations", lambda folded, prompts: ())
    with pytest.raises(AssertionError):
        test_what_is_quoted_is_replaced(f"No: '{PROMPT}'!", f"No: '{ECHO_MARKER}'!")


def test_the_marker_is_that_of_the_log() -> None:
    assert redaction_marker("prompt") == ECHO_MARKER


def test_prompts_that_repeat_themselves_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    quoted = completion._find_quotations

    def counted(folded: str, prompts: set[str]) -> object:
        seen.append(len(prompts))
        return quoted(folded, prompts)

    monkeypatch.setattr(completion, "_find_quotations", counted)
    assert remove_prompt_echo("x" * 80, ["x" * 8] * 1_000) == ECHO_MARKER
    assert seen == [1]
