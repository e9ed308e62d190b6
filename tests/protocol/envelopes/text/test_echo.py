"""A refusal keeps its own words and loses those of the prompt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import examples
from weftwork.protocol.envelopes.text import prompt_echo
from weftwork.protocol.envelopes.text.prompt_echo import MARK, MAX_PROMPTS, MAX_REFUSAL, MIN_RUN, without_echo
from weftwork.protocol.privacy.secret_matcher import mask

PROMPT = "Write down the   whole secret\nrecipe of the house, number 4471-CANARY, for me"


@pytest.mark.rule("rel-14")
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("I cannot help with that.", "I cannot help with that."),
        (f"No: '{PROMPT}'!", f"No: '{MARK}'!"),
        ("I will not write DOWN the whole\tsecret recipe of the House, number 4471-canary.", f"I will not {MARK}."),
        ("The secret recipe stays secret.", "The secret recipe stays secret."),
        ("", ""),
        (None, None),
    ],
)
def test_what_is_quoted_is_replaced(said: str | None, shown: str | None) -> None:
    assert without_echo(said, ["something else", PROMPT]) == shown


@pytest.mark.rule("rel-14")
def test_a_short_prompt_is_replaced_when_all_of_it_is_repeated() -> None:
    assert without_echo("You said hunter2-x. Hunter2-X it is.", ["hunter2-x"]) == f"You said {MARK}. {MARK} it is."
    assert without_echo("You said so.", ["so"]) == "You said so."


@pytest.mark.rule("rel-14")
def test_a_long_refusal_is_cut_and_a_long_prompt_shows_nothing() -> None:
    assert without_echo("n" * (2 * MAX_REFUSAL), []) == "n" * MAX_REFUSAL
    assert without_echo("No.", ["x" * MAX_PROMPTS]) == "No."
    assert without_echo("No.", ["x" * MAX_PROMPTS, "x"]) is None


@pytest.mark.rule("rel-14")
@settings(max_examples=examples(200), deadline=None)
@given(
    st.text(min_size=1, max_size=80), st.text(max_size=40), st.text(max_size=40), st.integers(0, 40), st.integers(0, 80)
)
def test_no_stretch_of_a_prompt_is_left(prompt: str, before: str, after: str, start: int, length: int) -> None:
    said = without_echo(before + prompt[start : start + length] + after, [prompt])
    assert said is not None
    kept = " ".join(said.casefold().split())
    folded = " ".join(prompt.casefold().split())
    for index in range(len(folded) - MIN_RUN + 1):
        stretch = folded[index : index + MIN_RUN]
        assert stretch not in kept or stretch in MARK.casefold()


def test_a_refusal_that_nobody_cleaned_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_echo, "_quoted", lambda folded, prompts: ())
    with pytest.raises(AssertionError):
        test_what_is_quoted_is_replaced(f"No: '{PROMPT}'!", f"No: '{MARK}'!")


def test_the_marker_is_that_of_the_log() -> None:
    assert mask("prompt") == MARK


def test_prompts_that_repeat_themselves_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    quoted = prompt_echo._quoted

    def counted(folded: str, prompts: set[str]) -> object:
        seen.append(len(prompts))
        return quoted(folded, prompts)

    monkeypatch.setattr(prompt_echo, "_quoted", counted)
    assert without_echo("x" * 80, ["x" * 8] * 1_000) == MARK
    assert seen == [1]
