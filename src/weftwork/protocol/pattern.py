"""What a regular expression costs, by its source (RE2 syntax).

Matching takes time in proportion to the text, but the factor is the size of the program that the pattern unfolds to:
`(a?){500}a{500}` is fifteen characters and a thousand states. A property of Unicode such as `\\pL` is some five
thousand. So patterns are weighed before they are used.
"""

import re
from typing import Final

MAX_PATTERN: Final = 1024
"""Bytes of UTF-8."""
MAX_STATES: Final = 20_000
COMPILING: Final = 28
"""Units of work (expression_cost) for each state, whenever the pattern is used: nothing keeps it compiled."""
MATCHING: Final = 4
"""Units for each state and each unit of text, where every state is alive all the time."""

_PROPERTY: Final = 5_000
# fmt: off
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)"
    r"|(?P<property>\\[pP])(?:\{[^}]*\}|.)?"
    r"|\\x\{[^}]*\}|\\."
    r"|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\.|[^\]\\])*\]?)"
    r"|(?P<open>\((?:\?(?:P?<\w*>|[A-Za-z-]*[:)]?))?)|(?P<close>\))"
    r"|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|(?P<any>\.)|(?P<other>.)",
    re.DOTALL,
)
# fmt: on


def states(pattern: str) -> int:
    """About how many states the pattern unfolds to, never far below."""
    stack = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind == "open":
            last = 0
            if token["open"].endswith(")"):
                continue
            stack.append(0)
            continue
        if kind == "close":
            last = stack.pop() if len(stack) > 1 else 0
        elif token["least"] is not None:
            stack[-1] += last * (max(int(token["least"][:6]), int((token["most"] or "0")[:6])) - 1)
            continue
        else:
            last = _weight(token)
        stack[-1] += last
    return max(1, sum(stack))


def _weight(token: re.Match[str]) -> int:
    text = token[0]
    if token["quoted"] is not None:
        return len(text)
    if token["property"]:
        return _PROPERTY
    if token["set"]:
        return 3 + 3 * text.startswith("[^") + _PROPERTY * len(re.findall(r"\\[pP]", text))
    if token["any"] or text in (r"\D", r"\S", r"\W"):
        return 6
    return 1 if text.isascii() else 3
