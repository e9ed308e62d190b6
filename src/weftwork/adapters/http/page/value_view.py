"""Values of a question, to be read: texts as paragraphs, objects as lists of their members, the rest as JSON."""

import re
from typing import Any, Final

from weftwork.adapters.http.page.display_text import json_text, shorten
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.protocol.json.values import is_array, is_object

MAX_CHARACTERS: Final = 50_000
"""Characters of a question that a page shows."""
MAX_PARTS: Final = 2_000
_MAX_DEPTH: Final = 4
_MAX_NAME: Final = 200
_INLINE_LENGTH: Final = 60
"""Characters up to which a text stands beside its name."""
_PARAGRAPHS: Final = re.compile(r"\n(?:[ \t]*\n)+")
WORKFLOW_TEXT: Final = {"lang": "", "dir": "auto"}
"""Of text whose language nobody has said."""


class DisplayBudget:
    """How much may still be shown. What is cut says so, once, where it is cut."""

    def __init__(self, characters: int = MAX_CHARACTERS) -> None:
        self._characters = characters
        self._parts = MAX_PARTS
        self.is_cut = False

    def take(self, text: str) -> str:
        """As much of the text as there is room for."""
        self._parts -= 1
        taken = text[: max(self._characters, 0)] if self._parts > 0 else ""
        self._characters -= len(text)
        return taken

    def cut_note(self, whole: bool) -> Child:
        """The note, where something is missing for the first time."""
        if whole or self.is_cut:
            return None
        self.is_cut = True
        return element("p", {"class": "cut"}, "Cut here: the rest is too long for this page.")


def render_paragraphs(text: str, budget: DisplayBudget) -> Markup:
    """A text with its line breaks; however many empty lines stand in a row, they make one gap."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    taken = budget.take(text)
    parts = [part for part in _PARAGRAPHS.split(taken.strip("\n")) if part.strip()]
    shown = [element("p", {"class": "text", **WORKFLOW_TEXT}, part) for part in parts]
    return join([*shown, budget.cut_note(len(taken) == len(text))])


def render_value(value: Any, budget: DisplayBudget, depth: int = 0) -> Markup:
    """Any JSON value."""
    if isinstance(value, str):
        return render_paragraphs(value, budget) if value.strip() else _code('""', budget)
    if depth < _MAX_DEPTH and is_object(value) and value:
        return _members(value, budget, depth)
    if depth < _MAX_DEPTH and is_array(value) and value:
        return _items(value, budget, depth)
    if is_object(value) or is_array(value):
        return render_json(value, budget) if value else _code(json_text(value), budget)
    return _code(json_text(value, None), budget)


def render_json(value: Any, budget: DisplayBudget) -> Markup:
    """The value as JSON."""
    text = json_text(value)
    taken = budget.take(text)
    return join([element("pre", {"dir": "ltr", "lang": ""}, taken), budget.cut_note(len(taken) == len(text))])


def _members(value: dict[str, Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for name, inner in value.items():
        if budget.is_cut:
            break
        taken = budget.take(shorten(str(name), _MAX_NAME)).strip() or "?"
        whole = (
            is_object(inner)
            or is_array(inner)
            or (isinstance(inner, str) and (len(inner) > _INLINE_LENGTH or "\n" in inner))
        )
        shown = element("dd", {}, render_value(inner, budget, depth + 1))
        rows.append(element("div", {"class": "nest" if whole else "pair"}, element("dt", WORKFLOW_TEXT, taken), shown))
    return element("dl", {}, *rows)


def _items(value: list[Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for inner in value:
        if budget.is_cut:
            break
        rows.append(element("li", {}, render_value(inner, budget, depth + 1)))
    return element("ul", {}, *rows)


def _code(text: str, budget: DisplayBudget) -> Markup:
    taken = budget.take(text)
    return join([element("code", {"dir": "ltr", "lang": ""}, taken), budget.cut_note(len(taken) == len(text))])
