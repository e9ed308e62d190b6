"""Upper bounds of the cost of an expression, as a formula over the size of the values that it reads.

Theory of operation. An evaluation cannot be interrupted and blocks the event loop, so its cost is bounded before it
starts. The tree is walked once, when the expression is parsed. The size of every value in it is bounded by a polynomial
of four terms, and the work by the sum of the sizes of all operands. The terms are 1, N, W and N*B: N is the number of
items that a comprehension iterates over, W the weight of all values that the expression reads, B the weight of the
values that it reads again for each item. Every comprehension that builds a list adds N squared, because the CEL package
copies the list for every item. A unit of work is about ten nanoseconds; a value weighs one unit, and so do eight
characters of text.

Regular expressions (RE2 syntax) are matched in time proportional to the text, but the factor is the size of the
program that the pattern compiles to: `(a?){500}a{500}` is fifteen characters and a thousand states, and a Unicode
property such as `\\pL` is about five thousand. The states of a pattern are therefore counted before it is used.
"""

import re
from typing import Final, NamedTuple

import msgspec

from weftwork.protocol.expressions import syntax_tree as syntax
from weftwork.protocol.expressions.faults import expression_invalid, expression_limit
from weftwork.protocol.limits import MAX_ENTRY_WORK

COMPILE_UNITS_PER_STATE: Final = 28
"""Units of work per state for compiling a pattern, on every use: the CEL package does not cache compiled patterns."""
MATCH_UNITS_PER_STATE: Final = 4
"""Units of work per state and unit of text, in the worst case that all states stay active."""

_UNICODE_CLASS_STATES: Final = 5_000
# fmt: off
_PATTERN_TOKEN = re.compile(
    r"\\Q(?P<quoted>(?:[^\\]|\\(?!E))*+)(?:\\E)?"
    r"|(?P<property>\\[pP])(?:\{[^}]*+\}?|.)?"
    r"|\\x\{[^}]*+\}?|\\."
    r"|(?P<set>\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*+\}?|\\.|[^\]\\])*\]?)"
    r"|(?P<open>\((?:\?(?:P?<\w*>|[A-Za-z-]*[:)]?))?)|(?P<close>\))"
    r"|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}|(?P<any>\.)|(?P<other>.)",
    re.DOTALL,
)
"""A brace that is not closed extends to the end, because such a pattern is not valid and must not be read again."""
# fmt: on


def count_states(pattern: str) -> int:
    """An estimate of the number of states that a pattern compiles to, never far below the actual number."""
    stack = [0]
    last = 0
    for token in _PATTERN_TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind == "open":
            last = 0
            if not token["open"].endswith(")"):
                stack.append(0)
            continue
        if kind == "close":
            last = stack.pop() if len(stack) > 1 else 0
        elif token["least"] is not None:
            stack[-1] += last * (max(int(token["least"][:6]), int((token["most"] or "0")[:6])) - 1)
            continue
        else:
            last = _token_states(token)
        stack[-1] += last
    return max(1, sum(stack))


def _token_states(token: re.Match[str]) -> int:
    text = token[0]
    if token["quoted"] is not None:
        return len(text)
    if token["property"]:
        return _UNICODE_CLASS_STATES
    if token["set"]:
        return 3 + 3 * text.startswith("[^") + _UNICODE_CLASS_STATES * len(re.findall(r"\\[pP]", text))
    if token["any"] or text in (r"\D", r"\S", r"\W"):
        return 6
    return 1 if text.isascii() else 3


MAX_WORK: Final = MAX_ENTRY_WORK
EVALUATION_UNITS: Final = 500
"""Units of loop time that the cheapest evaluation takes."""
READ_UNITS: Final = 20
"""Units of loop time per value that is copied from the run and converted for the CEL package."""
RESULT_UNITS: Final = 50
"""Units of loop time per value of a result."""
SEARCH_UNITS: Final = 3
"""Units of work per unit of text that `contains` searches for a literal."""
SEARCH_SHIFT: Final = 5
"""`contains` compares at every position, so its work is the product of both texts: one unit for 2**5 pairs of units."""
MAX_BUILT_ITEMS: Final = 2_000
"""Maximum length of a list in an expression that builds a list with map or filter."""
MAX_ITERATED_ITEMS: Final = 10_000
"""The CEL package's limit on the items that all comprehensions of an evaluation iterate over."""

