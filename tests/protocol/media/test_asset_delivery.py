"""Assets over HTTP: tokens, ranges, file names and headers."""

import re
import unicodedata
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.media.test_media_type import DOCX, SCRIPTS
from weftwork.protocol.media import asset_headers, asset_references
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
    name=st.text(max_size=200).map(asset_headers.safe_file_name),
    expires_at=st.none() | st.integers(0, 10**13),
)
signatures = st.binary(min_size=32, max_size=32)


@pytest.mark.rule("media-03")
@for_all(150, kids, tokens, signatures, full=6_000)
def test_what_was_written_is_read(kid: str, token: AssetToken, signature: bytes) -> None:
    text = encode_asset_token(kid, token, signature)
    assert decode_asset_token(text) == (token, kid, signature)
    assert set(text) <= {*LETTERS, "."}
    assert len(text) <= MAX_TOKEN_LENGTH


@pytest.mark.rule("media-03")
def test_the_longest_fits() -> None:
    name = asset_headers.safe_file_name("🧵" * asset_headers.MAX_NAME_BYTES)
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
    assert decode_asset_token("v1.k." + "A" * MAX_TOKEN_LENGTH + "." + "A" * 43) is None


@pytest.mark.rule("media-03")
def test_bits_that_mean_nothing_make_another_text_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last letter of base64 has bits that decode to nothing."""
    sibling = TEXT[:-1] + LETTERS[LETTERS.index(TEXT[-1]) ^ 1]
    assert decode_asset_token(sibling) is None
    monkeypatch.setattr(asset_references, "encode_asset_token", lambda *_: sibling)
    assert believed(sibling) == TOKEN


@pytest.mark.rule("media-03")
@each_case(
    "payload",
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
)
def test_other_payloads_are_no_tokens(payload: bytes) -> None:
    text = f"v1.k.{urlsafe_b64encode(payload).rstrip(b'=').decode()}.{'A' * 43}"
    assert decode_asset_token(text) is None


@pytest.mark.rule("media-03")
@given(st.text(max_size=200) | st.from_regex(asset_references._TOKEN_TEXT, fullmatch=True))  # pyright: ignore[reportPrivateUsage]
def test_any_text_is_read_or_refused(text: str) -> None:
    found = decode_asset_token(text)
    assert found is None or encode_asset_token(found[1], found[0], found[2]) == text


@pytest.mark.rule("media-03")
def test_it_ends_when_it_says_and_not_before() -> None:
    assert not TOKEN.is_expired(NOW + LEEWAY_MS - 1)
    assert TOKEN.is_expired(NOW + LEEWAY_MS)
    assert not msgspec.structs.replace(TOKEN, expires_at=None).is_expired(10**15)


TAG = asset_headers.asset_etag("ab" * 32)
sizes = st.integers(0, 50)


@pytest.mark.rule("media-11")
@each_case(
    "value, found",
    ("bytes=0-0", asset_headers.ByteRange(0, 1)),
    ("bytes=0-9", asset_headers.ByteRange(0, 10)),
    ("bytes=3-", asset_headers.ByteRange(3, 10)),
    ("bytes=-4", asset_headers.ByteRange(6, 10)),
    ("bytes=-99", asset_headers.ByteRange(0, 10)),
    ("bytes=2-99", asset_headers.ByteRange(2, 10)),
    ("Bytes= 2-3 ", asset_headers.ByteRange(2, 4)),
    ("bytes=10-", asset_headers.UNSATISFIABLE),
    ("bytes=10-20", asset_headers.UNSATISFIABLE),
    ("bytes=-0", asset_headers.UNSATISFIABLE),
    ("bytes=" + "9" * 50 + "-", asset_headers.UNSATISFIABLE),
    (None, None),
    ("", None),
    ("bytes", None),
    ("bytes=", None),
    ("bytes=-", None),
    ("bytes=5-2", None),
    ("bytes=0-1,3-4", None),
    ("bytes=0-1, ", None),
    ("items=0-1", None),
    ("bytes=a-b", None),
    ("bytes=1.0-2", None),
    ("bytes=+1-2", None),
    ("bytes=--1", None),
    ("bytes=0x1-2", None),
    ("bytes=\u0661-\u0662", None),
    ("bytes=" + "9" * 5000 + "-", None),
)
def test_the_table_of_ranges(value: str | None, found: asset_headers.ByteRange | None) -> None:
    assert asset_headers.parse_byte_range(value, 10) == found


@pytest.mark.rule("media-11")
@for_all(250, st.none() | st.integers(0, 60), st.none() | st.integers(0, 60), sizes, full=10_000)
def test_it_is_what_a_slice_gives(first: int | None, last: int | None, size: int) -> None:
    data = bytes(range(size))
    found = asset_headers.parse_byte_range(
        f"bytes={'' if first is None else first}-{'' if last is None else last}", size
    )
    end = None if last is None else last + 1
    wanted = data[first:end] if first is not None else data[-last:] if last else b""
    if found is None:
        assert (first is None and (last is None or not size)) or (
            first is not None and last is not None and last < first
        )
    elif found == asset_headers.UNSATISFIABLE:
        assert not wanted
        assert found.content_range(size) == b"bytes */%d" % size
    else:
        assert 0 <= found.start < found.stop <= size
        assert data[found.start : found.stop] == wanted
        assert found.content_range(size) == b"bytes %d-%d/%d" % (found.start, found.start + len(wanted) - 1, size)


@pytest.mark.rule("media-11")
@given(st.text(max_size=40) | st.from_regex(r"bytes=[0-9,\- ]{0,30}", fullmatch=True), sizes)
@example("bytes=0-0", 0)
@example("bytes=-5", 0)
def test_whatever_is_sent_it_stays_inside(value: str, size: int) -> None:
    found = asset_headers.parse_byte_range(value, size)
    assert found is None or 0 <= found.start <= found.stop <= size


@pytest.mark.rule("media-12")
@each_case(
    "value, has",
    (TAG, True),
    (f"W/{TAG}", True),
    (f'"x", {TAG}', True),
    (f'"x",W/{TAG},"y"', True),
    ("*", True),
    (None, False),
    ("", False),
    ('"x"', False),
    (TAG.strip('"'), False),
    (TAG.upper(), False),
)
def test_who_has_it_is_not_sent_it_again(value: str | None, has: bool) -> None:
    assert asset_headers.is_not_modified(value, TAG) is has


@pytest.mark.rule("media-12")
@each_case(
    "value, holds",
    (None, True),
    (TAG, True),
    (f" {TAG} ", True),
    (f"W/{TAG}", False),
    ('"x"', False),
    ("*", False),
    ("Wed, 21 Oct 2015 07:28:00 GMT", False),
    ("", False),
)
def test_a_part_of_something_else_is_not_sent(value: str | None, holds: bool) -> None:
    assert asset_headers.is_range_current(value, TAG) is holds


HEADER = re.compile(rb"""(?:inline|attachment)(?:; filename="[ !#-\[\]-~]+"(?:; filename\*=UTF-8''[\w.~%-]+)?)?""")


@pytest.mark.rule("media-09")
@each_case(
    "text, name",
    ("photo.png", "photo.png"),
    ("Rechnung März 2026.pdf", "Rechnung März 2026.pdf"),
    ("../../etc/passwd", "_.._etc_passwd"),
    ("C:\\boot.ini", "C__boot.ini"),
    ("a\r\nSet-Cookie: x=1.png", "a Set-Cookie_ x=1.png"),
    ("a\0b%00c.png", "ab_00c.png"),
    ('a";x="b.png', "a__x=_b.png"),
    ("gepj.\u202egnp.exe", "gepj.gnp.exe"),
    ("a\u200b\ufeff\u2066b.png", "ab.png"),
    ("half \ud800 done", "half done"),
    ("a\u2028b\u2029c\x85d", "a b c d"),
    ("  .hidden. ", "hidden"),
    (".", ""),
    ("..", ""),
    ("....", ""),
    ("///", ""),
    ("", ""),
    ("\u202e", ""),
    ("x" * 500 + ".png", "x" * 116 + ".png"),
    ("🧵" * 200 + ".png", "🧵" * 59 + ".png"),
)
def test_the_table_of_file_names(text: str, name: str) -> None:
    assert asset_headers.safe_file_name(text) == name


texts = st.text(st.characters(), max_size=200) | st.text('a.\\/\r\n\0\u202e\ud800"%; é🧵', max_size=300)


@pytest.mark.rule("media-09")
@for_all(250, texts, full=10_000)
@example("a." + "b" * 16 + "." * 300)
def test_names_are_short_and_safe(text: str) -> None:
    name = asset_headers.safe_file_name(text)
    assert len(name) <= asset_headers.MAX_NAME
    assert len(name.encode()) <= asset_headers.MAX_NAME_BYTES
    assert not set(name) & set('/\\:"%;<>|*?')
    assert not [each for each in name if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert name == name.strip(" .")
    assert asset_headers.safe_file_name(name) == name


@pytest.mark.rule("media-10")
@for_all(250, st.sampled_from(["image/png", "text/html", "", "\r\n"]), texts, full=10_000)
def test_the_header_is_one_line_of_ascii(media_type: str, text: str) -> None:
    value = asset_headers.content_disposition(media_type, text)
    assert HEADER.fullmatch(value), value
    assert value.startswith(b"inline" if media_type == "image/png" else b"attachment")
    plain, _, wide = value.decode().partition("; filename*=UTF-8''")
    if asset_headers.safe_file_name(text):
        assert (unquote(wide) or plain.partition("filename=")[2].strip('"')) == asset_headers.safe_file_name(text)


@pytest.mark.rule("media-10")
def test_both_spellings_of_a_name() -> None:
    assert (
        asset_headers.content_disposition("image/png", "März.png")
        == b"inline; filename=\"M_rz.png\"; filename*=UTF-8''M%C3%A4rz.png"
    )
    assert asset_headers.content_disposition("application/pdf", "a.pdf") == b'attachment; filename="a.pdf"'
    assert asset_headers.content_disposition("application/pdf", "") == b"attachment"


def test_without_the_cleaning_a_name_leaves_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asset_headers, "safe_file_name", lambda text: text)
    monkeypatch.setattr(asset_headers, "_OUTSIDE_ASCII", re.compile("(?!)"))
    assert HEADER.fullmatch(asset_headers.content_disposition("image/png", 'a"\r\nset-cookie: b=c')) is None


SHA256 = "ab" * 32


@pytest.mark.rule("media-13")
def test_the_set() -> None:
    assert asset_headers.asset_headers("image/png", "a.png", SHA256, 60) == [
        (b"content-type", b"image/png"),
        (b"content-disposition", b'inline; filename="a.png"'),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        (b"cross-origin-resource-policy", b"same-site"),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"private, max-age=60, immutable"),
        (b"accept-ranges", b"bytes"),
        (b"etag", b'"' + SHA256.encode() + b'"'),
    ]
    assert dict(asset_headers.asset_headers("image/png", "", SHA256, reach="cross-origin"))[
        b"cross-origin-resource-policy"
    ] == (b"cross-origin")
    assert dict(asset_headers.ERROR_HEADERS) == {
        **dict(asset_headers.SECURITY_HEADERS),
        b"cache-control": b"no-store",
    }


@pytest.mark.rule("media-13")
@for_all(
    200,
    st.text(st.characters(), max_size=60) | st.sampled_from(SCRIPTS),
    st.text(st.characters(), max_size=60),
    st.integers(),
    full=8_000,
)
def test_no_value_leaves_its_line(media_type: str, name: str, max_age: int) -> None:
    found = asset_headers.asset_headers(media_type, name, SHA256, max_age)
    assert len(dict(found)) == len(found)
    assert set(asset_headers.SECURITY_HEADERS) <= set(found)
    for key, value in found:
        assert key == key.lower()
        assert value.isascii()
        assert value.decode().isprintable()
    kept = int(dict(found)[b"cache-control"].split(b"=")[1].split(b",")[0])
    assert 0 <= kept <= asset_headers.MAX_AGE


@pytest.mark.rule("media-13")
@pytest.mark.parametrize("media_type", SCRIPTS)
def test_no_script_is_served_as_one(media_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last guard: a page of somebody else may ask for it as a script or a style."""
    assert served(media_type) in ("text/plain", "text/html")
    monkeypatch.setattr(asset_headers, "is_harmless", lambda name: True)
    assert served(media_type) != "text/plain"


def served(media_type: str) -> str:
    found = dict(asset_headers.asset_headers(media_type, "", SHA256))
    assert found[b"content-disposition"] == b"attachment"
    return found[b"content-type"].decode()


@pytest.mark.rule("media-13")
@each_case("media_type", "text/html", "image/svg+xml", "application/pdf", "text/csv", DOCX)
def test_what_may_run_is_saved(media_type: str) -> None:
    assert served(media_type) == media_type
