"""Bytes are served as what they are said to be only if they look like it, and never as something that runs."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from tests.protocol.media.file_heads import ACTIVE, ALL_HEADS, HEADS_BY_TYPE
from weftwork.protocol.media import media_types as module
from weftwork.protocol.media.media_types import (
    INLINE_TYPES,
    UNKNOWN_TYPE,
    canonical_media_type,
    is_harmless,
    is_inline,
    resolve_media_type,
    sniff_media_type,
)

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SCRIPTS = [
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "text/ecmascript",
    "text/jscript",
    "text/javascript1.5",
    "text/livescript",
    "text/x-javascript",
    "TEXT/JavaScript; charset=utf-7",
    "text/css",
    "text/html",
    "text/xsl",
    "text/vbscript",
    "text/cache-manifest",
    "application/speculationrules+json",
]
declared = st.sampled_from(
    [*HEADS_BY_TYPE, *SCRIPTS, DOCX, "text/csv", "image/jpg", "audio/x-wav", "image/*"]
) | st.text(max_size=40)


@pytest.mark.rule("media-08")
@pytest.mark.parametrize(
    ("said", "looks", "served"),
    [
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
        ("video/mp4", "audio/mp4", UNKNOWN_TYPE),
        ("audio/webm", "video/webm", "audio/webm"),
        ("image/png", "image/jpeg", UNKNOWN_TYPE),
        ("image/png", "text/html", UNKNOWN_TYPE),
        ("image/png", "text/plain", UNKNOWN_TYPE),
        ("text/plain", "image/png", UNKNOWN_TYPE),
        ("text/plain", "text/html", UNKNOWN_TYPE),
        ("text/plain", "image/svg+xml", UNKNOWN_TYPE),
        ("text/markdown", "application/xml", UNKNOWN_TYPE),
        ("application/json", "text/html", UNKNOWN_TYPE),
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
        ("image/svg+xml", "text/plain", UNKNOWN_TYPE),
        (DOCX, "application/zip", DOCX),
        ("application/epub+zip", "application/zip", "application/epub+zip"),
        (DOCX, "text/plain", UNKNOWN_TYPE),
        ("application/java-archive", "application/zip", UNKNOWN_TYPE),
        ("application/octet-stream", "image/png", UNKNOWN_TYPE),
        ("image/heic", UNKNOWN_TYPE, UNKNOWN_TYPE),
        ("png", "image/png", UNKNOWN_TYPE),
        ("image/png,text/html", "image/png", UNKNOWN_TYPE),
        ("image/png\r\nx-evil: 1", "image/png", UNKNOWN_TYPE),
        ("text/<script>", "text/plain", UNKNOWN_TYPE),
        ("text/" + "x" * 200, "text/plain", UNKNOWN_TYPE),
    ],
)
def test_the_table(said: str, looks: str, served: str) -> None:
    assert resolve_media_type(said, looks) == served


@pytest.mark.rule("media-07", "media-08")
@settings(max_examples=example_count(500), deadline=None)
@given(declared, st.sampled_from(ALL_HEADS))
@example("image/png", ("text/html", b"<html>"))
def test_only_what_looks_harmless_is_shown_in_place(said: str, file: tuple[str, bytes]) -> None:
    looks = sniff_media_type(file[1])
    served = resolve_media_type(said, looks)
    assert canonical_media_type(served) == served
    assert not is_inline(served) or (is_inline(looks) and looks not in ACTIVE)
    assert looks in ACTIVE or is_harmless(served), (
        "what does not look like markup is never served as something that runs"
    )
    assert looks not in ACTIVE or served in (looks, UNKNOWN_TYPE)


@pytest.mark.rule("media-08")
@settings(max_examples=example_count(300), deadline=None)
@given(st.text(max_size=300), st.sampled_from([*HEADS_BY_TYPE]))
def test_what_was_said_is_never_repeated_unread(said: str, looks: str) -> None:
    served = resolve_media_type(said, looks)
    assert served.isascii()
    assert served.isprintable()
    assert served.count("/") == 1
    assert len(served) <= 127
    assert not set(served) & set(' ;,"<>()@\\:=?[]')


@pytest.mark.rule("media-07")
@pytest.mark.parametrize(
    "media_type", [*ACTIVE, "application/pdf", "text/plain", "application/json", UNKNOWN_TYPE, *SCRIPTS]
)
def test_the_rest_is_a_download(media_type: str) -> None:
    assert not is_inline(media_type)
    assert "image/png" in INLINE_TYPES


@pytest.mark.rule("media-08")
@pytest.mark.parametrize("said", SCRIPTS)
def test_scripts_are_plain_text(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_media_type(said, "text/plain") == "text/plain"
    monkeypatch.setattr(module, "is_harmless", lambda name: True)
    assert resolve_media_type(said, "text/plain") == canonical_media_type(said) != "text/plain"
