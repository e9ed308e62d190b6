"""Tokens: one text each, refused when anything about it differs, and bounded in length and time."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.protocol.ids import MAX_NODE_ID
from weftwork.protocol.people import interrupt_tokens

NOW = 1_767_225_600_000
TOKEN = interrupt_tokens.InterruptToken("k1", "live:acme", "01run", "ask.1", "resolve", NOW, "j1")
SIGNATURE = bytes(range(32))
TEXT = interrupt_tokens.encode_token(interrupt_tokens.signed_bytes(TOKEN), SIGNATURE)

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=MAX_NODE_ID)
people = st.text(st.characters(codec="utf-8"), min_size=1, max_size=interrupt_tokens.MAX_PERSON_NAME).filter(
    interrupt_tokens.is_person_name
)
tokens = st.builds(
    interrupt_tokens.InterruptToken,
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
@for_all(150, tokens, signatures, full=6_000)
def test_what_was_written_is_read(token: interrupt_tokens.InterruptToken, signature: bytes) -> None:
    text = interrupt_tokens.encode_token(interrupt_tokens.signed_bytes(token), signature)
    assert interrupt_tokens.decode_token(text) == (token, interrupt_tokens.signed_bytes(token), signature)
    assert re.fullmatch(interrupt_tokens.TOKEN_PATTERN, text)
    assert len(text) <= interrupt_tokens.MAX_TOKEN


@pytest.mark.rule("tok-01")
def test_the_longest_names_fit() -> None:
    widest = interrupt_tokens.InterruptToken(
        "f" * 12,
        "live:" + "t" * 64,
        "r" * 26,
        "\x01" * MAX_NODE_ID + ".99999",
        "inspect",
        10**13,
        "j" * 24,
        "key_" + "k" * 16,
        ("🧶" * interrupt_tokens.MAX_PERSON_NAME,),
    )
    text = interrupt_tokens.encode_token(interrupt_tokens.signed_bytes(widest), SIGNATURE)
    assert len(text) <= interrupt_tokens.MAX_TOKEN
    assert interrupt_tokens.decode_token(text) is not None


@pytest.mark.rule("tok-01")
@given(names, st.integers(1, 10**6))
def test_the_node_is_read_from_the_interrupt(name: str, ordinal: int) -> None:
    assert interrupt_tokens.InterruptToken("k", "t", "r", f"{name}.{ordinal}", "resolve", 0, "j").node_id == name


def believed(text: str) -> Any:
    """What a host with this one signature would believe."""
    found = interrupt_tokens.decode_token(text)
    return found[0] if found is not None and found[1:] == (interrupt_tokens.signed_bytes(TOKEN), SIGNATURE) else None


@pytest.mark.rule("tok-01")
def test_a_text_with_a_bit_flipped_or_of_another_length_is_not_believed() -> None:
    assert believed(TEXT) == TOKEN
    for at, letter in enumerate(TEXT):
        for bit in range(8):
            changed = TEXT[:at] + chr(ord(letter) ^ 1 << bit) + TEXT[at + 1 :]
            assert believed(changed) is None, (at, bit)
    for cut in range(len(TEXT)):
        assert believed(TEXT[:cut]) is None
        assert believed(TEXT[cut + 1 :]) is None
    for more in ("=", "A", ".", "==", " ", "\n", "\0", "%3D", "." + "A" * 43):
        assert believed(TEXT + more) is None
        assert believed(more + TEXT) is None
    assert interrupt_tokens.decode_token("A" * interrupt_tokens.MAX_TOKEN * 4) is None
    assert interrupt_tokens.decode_token("A" * interrupt_tokens.MAX_TOKEN + "." + "A" * 43) is None


def test_bits_that_mean_nothing_make_another_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last letter of base64 has bits that decode to nothing."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    sibling = TEXT[:-1] + letters[letters.index(TEXT[-1]) ^ 1]
    assert interrupt_tokens.decode_token(sibling) is None
    monkeypatch.setattr(interrupt_tokens, "encode_token", lambda *_: sibling)
    assert believed(sibling) == TOKEN


@pytest.mark.rule("tok-01")
@each_case(
    "payload",
    b"",
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe",
    interrupt_tokens.signed_bytes(TOKEN).replace(b'"resolve"', b'"approve"'),
    interrupt_tokens.signed_bytes(TOKEN).replace(b'"k1"', b"1"),
    interrupt_tokens.signed_bytes(TOKEN).replace(str(NOW).encode(), f'"{NOW}"'.encode()),
    interrupt_tokens.signed_bytes(TOKEN).replace(str(NOW).encode(), f"{NOW}.0".encode()),
    interrupt_tokens.signed_bytes(TOKEN)[:-1] + b',"admin":true}',
    interrupt_tokens.signed_bytes(TOKEN)[:-1] + b',"for":null}',
    interrupt_tokens.signed_bytes(TOKEN)[:-1] + b',"intent":"inspect"}',
    interrupt_tokens.signed_bytes(TOKEN).replace(b":", b": ", 1),
    b" " + interrupt_tokens.signed_bytes(TOKEN),
)
def test_a_payload_of_another_form_is_none(payload: bytes) -> None:
    assert interrupt_tokens.decode_token(interrupt_tokens.encode_token(payload, SIGNATURE)) is None


@for_all(150, st.text(max_size=3_000) | st.text("AZaz09_-.=", max_size=3_000), full=6_000)
def test_no_text_breaks_it(text: str) -> None:
    assert interrupt_tokens.decode_token(text) is None or re.fullmatch(interrupt_tokens.TOKEN_PATTERN, text)


@pytest.mark.rule("tok-03")
@each_case("at, over", (-1, False), (0, True), (1, True), (-interrupt_tokens.LEEWAY_MS, False), (10**9, True))
def test_it_ends_to_the_millisecond(at: int, over: bool) -> None:
    assert TOKEN.is_expired(NOW + interrupt_tokens.LEEWAY_MS + at) is over


@pytest.mark.rule("tok-03")
@each_case(
    "due, ends",
    (None, NOW + interrupt_tokens.READ_TOKEN_MS),
    (NOW + 1, NOW + 1),
    (NOW + interrupt_tokens.READ_TOKEN_MS, NOW + interrupt_tokens.READ_TOKEN_MS),
    (NOW + interrupt_tokens.READ_TOKEN_MS + 1, NOW + interrupt_tokens.READ_TOKEN_MS),
)
def test_it_never_outlasts_the_interrupt(due: int | None, ends: int) -> None:
    assert interrupt_tokens.token_expiry(NOW, interrupt_tokens.READ_TOKEN_MS, due) == ends


@pytest.mark.rule("tok-04")
def test_the_refusals_say_nothing_of_the_token() -> None:
    assert (
        interrupt_tokens.unknown_token_fault().status,
        interrupt_tokens.unknown_token_fault().code,
        interrupt_tokens.unknown_token_fault().details,
    ) == (404, "interrupt_not_found", None)
    assert (
        interrupt_tokens.expired_token_fault().status,
        interrupt_tokens.expired_token_fault().code,
        interrupt_tokens.expired_token_fault().details,
    ) == (410, "interrupt_expired", None)


@each_case(
    "text, good",
    ("ada", True),
    ("Ada Lovelace <ada@example.org>", True),
    ("é" * interrupt_tokens.MAX_PERSON_NAME, True),
    ("a" * (interrupt_tokens.MAX_PERSON_NAME + 1), False),
    ("", False),
    ("a\nb", False),
    ("a\x85b", False),
    ("a\u2028b", False),
    (1, False),
    (None, False),
)
def test_who_a_link_can_be_for(text: Any, good: bool) -> None:
    assert interrupt_tokens.is_person_name(text) is good


@pytest.mark.rule("tok-07")
@for_all(100, tokens, signatures, full=4_000)
def test_a_token_in_a_text_is_masked(token: interrupt_tokens.InterruptToken, signature: bytes) -> None:
    text = interrupt_tokens.encode_token(interrupt_tokens.signed_bytes(token), signature)
    for shown in (
        f"/v1/interrupts/{text}",
        f"/interrupts/{text}/x?token={text}",
        text.replace(".", "%2E"),
        f"'{text}'",
        f"{text}{text}",
        f"ab.{text}",
        "a" * 5_000 + f"/{text}",
    ):
        masked = interrupt_tokens.mask_tokens(shown)
        assert text[:40] not in masked
        assert text[-43:] not in masked


@pytest.mark.rule("tok-07")
@each_case("path", "/v1/runs/01k5x2v9q7j3m8n4p6r0s1t2w5/interrupts/a.b", "/v1/interrupts/", "", "/health")
def test_other_paths_stay_as_they_are(path: str) -> None:
    assert interrupt_tokens.mask_tokens(path) == path
