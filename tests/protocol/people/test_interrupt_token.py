"""Tokens: one text each, refused when anything about it differs, and bounded in length and time."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import examples
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.interrupt_tokens import (
    LEEWAY_MS,
    MAX_PERSON,
    MAX_TOKEN,
    READ_MS,
    TOKEN_PATTERN,
    InterruptToken,
    expiry,
    is_person,
    join,
    run_out,
    signed_part,
    split,
    unknown,
    without_tokens,
)

NOW = 1_767_225_600_000
TOKEN = InterruptToken("k1", "live:acme", "01run", "ask.1", "resolve", NOW, "j1")
SIGNATURE = bytes(range(32))

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_NODE_ID)
people = st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_PERSON).filter(is_person)
tokens = st.builds(
    InterruptToken,
    kid=st.text("0123456789abcdef", min_size=1, max_size=12),
    tenant=st.builds("{}:{}".format, st.sampled_from(["live", "test"]), st.text("aZ9._-", min_size=1, max_size=64)),
    run_id=st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=1, max_size=26),
    interrupt_id=st.builds("{}.{}".format, names, st.integers(1, 99_999)),
    intent=st.sampled_from(["resolve", "inspect"]),
    expires_at=st.integers(0, 10**13),
    jti=st.text("0123456789abcdef", min_size=1, max_size=24),
    person=st.none() | people,
)
signatures = st.binary(min_size=32, max_size=32)


@pytest.mark.rule("tok-01")
@settings(max_examples=examples(300), deadline=None)
@given(tokens, signatures)
def test_what_was_written_is_read(token: InterruptToken, signature: bytes) -> None:
    text = join(signed_part(token), signature)
    assert split(text) == (token, signed_part(token), signature)
    assert re.fullmatch(TOKEN_PATTERN, text)
    assert len(text) <= MAX_TOKEN


@pytest.mark.rule("tok-01")
def test_the_longest_names_fit() -> None:
    widest = InterruptToken(
        "f" * 12,
        "live:" + "t" * 64,
        "r" * 26,
        "\x01" * MAX_NODE_ID + ".99999",
        "inspect",
        10**13,
        "j" * 24,
        "🧶" * MAX_PERSON,
    )
    text = join(signed_part(widest), SIGNATURE)
    assert len(text) <= MAX_TOKEN
    assert split(text) is not None


@pytest.mark.rule("tok-01")
@given(names, st.integers(1, 10**6))
def test_the_node_is_read_from_the_interrupt(name: str, ordinal: int) -> None:
    assert InterruptToken("k", "t", "r", f"{name}.{ordinal}", "resolve", 0, "j").node_id == name


def believed(text: str) -> Any:
    """What a host with this one signature would believe."""
    found = split(text)
    return found[0] if found is not None and found[1:] == (signed_part(TOKEN), SIGNATURE) else None


@pytest.mark.rule("tok-01")
def test_with_any_bit_flipped_it_is_another_text() -> None:
    text = join(signed_part(TOKEN), SIGNATURE)
    assert believed(text) == TOKEN
    for at, letter in enumerate(text):
        for bit in range(8):
            changed = text[:at] + chr(ord(letter) ^ 1 << bit) + text[at + 1 :]
            assert believed(changed) is None, (at, bit)


@pytest.mark.rule("tok-01")
def test_shorter_and_longer_texts_are_others() -> None:
    text = join(signed_part(TOKEN), SIGNATURE)
    for cut in range(len(text)):
        assert believed(text[:cut]) is None
        assert believed(text[cut + 1 :]) is None
    for more in ("=", "A", ".", "==", " ", "\n", "\0", "%3D", "." + "A" * 43):
        assert believed(text + more) is None
        assert believed(more + text) is None
    assert split("A" * MAX_TOKEN * 4) is None
    assert split("A" * MAX_TOKEN + "." + "A" * 43) is None


def test_bits_that_mean_nothing_make_another_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last letter of base64 has bits that decode to nothing."""
    text = join(signed_part(TOKEN), SIGNATURE)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sibling = text[:-1] + letters[letters.index(text[-1]) ^ 1]
    assert split(sibling) is None
    monkeypatch.setattr(interrupt_tokens, "join", lambda *_: sibling)
    assert believed(sibling) == TOKEN


