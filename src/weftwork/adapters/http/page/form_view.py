"""Renders a form: the region with the question, fields with labels and hints, buttons, and errors of a submission."""

from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.http.page.layout import workflow_region
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.question_view import WORKFLOW_TEXT
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.answer import ACTION_FIELD, JSON_SUFFIX
from weftwork.protocol.forms.fields import FormField
from weftwork.protocol.forms.plan import FormButton, FormPlan
from weftwork.protocol.forms.visible_text import shorten
from weftwork.protocol.json.values import is_array, is_object

MAX_RADIO_OPTIONS: Final = 7
"""A choice with more options is a drop-down list."""
_TYPES: Final = {"line": "text", "date": "date", "email": "email", "url": "url", "number": "number"}
_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LONG: Final = 600
_MAX_MESSAGE: Final = 500
_CUT_WARNING: Final = "Part of the question is too long for this page and not shown. Decide only if you know the rest."

EnteredValues = Mapping[str, list[str]]
"""The values of an earlier submission, by field name."""


class SubmittedForm:
    """The values and errors of an earlier submission. Both are empty the first time that a page is shown."""

    def __init__(self, entered: list[tuple[str, str]] | None, fault: ClientFault | None) -> None:
        sent: dict[str, list[str]] = {}
        for name, text in entered or []:
            sent.setdefault(name, []).append(text)
        self._values = sent if entered is not None else None
        self.pressed_action = sent.get(ACTION_FIELD, [""])[0]
        self.errors = _field_errors(fault)
        """Pairs of field name and message. The name is "" for an error of the whole form."""

    def render_field(self, field: FormField, strict: bool) -> Markup:
        """The field with its submitted value. A field that was not submitted keeps its initial value."""
        values = self._values
        if values is not None and field.name not in values and field.value:
            values = None
        error = next((text for name, text in self.errors if name == field.name), "")
        return render_field(field, values, error, strict, focus=bool(error) and self.errors[0][0] == field.name)


def render_form(plan: FormPlan, content: Markup, action: str, submitted: SubmittedForm, is_cut: bool) -> Markup:
    """The workflow's region with its content and fields, and below it the fields and buttons of the host."""
    main_buttons = [each for each in plan.buttons if not each.aside]
    fields = {field.name: field for button in main_buttons for field in button.fields}.values()
    strict = len(plan.buttons) == 1
    workflow_fields = (submitted.render_field(field, strict) for field in fields if field.is_from_workflow)
    region = workflow_region(content, *workflow_fields)
    if plan.closed_reason:
        disabled = element("fieldset", {"class": "field", "disabled": True}, region)
        return join([element("p", {"class": "note"}, plan.closed_reason), disabled])
    below: list[Child] = [element("p", {"class": "note"}, _CUT_WARNING)] if is_cut else []
    below += [submitted.render_field(field, strict) for field in fields if not field.is_from_workflow]
    asides = [_collapsed_button(each, submitted, is_open=not main_buttons) for each in plan.buttons if each.aside]
    buttons = element("div", {"class": "buttons"}, *map(_button, main_buttons)) if main_buttons else None
    card = element("div", {"class": "card" if below or asides else None}, *below, buttons, *asides)
    return element("form", {"method": "post", "action": action, "accept-charset": "utf-8"}, region, card)


def error_summary(plan: FormPlan, submitted: SubmittedForm) -> Child:
    """A list of the errors with links to their fields, shown before the form.

    It is outside the workflow's region, so it does not repeat messages of fields: these may quote a schema.
    """
    if not submitted.errors:
        return None
    fields = {field.name: field for button in plan.buttons for field in button.fields}
    rows: list[Child] = []
    for name, text in submitted.errors:
        field = fields.get(name)
        link = element("a", {"href": f"#{name}"}, f"{field.subject} is empty or not valid.") if field else text
        rows.append(element("li", {}, link))
    title = element("h2", {}, "Not sent yet")
    about = element("p", {}, "Nothing was recorded. Please correct these errors and send the form again:")
    return element("div", {"class": "wrong", "role": "alert"}, title, about, element("ul", {}, *rows))


def _field_errors(fault: ClientFault | None) -> list[tuple[str, str]]:
    if fault is None:
        return []
    listed = (fault.details or {}).get("violations")
    rows = [each for each in listed if is_object(each) and each.get("field")] if is_array(listed) else []
    if not rows:
        return [("", shorten(fault.message, _MAX_MESSAGE))]
    return [(str(each["field"]), shorten(str(each.get("message", "")), _MAX_MESSAGE)) for each in rows]


def _button(button: FormButton) -> Markup:
    attributes = {"type": "submit", "name": ACTION_FIELD, "value": button.action, "class": button.tone}
    return element("button", attributes, button.label)


def _collapsed_button(button: FormButton, submitted: SubmittedForm, is_open: bool) -> Markup:
    """A button with its own fields in a collapsed section. The section is open after the button was pressed."""
    fields = [submitted.render_field(field, strict=False) for field in button.fields]
    buttons = element("div", {"class": "buttons"}, _button(button))
    is_open = is_open or submitted.pressed_action == button.action
    return element("details", {"open": is_open}, element("summary", {}, button.aside), *fields, buttons)


