"""Draws a form: the region with the question, the fields with their labels and hints, the buttons, and the errors of an
earlier submission.
"""

from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.http.page.form_answer import ACTION_FIELD, JSON_SUFFIX
from weftwork.adapters.http.page.form_fields import FormField
from weftwork.adapters.http.page.form_plan import FormButton, FormPlan
from weftwork.adapters.http.page.layout import workflow_region
from weftwork.adapters.http.page.markup import Child, Markup, element, join, shorten
from weftwork.adapters.http.page.question_view import WORKFLOW_TEXT
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.values import is_array, is_object

MAX_RADIO_OPTIONS: Final = 7
"""Up to so many options are shown at once; more of them in a list that opens."""
_TYPES: Final = {"line": "text", "date": "date", "email": "email", "url": "url", "number": "number"}
_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LONG: Final = 600
_MAX_MESSAGE: Final = 500
_CUT_WARNING: Final = "Part of this is not shown, because it is too long. Decide only if you know the rest."

EnteredValues = Mapping[str, list[str]]
"""What somebody has filled in before, by field name."""


class SubmittedForm:
    """What somebody has sent before, and what was wrong with it."""

    def __init__(self, entered: list[tuple[str, str]] | None, fault: ClientFault | None) -> None:
        sent: dict[str, list[str]] = {}
        for name, text in entered or []:
            sent.setdefault(name, []).append(text)
        self._values = sent if entered is not None else None
        self.pressed_action = sent.get(ACTION_FIELD, [""])[0]
        self.errors = _field_errors(fault)
        """Names of fields, and what is wrong there; no name for what concerns the whole."""

    def render_field(self, field: FormField, strict: bool) -> Markup:
        """The field with what was sent for it. One that was not sent keeps what stood in it at first."""
        texts = self._values
        if texts is not None and field.name not in texts and field.value:
            texts = None
        wrong = next((text for name, text in self.errors if name == field.name), "")
        return render_field(field, texts, wrong, strict, focus=bool(wrong) and self.errors[0][0] == field.name)


def render_form(plan: FormPlan, shown: Markup, action: str, filled: SubmittedForm, cut: bool) -> Markup:
    """The question in its region, and below it the host's own part."""
    first = [each for each in plan.buttons if not each.aside]
    fields = {field.name: field for choice in first for field in choice.fields}.values()
    strict = len(plan.buttons) == 1
    region = workflow_region(shown, *(filled.render_field(field, strict) for field in fields if field.is_from_workflow))
    if plan.closed_reason:
        bare = element("fieldset", {"class": "field", "disabled": True}, region)
        return join([element("p", {"class": "note"}, plan.closed_reason), bare])
    below: list[Child] = [element("p", {"class": "note"}, _CUT_WARNING)] if cut else []
    below += [filled.render_field(field, strict) for field in fields if not field.is_from_workflow]
    asides = [_folded_button(each, filled, opened=not first) for each in plan.buttons if each.aside]
    buttons = element("div", {"class": "buttons"}, *map(_button, first)) if first else None
    card = element("div", {"class": "card" if below or asides else None}, *below, buttons, *asides)
    return element("form", {"method": "post", "action": action, "accept-charset": "utf-8"}, region, card)


def error_summary(plan: FormPlan, filled: SubmittedForm) -> Child:
    """What is wrong, before the form, with links to the fields. What their schemas say of it stands only there."""
    if not filled.errors:
        return None
    known = {field.name: field for choice in plan.buttons for field in choice.fields}
    rows: list[Child] = []
    for name, text in filled.errors:
        field = known.get(name)
        link = element("a", {"href": f"#{name}"}, f"{field.subject} is empty or does not fit.") if field else text
        rows.append(element("li", {}, link))
    title = element("h2", {}, "Not sent yet")
    about = element("p", {}, "Nothing was recorded. Please correct this and send it again:")
    return element("div", {"class": "wrong", "role": "alert"}, title, about, element("ul", {}, *rows))


