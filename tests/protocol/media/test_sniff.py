"""Bytes are what they look like, markup is found behind whatever stands before it, and nothing makes this fail."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.media.file_heads import ACTIVE, ALL_HEADS, FRAME, HEADS_BY_TYPE
from weftwork.protocol.media import media_types as module
from weftwork.protocol.media.media_types import SNIFF_BYTES, UNKNOWN_TYPE, sniff_media_type

STARTS = [head for _, head in ALL_HEADS]
MARKUP = [
    b"<html>",
    b"<!DOCTYPE html>",
    b"<script>",
    b"<svg onload=1>",
    b"<iframe src=x>",
    b"<!-- x",
    b"<?xml?>",
    b"<A HREF=x>",
]


@pytest.mark.rule("media-05", "media-06")
@pytest.mark.parametrize(("media_type", "head"), ALL_HEADS)
def test_what_programs_write_is_known(media_type: str, head: bytes) -> None:
    assert sniff_media_type(head) == media_type


@pytest.mark.rule("media-05")
@settings(max_examples=example_count(400), deadline=None)
@given(st.binary(max_size=200) | st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=200)))
@example(b"[" * SNIFF_BYTES)
@example(b"[" * (SNIFF_BYTES - 1))
@example(b"<!--" * SNIFF_BYTES)
@example(b"<!---->" * SNIFF_BYTES)
@example(b"<" * SNIFF_BYTES)
@example(b"<a " + b"x" * SNIFF_BYTES)
@example("🧵".encode() * SNIFF_BYTES)
@example(b" " + "🧵".encode() * SNIFF_BYTES)
def test_everything_has_one_of_the_types_of_the_table(head: bytes) -> None:
    assert sniff_media_type(head) in HEADS_BY_TYPE
    assert sniff_media_type(head) == sniff_media_type(head[:SNIFF_BYTES])


@pytest.mark.rule("media-05")
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="<"), max_size=SNIFF_BYTES))
def test_text_is_text_wherever_the_head_ends(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        encoded = (text * (SNIFF_BYTES // max(1, len(text)) + 1)).encode(encoding)
        assert sniff_media_type(encoded) in ("text/plain", "application/json", "application/pdf")


@pytest.mark.rule("media-06")
@settings(max_examples=example_count(300), deadline=None)
@given(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from([b" ", b"\t", b"\r\n", b"\x0c", b"\0", b"\x0b", b"<!-- c -->", b"<!---->"]), max_size=30),
    st.sampled_from(MARKUP),
    st.binary(max_size=40),
    st.booleans(),
)
def test_markup_is_found_behind_what_a_parser_skips(
    mark: bytes, skipped: list[bytes], markup: bytes, tail: bytes, upper: bool
) -> None:
    head = b"".join(skipped) + (markup.upper() if upper else markup) + b" " + tail
    assert sniff_media_type(mark + head) in ACTIVE
    wide = (b"".join(skipped) + markup).decode().encode("utf-16-le")
    assert sniff_media_type(b"\xff\xfe" + wide) in ACTIVE


@pytest.mark.rule("media-06")
@given(st.sampled_from(MARKUP), st.sampled_from(STARTS))
def test_markup_first_is_markup_whatever_follows(markup: bytes, start: bytes) -> None:
    assert sniff_media_type(markup + b" " + start) in ACTIVE


@pytest.mark.rule("media-05")
def test_one_frame_alone_is_not_sound() -> None:
    assert sniff_media_type(FRAME[:-1]) == UNKNOWN_TYPE
    assert sniff_media_type(FRAME + b"\xff\xfb") == UNKNOWN_TYPE
    assert sniff_media_type(FRAME + FRAME[:4]) == "audio/mpeg"


@pytest.mark.rule("media-06")
def test_without_the_search_for_markup_it_would_be_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_active_markup", lambda head: None)
    assert sniff_media_type(b"  <script>1</script>") == "text/plain"
