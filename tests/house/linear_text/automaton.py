"""Finds patterns whose matching can take more than linear time, on their parse tree.

Theory of operation. The parse tree (`re._parser`) becomes an automaton without empty steps: its states are the
characters and sets of the pattern, and an edge leads to each state that can match the next character. A backtracking
matcher takes super-linear time if the automaton can read one text in several ways and the text then fails:

- in exponentially many ways, if two different paths lead from a state back to it with the same text, as in `(a+)+`;
- in polynomially many ways, if one text leads from p to p, from p to q, and from q to q, as in `a*a*b`. An unanchored
  search is a first state that reads any character and leads to the start of the pattern, so `a+b` is found here too.

What cannot fail is left out: once the matcher was in a state after which the rest of the pattern always matches, it
never tries another way; only a search may start again behind the match. What cannot be given up is left out too: the
ways into an atomic group or a possessive repetition. Lookaheads are branches that lead nowhere. Lookbehinds and anchors
limit the character before the next state. Bounded repetitions of at most MAX_BOUNDED characters count as a constant if
they are not nested, longer ones as unbounded.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

MAX_BOUNDED = 128
_SAMPLES = [*map(chr, range(0x100)), "\u0661", "\u2019", "\u201c", "\u2028", "\u4e00", "\ud800", "\U0001f9f6"]
_ALL = (1 << len(_SAMPLES)) - 1
_START = 1 << len(_SAMPLES)
"""The place before the first character, where a lookbehind looks for a character."""
_BEFORE_ALL = _ALL | _START
_NEWLINE = 1 << 10

First = tuple[int, int]
"""A state, and the characters that may precede it."""
Last = tuple[int, int]
"""A state, and the characters that may follow it: after `a*+` no `a` follows."""


@dataclass
class _Part:
    """A part of a pattern: the states that it may begin and end with."""

    first: list[First] = field(default_factory=list[First])
    last: list[Last] = field(default_factory=list[Last])
    is_empty: bool = True
    """It can match nothing."""
    is_certain: bool = True
    """It can match nothing, whatever follows."""
    before: int = _BEFORE_ALL
    """The characters that may precede it if it matches nothing."""
    certain_last: frozenset[int] = frozenset()
    """The ends after which nothing in the part can fail any more."""


class Automaton:
    def __init__(self, pattern: "re.Pattern[Any]", use: str) -> None:
        """`use` is the method that is called: `match`, `fullmatch`, or `search` for all others."""
        self.sets: list[int] = []
        self.edges: defaultdict[int, dict[int, int]] = defaultdict(dict)
        """For each state the next states, and which of their characters are possible."""
        self.doubled: set[tuple[int, int]] = set()
        self.groups: list[tuple[int, ...]] = []
        """For each state the atomic groups around it."""
        self._group: tuple[int, ...] = ()
        self._groups = 0
        self._depth = 0
        self._flags = pattern.flags
        self._is_text = isinstance(pattern.pattern, str)
        tree = sre_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        part = self._sequence(tree)
        self.search = len(self.sets) if use == "search" else None
        """The state before an unanchored search. All later states belong to it."""
        if use == "search":
            self._add_search(part.first)
        self.certain = set(part.certain_last) if use != "fullmatch" else set[int]()

    def faults(self) -> list[str]:
        """What is wrong with the pattern, in words."""
        below = self._closure()
        loops = [state for state in range(len(self.sets)) if below[state] >> state & 1]
        if any(one in below and below[other] >> one & 1 for one, other in self.doubled):
            return ["one text can be matched by nested repetitions in several ways"]
        inside = [state for state in loops if self.search is None or state < self.search]
        if any(self._has_two_ways(state, below) for state in inside):
            return ["one text can be matched by a repetition in exponentially many ways"]
        for first in [*inside, *([] if self.search is None else [self.search])]:
            for second in inside:
                if first != second and self._is_pumped(first, second, below):
                    if first == self.search:
                        return ["an unanchored search starts with a repetition"]
                    return ["two repetitions that follow each other can match the same text"]
        return []

    # The states

    def _state(self, characters: int) -> _Part:
        self.sets.append(characters)
        self.groups.append(self._group)
        state = len(self.sets) - 1
        return _Part(
            [(state, _BEFORE_ALL)], [(state, _ALL)], is_empty=False, is_certain=False, certain_last=frozenset({state})
        )

    def _add_search(self, first: list[First]) -> None:
        """Add a state that reads any character, next to one for each condition on the character before the start."""
        every = [self._state(_ALL).last[0][0]]
        befores = {before: self._state(before & _ALL).last[0][0] for _, before in first}
        every += befores.values()
        for one in every:
            self.edges[one] |= {other: self.sets[other] for other in every}
        for target, before in first:
            self.edges[befores[before]][target] = self.sets[target]

    def _link(self, sources: Iterable[Last], targets: Iterable[First], mark: bool = False) -> None:
        for source, after in sources:
            for target, before in targets:
                possible = after & self.sets[target]
                if not self.sets[source] & before or not possible:
                    continue
                if mark and target in self.edges[source]:
                    self.doubled.add((source, target))
                self.edges[source][target] = self.edges[source].get(target, 0) | possible

    # The parse tree

    def _sequence(self, items: Iterable[Any]) -> _Part:
        whole = _Part()
        for operation, argument in _with_leading_lookbehinds(list(items)):
            whole = self._join(whole, self._part(operation, argument))
        return whole

    def _join(self, one: _Part, other: _Part) -> _Part:
        self._link(one.last, other.first)
        first = list(one.first)
        if one.is_empty:
            first += [(state, before & one.before) for state, before in other.first]
        return _Part(
            first,
            [*other.last, *(one.last if other.is_empty else [])],
            one.is_empty and other.is_empty,
            one.is_certain and other.is_certain,
            one.before & other.before,
            other.certain_last | (one.certain_last if other.is_certain else frozenset()),
        )

    def _part(self, operation: Any, argument: Any) -> _Part:
        match operation:
            case sre.LITERAL | sre.NOT_LITERAL | sre.ANY | sre.IN:
                return self._state(_characters(operation, _frozen(argument), self._flags, self._is_text))
            case sre.SUBPATTERN:
                return self._sequence(argument[3])
            case sre.BRANCH:
                return self._branch([self._sequence(each) for each in argument[1]])
            case sre.ATOMIC_GROUP:
                return self._atomic(argument)
            case sre.MAX_REPEAT | sre.MIN_REPEAT:
                return self._repeat(*argument, is_possessive=False)
            case sre.POSSESSIVE_REPEAT:
                return self._repeat(*argument, is_possessive=True)
            case sre.ASSERT | sre.ASSERT_NOT:
                return self._assertion(operation, *argument)
            case sre.AT:
                return _Part(is_certain=False, before=self._before_anchor(argument))
            case sre.GROUPREF:
                return _Part(is_certain=False)
            case _:
                raise NotImplementedError(f"{operation} in a pattern: teach the automaton to read it")

    def _before_anchor(self, anchor: Any) -> int:
        if anchor == sre.AT_BEGINNING and self._flags & re.MULTILINE:
            return _START | _NEWLINE
        return _START if anchor in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING) else _BEFORE_ALL

    def _branch(self, parts: list[_Part]) -> _Part:
        befores = [each.before for each in parts if each.is_empty]
        before = 0
        for each in befores:
            before |= each
        return _Part(
            [first for each in parts for first in each.first],
            [state for each in parts for state in each.last],
            any(each.is_empty for each in parts),
            any(each.is_certain for each in parts),
            before if befores else _BEFORE_ALL,
            frozenset(state for each in parts for state in each.certain_last),
        )

    def _atomic(self, items: Iterable[Any]) -> _Part:
        outside = self._group
        self._groups += 1
        self._group = (*outside, self._groups)
        part = self._sequence(items)
        self._group = outside
        return part

    def _repeat(self, least: Any, most: Any, items: Any, *, is_possessive: bool) -> _Part:
        is_loop = most == sre.MAXREPEAT or (most > least and (most > MAX_BOUNDED or self._depth > 0) and most > 1)
        outside, depth = self._group, self._depth
        self._depth += most > 1
        if is_possessive:
            self._groups += 1
            self._group = (*outside, self._groups)
        whole = _Part()
        for _ in range(min(least, 2)):
            whole = self._join(whole, self._sequence(items))
        if is_loop or most > least:
            body = self._sequence(items)
            if is_loop:
                self._link(body.last, body.first, mark=True)
            body.is_empty = body.is_certain = True
            body.before = _BEFORE_ALL
            whole = self._join(whole, body)
            if is_loop and is_possessive and {state for state, _ in body.first} == {state for state, _ in body.last}:
                # Each step reads one character, so the repetition ends only before a character that is in no set.
                taken = 0
                for state, _ in body.first:
                    taken |= self.sets[state]
                whole.last = [(state, after & ~taken) for state, after in whole.last]
        self._group, self._depth = outside, depth
        return whole

    def _assertion(self, operation: Any, direction: int, items: Any) -> _Part:
        if direction < 0:
            last = items[len(items) - 1] if len(items) else None
            before = _BEFORE_ALL
            if last is not None and last[0] in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
                before = _characters(last[0], _frozen(last[1]), self._flags, self._is_text)
                if operation == sre.ASSERT_NOT:
                    before = _BEFORE_ALL & ~before if len(items) == 1 else _BEFORE_ALL
            return _Part(is_certain=False, before=before)
        return _Part(self._sequence(items).first, is_certain=False)

    # The search for ambiguous loops

    def _closure(self) -> list[int]:
        """For each state, the states that can be reached in one or more steps, as bits."""
        below = [sum(1 << target for target in self.edges[state]) for state in range(len(self.sets))]
        changed = True
        while changed:
            changed = False
            for state, reached in enumerate(below):
                more = reached
                for target in self.edges[state]:
                    more |= below[target]
                if more != reached:
                    below[state], changed = more, True
        return below

    def _has_two_ways(self, state: int, below: list[int]) -> bool:
        inside = {each for each in range(len(self.sets)) if below[state] >> each & 1 and below[each] >> state & 1}
        inside -= self.certain
        reached, todo = {(state, state, False)}, [(state, state, False)]
        while todo:
            one, other, differ = todo.pop()
            for left, by_left in self.edges[one].items():
                for right, by_right in self.edges[other].items():
                    step = (left, right, differ or left != right)
                    if not by_left & by_right or not {left, right} <= inside or step in reached:
                        continue
                    if step == (state, state, True):
                        return True
                    reached.add(step)
                    todo.append(step)
        return False

    def _is_pumped(self, first: int, second: int, below: list[int]) -> bool:
        """Whether a text leads from the first state to itself and to the second, and from the second to itself."""
        safe = set[int]() if first == self.search else self.certain
        if not below[first] >> second & 1 or not set(self.groups[first]) <= set(self.groups[second]):
            return False
        start = (first, first, second)
        reached, todo = {start}, [start]
        while todo:
            here = todo.pop()
            for one, by_one in self.edges[here[0]].items():
                for last, by_last in self.edges[here[2]].items():
                    both = by_one & by_last
                    if not both or not below[one] >> first & 1 or not below[last] >> second & 1:
                        continue
                    if last in self.certain or one in safe:
                        continue
                    for middle, by_middle in self.edges[here[1]].items():
                        step = (one, middle, last)
                        if not both & by_middle or middle in safe or step in reached:
                            continue
                        if step == (first, second, second):
                            return True
                        if middle == second or below[middle] >> second & 1:
                            reached.add(step)
                            todo.append(step)
        return False

    def attacks(self, limit: int = 24) -> list[tuple[str, str]]:
        """Texts that lead into each loop: what comes first, and what is repeated."""
        found: list[tuple[str, str]] = []
        for state in range(len(self.sets) if self.search is None else self.search):
            if state in self.edges[state]:
                found.append((self._way_to(state), _sample(self.sets[state])))
        return list(dict.fromkeys(found))[:limit]

    def _way_to(self, goal: int) -> str:
        """A short text that leads to a state, read backwards from it."""
        way: dict[int, str] = {goal: ""}
        todo = [goal]
        sources: defaultdict[int, list[int]] = defaultdict(list)
        for source, targets in self.edges.items():
            for target in targets:
                sources[target].append(source)
        longest = ""
        for state in todo:
            for source in sources[state]:
                if source not in way and (self.search is None or source < self.search):
                    way[source] = _sample(self.sets[source]) + way[state]
                    longest = way[source]
                    todo.append(source)
        return longest


def _with_leading_lookbehinds(items: list[Any]) -> list[Any]:
    """The items, with `abc(?<!xabc)` written as `(?<!x)abc`: the same condition, on one character."""
    for at, (operation, argument) in enumerate(items):
        if operation == sre.ASSERT_NOT and argument[0] < 0:
            first, *rest = list(argument[1])
            if rest and items[max(0, at - len(rest)) : at] == rest:
                condition = (operation, (argument[0], [first]))
                return _with_leading_lookbehinds([*items[: at - len(rest)], condition, *rest, *items[at + 1 :]])
    return items


def _sample(characters: int) -> str:
    """A character of a set, a letter if possible."""
    for sample in "a1A-. \t\n":
        if characters >> ord(sample) & 1:
            return sample
    return next((each for at, each in enumerate(_SAMPLES) if characters >> at & 1), "")


def _frozen(argument: Any) -> Any:
    return tuple(argument) if isinstance(argument, list) else argument


@cache
def _characters(operation: Any, argument: Any, flags: int, is_text: bool) -> int:
    """The sample characters that a set of the parse tree contains, as bits: `re` itself is asked."""
    pattern = sre_parser.SubPattern(sre_parser.State(), [(operation, _listed(argument))])
    pattern.state.str = "" if is_text else b""
    found = 0
    matches = _matcher(pattern, flags, is_text)
    for at, sample in enumerate(_SAMPLES):
        if not is_text and ord(sample) > 0xFF:
            continue
        if matches(sample if is_text else sample.encode("latin-1")):
            found |= 1 << at
    return found


def _listed(argument: Any) -> Any:
    return list(argument) if isinstance(argument, tuple) else argument


def _matcher(tree: Any, flags: int, is_text: bool) -> Any:
    import _sre  # pyright: ignore[reportMissingImports]
    from re import _compiler  # type: ignore[attr-defined]

    tree.state.flags = flags
    code = _compiler._code(tree, flags)
    return _sre.compile("" if is_text else b"", flags, code, 0, {}, ()).fullmatch
