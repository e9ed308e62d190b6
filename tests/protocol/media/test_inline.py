"""Inline media in the answers of models: found however they are written, and taken out."""

import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weftwork.protocol.media.inline_media import (
    decode_base64,
    decoded_size,
    find_inline_media,
    replace_inline_media,
    truncate_inline_media,
    with_url_member,
)

DATA = bytes(range(256)) * 8
TEXT = b64encode(DATA).decode()
CAP = len(DATA) - 10
URL = "https://a.example/v1/host/weftwork/assets/v1.x"
LINES = "\n".join(TEXT[at : at + 76] for at in range(0, len(TEXT), 76))


def envelope(text: str = TEXT, kind: str = "media.image", **more: Any) -> str:
    return json.dumps({"type": kind, "payload": {"base64": text, "bytes": len(DATA), **more}})


@pytest.mark.rule("media-84")
@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_models_write_base64_in_many_ways(data: bytes, urlsafe: bool, padded: bool) -> None:
    text = (urlsafe_b64encode(data) if urlsafe else b64encode(data)).decode()
    text = text if padded else text.rstrip("=")
    broken = "\n".join(text[at : at + 20] for at in range(0, len(text), 20))
    assert decode_base64(text) == decode_base64(broken) == data
    assert decoded_size(text) >= len(data)


@pytest.mark.rule("media-84")
@pytest.mark.parametrize("text", ["!", "AAA*", "A", "AAAAA", "\u00e4\u00e4\u00e4\u00e4"])
def test_what_is_none_is_none(text: str) -> None:
    assert decode_base64(text) is None


SPELLINGS = {
    "bare": envelope(),
    "fenced": f"Here:\n```json\n{envelope()}\n```\nand more",
    "list": json.dumps([json.loads(envelope()), {"type": "error", "payload": {"code": "a", "message": "b"}}]),
    "list in a list": json.dumps({"envelopes": [[json.loads(envelope())]]}),
    "payload alone": json.dumps({"base64": TEXT, "bytes": 1}),
    "payload without a size": json.dumps({"base64": TEXT, "mimeType": "image/png"}),
    "envelope without a size": json.dumps({"type": "media.image", "payload": {"base64": TEXT}}),
    "escaped slashes": envelope().replace("/", "\\/"),
    "escaped name": envelope().replace("base64", "base\\u0036\\u0034"),
    "coded signs": envelope().replace("+", "\\u002B").replace("A", "\\u0041"),
    "escaped lines": envelope(LINES),
    "single quotes": envelope().replace('"', "'"),
    "trailing comma": envelope().replace("}}", ",}}"),
    "data URL": json.dumps({"type": "media.image", "payload": {"url": f"data:image/png;base64,{TEXT}", "bytes": 1}}),
    "markdown": f"Look: ![a dot](data:image/png;charset=x;base64,{TEXT}) there.",
}


@pytest.mark.rule("media-84")
@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_media_above_the_cap_are_found_however_they_are_written(text: str) -> None:
    (found,) = find_inline_media(text, CAP)
    assert decode_base64(found.base64) == DATA
    shown = replace_inline_media(text, [found], {found.base64: URL})
    assert TEXT[100:140] not in shown
    assert URL in shown
    assert "data:" not in shown
    assert len(shown) < len(text) - 2_000


@pytest.mark.rule("media-84")
@pytest.mark.parametrize("text", [envelope(TEXT[:1000]), TEXT, f"The key is {TEXT}.", "a" * 9_000])
def test_what_is_small_or_no_media_stays(text: str) -> None:
    assert find_inline_media(text, CAP) == []
    assert truncate_inline_media(text, CAP, everywhere=False) == text


@pytest.mark.rule("media-84")
def test_what_another_kind_carries_stays() -> None:
    vendor = json.dumps({"type": "vendor.acme.blob", "payload": {"base64": TEXT, "size": 1}})
    assert find_inline_media(vendor, 10) == []
    both = json.dumps([json.loads(vendor), json.loads(envelope(b64encode(DATA[::-1]).decode()))])
    (found,) = find_inline_media(both, 10)
    assert TEXT in replace_inline_media(both, [found], {found.base64: URL})


@pytest.mark.rule("media-84")
def test_of_an_answer_that_cannot_be_used_little_is_left() -> None:
    long = b64encode(DATA * 3).decode()
    broken = envelope(long)[:-30]
    assert long[100:200] not in truncate_inline_media(broken, CAP, everywhere=False)
    cut = truncate_inline_media(f"x {long} y", CAP, everywhere=True)
    assert cut.startswith("x AAEC")
    assert cut.endswith(f"...({len(long) - 64} characters left out) y")


@pytest.mark.rule("media-84")
def test_a_token_is_never_cut() -> None:
    token = TEXT[:1900]
    text = f'{{"type": "media.image", "payload": {{"url": "https://a.example/assets/v1.k.{token}.{TEXT[:43]}"}}}}'
    assert truncate_inline_media(text, 0, everywhere=True) == text


@pytest.mark.rule("media-84")
def test_the_url_goes_where_it_belongs() -> None:
    assert with_url_member({"base64": URL, "bytes": 1, "alt": "A"}) == {"url": URL, "bytes": 1, "alt": "A"}
    for other in ({"base64": "AAAA", "bytes": 1}, {"url": URL}, {"base64": 3}, [], None):
        assert with_url_member(other) == other


PADDED = b64encode(DATA + b"x").decode()
AROUND = {
    "lines": "![a](data:image/png;base64,{})\n\nThat is your picture.",
    "bare": "data:image/png;base64,{}\n\nThat-is-your picture",
    "two": "data:image/png;base64,{0}\ndata:image/png;base64,{0}\nend",
    "in JSON": '{{"content": "data:image/png;base64,{}\\n\\nThat is"}}',
}


@pytest.mark.rule("media-84")
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("base64", [TEXT, PADDED], ids=["whole", "padded"])
def test_the_text_around_a_picture_stays_as_it_is(around: str, base64: str) -> None:
    text = around.format(base64)
    found = find_inline_media(text, CAP)
    assert {decode_base64(each.base64) for each in found} == {decode_base64(base64)}
    shown = replace_inline_media(text, found, {each.base64: URL for each in found})
    assert shown == text.replace(f"data:image/png;base64,{base64}", URL)


@pytest.mark.rule("media-84")
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"{at:08x}-1234-4321-9876-{at:012x}" for at in range(200)),
        "\n".join(["Apple", "Banana", "Cherry"] * 500),
        json.dumps({"ids": "\n".join(f"{at:036x}" for at in range(200))}),
        "A" * 5_000,
    ],
    ids=["uuids", "words", "digests", "letters"],
)
def test_lists_are_no_base64(text: str) -> None:
    assert truncate_inline_media(f"media.image {text}", CAP, everywhere=True) == f"media.image {text}"


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    assert replace_inline_media(text, find_inline_media(text, 0), {}) == text
    truncate_inline_media(text, 0, everywhere=True)
