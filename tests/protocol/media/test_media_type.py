"""Bytes are served as what they are said to be only if they look like it, and markup is found wherever it stands."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from tests.protocol.media.file_heads import ACTIVE, ALL_HEADS, FRAME, HEADS_BY_TYPE
from weftwork.protocol.media import media_types

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SCRIPTS = [
    *"text/javascript application/javascript application/x-javascript application/ecmascript text/ecmascript".split(),
    *"text/jscript text/javascript1.5 text/livescript text/x-javascript text/css text/html text/xsl".split(),
    *"text/vbscript text/cache-manifest application/speculationrules+json".split(),
    "TEXT/JavaScript; charset=utf-7",
]
declared = st.sampled_from(
    [*HEADS_BY_TYPE, *SCRIPTS, DOCX, "text/csv", "image/jpg", "audio/x-wav", "image/*"]
) | st.text(max_size=40)


@pytest.mark.rule("media-08")
@each_case(
    "said, looks, served",
    ("", "image/png", "image/png"),
    ("", "text/html", "text/html"),
    ("image/png", "image/png", "image/png"),
    ("IMAGE/PNG", "image/png", "image/png"),
    (" image/png ; charset=utf-7", "image/png", "image/png"),
    ("image/jpg", "image/jpeg", "image/jpeg"),
    ("audio/mp3", "audio/mpeg", "audio/mpeg"),
    ("audio/x-wav", "audio/wav", "audio/wav"),
    ("audio/m4a", "audio/mp4", "audio/mp4"),
    ("audio/x-m4a", "video/mp4", "audio/mp4"),
    ("video/mp4", "audio/mp4", media_types.UNKNOWN_TYPE),
    ("audio/webm", "video/webm", "audio/webm"),
    ("image/png", "image/jpeg", media_types.UNKNOWN_TYPE),
    ("image/png", "text/html", media_types.UNKNOWN_TYPE),
    ("image/png", "text/plain", media_types.UNKNOWN_TYPE),
    ("text/plain", "image/png", media_types.UNKNOWN_TYPE),
    ("text/plain", "text/html", media_types.UNKNOWN_TYPE),
    ("text/plain", "image/svg+xml", media_types.UNKNOWN_TYPE),
    ("text/markdown", "application/xml", media_types.UNKNOWN_TYPE),
    ("application/json", "text/html", media_types.UNKNOWN_TYPE),
    ("text/html", "text/html", "text/html"),
    ("image/svg+xml", "image/svg+xml", "image/svg+xml"),
    ("text/xml", "application/xml", "application/xml"),
    ("application/rss+xml", "application/xml", "application/xml"),
    ("text/csv", "text/plain", "text/csv"),
    ("application/csv", "text/plain", "text/csv"),
    ("text/markdown; charset=utf-8", "application/json", "text/markdown"),
    ("application/json", "text/plain", "application/json"),
    ("application/geo+json", "application/json", "application/geo+json"),
    ("application/yaml", "text/plain", "application/yaml"),
    ("application/javascript", "text/plain", "text/plain"),
    ("text/html", "text/plain", "text/plain"),
    ("image/svg+xml", "text/plain", media_types.UNKNOWN_TYPE),
    (DOCX, "application/zip", DOCX),
    ("application/epub+zip", "application/zip", "application/epub+zip"),
    (DOCX, "text/plain", media_types.UNKNOWN_TYPE),
    ("application/java-archive", "application/zip", media_types.UNKNOWN_TYPE),
    ("application/octet-stream", "image/png", media_types.UNKNOWN_TYPE),
    ("image/heic", media_types.UNKNOWN_TYPE, media_types.UNKNOWN_TYPE),
    ("png", "image/png", media_types.UNKNOWN_TYPE),
    ("image/png,text/html", "image/png", media_types.UNKNOWN_TYPE),
    ("image/png\r\nx-evil: 1", "image/png", media_types.UNKNOWN_TYPE),
    ("text/<script>", "text/plain", media_types.UNKNOWN_TYPE),
    ("text/" + "x" * 200, "text/plain", media_types.UNKNOWN_TYPE),
)
def test_the_table(said: str, looks: str, served: str) -> None:
    assert media_types.resolve_media_type(said, looks) == served


@pytest.mark.rule("media-07", "media-08")
@for_all(250, declared, st.sampled_from(ALL_HEADS), full=10_000)
@example("image/png", ("text/html", b"<html>"))
def test_only_what_looks_harmless_is_shown_in_place(said: str, file: tuple[str, bytes]) -> None:
    looks = media_types.sniff_media_type(file[1])
    served = media_types.resolve_media_type(said, looks)
    assert media_types.canonical_media_type(served) == served
    assert not media_types.is_inline(served) or (media_types.is_inline(looks) and looks not in ACTIVE)
    assert looks in ACTIVE or media_types.is_harmless(served), (
        "what does not look like markup is never served as something that runs"
    )
    assert looks not in ACTIVE or served in (looks, media_types.UNKNOWN_TYPE)


@pytest.mark.rule("media-08")
@for_all(150, st.text(max_size=300), st.sampled_from([*HEADS_BY_TYPE]), full=6_000)
def test_what_was_said_is_never_repeated_unread(said: str, looks: str) -> None:
    served = media_types.resolve_media_type(said, looks)
    assert served.isascii()
    assert served.isprintable()
    assert served.count("/") == 1
    assert len(served) <= 127
    assert not set(served) & set(' ;,"<>()@\\:=?[]')


@pytest.mark.rule("media-07")
@each_case(
    "media_type", *ACTIVE, "application/pdf", "text/plain", "application/json", media_types.UNKNOWN_TYPE, *SCRIPTS
)
def test_the_rest_is_a_download(media_type: str) -> None:
    assert not media_types.is_inline(media_type)
    assert "image/png" in media_types.INLINE_TYPES


@pytest.mark.rule("media-08")
@pytest.mark.parametrize("said", SCRIPTS)
def test_scripts_are_plain_text(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert media_types.resolve_media_type(said, "text/plain") == "text/plain"
    monkeypatch.setattr(media_types, "is_harmless", lambda name: True)
    assert media_types.resolve_media_type(said, "text/plain") == media_types.canonical_media_type(said) != "text/plain"


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
@fails_without(media_types, "_active_markup", lambda head: None, match=r"(?s)text/plain.*text/html")
@each_case("media_type, head", *ALL_HEADS)
def test_what_programs_write_is_known(media_type: str, head: bytes) -> None:
    assert media_types.sniff_media_type(head) == media_type


@pytest.mark.rule("media-05")
@for_all(
    200,
    st.binary(max_size=200) | st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=200)),
    full=8_000,
)
@example(b"[" * media_types.SNIFF_BYTES)
@example(b"[" * (media_types.SNIFF_BYTES - 1))
@example(b"<!--" * media_types.SNIFF_BYTES)
@example(b"<!---->" * media_types.SNIFF_BYTES)
@example(b"<" * media_types.SNIFF_BYTES)
@example(b"<a " + b"x" * media_types.SNIFF_BYTES)
@example("🧵".encode() * media_types.SNIFF_BYTES)
@example(b" " + "🧵".encode() * media_types.SNIFF_BYTES)
def test_everything_has_one_of_the_types_of_the_table(head: bytes) -> None:
    assert media_types.sniff_media_type(head) in HEADS_BY_TYPE
    assert media_types.sniff_media_type(head) == media_types.sniff_media_type(head[: media_types.SNIFF_BYTES])


@pytest.mark.rule("media-05")
@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="<"),
        max_size=media_types.SNIFF_BYTES,
    )
)
def test_text_is_text_wherever_the_head_ends(text: str) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        encoded = (text * (media_types.SNIFF_BYTES // max(1, len(text)) + 1)).encode(encoding)
        assert media_types.sniff_media_type(encoded) in ("text/plain", "application/json", "application/pdf")


@pytest.mark.rule("media-06")
@for_all(
    150,
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.lists(st.sampled_from([b" ", b"\t", b"\r\n", b"\x0c", b"\0", b"\x0b", b"<!-- c -->", b"<!---->"]), max_size=30),
    st.sampled_from(MARKUP),
    st.binary(max_size=40),
    st.booleans(),
    full=6_000,
)
def test_markup_is_found_behind_what_a_parser_skips(
    mark: bytes, skipped: list[bytes], markup: bytes, tail: bytes, upper: bool
) -> None:
    head = b"".join(skipped) + (markup.upper() if upper else markup) + b" " + tail
    assert media_types.sniff_media_type(mark + head) in ACTIVE
    wide = (b"".join(skipped) + markup).decode().encode("utf-16-le")
    assert media_types.sniff_media_type(b"\xff\xfe" + wide) in ACTIVE


@pytest.mark.rule("media-06")
@given(st.sampled_from(MARKUP), st.sampled_from(STARTS))
def test_markup_first_is_markup_whatever_follows(markup: bytes, start: bytes) -> None:
    assert media_types.sniff_media_type(markup + b" " + start) in ACTIVE


@pytest.mark.rule("media-05")
def test_one_frame_alone_is_not_sound() -> None:
    assert media_types.sniff_media_type(FRAME[:-1]) == media_types.UNKNOWN_TYPE
    assert media_types.sniff_media_type(FRAME + b"\xff\xfb") == media_types.UNKNOWN_TYPE
    assert media_types.sniff_media_type(FRAME + FRAME[:4]) == "audio/mpeg"


@pytest.mark.rule("media-56")
@each_case(
    "said, known",
    ("image/png", "application/pdf"),
    ("image/png", "image/jpeg"),
    ("image/png", "text/plain"),
    ("image/svg+xml", "text/html"),
    ("image/svg+xml", "text/plain"),
    ("audio/wav", "image/webp"),
    ("audio/ogg", "video/ogg"),
    ("application/pdf", "text/html; charset=utf-8"),
    ("application/pdf", "application/zip"),
    ("application/json", "application/zip"),
    ("text/plain", "image/png"),
    (DOCX, "application/pdf"),
)
def test_a_declared_type_can_contradict_what_is_known(said: str, known: str) -> None:
    assert media_types.contradicts(said, known)


@pytest.mark.rule("media-56")
@each_case(
    "said, known",
    ("image/jpg", "image/jpeg"),
    ("IMAGE/PNG; a=b", "image/png"),
    ("image/apng", "image/png"),
    ("audio/x-m4a", "video/mp4"),
    ("audio/x-aac", "audio/aac"),
    ("image/png", ""),
    ("image/png", "binary/octet-stream"),
    ("application/octet-stream", "image/png"),
    ("text/markdown", "text/html"),
    ("text/csv", "text/plain; charset=utf-8"),
    ("text/plain", "image/svg+xml"),
    ("application/rss+xml", "text/xml"),
    ("image/svg+xml", "image/svg+xml"),
    (DOCX, "application/zip"),
    ("application/vnd.ms-excel.sheet.macroenabled.12", "application/zip"),
)
def test_types_that_can_be_true_together_do_not(said: str, known: str) -> None:
    assert not media_types.contradicts(said, known)


@pytest.mark.rule("media-56")
def test_a_file_of_a_known_type_contradicts_no_name_of_its_type() -> None:
    for name, heads in HEADS_BY_TYPE.items():
        for head in heads:
            assert not media_types.contradicts(name, media_types.sniff_media_type(head)), name
