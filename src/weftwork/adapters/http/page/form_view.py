"""Drawing a field: its label, its hint, what is wrong with it, and the control.

The form of a page: the region with the question, fields, buttons, and what was wrong when it was sent before.
"""

from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.http.page.display_text import shorten
from weftwork.adapters.http.page.form_answer import ACTION_FIELD, AS_JSON
from weftwork.adapters.http.page.form_fields import Field
from weftwork.adapters.http.page.form_plan import Choice, Plan
from weftwork.adapters.http.page.layout import said
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.value_view import SAID
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.values import is_array, is_object

RADIOS: Final = 7
"""Up to so many options are shown at once; more of them in a list that opens."""
_TYPES: Final = {"line": "text", "date": "date", "email": "email", "url": "url", "number": "number"}
_SAFE: Final = 2**53 - 1
_LONG: Final = 600

Entered = Mapping[str, list[str]]
"""What somebody has filled in before, by field name."""


def draw(field: Field, entered: Entered | None, wrong: str, strict: bool, focus: bool) -> Markup:
    """One field. `strict`: the browser may insist on it, since it belongs to every button of the form."""
    notes: list[Child] = []
    if field.hint:
        notes.append(element("p", {"class": "hint", "id": f"{field.name}-hint", **_voice(field)}, field.hint))
    if wrong:
        notes.append(element("p", {"class": "bad", "id": f"{field.name}-wrong"}, wrong))
    common: dict[str, str | bool | None] = {
        "name": field.name,
        "required": strict and field.empty == "refuse",
        "aria-invalid": "true" if wrong else None,
        "autofocus": focus,
    }
    described = " ".join([f"{field.name}-hint"] * bool(field.hint) + [f"{field.name}-wrong"] * bool(wrong))
    texts = entered.get(field.name, []) if entered is not None else [field.value]
    if field.control == "several" or (field.control == "choice" and len(field.options) <= RADIOS):
        return _group(field, notes, described, texts, common)
    label = element("label", {"for": field.name}, _label(field))
    control = _control(field, texts, {"id": field.name, **common, "aria-describedby": described or None})
    return element("div", {"class": "field"}, label, *notes, control, _json_box(field, entered))


def _group(field: Field, notes: list[Child], described: str, texts: list[str], common: dict[str, Any]) -> Markup:
    """Options side by side. The id of the first one is that of the field, so that a link to it leads there."""
    several = field.control == "several"
    options = [(str(place), option.label) for place, option in enumerate(field.options)]
    if not several and field.empty != "refuse":
        options.append(("", "No answer"))
        texts = texts or [""]
    rows: list[Child] = []
    for row, (value, label) in enumerate(options):
        shown: dict[str, str | bool | None] = {
            "type": "checkbox" if several else "radio",
            "id": f"{field.name}-{row}" if row else field.name,
            **common,
            "required": common["required"] and not several,
            "autofocus": common["autofocus"] and not row,
            "value": value,
            "checked": value in texts,
        }
        text = element("span", _voice(field) if value else {}, label)
        rows.append(element("label", {"class": "pick", "for": str(shown["id"])}, element("input", shown), text))
    legend = element("legend", {}, _label(field))
    about = {"class": "field", "aria-describedby": described or None}
    return element("fieldset", about, legend, *notes, *rows)


def _control(field: Field, texts: list[str], common: dict[str, str | bool | None]) -> Markup:
    text = next(iter(texts), "")
    if field.control == "choice":
        first = "Choose one" if field.empty == "refuse" else "No answer"
        options = [element("option", {"value": ""}, first)]
        for place, option in enumerate(field.options):
            shown = {"value": str(place), "selected": str(place) in texts, **SAID}
            options.append(element("option", shown, option.label))
        return element("select", common, *options)
    if field.control in _TYPES:
        about = {"type": _TYPES[field.control], **common, "value": text, **_bounds(field)}
        return element("input", {**about, "autocomplete": "off"})
    code = field.control == "json"
    shown: dict[str, str | bool | None] = {
        **common,
        "rows": "12" if len(text) > _LONG else "6" if code or text else "3",
        "class": "json" if code else None,
        "dir": "ltr" if code else "auto",
        "spellcheck": "false" if code else None,
        "autocapitalize": "off" if code else None,
        "autocomplete": "off",
    }
    # A line feed right after the tag belongs to the tag.
    return element("textarea", shown, "\n" + text)


def _bounds(field: Field) -> dict[str, str | bool | None]:
    """What the browser may check by itself, which is only what it counts as JSON Schema does."""
    schema = field.schema or {}
    if field.control != "number":
        return {"dir": "auto"} if field.control == "line" else {}
    least, most = _limit(schema.get("minimum")), _limit(schema.get("maximum"))
    whole = field.whole and (least is None or float(least).is_integer())
    return {"step": "1" if whole else "any", "min": least, "max": most}