# fmt: off
_FIXED_SIZE_FUNCTIONS: Final = frozenset({
    "!_", "-_", "_!=_", "_%_", "_&&_", "_*_", "_-_", "_/_", "_<=_", "_<_", "_==_", "_>=_", "_>_", "_||_", "@in",
    "@not_strictly_false", "bool", "contains", "double", "duration", "endsWith", "getDate", "getDayOfMonth",
    "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes", "getMonth",
    "getSeconds", "int", "matches", "size", "startsWith", "timestamp", "type", "uint",
})
"""Functions whose result has a fixed size, independent of their arguments."""
# fmt: on


class SizeBound(NamedTuple):
    """The bound of a value's size: the factors of 1, N, W and N*B. `length` bounds the length of its lists, as a
    multiple of the longest list that the expression reads."""

    constant: int = 0
    per_item: int = 0
    per_weight: int = 0
    per_item_read: int = 0
    length: int = 0

    def plus(self, other: "SizeBound") -> "SizeBound":
        return SizeBound(*map(sum, zip(self, other, strict=True)))

    def maximum(self, other: "SizeBound") -> "SizeBound":
        return SizeBound(*map(max, zip(self, other, strict=True)))

    def times(self, factor: int) -> "SizeBound":
        return SizeBound(*(part * factor for part in self))

    def total(self, items: int, seen: int, read: int) -> int:
        """The bound in units of work, for given N, W and B."""
        return self.constant + self.per_item * items + self.per_weight * seen + self.per_item_read * items * read


