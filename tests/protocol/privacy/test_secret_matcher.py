"""Copies of sensitive texts inside other texts: found, the longest first, at a cost that the bounds keep small."""

import json
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.protocol.privacy import secret_matcher
from weftwork.protocol.privacy.secret_matcher import (
    MAX_MARKER,
    MAX_TEXT,
    MAX_TEXTS,
    MAX_VALUES,
    MIN_TEXT,
    HoldBack,
    SecretMatcher,
    redact_value,
    replace_literals,
)


def knowing(*values: Any) -> SecretMatcher:
    made = SecretMatcher()
    for value in values:
        made.learn_value("***", value)
    return made


@each_case(
    "learnt, text, shown",
    ("abcd", "abcd", "***"),
    ("abcd", "<abcd> abcdabcd", "<***> ******"),
    ("abc", "abc", "abc"),
    ("", "", ""),
    (["abcd", {"deep": ["efgh"]}], "abcd efgh deep", "*** *** deep"),
    ({"longname": 4711}, "longname 4711", "longname 4711"),
    ("a.c*d", "a.c*d abc*d", "*** abc*d"),
    ([" a\nb ", "é\U0001f600xy"], "[ a\nb ] é\U0001f600xy", "[***] ***"),
    (["inner", "outer-inner-outer"], "<outer-inner-outer> <inner>", "<***> <***>"),
    (["abcd", "abcdef"], "abcde abcdef", "***e ***"),
    ("x" * (MAX_TEXT - 1), "x" * (MAX_TEXT - 1) + "\ny", "***\ny"),
    ("x" * MAX_TEXT + "y", "<" + "x" * MAX_TEXT + "y>\n.", "<***"),
)
def test_a_learnt_text_is_masked_wherever_it_stands(learnt: Any, text: str, shown: str) -> None:
    assert knowing(learnt).mask(text) == shown


def test_the_first_name_of_a_text_stays_and_a_marker_is_not_searched_again() -> None:
    made = SecretMatcher()
    made.learn_value("[REDACTED:name]", "REDACTED")
    made.learn_value("[REDACTED:other]", "name")
    assert made.mask("REDACTED name") == "[REDACTED:name] [REDACTED:other]"
    made = SecretMatcher()
    made.learn_value("[1]", "abcd")
    made.learn_value("[2]", "abcd")
    assert made.mask("abcd") == "[1]"


def expected(learnt: list[str], text: str) -> str:
    """What `mask` should give, one character after the other."""
    shown, at = "", 0
    heads = sorted((each[:MAX_TEXT] for each in learnt if len(each) >= MIN_TEXT), key=len, reverse=True)
    while at < len(text):
        found = next((head for head in heads if text.startswith(head, at)), None)
        shown += text[at] if found is None else "***"
        at += 1 if found is None else len(text) if len(found) == MAX_TEXT else len(found)
    return shown


TEXTS = st.text("ab.", max_size=9) | st.integers(MAX_TEXT - 2, MAX_TEXT + 2).map(lambda length: "a" * length)


@for_all(100, st.lists(TEXTS, max_size=12), st.lists(TEXTS, max_size=12).map("".join), full=6_000)
def test_the_pattern_finds_what_a_plain_search_finds(learnt: list[str], text: str) -> None:
    assert knowing(learnt).mask(text) == expected(learnt, text)


class Looked(str):
    """A text that counts how often one of its kind was looked at."""

    __slots__ = ()
    looks = 0

    def __len__(self) -> int:
        Looked.looks += 1
        return super().__len__()


def test_of_many_texts_and_values_only_the_first_in_the_order_of_names_are_looked_at() -> None:
    Looked.looks = 0
    many = [Looked(f"text-{index:05}") for index in range(90_000)]
    made = knowing(many, many, {"more": many})
    assert Looked.looks <= 2 * MAX_TEXTS
    assert made.mask(f"text-{MAX_TEXTS - 1:05}") == "***"
    assert made.mask(f"text-{MAX_TEXTS:05}") == f"text-{MAX_TEXTS:05}"
    Looked.looks = 0
    made = knowing([Looked("abc")] * 90_000 + ["text"])
    assert Looked.looks == MAX_VALUES - 1
    assert made.mask("text") == "text"
    assert knowing([7] * (MAX_VALUES - 2) + ["text"]).mask("text") == "***"
    names = [f"{index:03}" for index in range(MAX_TEXTS + 1)]
    forth = knowing({name: f"text-{name}" for name in names})
    back = knowing({name: f"text-{name}" for name in reversed(names)})
    text = " ".join(f"text-{name}" for name in names)
    assert forth.mask(text) == back.mask(text)
    assert forth.mask(text).split()[-1] == f"text-{names[-1]}"


def test_the_automata_are_built_once_for_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    made = knowing([f"text-{index}" for index in range(MAX_TEXTS)])
    compiled: list[Any] = []
    real = secret_matcher.AhoCorasick
    monkeypatch.setattr(
        secret_matcher, "AhoCorasick", lambda texts, **named: compiled.append(texts) or real(texts, **named)
    )
    for _ in range(100):
        made.learn_value("***", "text-1")
        assert not made.is_absent(["a text-1"])
        assert not made.is_absent_in_json(b'["a text-1"]')
    assert len(compiled) == 1