def _limit(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_SAFE <= value <= _SAFE:
        return None
    return str(value)


def _label(field: Field) -> Markup:
    number = f"{field.number}. " if field.number else None
    must = "(required)" if field.empty == "refuse" else "(optional)"
    return join([number, element("span", _voice(field), field.label), " ", element("span", {"class": "must"}, must)])


def _voice(field: Field) -> dict[str, str]:
    return SAID if field.said else {}


def _json_box(field: Field, entered: Entered | None) -> Child:
    if field.control != "free":
        return None
    name = field.name + AS_JSON
    box = element(
        "input", {"type": "checkbox", "id": name, "name": name, "value": "1", "checked": name in (entered or {})}
    )
    text = element("span", {}, "This is JSON, an object or a list, and no plain text")
    return element("label", {"class": "pick", "for": name}, box, text)


_MAX_MESSAGE: Final = 500
_CUT: Final = "Part of this is not shown, because it is too long. Decide only if you know the rest."


class Filled:
    """What somebody has sent before, and what was wrong with it."""

    def __init__(self, entered: list[tuple[str, str]] | None, fault: ClientFault | None) -> None:
        sent: dict[str, list[str]] = {}
        for name, text in entered or []:
            sent.setdefault(name, []).append(text)
        self._texts = sent if entered is not None else None
        self.pressed = sent.get(ACTION_FIELD, [""])[0]
        self.wrong = _violations(fault)
        """Names of fields, and what is wrong there; no name for what concerns the whole."""

    def draw(self, field: Field, strict: bool) -> Markup:
        """The field with what was sent for it. One that was not sent keeps what stood in it at first."""
        texts = self._texts
        if texts is not None and field.name not in texts and field.value:
            texts = None
        wrong = next((text for name, text in self.wrong if name == field.name), "")
        return draw(field, texts, wrong, strict, focus=bool(wrong) and self.wrong[0][0] == field.name)


def form(plan: Plan, shown: Markup, action: str, filled: Filled, cut: bool) -> Markup:
    """The question in its region, and below it the host's own part."""
    first = [each for each in plan.choices if not each.aside]
    fields = {field.name: field for choice in first for field in choice.fields}.values()
    strict = len(plan.choices) == 1
    region = said(shown, *(filled.draw(field, strict) for field in fields if field.said))
    if plan.closed:
        bare = element("fieldset", {"class": "field", "disabled": True}, region)
        return join([element("p", {"class": "note"}, plan.closed), bare])
    below: list[Child] = [element("p", {"class": "note"}, _CUT)] if cut else []
    below += [filled.draw(field, strict) for field in fields if not field.said]
    asides = [_aside(each, filled, opened=not first) for each in plan.choices if each.aside]
    buttons = element("div", {"class": "buttons"}, *map(_button, first)) if first else None
    card = element("div", {"class": "card" if below or asides else None}, *below, buttons, *asides)
    return element("form", {"method": "post", "action": action, "accept-charset": "utf-8"}, region, card)


def summary(plan: Plan, filled: Filled) -> Child:
    """What is wrong, before the form, with links to the fields. What their schemas say of it stands only there."""
    if not filled.wrong:
        return None
    known = {field.name: field for choice in plan.choices for field in choice.fields}
    rows: list[Child] = []
    for name, text in filled.wrong:
        field = known.get(name)
        link = element("a", {"href": f"#{name}"}, f"{field.subject} is empty or does not fit.") if field else text
        rows.append(element("li", {}, link))
    title = element("h2", {}, "Not sent yet")
    about = element("p", {}, "Nothing was recorded. Please correct this and send it again:")
    return element("div", {"class": "wrong", "role": "alert"}, title, about, element("ul", {}, *rows))


def _violations(fault: ClientFault | None) -> list[tuple[str, str]]:
    if fault is None:
        return []
    listed = (fault.details or {}).get("violations")
    rows = [each for each in listed if is_object(each) and each.get("field")] if is_array(listed) else []
    if not rows:
        return [("", shorten(fault.message, _MAX_MESSAGE))]
    return [(str(each["field"]), shorten(str(each.get("message", "")), _MAX_MESSAGE)) for each in rows]


def _button(choice: Choice) -> Markup:
    about = {"type": "submit", "name": ACTION_FIELD, "value": choice.action, "class": choice.tone}
    return element("button", about, choice.label)


def _aside(choice: Choice, filled: Filled, opened: bool) -> Markup:
    """Another way to answer, folded away until it is wanted."""
    fields = [filled.draw(field, strict=False) for field in choice.fields]
    buttons = element("div", {"class": "buttons"}, _button(choice))
    opened = opened or filled.pressed == choice.action
    return element("details", {"open": opened}, element("summary", {}, choice.aside), *fields, buttons)
