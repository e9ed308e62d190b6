"""The form of a page: the region with the question, fields, buttons, and what was wrong when it was sent before."""

from typing import Final

from weftwork.adapters.http.form import ACTION
from weftwork.adapters.http.form_field import Field
from weftwork.adapters.http.form_plan import Choice, Plan
from weftwork.adapters.http.page_field import draw
from weftwork.adapters.http.page_frame import said
from weftwork.adapters.http.page_markup import Child, Markup, element, join
from weftwork.adapters.http.page_text import short
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json_value import is_array, is_object

_MAX_MESSAGE: Final = 500
_CUT: Final = "Part of this is not shown, because it is too long. Decide only if you know the rest."


class Filled:
    """What somebody has sent before, and what was wrong with it."""

    def __init__(self, entered: list[tuple[str, str]] | None, fault: ClientFault | None) -> None:
        sent: dict[str, list[str]] = {}
        for name, text in entered or []:
            sent.setdefault(name, []).append(text)
        self._texts = sent if entered is not None else None
        self.pressed = sent.get(ACTION, [""])[0]
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
        return [("", short(fault.message, _MAX_MESSAGE))]
    return [(str(each["field"]), short(str(each.get("message", "")), _MAX_MESSAGE)) for each in rows]


def _button(choice: Choice) -> Markup:
    about = {"type": "submit", "name": ACTION, "value": choice.action, "class": choice.tone}
    return element("button", about, choice.label)


def _aside(choice: Choice, filled: Filled, opened: bool) -> Markup:
    """Another way to answer, folded away until it is wanted."""
    fields = [filled.draw(field, strict=False) for field in choice.fields]
    buttons = element("div", {"class": "buttons"}, _button(choice))
    opened = opened or filled.pressed == choice.action
    return element("details", {"open": opened}, element("summary", {}, choice.aside), *fields, buttons)
