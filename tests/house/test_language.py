"""Counts words of a private dialect in what people read, so that plain English stays (STYLE.md, Text).

Checked is prose: pages without their code, docstrings, comments, and every text of the source with a space in it, which
is where messages are.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.harness.cases import each_case

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", "docs/**/*.md", "examples/**/*.md")
SOURCES = ("src/**/*.py", "examples/**/*.py", "tools/**/*.py", "bench/**/*.py")
TABLES = ("src/**/*.toml", "src/**/*.json", "examples/**/*.json")

AVOIDED = (
    "anew|are told|as far as it is one|beside|for ever|go on|goes on|hears of|is none|is told|nobody|somebody|"
    "stand in|stands in|those who|whatever|whoever"
)
"""Words that hide who does what. Say "the host", "the caller", "the store"; say "continues", "next to", "again"."""
ALLOWED = 3
"""Where they are right: `is None` about Python, and the text of a published workflow."""

_AVOIDED = re.compile(r"\b(?:" + AVOIDED.replace(" ", r"\s+") + r")\b", re.IGNORECASE)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """The parts of a file that people read, each with the number of its first line."""
    if name.endswith(".md"):
        yield 1, _CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    elif name.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield node.lineno, node.value
    else:
        yield 1, text


def avoided_words(name: str, text: str) -> list[str]:
    """A line for each word to avoid: file, line number, word."""
    lines: list[str] = []
    for first, part in prose(name, text):
        for found in _AVOIDED.finditer(part):
            number = first + part.count("\n", 0, found.start())
            lines.append(f"{name}:{number}: {' '.join(found[0].split())}")
    return lines


def files() -> list[Path]:
    return sorted({path for pattern in (*PAGES, *SOURCES, *TABLES) for path in ROOT.glob(pattern) if path.is_file()})


def test_what_people_read_is_plain() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {"README.md", "docs/index.md", "src/weftwork/app.py", "src/weftwork/protocol/rules.toml"} <= names
    found = [line for name in sorted(names) for line in avoided_words(name, (ROOT / name).read_text("utf-8"))]
    assert len(found) <= ALLOWED, "\n".join(found)


@each_case(
    "name, text, found",
    ("a.md", "It goes\non `beside`.\n```sh\nanew\n```\nWhoever.", ["a.md:1: goes on", "a.md:6: Whoever"]),
    ("a.py", '"""One.\n\nIs told."""\nanew = 1\nx = f"goes on {anew}"\n', ["a.py:3: Is told", "a.py:5: goes on"]),
    ("a.py", "# stands in\nbeside = 'beside'\n", ["a.py:1: stands in"]),
    ("a.toml", 'text = "for ever"\n', ["a.toml:1: for ever"]),
    ("a.md", "besides, a standing invitation", []),
)
def test_words_are_found_in_prose_only(name: str, text: str, found: list[str]) -> None:
    assert avoided_words(name, text) == found
