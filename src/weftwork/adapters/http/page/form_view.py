"""Renders a form: the region with the question, fields with labels and hints, buttons with what they do, and the errors
of a submission."""

from collections.abc import Mapping
from typing import Any, Final

from weftwork.adapters.http.page.layout import WORKFLOW_TEXT, folded
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.messages import Messages
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.forms.answer import ACTION_FIELD, JSON_SUFFIX
from weftwork.protocol.forms.fields import FormField
from weftwork.protocol.forms.plan import FormButton, FormPlan
from weftwork.protocol.forms.visible_text import readable_name, shorten
from weftwork.protocol.json.values import is_array, is_object

MAX_RADIO_OPTIONS: Final = 7
"""A choice with more options is a drop-down list."""
_TYPES: Final = {"line": "text", "date": "date", "email": "email", "url": "url", "number": "number"}
_MAX_SAFE_INTEGER: Final = 2**53 - 1
_LONG: Final = 600
_MAX_MESSAGE: Final = 500

EnteredValues = Mapping[str, list[str]]
"""The values of an earlier submission, by field name."""


class SubmittedForm:
    """The values and errors of an earlier submission. Both are empty the first time that a page is shown."""

    def __init__(self, entered: list[tuple[str, str]] | None, fault: ClientFault | None) -> None:
        sent: dict[str, list[str]] = {}
        for name, text in entered or []:
            sent.setdefault(name, []).append(text)
        self.values: EnteredValues | None = sent if entered is not None else None
        self.pressed_action = sent.get(ACTION_FIELD, [""])[0]
        self.errors = _field_errors(fault)
        """Pairs of field name and message. The name is "" for an error of the whole form."""

    def error(self, name: str) -> str:
        return next((text for each, text in self.errors if each == name), "")

    def is_first_error(self, name: str) -> bool:
        return bool(self.errors) and self.errors[0][0] == name

    def render_field(self, t: Messages, field: FormField, strict: bool) -> Markup:
        """The field with its submitted value. A field that was not submitted keeps its initial value."""
        values = self.values
        if values is not None and field.name not in values and field.value:
            values = None
        return render_field(t, field, values, self.error(field.name), strict, self.is_first_error(field.name))


class FormView:
    """A form plan as a form of HTML."""

    def __init__(self, t: Messages, plan: FormPlan, submitted: SubmittedForm, is_vote: bool = False) -> None:
        self._t = t
        self._plan = plan
        self._submitted = submitted
        self._is_vote = is_vote
        self._main = [each for each in plan.buttons if not each.aside]
        self._fields = {field.name: field for button in self._main for field in button.fields}.values()
        self._strict = len(plan.buttons) == 1

    @property
    def has_choice(self) -> bool:
        return len(self._plan.buttons) > 1

    @property
    def workflow_fields(self) -> list[Child]:
        """The fields whose labels are text from the workflow. They belong in its region."""
        fields = (each for each in self._fields if each.is_from_workflow)
        shown: list[Child] = [self._submitted.render_field(self._t, each, self._strict) for each in fields]
        # The only question is the heading of the page.
        return [element("div", {"class": "only"}, *shown)] if len(shown) == 1 else shown

    def controls(self, *notes: Child) -> Child:
        """The fields and buttons of the host, below the notes; None if there are none."""
        t, submitted = self._t, self._submitted
        below: list[Child] = [*notes]
        below += [submitted.render_field(t, each, self._strict) for each in self._fields if not each.is_from_workflow]
        asides = [self._aside(each) for each in self._plan.buttons if each.aside]
        if not self._main and not asides and not below:
            return None
        buttons = element("div", {"class": "buttons"}, *map(self._button, self._main)) if self._main else None
        return element("div", {"class": "card" if below or asides else None}, *below, buttons, *asides)

    def _button(self, button: FormButton) -> Markup:
        """A button, and what it does."""
        vote = self._t.find(f"does-vote-{button.action}") if self._is_vote else None
        does = vote or self._t.find(f"does-{button.action}")
        name = f"does-{button.action}" if does else None
        attributes = {"type": "submit", "name": ACTION_FIELD, "value": button.action, "class": button.tone}
        pressed = element("button", {**attributes, "aria-describedby": name}, self._t.rule(button.label))
        text = element("p", {"class": "does", "id": name}, does) if does else None
        return element("div", {"class": "choice"}, pressed, text)

    def _aside(self, button: FormButton) -> Markup:
        """A button with its own fields in a collapsed section. The section is open after the button was pressed."""
        t, submitted = self._t, self._submitted
        fields: list[Child] = [submitted.render_field(t, each, strict=False) for each in button.fields]
        if any(each.part_of for each in button.fields):
            fields.insert(0, element("p", {"class": "hint"}, t("edit-by")))
        buttons = element("div", {"class": "buttons"}, self._button(button))
        is_open = not self._main or submitted.pressed_action == button.action
        return folded(t.rule(button.aside), *fields, buttons, is_open=is_open)


