"""JSON values, texts that hold them, and texts that mean harm."""

import json
from typing import Any

from hypothesis import strategies as st

LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\x00")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=12)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(LETTERS, max_size=8), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(LETTERS, max_size=8), VALUES, max_size=4)
PROSE = st.text("abcXYZ .,:;!?'\"\n\t-()éß\u4e2d", max_size=60)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200) | st.text(
    "{}[]\":,'\\`~\n\t /*truefalsnTFNone0123.-eu\u201c\u201d\u2018\u2019ab", max_size=200
)

HOSTILE = [
    "{",
    "[",
    '"',
    "'",
    "`",
    "}",
    '{"',
    "{'",
    "[1,",
    "[[",
    "[{",
    "{ ",
    "{a",
    "{x:",
    "{/*",
    "[//",
    "```\n",
    "```json\n{\n",
    "~~~\n{",
    "```\n````\n",
    '["\\"',
    '{"a":',
    '{"a":{',
    '{"a}',
    '{"x"}',
    "{'x'}",
    "{}",
    "[1]",
    "{a:1}",
    "```\n{'a':[\n",
    '{"a": [}',
    "\\",
    "\u201c{\u201d",
]


def hostile_texts(length: int) -> list[str]:
    """Texts of this length that are meant to be slow to read."""
    return [(each * length)[:length] for each in HOSTILE]


def sloppy_json(value: Any, draw: Any) -> str:
    """A value as a careless author writes it. Every slip is one that has one reading."""
    space = draw(st.sampled_from(["", " ", "\n", " /* so */ ", " // so\n"]))
    if value is None or isinstance(value, bool):
        words = {None: ["null", "None", "undefined"], True: ["true", "True"], False: ["false", "False"]}
        return space + draw(st.sampled_from(words[value]))
    if isinstance(value, str):
        return space + _quoted(value, draw)
    if not isinstance(value, dict | list):
        return space + json.dumps(value)
    comma = draw(st.sampled_from(["", ",", " ,\n"])) if value else ""
    if isinstance(value, list):
        return f"{space}[{','.join(sloppy_json(each, draw) for each in value)}{comma}]"
    members = [f"{_named(name, draw)}{space}:{sloppy_json(each, draw)}" for name, each in value.items()]
    return f"{space}{{{space}{','.join(members)}{comma}}}"


def _named(name: str, draw: Any) -> str:
    bare = name.isidentifier() and name.isascii() and draw(st.booleans())
    return name if bare else _quoted(name, draw)


def _quoted(text: str, draw: Any) -> str:
    body = json.dumps(text, ensure_ascii=draw(st.booleans()))[1:-1]
    if draw(st.booleans()):
        body = body.replace("\\n", "\n") if "\\\\n" not in body else body
    style = draw(st.sampled_from(["''", '""', "\u201c\u201d"]))
    if style == "''":
        body = body.replace('\\"', '"').replace("'", "\\'") if "\\\\" not in body else body.replace("'", "\\u0027")
    elif style != '""' and style[1] in body:
        style = '""'
    return f"{style[0]}{body}{style[1]}"