class Cost(msgspec.Struct):
    """The cost formula of an expression. `longest` is the length of the longest list literal in it."""

    work: SizeBound = SizeBound(1)
    result: SizeBound = SizeBound()
    list_comprehensions: int = 0
    growth: int = 1
    longest: int = 0
    patterns: list[str] = []
    has_null: bool = False
    literal_search: SizeBound = SizeBound()
    searches: list[tuple[SizeBound, SizeBound]] = []

    def estimate(self, longest: int, seen: int, read: int) -> tuple[int, int]:
        """Upper bounds of the work and of the weight of the result, for the longest list and the weights W and B of the
        values read. Raises ExpressionFault if map or filter would build a list that is too long."""
        if self.list_comprehensions and longest * self.growth > MAX_BUILT_ITEMS:
            most = MAX_BUILT_ITEMS // self.growth
            raise expression_limit(
                f"This expression uses map or filter, so it can read lists of at most {most:,} items."
            )
        items = self._max_items(longest)
        copying = 2 * self.list_comprehensions * items * items
        return self.work.total(items, seen, read) + copying, self.result.total(items, seen, read)

    def search_work(self, longest: int, seen: int, read: int) -> int:
        """The work of `contains`, which `estimate` does not include: it decided in the logs of earlier versions."""
        items = self._max_items(longest)
        products = (text.total(items, seen, read) * part.total(items, seen, read) for text, part in self.searches)
        return self.literal_search.total(items, seen, read) + (sum(products) >> SEARCH_SHIFT)

    def result_values(self, longest: int, seen: int, read: int) -> int:
        """An upper bound of the number of values in the result, for the numbers of values that are read."""
        return self.result.total(self._max_items(longest), seen, read)

    def _max_items(self, longest: int) -> int:
        return min(MAX_ITERATED_ITEMS, max(longest, self.longest, 1) * self.growth)

    def size(self, tree: syntax.Tree, bound: dict[str, SizeBound], walked: bool) -> SizeBound:
        """The bound of a value's size. Adds the work that computes it to `work`."""
        match tree:
            case syntax.Constant():
                self.has_null |= tree.is_null
                return _constant_bound(1 + tree.size // 8, walked)
            case syntax.Identifier():
                return bound.get(tree.name) or (
                    SizeBound(per_item_read=1, length=1) if walked else SizeBound(per_weight=1, length=1)
                )
            case syntax.Member():
                return self.size(tree.operand, bound, walked)
            case syntax.Construction():
                return self.construction(tree, bound, walked)
            case syntax.FunctionCall():
                return self.call(tree, bound, walked)
            case syntax.Comprehension():
                return self.comprehension(tree, bound, walked)

    def construction(self, tree: syntax.Construction, bound: dict[str, SizeBound], walked: bool) -> SizeBound:
        if tree.message_type:
            raise expression_invalid("Protobuf messages are not supported; write an object as {...}.")
        self.longest = max(self.longest, len(tree.items))
        total, length = _constant_bound(1 + len(tree.items), walked), 1
        self.work = self.work.plus(total)
        for item in tree.items:
            size = self.size(item, bound, walked)
            total, length = total.plus(size), max(length, size.length)
        return total._replace(length=length)

    def call(self, tree: syntax.FunctionCall, bound: dict[str, SizeBound], walked: bool) -> SizeBound:
        sizes = [self.size(each, bound, walked) for each in tree.arguments]
        if tree.function == syntax.INDEX:
            return sizes[0]
        if tree.function == syntax.TERNARY:
            return sizes[1].maximum(sizes[2])
        total = _constant_bound(1, walked)
        for size in sizes:
            total = total.plus(size)
        if tree.function == "matches":
            pattern = tree.arguments[-1]
            if not isinstance(pattern, syntax.Constant) or pattern.text is None:
                raise expression_invalid("The pattern of `matches` must be a string literal.")
            self.patterns.append(pattern.text)
            factor = count_states(pattern.text)
            self.work = self.work.plus(_constant_bound(COMPILE_UNITS_PER_STATE * factor, walked)).plus(
                sizes[0].times(MATCH_UNITS_PER_STATE * factor)
            )
        if tree.function == "contains":
            self._add_search(tree.arguments[-1], *sizes)
        self.work = self.work.plus(total)
        if tree.function in _FIXED_SIZE_FUNCTIONS:
            return _constant_bound(1, walked)
        return total if tree.function == syntax.PLUS else total._replace(length=max(size.length for size in sizes))

    def _add_search(self, part: syntax.Tree, text_size: SizeBound, part_size: SizeBound) -> None:
        if isinstance(part, syntax.Constant):
            self.literal_search = self.literal_search.plus(text_size.times(SEARCH_UNITS + part.size // 64))
        else:
            self.searches.append((text_size, part_size))

    def comprehension(self, tree: syntax.Comprehension, bound: dict[str, SizeBound], walked: bool) -> SizeBound:
        """The items of the source together are as large as the source, so its size counts once and not N times."""
        if walked:
            raise expression_limit("map, filter, all, exists and exists_one cannot be nested; chain them instead.")
        source = self.size(tree.source, bound, walked)
        self.list_comprehensions += tree.builds_list
        self.growth = max(self.growth, source.length)
        inner = {**bound, tree.variable: source, tree.accumulator: SizeBound(length=0)}
        total = SizeBound()
        for step in tree.steps:
            total = total.plus(self.size(step, inner, True))
        return (
            total._replace(length=max(source.length, total.length)) if tree.builds_list else _constant_bound(1, walked)
        )


def cost_of(tree: syntax.Tree) -> Cost:
    """expr-05 (host): the cost formula of an expression. Raises ExpressionFault for nested comprehensions, and for
    expressions that exceed MAX_WORK with any input."""
    cost = Cost()
    cost.result = cost.size(tree, {}, False)
    if max(cost.work[:4]) > MAX_WORK:
        raise expression_limit("The expression builds values that grow too fast; simplify it.")
    return cost


def _constant_bound(units: int, walked: bool) -> SizeBound:
    return SizeBound(per_item=units) if walked else SizeBound(constant=units)
