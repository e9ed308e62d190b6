"""Renders values of a question so that people can read them: texts as paragraphs, objects and arrays as lists down to a
limited depth, numbers with separators, dates in words, and deeper values as JSON.

Members stay in the order of their author. What is shown in other words than it was sent, such as a date, has the exact
value as its title.
"""

import re
from typing import Any, Final

from weftwork.adapters.http.page.layout import WORKFLOW_TEXT, date_text, parse_time, time_text
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.messages import Messages
from weftwork.protocol.forms.visible_text import json_text, readable_name, shorten
from weftwork.protocol.json.values import is_array, is_object

MAX_CHARACTERS: Final = 50_000
"""Characters of a question that a page shows; the rest is cut."""
MAX_PARTS: Final = 2_000
_MAX_DEPTH: Final = 4
_MAX_MEMBER_NAME: Final = 200
_INLINE_LENGTH: Final = 60
"""Texts of up to this many characters are shown on the same line as their label."""
_PARAGRAPHS: Final = re.compile(r"\n(?:[ \t]*\n)+")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_GROUPED_FROM: Final = 10_000
"""Smaller whole numbers have no separators, because they may be years or numbers of rooms."""


class DisplayBudget:
    """Limits how much of a question a page shows. The first cut adds a notice at its place."""

    def __init__(self, t: Messages, characters: int = MAX_CHARACTERS) -> None:
        self.messages = t
        self._characters = characters
        self._parts = MAX_PARTS
        self.is_cut = False

    def take(self, text: str) -> str:
        """The part of the text that is within the budget."""
        self._parts -= 1
        visible = text[: max(self._characters, 0)] if self._parts > 0 else ""
        self._characters -= len(text)
        return visible

    def cut_note(self, is_complete: bool) -> Child:
        """The notice, at the first text that was not shown completely; else None."""
        if is_complete or self.is_cut:
            return None
        self.is_cut = True
        return element("p", {"class": "cut"}, self.messages("cut"))


def render_paragraphs(text: str, budget: DisplayBudget) -> Markup:
    """A text with its line breaks. Consecutive empty lines become one paragraph break."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    visible = budget.take(text)
    parts = [part for part in _PARAGRAPHS.split(visible.strip("\n")) if part.strip()]
    shown = [element("p", {"class": "text", **WORKFLOW_TEXT}, part) for part in parts]
    return join([*shown, budget.cut_note(len(visible) == len(text))])


def render_value(value: Any, budget: DisplayBudget, depth: int = 0) -> Markup:
    if isinstance(value, str):
        if not value.strip():
            return _code('""', budget)
        return _date(value, budget) or render_paragraphs(value, budget)
    if depth < _MAX_DEPTH and is_object(value) and value:
        return _members(value, budget, depth)
    if depth < _MAX_DEPTH and is_array(value) and value:
        return _items(value, budget, depth)
    if is_object(value) or is_array(value):
        return render_json(value, budget) if value else _plain("none-listed", budget)
    if value is None:
        return _plain("nothing", budget)
    if isinstance(value, bool):
        return _plain("yes" if value else "no", budget)
    return _number(value, budget)


def render_json(value: Any, budget: DisplayBudget) -> Markup:
    text = json_text(value)
    visible = budget.take(text)
    return join([element("pre", {"dir": "ltr", "lang": ""}, visible), budget.cut_note(len(visible) == len(text))])


def number_text(t: Messages, value: Any) -> str:
    """A number with the separators of the language. Numbers that JSON does not have stay as they are."""
    text = json_text(value, None)
    if isinstance(value, int):
        return f"{value:,}".replace(",", t.language.thousands) if abs(value) >= _GROUPED_FROM else text
    if not isinstance(value, float) or "." not in text or "e" in text:
        return text
    whole, _, rest = text.partition(".")
    grouped = number_text(t, int(whole)) if abs(int(whole)) >= _GROUPED_FROM else whole
    return f"{grouped}{t.language.decimal}{rest}"


def _number(value: Any, budget: DisplayBudget) -> Markup:
    exact = json_text(value, None)
    text = number_text(budget.messages, value)
    visible = budget.take(text)
    attributes = {"class": "num", "dir": "ltr", "title": exact if text != exact else None}
    return join([element("span", attributes, visible), budget.cut_note(len(visible) == len(text))])


def _date(text: str, budget: DisplayBudget) -> Markup | None:
    """A date or a time in words; None for any other text."""
    t = budget.messages
    if not (_DATE.fullmatch(text) or _TIME.fullmatch(text)) or (at := parse_time(text)) is None:
        return None
    words = date_text(t, at) if _DATE.fullmatch(text) else time_text(t, at)
    visible = budget.take(words)
    shown = element("time", {"datetime": text, "title": text}, visible)
    return join([shown, budget.cut_note(len(visible) == len(words))])


def _members(value: dict[str, Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for name, inner in value.items():
        if budget.is_cut:
            break
        visible = budget.take(shorten(readable_name(str(name)), _MAX_MEMBER_NAME)).strip() or "?"
        is_block = ((is_object(inner) or is_array(inner)) and bool(inner)) or (
            isinstance(inner, str) and (len(inner) > _INLINE_LENGTH or "\n" in inner)
        )
        style = {"class": "nest" if is_block else "pair"}
        content = element("dd", {}, render_value(inner, budget, depth + 1))
        rows.append(element("div", style, element("dt", WORKFLOW_TEXT, visible), content))
    return element("dl", {"class": "value"}, *rows)


def _items(value: list[Any], budget: DisplayBudget, depth: int) -> Markup:
    rows: list[Child] = []
    for inner in value:
        if budget.is_cut:
            break
        rows.append(element("li", {}, render_value(inner, budget, depth + 1)))
    return element("ul", {}, *rows)


def _plain(key: str, budget: DisplayBudget) -> Markup:
    """A value that has a word of the host, such as Yes for true."""
    text = budget.messages(key)
    visible = budget.take(text)
    return join([element("span", {"class": "plain"}, visible), budget.cut_note(len(visible) == len(text))])


def _code(text: str, budget: DisplayBudget) -> Markup:
    visible = budget.take(text)
    return join([element("code", {"dir": "ltr", "lang": ""}, visible), budget.cut_note(len(visible) == len(text))])
