"""Self-test of the evaluator: fixed expressions with known results, evaluated whenever a host starts.

Expressions decide which way a run goes, and their values are recorded. The package underneath is compiled code before
1.0, so another build of it could return other values without an error. The cases cover what runs rely on: arithmetic,
text and patterns, lists and objects, null, and the limit of depth, which the package itself keeps. Its other limit, on
the items that are walked over, takes too long to reach for a start; the tests reach it.
"""

from typing import Any, Final

from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import FAILED, INVALID, LIMIT, ExpressionFault

_SCOPE: Final = {"inputs": {"price": 20.5, "word": "élan", "items": [3, 1, 2], "deep": {"b": [True], "a": None}}}

CASES: Final[tuple[tuple[str, Any], ...]] = (
    ("inputs.price * 2.0 + 1.0", 42),
    ("7 / 2 * 10 + 7 % 4", 33),
    ("inputs.word + '-' + string(size(inputs.word))", "élan-4"),
    ("inputs.word.matches('^[a-zé]{4}$')", True),
    ("inputs.items.filter(i, i > 1.0).map(i, i * 2.0)", [6, 4]),
    ("inputs.items.exists_one(i, i == 3.0) ? inputs.deep : {}", {"a": None, "b": [True]}),
    ("has(inputs.deep.c) || 'x' in ['y'] ? 'yes' : 'no'", "no"),
    ("1 / 0", FAILED),
    ("inputs.word + 1.0", FAILED),
    ("inputs.", INVALID),
    ("outputs.price", INVALID),
    ("(" * 40 + "1" + ")" * 40, LIMIT),
)
"""Source -> its value, or the code of its fault."""


def check_evaluator() -> str | None:
    """What the evaluator does wrong, None if nothing is. Takes a few milliseconds once the package is loaded."""
    for source, expected in CASES:
        result = _evaluate(source)
        # Types count as well: 1, 1.0 and True are equal in Python, and differ in a log.
        if repr(result) != repr(expected):
            return f"`{source}` gives {result!r} instead of {expected!r}"
    return None


def _evaluate(source: str) -> Any:
    try:
        return parse_expression(source).evaluate(_SCOPE)
    except ExpressionFault as fault:
        return fault.code
    except Exception as error:
        return error
