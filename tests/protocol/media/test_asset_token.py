"""Tokens of assets: one text each, refused when anything about it differs, and bounded in length and time."""

from base64 import urlsafe_b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.media import asset_references as module
from weftwork.protocol.media.asset_headers import MAX_NAME_BYTES, safe_file_name
from weftwork.protocol.media.asset_references import (
    LEEWAY_MS,
    MAX_TOKEN_LENGTH,
    AssetToken,
    decode_asset_token,
    encode_asset_token,
    signed_bytes,
)
from weftwork.protocol.media.media_types import MAX_MEDIA_TYPE

NOW = 1_767_225_600_000
TOKEN = AssetToken("live:acme", bytes(range(32)), "01run", "image/png", "photo.png", NOW)
SIGNATURE = bytes(range(32, 64))
KID = "k1"
TEXT = encode_asset_token(KID, TOKEN, SIGNATURE)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

kids = st.text(LETTERS, min_size=1, max_size=64)
tokens = st.builds(
    AssetToken,
    partition=st.builds("{}:{}".format, st.sampled_from(["live", "test"]), st.text("aZ9._-", min_size=1, max_size=64)),
    sha256=st.binary(min_size=32, max_size=32),
    run_id=st.text("0123456789abcdefghjkmnpqrstvwxyz", max_size=26),
    media_type=st.sampled_from(["image/png", "application/octet-stream", "t/" + "x" * (MAX_MEDIA_TYPE - 2)]),
    name=st.text(max_size=200).map(safe_file_name),
    expires_at=st.none() | st.integers(0, 10**13),
)
signatures = st.binary(min_size=32, max_size=32)


@pytest.mark.rule("media-03")
@settings(max_examples=example_count(300), deadline=None)
@given(kids, tokens, signatures)
def test_what_was_written_is_read(kid: str, token: AssetToken, signature: bytes) -> None:
    text = encode_asset_token(kid, token, signature)
    assert decode_asset_token(text) == (token, kid, signature)
    assert set(text) <= {*LETTERS, "."}
    assert len(text) <= MAX_TOKEN_LENGTH


@pytest.mark.rule("media-03")
def test_the_longest_fits() -> None:
    name = safe_file_name("🧵" * MAX_NAME_BYTES)
    token = AssetToken("live:" + "t" * 64, bytes(32), "r" * 26, "t/" + "x" * (MAX_MEDIA_TYPE - 2), name, 10**13)
    assert decode_asset_token(encode_asset_token("k" * 64, token, SIGNATURE)) is not None


@pytest.mark.rule("media-03")
@given(kids, tokens, kids, tokens)
def test_what_differs_is_signed_differently(kid: str, token: AssetToken, other_kid: str, other: AssetToken) -> None:
    same = (kid, token) == (other_kid, other)
    assert (signed_bytes(kid, token) == signed_bytes(other_kid, other)) is same


def believed(text: str) -> Any:
    """What a host with this one signature would believe."""
    found = decode_asset_token(text)
    if found is None or (signed_bytes(found[1], found[0]), found[2]) != (signed_bytes(KID, TOKEN), SIGNATURE):
        return None
    return found[0]


@pytest.mark.rule("media-03")
def test_with_any_bit_flipped_it_is_another_text() -> None:
    assert believed(TEXT) == TOKEN
    for at, letter in enumerate(TEXT):
        for bit in range(8):
            changed = TEXT[:at] + chr(ord(letter) ^ 1 << bit) + TEXT[at + 1 :]
            assert believed(changed) is None, (at, bit)


@pytest.mark.rule("media-03")
def test_shorter_and_longer_texts_are_others() -> None:
    for cut in range(len(TEXT)):
        assert believed(TEXT[:cut]) is None
        assert believed(TEXT[cut + 1 :]) is None
    for more in ("=", "A", ".", "==", " ", "\n", "\0", "%3D", "." + "A" * 43):
        assert believed(TEXT + more) is None
        assert believed(more + TEXT) is None
    assert decode_asset_token("v1.k." + "A" * MAX_TOKEN_LENGTH + "." + "A" * 43) is None


@pytest.mark.rule("media-03")
def test_bits_that_mean_nothing_make_another_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last letter of base64 has bits that decode to nothing."""
    sibling = TEXT[:-1] + LETTERS[LETTERS.index(TEXT[-1]) ^ 1]
    assert decode_asset_token(sibling) is None
    monkeypatch.setattr(module, "encode_asset_token", lambda *_: sibling)
    assert believed(sibling) == TOKEN


@pytest.mark.rule("media-03")
@pytest.mark.parametrize(
    "payload",
    [
        b"\xc0\xc0\xc0",
        msgspec.msgpack.encode({"partition": "live:acme"}),
        msgspec.msgpack.encode(["live:acme", bytes(32), "", "image/png", "", None, "more"]),
        msgspec.msgpack.encode(["live:acme", bytes(31), "", "image/png"]),
        msgspec.msgpack.encode(["live:acme", bytes(33), "", "image/png"]),
        msgspec.msgpack.encode(["live:acme", "x" * 32, "", "image/png"]),
        msgspec.msgpack.encode(["live:acme", bytes(32), ""]),
        msgspec.msgpack.encode(["live:acme", bytes(32), "", "image/png", ""]),
        msgspec.msgpack.encode(["live:acme", bytes(32), "", "image/png", "", 1.0]),
        msgspec.msgpack.encode(TOKEN) + b"\xc0",
        msgspec.msgpack.encode(TOKEN).replace(b"photo", b"\xff\xff\xff\xff\xff"),
        msgspec.msgpack.encode(TOKEN).replace(b"\xa5" + b"01run", b"\xd9\x05" + b"01run"),
    ],
)
def test_other_payloads_are_no_tokens(payload: bytes) -> None:
    text = f"v1.k.{urlsafe_b64encode(payload).rstrip(b'=').decode()}.{'A' * 43}"
    assert decode_asset_token(text) is None


@pytest.mark.rule("media-03")
@given(st.text(max_size=200) | st.from_regex(module._TOKEN_TEXT, fullmatch=True))  # pyright: ignore[reportPrivateUsage]
def test_any_text_is_read_or_refused(text: str) -> None:
    found = decode_asset_token(text)
    assert found is None or encode_asset_token(found[1], found[0], found[2]) == text


@pytest.mark.rule("media-03")
def test_it_ends_when_it_says_and_not_before() -> None:
    assert not TOKEN.is_expired(NOW + LEEWAY_MS - 1)
    assert TOKEN.is_expired(NOW + LEEWAY_MS)
    assert not msgspec.structs.replace(TOKEN, expires_at=None).is_expired(10**15)