@pytest.mark.rule("tok-01")
@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        signed_part(TOKEN).replace(b'"resolve"', b'"approve"'),
        signed_part(TOKEN).replace(b'"k1"', b"1"),
        signed_part(TOKEN).replace(str(NOW).encode(), f'"{NOW}"'.encode()),
        signed_part(TOKEN).replace(str(NOW).encode(), f"{NOW}.0".encode()),
        signed_part(TOKEN)[:-1] + b',"admin":true}',
        signed_part(TOKEN)[:-1] + b',"for":null}',
        signed_part(TOKEN)[:-1] + b',"intent":"inspect"}',
        signed_part(TOKEN).replace(b":", b": ", 1),
        b" " + signed_part(TOKEN),
    ],
)
def test_a_payload_of_another_form_is_none(payload: bytes) -> None:
    assert split(join(payload, SIGNATURE)) is None


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=3_000) | st.text("AZaz09_-.=", max_size=3_000))
def test_no_text_breaks_it(text: str) -> None:
    assert split(text) is None or re.fullmatch(TOKEN_PATTERN, text)


@pytest.mark.rule("tok-03")
@pytest.mark.parametrize(("at", "over"), [(-1, False), (0, True), (1, True), (-LEEWAY_MS, False), (10**9, True)])
def test_it_ends_to_the_millisecond(at: int, over: bool) -> None:
    assert TOKEN.expired(NOW + LEEWAY_MS + at) is over


@pytest.mark.rule("tok-03")
@pytest.mark.parametrize(
    ("due", "ends"),
    [(None, NOW + READ_MS), (NOW + 1, NOW + 1), (NOW + READ_MS, NOW + READ_MS), (NOW + READ_MS + 1, NOW + READ_MS)],
)
def test_it_never_outlasts_the_interrupt(due: int | None, ends: int) -> None:
    assert expiry(NOW, READ_MS, due) == ends


@pytest.mark.rule("tok-04")
def test_the_refusals_say_nothing_of_the_token() -> None:
    assert (unknown().status, unknown().code, unknown().details) == (404, "interrupt_not_found", None)
    assert (run_out().status, run_out().code, run_out().details) == (410, "interrupt_expired", None)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("ada", True),
        ("Ada Lovelace <ada@example.org>", True),
        ("é" * MAX_PERSON, True),
        ("a" * (MAX_PERSON + 1), False),
        ("", False),
        ("a\nb", False),
        ("a\x85b", False),
        ("a\u2028b", False),
        (1, False),
        (None, False),
    ],
)
def test_who_a_link_can_be_for(text: Any, good: bool) -> None:
    assert is_person(text) is good


@pytest.mark.rule("tok-07")
@settings(max_examples=examples(200), deadline=None)
@given(tokens, signatures)
def test_a_token_in_a_text_is_masked(token: InterruptToken, signature: bytes) -> None:
    text = join(signed_part(token), signature)
    for shown in (
        f"/v1/interrupts/{text}",
        f"/interrupts/{text}/x?token={text}",
        text.replace(".", "%2E"),
        f"'{text}'",
    ):
        masked = without_tokens(shown)
        assert text[:40] not in masked
        assert text[-43:] not in masked


@pytest.mark.rule("tok-07")
@pytest.mark.parametrize(
    "path", ["/v1/runs/01k5x2v9q7j3m8n4p6r0s1t2w5/interrupts/a.b", "/v1/interrupts/", "", "/health"]
)
def test_other_paths_stay_as_they_are(path: str) -> None:
    assert without_tokens(path) == path
