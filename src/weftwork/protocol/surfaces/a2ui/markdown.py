r"""Plain text as Markdown that renders to the same plain text, and back.

The body text of an A2UI component is Markdown, and the text of a surface is plain. Without escapes, a text that an
agent wrote could bring links, images or emphasis into a form.

How it works. A character that could begin a construct of CommonMark, or of the tables, strikethrough and automatic
links that renderers add to it, gets a backslash. A line break becomes a hard break, which is a backslash before the
newline, so that the whole text is one paragraph. A renderer removes white space at the edges of a line, so it becomes a
character reference. Nothing else is changed, so that the text stays readable in a renderer without Markdown.
"""

import html
import re
from typing import Final

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>&~|@#]|:(?=/)|/(?=/)|\.(?=[^\W\d_])")
"""The last three alternatives are addresses that a renderer would turn into links."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?=[.)])")
_LINE_STARTS: Final = ("-", "+", "=")
"""Lists, rules and the underlines of headings, where a line begins with them."""
_EDGE: Final = (
    " \t\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""White space that Markdown renderers remove at the edges of a line."""
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~\n])|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HARD_BREAK: Final = "\\\n"
_NEWLINE: Final = "&#10;"


def escape_markdown(text: str) -> str:
    """surf-41 (A2UI 0.9.1, Text): Markdown that renders to `text`, with a line break for each newline."""
    lines = [_escape_line(line) for line in text.split("\n")]
    end = len(lines)
    # A paragraph cannot end with a hard break.
    while end > 1 and not lines[end - 1]:
        end -= 1
    return _HARD_BREAK.join(lines[:end]) + _NEWLINE * (len(lines) - end)


def unescape_markdown(text: str) -> str:
    """The inverse of `escape_markdown`. Of other Markdown, escapes and character references are read; all else stays as
    it is, because a surface has plain text only."""
    return _ESCAPED.sub(lambda match: match[1] or html.unescape(match[0]), text)


def _escape_line(line: str) -> str:
    inner = line.strip(_EDGE)
    start = len(line) - len(line.lstrip(_EDGE)) if inner else len(line)
    text = _SPECIAL.sub(r"\\\g<0>", inner).replace("\r", "&#13;")
    if text.startswith(_LINE_STARTS):
        text = f"\\{text}"
    elif (number := _NUMBER.match(text)) is not None:
        text = f"{number[0]}\\{text[number.end() :]}"
    return _references(line[:start]) + text + _references(line[start + len(inner) :])


def _references(spaces: str) -> str:
    return "".join(f"&#{ord(each)};" for each in spaces)
