"""Tokens: one text each, refused when anything about it differs, and bounded in length and time."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.people import interrupt_tokens
from weftwork.protocol.people.interrupt_tokens import (
    LEEWAY_MS,
    MAX_PERSON_NAME,
    MAX_TOKEN,
    READ_TOKEN_MS,
    TOKEN_PATTERN,
    InterruptToken,
    decode_token,
    encode_token,
    expired_token_fault,
    is_person_name,
    mask_tokens,
    signed_bytes,
    token_expiry,
    unknown_token_fault,
)

NOW = 1_767_225_600_000
TOKEN = InterruptToken("k1", "live:acme", "01run", "ask.1", "resolve", NOW, "j1")
SIGNATURE = bytes(range(32))

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_NODE_ID)
people = st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_PERSON_NAME).filter(is_person_name)
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
@settings(max_examples=example_count(300), deadline=None)
@given(tokens, signatures)
def test_what_was_written_is_read(token: InterruptToken, signature: bytes) -> None:
    text = encode_token(signed_bytes(token), signature)
    assert decode_token(text) == (token, signed_bytes(token), signature)
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
        "🧶" * MAX_PERSON_NAME,
    )
    text = encode_token(signed_bytes(widest), SIGNATURE)
    assert len(text) <= MAX_TOKEN
    assert decode_token(text) is not None


@pytest.mark.rule("tok-01")
@given(names, st.integers(1, 10**6))
def test_the_node_is_read_from_the_interrupt(name: str, ordinal: int) -> None:
    assert InterruptToken("k", "t", "r", f"{name}.{ordinal}", "resolve", 0, "j").node_id == name


def believed(text: str) -> Any:
    """What a host with this one signature would believe."""
    found = decode_token(text)
    return found[0] if found is not None and found[1:] == (signed_bytes(TOKEN), SIGNATURE) else None


@pytest.mark.rule("tok-01")
def test_with_any_bit_flipped_it_is_another_text() -> None:
    text = encode_token(signed_bytes(TOKEN), SIGNATURE)
    assert believed(text) == TOKEN
    for at, letter in enumerate(text):
        for bit in range(8):
            changed = text[:at] + chr(ord(letter) ^ 1 << bit) + text[at + 1 :]
            assert believed(changed) is None, (at, bit)


@pytest.mark.rule("tok-01")
def test_shorter_and_longer_texts_are_others() -> None:
    text = encode_token(signed_bytes(TOKEN), SIGNATURE)
    for cut in range(len(text)):
        assert believed(text[:cut]) is None
        assert believed(text[cut + 1 :]) is None
    for more in ("=", "A", ".", "==", " ", "\n", "\0", "%3D", "." + "A" * 43):
        assert believed(text + more) is None
        assert believed(more + text) is None
    assert decode_token("A" * MAX_TOKEN * 4) is None
    assert decode_token("A" * MAX_TOKEN + "." + "A" * 43) is None


def test_bits_that_mean_nothing_make_another_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last letter of base64 has bits that decode to nothing."""
    text = encode_token(signed_bytes(TOKEN), SIGNATURE)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sibling = text[:-1] + letters[letters.index(text[-1]) ^ 1]
    assert decode_token(sibling) is None
    monkeypatch.setattr(interrupt_tokens, "encode_token", lambda *_: sibling)
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
        signed_bytes(TOKEN).replace(b'"resolve"', b'"approve"'),
        signed_bytes(TOKEN).replace(b'"k1"', b"1"),
        signed_bytes(TOKEN).replace(str(NOW).encode(), f'"{NOW}"'.encode()),
        signed_bytes(TOKEN).replace(str(NOW).encode(), f"{NOW}.0".encode()),
        signed_bytes(TOKEN)[:-1] + b',"admin":true}',
        signed_bytes(TOKEN)[:-1] + b',"for":null}',
        signed_bytes(TOKEN)[:-1] + b',"intent":"inspect"}',
        signed_bytes(TOKEN).replace(b":", b": ", 1),
        b" " + signed_bytes(TOKEN),
    ],
)
def test_a_payload_of_another_form_is_none(payload: bytes) -> None:
    assert decode_token(encode_token(payload, SIGNATURE)) is None


@settings(max_examples=example_count(300), deadline=None)
@given(st.text(max_size=3_000) | st.text("AZaz09_-.=", max_size=3_000))
def test_no_text_breaks_it(text: str) -> None:
    assert decode_token(text) is None or re.fullmatch(TOKEN_PATTERN, text)


@pytest.mark.rule("tok-03")
@pytest.mark.parametrize(("at", "over"), [(-1, False), (0, True), (1, True), (-LEEWAY_MS, False), (10**9, True)])
def test_it_ends_to_the_millisecond(at: int, over: bool) -> None:
    assert TOKEN.is_expired(NOW + LEEWAY_MS + at) is over


@pytest.mark.rule("tok-03")
@pytest.mark.parametrize(
    ("due", "ends"),
    [
        (None, NOW + READ_TOKEN_MS),
        (NOW + 1, NOW + 1),
        (NOW + READ_TOKEN_MS, NOW + READ_TOKEN_MS),
        (NOW + READ_TOKEN_MS + 1, NOW + READ_TOKEN_MS),
    ],
)
def test_it_never_outlasts_the_interrupt(due: int | None, ends: int) -> None:
    assert token_expiry(NOW, READ_TOKEN_MS, due) == ends


@pytest.mark.rule("tok-04")
def test_the_refusals_say_nothing_of_the_token() -> None:
    assert (unknown_token_fault().status, unknown_token_fault().code, unknown_token_fault().details) == (
        404,
        "interrupt_not_found",
        None,
    )
    assert (expired_token_fault().status, expired_token_fault().code, expired_token_fault().details) == (
        410,
        "interrupt_expired",
        None,
    )


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("ada", True),
        ("Ada Lovelace <ada@example.org>", True),
        ("é" * MAX_PERSON_NAME, True),
        ("a" * (MAX_PERSON_NAME + 1), False),
        ("", False),
        ("a\nb", False),
        ("a\x85b", False),
        ("a\u2028b", False),
        (1, False),
        (None, False),
    ],
)
def test_who_a_link_can_be_for(text: Any, good: bool) -> None:
    assert is_person_name(text) is good


@pytest.mark.rule("tok-07")
@settings(max_examples=example_count(200), deadline=None)
@given(tokens, signatures)
def test_a_token_in_a_text_is_masked(token: InterruptToken, signature: bytes) -> None:
    text = encode_token(signed_bytes(token), signature)
    for shown in (
        f"/v1/interrupts/{text}",
        f"/interrupts/{text}/x?token={text}",
        text.replace(".", "%2E"),
        f"'{text}'",
    ):
        masked = mask_tokens(shown)
        assert text[:40] not in masked
        assert text[-43:] not in masked


@pytest.mark.rule("tok-07")
@pytest.mark.parametrize(
    "path", ["/v1/runs/01k5x2v9q7j3m8n4p6r0s1t2w5/interrupts/a.b", "/v1/interrupts/", "", "/health"]
)
def test_other_paths_stay_as_they_are(path: str) -> None:
    assert mask_tokens(path) == path
