"""Names stay on one line, name no folder and turn no text around; the header that carries them is ASCII."""

import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.media import asset_headers as module
from weftwork.protocol.media.asset_headers import MAX_NAME, MAX_NAME_BYTES, content_disposition, safe_file_name

HEADER = re.compile(rb"""(?:inline|attachment)(?:; filename="[ !#-\[\]-~]+"(?:; filename\*=UTF-8''[\w.~%-]+)?)?""")


@pytest.mark.rule("media-09")
@pytest.mark.parametrize(
    ("text", "name"),
    [
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
    ],
)
def test_the_table(text: str, name: str) -> None:
    assert safe_file_name(text) == name


texts = st.text(st.characters(), max_size=200) | st.text('a.\\/\r\n\0\u202e\ud800"%; é🧵', max_size=300)


@pytest.mark.rule("media-09")
@settings(max_examples=example_count(500), deadline=None)
@given(texts)
@example("a." + "b" * 16 + "." * 300)
def test_names_are_short_and_safe(text: str) -> None:
    name = safe_file_name(text)
    assert len(name) <= MAX_NAME
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert not set(name) & set('/\\:"%;<>|*?')
    assert not [each for each in name if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert name == name.strip(" .")
    assert safe_file_name(name) == name


@pytest.mark.rule("media-10")
@settings(max_examples=example_count(500), deadline=None)
@given(st.sampled_from(["image/png", "text/html", "", "\r\n"]), texts)
def test_the_header_is_one_line_of_ascii(media_type: str, text: str) -> None:
    value = content_disposition(media_type, text)
    assert HEADER.fullmatch(value), value
    assert value.startswith(b"inline" if media_type == "image/png" else b"attachment")
    plain, _, wide = value.decode().partition("; filename*=UTF-8''")
    if safe_file_name(text):
        assert (unquote(wide) or plain.partition("filename=")[2].strip('"')) == safe_file_name(text)


@pytest.mark.rule("media-10")
def test_both_spellings_of_a_name() -> None:
    assert (
        content_disposition("image/png", "März.png") == b"inline; filename=\"M_rz.png\"; filename*=UTF-8''M%C3%A4rz.png"
    )
    assert content_disposition("application/pdf", "a.pdf") == b'attachment; filename="a.pdf"'
    assert content_disposition("application/pdf", "") == b"attachment"


def test_without_the_cleaning_a_name_leaves_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "safe_file_name", lambda text: text)
    monkeypatch.setattr(module, "_OUTSIDE_ASCII", re.compile("(?!)"))
    assert HEADER.fullmatch(content_disposition("image/png", 'a"\r\nset-cookie: b=c')) is None