def test_texts_that_hold_each_other_nest_no_deeper_than_python_goes() -> None:
    made = knowing(["a" * length for length in range(MIN_TEXT, MAX_TEXT + 1)])
    assert made.mask("b" + "a" * (MAX_TEXT - 1) + "b") == "b***b"


def test_without_the_bound_every_text_would_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SecretMatcher, "max_texts", 10**9)
    Looked.looks = 0
    knowing([Looked(f"text-{index:05}") for index in range(1_000)])
    assert Looked.looks > 2 * MAX_TEXTS


def test_a_text_across_the_border_of_two_pieces_is_found() -> None:
    made = knowing("abcdef")
    for before in range(secret_matcher._PIECE - 8, secret_matcher._PIECE + 2):
        assert not made.is_absent("x" * before + "abcdef")
        assert not made.is_absent_in_json(b"x" * before + b"abcdef")
    made._longest = 0
    assert made.is_absent("x" * (secret_matcher._PIECE - 3) + "abcdef")


def test_many_long_secrets_are_found() -> None:
    made = SecretMatcher()
    secrets = [f"{number:03}" + "a" * 15_000 for number in range(64)]
    for number, secret in enumerate(secrets):
        made.learn_secret(str(number), secret)
    assert not made.is_absent([secrets[7]])
    assert not made.is_absent_in_json(json.dumps(secrets[7]).encode())
    assert made.mask(f"<{secrets[7]}>") == "<[REDACTED:7]>"
    assert made.mask("nothing") == "nothing"


def test_a_marker_is_not_much_longer_than_what_it_stands_for() -> None:
    made = SecretMatcher()
    made.learn_value(f"[REDACTED:{'n' * 256}]", "abcd")
    made.learn_secret("s" * 5000, "key")
    for text in ("abcd", "key"):
        assert len(made.mask(text)) == MAX_MARKER
        assert made.mask(text).endswith("]")
        # And it is known as one of ours.
        assert made.mask(made.mask(text)) == made.mask(text)


@each_case("shown", "k\u00e5/77", r"k\u00e5/77", r"k\u00E5/77", "k\u00e5\\/77")
def test_a_text_is_found_as_it_stands_in_json(shown: str) -> None:
    made = knowing("k\u00e5/77")
    assert made.mask(f"<{shown}>") == "<***>"
    assert not made.is_absent(shown)


def test_a_match_in_a_member_name_or_in_an_escape_is_none_in_a_text() -> None:
    made = knowing("name", "n123")
    value = {"name": ["\n123", 7, None]}
    assert not made.is_absent_in_json(json.dumps(value).encode())
    assert made.is_absent(value)
    assert not made.is_absent({**value, "more": ["my name"]})


def test_forms_of_a_text_in_json_are_learnt_with_it_and_take_no_place_of_another() -> None:
    """Each of these stands in JSON in three other ways."""
    texts = [f"\u00e5/{number:03}" for number in range(MAX_TEXTS)]
    made = knowing(texts)
    for text in texts:
        assert not made.is_absent(f"<{text}>")
        assert made.mask(f"<{text}>") == "<***>"
        assert not made.is_absent_in_json(json.dumps([text], ensure_ascii=False).encode())
    assert knowing('ab"cd', r"ab\"cd").mask(json.dumps(r"ab\"cd")) == '"***"'


LONG = "s" * MAX_TEXT


@each_case(
    "text, is_absent", (f"{LONG}-key", False), (f"x{LONG}-keys", False), (f"{LONG}-ke", True), (f"{LONG}{LONG}", True)
)
def test_a_long_secret_counts_only_whole(text: str, is_absent: bool) -> None:
    made = SecretMatcher()
    made.learn_secret("id", f"{LONG}-key")
    assert made.is_absent([text]) is is_absent
    assert made.is_absent_in_json(json.dumps([text]).encode()) is is_absent
    assert (made.mask(text) == text) is is_absent


def test_a_short_text_inside_the_start_of_a_long_secret_is_found() -> None:
    made = SecretMatcher()
    made.learn_secret("long", f"{LONG}-key")
    made.learn_secret("short", "sstop")
    assert not made.is_absent(f"{LONG}top")
    assert not made.is_absent_in_json(f'"{LONG}top"'.encode())


@for_all(
    100,
    st.lists(st.text("ab", min_size=1, max_size=6), max_size=4).map(lambda texts: [*texts, "a" * 90 + "b"]),
    st.lists(st.text("abc", max_size=8) | st.just("a" * 70), max_size=12),
    full=5_000,
)
def test_chunks_split_no_secret(texts: list[str], pieces: list[str]) -> None:
    hold = HoldBack(texts)
    released = [*map(hold.release, pieces), hold.release("", last=True)]
    assert "".join(released) == "".join(pieces)
    made = SecretMatcher()
    for text in texts:
        made.learn_secret("id", text)
    # Each secret is whole in one chunk, so masking the chunks is the same as masking the text.
    assert "".join(map(made.mask, released)) == made.mask("".join(pieces))


def test_names_that_become_equal_are_numbered_in_order() -> None:
    masked, count = redact_value({f"{LONG}{number}": number for number in range(4)} | {"*** (3)": 9}, knowing(LONG))
    assert masked == {"***": 0, "*** (2)": 1, "*** (4)": 2, "*** (5)": 3, "*** (3)": 9}
    assert count == 4


def test_literals_are_replaced() -> None:
    assert replace_literals("<ab> \ud800 <cd><ab>", ["<ab>", "<cd>"], "*") == "* \ud800 **"
