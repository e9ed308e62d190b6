"""Plain text as Markdown, judged by a CommonMark library with and without the extensions of renderers."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from markdown_it import MarkdownIt

from tests.harness.cases import each_case, fails_without
from tests.protocol.surfaces.a2ui.surfaces import texts
from weftwork.protocol.surfaces.a2ui import markdown
from weftwork.protocol.surfaces.a2ui.markdown import escape_markdown, unescape_markdown

PARSERS = (MarkdownIt("commonmark"), MarkdownIt("js-default"))
"""The second one is what the renderers of A2UI use: with tables and strikethrough."""


class _Reader(HTMLParser):
    """The text of HTML, and the elements in it."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> _Reader:
    reader = _Reader()
    # The newline after a break is white space in HTML; the one after the paragraph is outside of it.
    reader.feed(re.sub(r"<br ?/?>\n", "\0", html).removesuffix("\n"))
    reader.close()
    reader.text = reader.text.replace("\0", "\n")
    return reader


@pytest.mark.rule("surf-41")
@given(texts)
@example("# a\n\n- b\n1. c\n    code\n***\n===\n| a |\n|---|\n")
@example(" \n\n x \n\t\n")
@example("![a](http://x.example/) <b>&amp; http://x.example www.x.example a@x.example ~~x~~ `x` [a]: b")
def test_the_markdown_of_a_text_renders_to_the_text(text: str) -> None:
    escaped = escape_markdown(text)
    for parser in PARSERS:
        found = read(parser.render(escaped))
        assert found.text == text
        assert set(found.tags) <= {"p", "br"}
    assert unescape_markdown(escaped) == text


def test_the_proof_fails_if_a_construct_is_forgotten() -> None:
    every = markdown._SPECIAL.pattern  # pyright: ignore[reportPrivateUsage]
    for left_out, text in (("\\\\", "\\."), ("*", "**a**"), ("_", "_a_"), ("`", "`a`"), ("<>", "<i>"), ("&", "&amp;")):
        assert left_out in every
        pattern = re.compile(every.replace(left_out, "", 1))
        fails_without(markdown, "_SPECIAL", pattern)(lambda text=text: _renders(text))()
    for name, value, text in (
        ("_SPECIAL", re.compile("[<>]"), "[a](b)"),
        ("_LINE_STARTS", ("*",), "- a"),
        ("_NUMBER", re.compile("x"), "1. a"),
        ("_EDGE", "\t", "    a"),
        ("_HARD_BREAK", "\n", "a\n\nb"),
        ("_NEWLINE", "\\\n", "a\n"),
    ):
        fails_without(markdown, name, value)(lambda text=text: _renders(text))()


def _renders(text: str) -> None:
    for parser in PARSERS:
        found = read(parser.render(escape_markdown(text)))
        assert (found.text, set(found.tags) <= {"p", "br"}) == (text, True)


@each_case(
    "text, escaped",
    (
        "Three rooms are free. Say (please) when you come, e.g. today!",
        "Three rooms are free. Say (please) when you come, e\\.g. today!",
    ),
    ("a\nb", "a\\\nb"),
    ("5 * 3", "5 \\* 3"),
    ("2026. A year", "2026\\. A year"),
    ("costs 3.50", "costs 3.50"),
    ("http://x.example", "http\\:\\//x\\.example"),
)
def test_a_text_stays_readable(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@each_case(
    "foreign, text",
    ("**bold** stays", "**bold** stays"),
    ("&amp; &lt;b&gt; &#65; &nosuch; \\a \\*", "& <b> A &nosuch; \\a *"),
    ("&#0;", "\ufffd"),
)
def test_only_escapes_of_foreign_markdown_are_read(foreign: str, text: str) -> None:
    assert unescape_markdown(foreign) == text