def render_form(action: str, *content: Child, has_choice: bool = False) -> Markup:
    """A form. With several buttons, the Enter key in a field presses none of them: a browser then presses the first
    button of the form, which here is hidden and has no name, so the host asks for one of the others. A disabled one
    would not do: Chromium passes over it when Enter is pressed in a checkbox or a date."""
    first = element("input", {"type": "submit", "value": "-", "hidden": True}) if has_choice else None
    return element("form", {"method": "post", "action": action, "accept-charset": "utf-8"}, first, *content)


def disabled(reason: str, *content: Child) -> Markup:
    """Content whose fields cannot be used, below the reason."""
    note = element("p", {"class": "note"}, reason)
    return join([note, element("fieldset", {"class": "field", "disabled": True}, *content)])


def error_summary(t: Messages, subjects: Mapping[str, str], submitted: SubmittedForm) -> Child:
    """A list of the errors with links to their fields, shown before the form. `subjects` has the fields by name.

    It is outside the workflow's region, so it does not repeat messages of fields: these may quote a schema.
    """
    if not submitted.errors:
        return None
    rows: list[Child] = []
    for name, text in submitted.errors:
        subject = subjects.get(name)
        wrong = t("field-wrong", field=subject) if subject else ""
        link = element("a", {"href": f"#{name}"}, wrong) if subject else t.rule(text)
        rows.append(element("li", {}, link))
    title = element("h2", {}, t("not-sent"))
    about = element("p", {}, t("not-sent-why"))
    return element("div", {"class": "wrong", "role": "alert"}, title, about, element("ul", {}, *rows))


def _field_errors(fault: ClientFault | None) -> list[tuple[str, str]]:
    if fault is None:
        return []
    listed = (fault.details or {}).get("violations")
    rows = [each for each in listed if is_object(each) and each.get("field")] if is_array(listed) else []
    if not rows:
        return [("", shorten(fault.message, _MAX_MESSAGE))]
    return [(str(each["field"]), shorten(str(each.get("message", "")), _MAX_MESSAGE)) for each in rows]


def render_field(
    t: Messages, field: FormField, entered: EnteredValues | None, error: str, strict: bool, focus: bool
) -> Markup:
    """One field with its label, hint and error.

    With `strict`, the browser enforces that a required field is filled in. A form with several buttons must not do so,
    because the browser would then demand the fields of all buttons.
    """
    notes: list[Child] = []
    if field.hint:
        attributes = {"class": "hint", "id": f"{field.name}-hint", **_text_attributes(field)}
        notes.append(element("p", attributes, t.rule(field.hint)))
    if error:
        notes.append(element("p", {"class": "bad", "id": f"{field.name}-wrong"}, t.rule(error)))
    common: dict[str, str | bool | None] = {
        "name": field.name,
        "required": strict and field.empty == "refuse",
        "aria-invalid": "true" if error else None,
        "autofocus": focus,
    }
    described_by = " ".join([f"{field.name}-hint"] * bool(field.hint) + [f"{field.name}-wrong"] * bool(error))
    texts = entered.get(field.name, []) if entered is not None else [field.value]
    if field.control == "several" or (field.control == "choice" and len(field.options) <= MAX_RADIO_OPTIONS):
        return _option_group(t, field, notes, described_by, texts, common)
    label = element("label", {"for": field.name}, _label(t, field))
    control = _control(t, field, texts, {"id": field.name, **common, "aria-describedby": described_by or None})
    return element("div", {"class": "field"}, label, *notes, control, _json_checkbox(t, field, entered))


def _option_group(
    t: Messages, field: FormField, notes: list[Child], described_by: str, texts: list[str], common: dict[str, Any]
) -> Markup:
    """Radio buttons or checkboxes. The first one has the id of the field, so that a link to the field leads to it."""
    is_multiple = field.control == "several"
    options = [(str(index), option.label) for index, option in enumerate(field.options)]
    if not is_multiple and field.empty != "refuse":
        options.append(("", t("no-answer")))
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
    legend = element("legend", {}, _label(t, field))
    return element("fieldset", {"class": "field", "aria-describedby": described_by or None}, legend, *notes, *rows)


def _control(t: Messages, field: FormField, texts: list[str], common: dict[str, str | bool | None]) -> Markup:
    text = next(iter(texts), "")
    if field.control == "choice":
        first = t("choose" if field.empty == "refuse" else "no-answer")
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


def _label(t: Messages, field: FormField) -> Markup:
    text = readable_name(field.label) if field.is_from_workflow else t.rule(field.label)
    label = element("span", _text_attributes(field), text)
    if field.part_of:
        # What is there can stay, so nothing is required.
        return label
    number = f"{field.number}. " if field.number else None
    note = t("required" if field.empty == "refuse" else "optional")
    return join([number, label, " ", element("span", {"class": "must"}, note)])


def _text_attributes(field: FormField) -> dict[str, str]:
    return WORKFLOW_TEXT if field.is_from_workflow else {}


def _json_checkbox(t: Messages, field: FormField, entered: EnteredValues | None) -> Child:
    if field.control != "free":
        return None
    name = field.name + JSON_SUFFIX
    box = element(
        "input", {"type": "checkbox", "id": name, "name": name, "value": "1", "checked": name in (entered or {})}
    )
    text = element("span", {}, t("is-json"))
    return element("label", {"class": "pick", "for": name}, box, text)