def _field_errors(fault: ClientFault | None) -> list[tuple[str, str]]:
    if fault is None:
        return []
    listed = (fault.details or {}).get("violations")
    rows = [each for each in listed if is_object(each) and each.get("field")] if is_array(listed) else []
    if not rows:
        return [("", shorten(fault.message, _MAX_MESSAGE))]
    return [(str(each["field"]), shorten(str(each.get("message", "")), _MAX_MESSAGE)) for each in rows]


def _button(choice: FormButton) -> Markup:
    about = {"type": "submit", "name": ACTION_FIELD, "value": choice.action, "class": choice.tone}
    return element("button", about, choice.label)


def _folded_button(choice: FormButton, filled: SubmittedForm, opened: bool) -> Markup:
    """Another way to answer, folded away until it is wanted."""
    fields = [filled.render_field(field, strict=False) for field in choice.fields]
    buttons = element("div", {"class": "buttons"}, _button(choice))
    opened = opened or filled.pressed_action == choice.action
    return element("details", {"open": opened}, element("summary", {}, choice.aside), *fields, buttons)


def render_field(field: FormField, entered: EnteredValues | None, wrong: str, strict: bool, focus: bool) -> Markup:
    """One field. `strict`: the browser may insist on it, since it belongs to every button of the form."""
    notes: list[Child] = []
    if field.hint:
        notes.append(element("p", {"class": "hint", "id": f"{field.name}-hint", **_text_attributes(field)}, field.hint))
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
    if field.control == "several" or (field.control == "choice" and len(field.options) <= MAX_RADIO_OPTIONS):
        return _option_group(field, notes, described, texts, common)
    label = element("label", {"for": field.name}, _label(field))
    control = _control(field, texts, {"id": field.name, **common, "aria-describedby": described or None})
    return element("div", {"class": "field"}, label, *notes, control, _json_checkbox(field, entered))


def _option_group(
    field: FormField, notes: list[Child], described: str, texts: list[str], common: dict[str, Any]
) -> Markup:
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
        text = element("span", _text_attributes(field) if value else {}, label)
        rows.append(element("label", {"class": "pick", "for": str(shown["id"])}, element("input", shown), text))
    legend = element("legend", {}, _label(field))
    about = {"class": "field", "aria-describedby": described or None}
    return element("fieldset", about, legend, *notes, *rows)


def _control(field: FormField, texts: list[str], common: dict[str, str | bool | None]) -> Markup:
    text = next(iter(texts), "")
    if field.control == "choice":
        first = "Choose one" if field.empty == "refuse" else "No answer"
        options = [element("option", {"value": ""}, first)]
        for place, option in enumerate(field.options):
            shown = {"value": str(place), "selected": str(place) in texts, **WORKFLOW_TEXT}
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


def _bounds(field: FormField) -> dict[str, str | bool | None]:
    """What the browser may check by itself, which is only what it counts as JSON Schema does."""
    schema = field.schema or {}
    if field.control != "number":
        return {"dir": "auto"} if field.control == "line" else {}
    least, most = _limit(schema.get("minimum")), _limit(schema.get("maximum"))
    whole = field.is_integer and (least is None or float(least).is_integer())
    return {"step": "1" if whole else "any", "min": least, "max": most}


def _limit(value: Any) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and abs(value) <= _MAX_SAFE_INTEGER else None


def _label(field: FormField) -> Markup:
    number = f"{field.number}. " if field.number else None
    must = "(required)" if field.empty == "refuse" else "(optional)"
    return join(
        [number, element("span", _text_attributes(field), field.label), " ", element("span", {"class": "must"}, must)]
    )


def _text_attributes(field: FormField) -> dict[str, str]:
    return WORKFLOW_TEXT if field.is_from_workflow else {}


def _json_checkbox(field: FormField, entered: EnteredValues | None) -> Child:
    if field.control != "free":
        return None
    name = field.name + JSON_SUFFIX
    box = element(
        "input", {"type": "checkbox", "id": name, "name": name, "value": "1", "checked": name in (entered or {})}
    )
    text = element("span", {}, "This is JSON, an object or a list, and no plain text")
    return element("label", {"class": "pick", "for": name}, box, text)
