"""Templates as text: where the expressions begin and end."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions.cost import MAX_WORK
from weftwork.protocol.expressions.expression import Expression, parse_expression, utf8_length
from weftwork.protocol.expressions.faults import ExpressionFault, invalid, over_limit
from weftwork.protocol.expressions.reads import References
from weftwork.protocol.expressions.values import MAX_RESULT, too_large

OPEN: Final = "{{"
CLOSE: Final = "}}"

# fmt: off
_PASSED = re.compile(
    r"(?://[^\n]*"
    r"|(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*')"
    r"|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\w+)",
    re.DOTALL,
)
"""Comments, strings and names: braces in them are no braces, and a letter before a quote belongs to it or does not."""
# fmt: on


def split(text: str) -> list[str]:
    """The text in pieces: plain ones at even places, sources of expressions at odd ones."""
    pieces: list[str] = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        end = _end(text, start + len(OPEN))
        pieces += [text[at:start], text[start + len(OPEN) : end]]
        at = end + len(CLOSE)
    return [*pieces, text[at:]]


def _end(text: str, at: int) -> int:
    depth, start = 0, at
    while at < len(text):
        passed = _PASSED.match(text, at)
        if passed is not None:
            at = passed.end()
            continue
        if depth == 0 and text.startswith(CLOSE, at):
            return at
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    raise invalid(f"The expression that opens with {OPEN} at character {start - 1} is not closed with {CLOSE}.")


MAX_TEMPLATE: Final = 64 * 1024
"""Bytes of UTF-8."""
MAX_PLACES: Final = 64
"""Expressions in one template."""
KEPT_TEMPLATES: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A parsed template. Immutable."""

    text: str
    references: References
    _parts: tuple[str | Expression, ...] = field(repr=False)

    def render(self, scope: Mapping[str, Any], shown: Callable[[Expression, str], str] | None = None) -> str:
        """The text with values filled in: strings as they are, others as compact JSON; or as they are `shown`.

        Raises ExpressionFault.
        """
        left = MAX_WORK
        rendered: list[str] = []
        for at, part in enumerate(self._parts):
            if isinstance(part, Expression):
                try:
                    value, left = part.evaluate_within(left, scope)
                except ExpressionFault as fault:
                    raise _numbered(at, fault) from None
                value = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                rendered.append(value if shown is None else shown(part, value))
            else:
                rendered.append(part)
        text = "".join(rendered)
        if len(text.encode()) > MAX_RESULT:
            raise too_large()
        return text


@lru_cache(maxsize=KEPT_TEMPLATES)
def parse_template(text: str, local_names: tuple[str, ...] = ()) -> Template:
    """expr-08 (host): a text with expressions in double braces. Raises ExpressionFault."""
    if utf8_length(text) > MAX_TEMPLATE:
        raise over_limit(f"A template is at most {MAX_TEMPLATE // 1024} KiB long.")
    pieces = split(text)
    if len(pieces) // 2 > MAX_PLACES:
        raise over_limit(f"A template holds at most {MAX_PLACES} expressions.")
    parts: list[str | Expression] = []
    read = References()
    for at, piece in enumerate(pieces):
        if at % 2 == 0:
            parts.append(piece)
            continue
        try:
            expression = parse_expression(piece.strip(), local_names)
        except ExpressionFault as fault:
            raise _numbered(at, fault) from None
        parts.append(expression)
        read = read.joined(expression.references)
    return Template(text, read, tuple(parts))


def _numbered(at: int, fault: ExpressionFault) -> ExpressionFault:
    """Says which expression of a template is at fault; pieces of text stand between them."""
    return ExpressionFault(fault.code, f"Expression {at // 2 + 1} of the template: {fault.message}")