def render_field(field: FormField, entered: EnteredValues | None, error: str, strict: bool, focus: bool) -> Markup:
    """One field with its label, hint and error.

    With `strict`, the browser enforces that a required field is filled in. A form with several buttons must not do so,
    because the browser would then demand the fields of all buttons.
    """
    notes: list[Child] = []
    if field.hint:
        notes.append(element("p", {"class": "hint", "id": f"{field.name}-hint", **_text_attributes(field)}, field.hint))
    if error:
        notes.append(element("p", {"class": "bad", "id": f"{field.name}-wrong"}, error))
    common: dict[str, str | bool | None] = {
        "name": field.name,
        "required": strict and field.empty == "refuse",
        "aria-invalid": "true" if error else None,
        "autofocus": focus,
    }
    described_by = " ".join([f"{field.name}-hint"] * bool(field.hint) + [f"{field.name}-wrong"] * bool(error))
    texts = entered.get(field.name, []) if entered is not None else [field.value]
    if field.control == "several" or (field.control == "choice" and len(field.options) <= MAX_RADIO_OPTIONS):
        return _option_group(field, notes, described_by, texts, common)
    label = element("label", {"for": field.name}, _label(field))
    control = _control(field, texts, {"id": field.name, **common, "aria-describedby": described_by or None})
    return element("div", {"class": "field"}, label, *notes, control, _json_checkbox(field, entered))


def _option_group(
    field: FormField, notes: list[Child], described_by: str, texts: list[str], common: dict[str, Any]
) -> Markup:
    """Radio buttons or checkboxes. The first one has the id of the field, so that a link to the field leads to it."""
    is_multiple = field.control == "several"
    options = [(str(index), option.label) for index, option in enumerate(field.options)]
    if not is_multiple and field.empty != "refuse":
        options.append(("", "No answer"))
        texts = texts or [""]
    rows: list[Child] = []
    for row, (value, label) in enumerate(options):
        attributes: dict[str, str | bool | None] = {
            "type": "checkbox" if is_multiple else "radio",
            "id": f"{field.name}-{row}" if row else field.name,
            **common,
            "required": common["required"] and not is_multiple,
            "autofocus": common["autofocus"] and not row,
            "value": value,
            "checked": value in texts,
        }
        text = element("span", _text_attributes(field) if value else {}, label)
        box = element("input", attributes)
        rows.append(element("label", {"class": "pick", "for": str(attributes["id"])}, box, text))
    legend = element("legend", {}, _label(field))
    return element("fieldset", {"class": "field", "aria-describedby": described_by or None}, legend, *notes, *rows)


def _control(field: FormField, texts: list[str], common: dict[str, str | bool | None]) -> Markup:
    text = next(iter(texts), "")
    if field.control == "choice":
        first = "Choose one" if field.empty == "refuse" else "No answer"
        options = [element("option", {"value": ""}, first)]
        for index, option in enumerate(field.options):
            selected = {"value": str(index), "selected": str(index) in texts, **WORKFLOW_TEXT}
            options.append(element("option", selected, option.label))
        return element("select", common, *options)
    if field.control in _TYPES:
        attributes = {"type": _TYPES[field.control], **common, "value": text, **_bounds(field)}
        return element("input", {**attributes, "autocomplete": "off"})
    is_json = field.control == "json"
    attributes: dict[str, str | bool | None] = {
        **common,
        "rows": "12" if len(text) > _LONG else "6" if is_json or text else "3",
        "class": "json" if is_json else None,
        "dir": "ltr" if is_json else "auto",
        "spellcheck": "false" if is_json else None,
        "autocapitalize": "off" if is_json else None,
        "autocomplete": "off",
    }
    # HTML drops a line feed directly after the start tag, so one is added for the parser to drop.
    return element("textarea", attributes, "\n" + text)


def _bounds(field: FormField) -> dict[str, str | bool | None]:
    """The attributes that the browser enforces: only limits with the same meaning in HTML and JSON Schema."""
    schema = field.schema or {}
    if field.control != "number":
        return {"dir": "auto"} if field.control == "line" else {}
    minimum, maximum = _limit(schema.get("minimum")), _limit(schema.get("maximum"))
    # Browsers count steps from `min`, so a fractional minimum with step 1 would refuse every whole number.
    is_stepped = field.is_integer and (minimum is None or float(minimum).is_integer())
    return {"step": "1" if is_stepped else "any", "min": minimum, "max": maximum}


def _limit(value: Any) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and abs(value) <= _MAX_SAFE_INTEGER else None


def _label(field: FormField) -> Markup:
    number = f"{field.number}. " if field.number else None
    note = "(required)" if field.empty == "refuse" else "(optional)"
    return join(
        [number, element("span", _text_attributes(field), field.label), " ", element("span", {"class": "must"}, note)]
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
    text = element("span", {}, "This is JSON (for example an object or a list), not plain text")
    return element("label", {"class": "pick", "for": name}, box, text)
