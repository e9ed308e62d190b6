"""Templates: strings with expressions in double braces, parsed and rendered.

The end of an expression is found without parsing it, by skipping strings and comments and counting braces. All
expressions of a template share one work budget.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import msgspec

from weftwork.protocol.expressions.budget import Evaluator, WorkBudget
from weftwork.protocol.expressions.expression import Expression, parse_expression, utf8_length
from weftwork.protocol.expressions.faults import ExpressionFault, expression_invalid, expression_limit
from weftwork.protocol.expressions.syntax_tree import References
from weftwork.protocol.expressions.values import MAX_RESULT, result_too_large
from weftwork.protocol.limits import ExpressionLimits

OPEN_BRACES: Final = "{{"
CLOSE_BRACES: Final = "}}"
MAX_TEMPLATE: Final = 64 * 1024
"""Maximum length of a template in bytes of UTF-8."""
MAX_TEMPLATE_EXPRESSIONS: Final = 64
CACHED_TEMPLATES: Final = 64

# fmt: off
_SKIPPED = re.compile(
    r"(?://[^\n]*"
    r"|(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*+\"|'[^'\n]*+')"
    r"|\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'"
    r"|\w+|\\[\"'])",
    re.DOTALL,
)
"""Comments, strings and names, inside which braces do not count. Names are matched as a whole, so that only a letter
directly before a quote counts as the prefix of a string.

A quote after a backslash opens no string. Otherwise, the rest of the text would be read once for each escaped quote
behind a quote that is not closed. A backslash outside strings is never valid, so no valid expression changes."""
# fmt: on


def split_template(text: str) -> list[str]:
    """The text split into literal parts (even indexes) and sources of expressions (odd indexes)."""
    pieces: list[str] = []
    at = 0
    while (start := text.find(OPEN_BRACES, at)) >= 0:
        end = _expression_end(text, start + len(OPEN_BRACES))
        pieces += [text[at:start], text[start + len(OPEN_BRACES) : end]]
        at = end + len(CLOSE_BRACES)
    return [*pieces, text[at:]]


def _expression_end(text: str, at: int) -> int:
    depth, start = 0, at
    while at < len(text):
        skipped = _SKIPPED.match(text, at)
        if skipped is not None:
            at = skipped.end()
            continue
        if depth == 0 and text.startswith(CLOSE_BRACES, at):
            return at
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    raise expression_invalid(
        f"The expression that opens with {OPEN_BRACES} at character {start - 1} is not closed with {CLOSE_BRACES}."
    )


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    text: str
    references: References
    is_plain: bool
    """Whether it has no expressions."""
    _parts: tuple[str | Expression, ...] = field(repr=False)

    def render(
        self,
        scope: Mapping[str, Any],
        shown: Callable[[Expression, str], str] | None = None,
        evaluator: Evaluator | None = None,
    ) -> str:
        """The text with the values of its expressions: strings unchanged, other values as compact JSON.

        `shown` is applied to each value. The expressions share the budget of `evaluator`, by default one of their own.
        Raises ExpressionFault.
        """
        evaluator = evaluator or WorkBudget(ExpressionLimits())

        def whole_scope() -> Mapping[str, Any]:
            return scope

        rendered: list[str] = []
        size = 0
        for at, part in enumerate(self._parts):
            if isinstance(part, Expression):
                try:
                    value = evaluator.evaluate(part, whole_scope)
                except ExpressionFault as fault:
                    raise _number_fault(at, fault) from None
                value = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                rendered.append(value if shown is None else shown(part, value))
                size += len(value)
                if size > MAX_RESULT:
                    raise result_too_large()
            else:
                rendered.append(part)
        text = "".join(rendered)
        if len(text.encode()) > MAX_RESULT:
            raise result_too_large()
        return text


@lru_cache(maxsize=CACHED_TEMPLATES)
def parse_template(text: str, local_names: tuple[str, ...] = ()) -> Template:
    """expr-08 (host): a string with expressions in double braces. Raises ExpressionFault."""
    if utf8_length(text) > MAX_TEMPLATE:
        raise expression_limit(f"The template is longer than the limit of {MAX_TEMPLATE // 1024} KiB.")
    pieces = split_template(text)
    if len(pieces) // 2 > MAX_TEMPLATE_EXPRESSIONS:
        raise expression_limit(f"The template has more than {MAX_TEMPLATE_EXPRESSIONS} expressions.")
    parts: list[str | Expression] = []
    read = References()
    for at, piece in enumerate(pieces):
        if at % 2 == 0:
            parts.append(piece)
            continue
        try:
            expression = parse_expression(piece.strip(), local_names)
        except ExpressionFault as fault:
            raise _number_fault(at, fault) from None
        parts.append(expression)
        read = read.union(expression.references)
    return Template(text, read, len(parts) == 1, tuple(parts))


def _number_fault(at: int, fault: ExpressionFault) -> ExpressionFault:
    """The fault with the number of its expression. `at` is the index of the part in `split_template`."""
    return ExpressionFault(fault.code, f"Expression {at // 2 + 1} of the template: {fault.message}")
