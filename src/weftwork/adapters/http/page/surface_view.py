"""Renders a surface as a form of HTML without script, and reads the form that is posted.

Names of controls are made from the positions of components, because ids of components may be longer than names of
fields may be, and because the host's own fields have names too. Text of a surface is text: no markup, no addresses, no
images. A surface never leaves the region for text from the workflow.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.adapters.http.page.form_view import SubmittedForm, disabled
from weftwork.adapters.http.page.layout import WORKFLOW_TEXT
from weftwork.adapters.http.page.markup import Child, Markup, element, join
from weftwork.adapters.http.page.messages import Messages
from weftwork.protocol.errors import ClientFault, invalid
from weftwork.protocol.forms.plan import APPROVAL_LABELS
from weftwork.protocol.forms.visible_text import is_blank, shorten
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.people.approvals import required_approvals
from weftwork.protocol.surfaces.actions import resolve_action
from weftwork.protocol.surfaces.question_form import QuestionSurface
from weftwork.protocol.surfaces.surface import (
    AnyComponent,
    Button,
    CheckboxField,
    DateField,
    Field,
    Heading,
    SelectField,
    Text,
    TextField,
)

BUTTON_FIELD: Final = "press"
"""The `name` attribute of the buttons of a surface; the value is the id of the button. The host's own buttons have
another name, so neither can be mistaken for the other."""
_FIRST_HEADING: Final = 3
"""Headings of a surface are below its title, which is an h2."""
_MAX_LEVEL: Final = 6
_MAX_SUBJECT: Final = 80


class _Form(msgspec.Struct, frozen=True):
    """What the renderers of components need."""

    messages: Messages
    surface: QuestionSurface
    submitted: SubmittedForm
    levels: dict[int, int]
    """The level of heading on the page, by level in the surface."""

    def entered(self, name: str) -> list[str] | None:
        """What was submitted for a field; None if nothing was submitted yet."""
        return None if self.submitted.values is None else self.submitted.values.get(name, [])

    def must_fill_in(self, field: Field) -> bool:
        return self.surface.bound is not None and self.surface.bound.must_fill_in(field)


def render_surface(t: Messages, question: QuestionSurface, submitted: SubmittedForm) -> Markup:
    """The components of a surface, in their order. Nothing works in it if none of its buttons does."""
    assert question.bound is not None, "only a surface that was checked is rendered"
    surface = question.bound.surface
    title = None
    if surface.title is not UNSET and surface.title.strip():
        title = element("h2", WORKFLOW_TEXT, surface.title)
    used = sorted({each.level for each in surface.components if isinstance(each, Heading)})
    first = _FIRST_HEADING if title is not None else _FIRST_HEADING - 1
    levels = {level: min(first + rank, _MAX_LEVEL) for rank, level in enumerate(used)}
    form = _Form(t, question, submitted, levels)
    shown: list[Child] = []
    row: list[Child] = []
    for index, component in enumerate(surface.components):
        markup = RENDERERS[type(component)](form, component, field_name(index))
        if isinstance(component, Button):
            row.append(markup)
            continue
        shown += [*_row(row), markup]
        row = []
    shown += _row(row)
    notice = element("p", {"class": "note"}, t("frame-trust")) if question.is_untrusted else None
    reason = question.dead_reason
    if reason is None:
        return join([notice, title, *shown])
    return join([title, disabled(t.rule(reason), *shown)])


def field_name(index: int) -> str:
    """The name of the control of the component at this position."""
    return f"s{index}"


def field_subjects(t: Messages, question: QuestionSurface) -> dict[str, str]:
    """What messages call the fields of a surface, by the names of their controls. It is no text of the workflow."""
    assert question.bound is not None, "only a surface that was checked is rendered"
    named = enumerate(question.bound.surface.components)
    names = [field_name(index) for index, each in named if isinstance(each, Field)]
    return {name: t("field-number", n=str(number)) for number, name in enumerate(names, 1)}


def surface_answer(question: QuestionSurface, fields: list[tuple[str, str]]) -> Any:
    """surf-67 (RFC 0102, action confinement): the answer that a posted form sends: that of the one button that was
    pressed. Fields that the stored surface does not have are dropped.

    Raises ClientFault. Its violations have the names of the controls in the page.
    """
    if question.bound is None or question.is_partial:
        raise invalid(question.dead_reason or "This form cannot be answered.")
    sent: dict[str, list[str]] = {}
    for name, text in fields:
        sent.setdefault(name, []).append(text)
    pressed = sent.get(BUTTON_FIELD, [])
    if len(pressed) != 1:
        raise invalid("Press one of the buttons of the form.")
    names = {
        each.id: field_name(index)
        for index, each in enumerate(question.bound.surface.components)
        if isinstance(each, Field)
    }
    values = {each.id: _value(each, sent.get(names[each.id], [])) for each in question.bound.surface.fields}
    try:
        return resolve_action(question.bound, pressed[0], values, drop_unknown=True)
    except ClientFault as fault:
        raise _with_control_names(fault, names) from None


def is_surface_button(fields: list[tuple[str, str]]) -> bool:
    """Whether a posted form comes from a button of a surface, and not from one of the host."""
    return any(name == BUTTON_FIELD for name, _ in fields)


def pressed_label(question: QuestionSurface | None, fields: list[tuple[str, str]]) -> str:
    """The label of the button of a surface that a posted form names; empty for the host's own buttons."""
    if question is None or question.bound is None:
        return ""
    pressed = [text for name, text in fields if name == BUTTON_FIELD]
    return next((each.label for each in question.bound.surface.buttons if [each.id] == pressed), "")


def _value(field: Field, sent: list[str]) -> Any:
    """The value of a field from what its control sends. A text that no option or box sends is kept, and refused when
    the action is resolved."""
    if isinstance(field, CheckboxField):
        return bool(sent)
    text = sent[0] if len(sent) == 1 else None
    if isinstance(field, SelectField) and text:
        # Positions, because browsers change line breaks in values.
        by_position = {str(index): option.value for index, option in enumerate(field.options)}
        return by_position.get(text, _NO_OPTION)
    return text


_NO_OPTION: Final = 0
"""No option has it, because options are texts."""


def _with_control_names(fault: ClientFault, names: dict[str, str]) -> ClientFault:
    details = fault.details or {}
    listed = details.get("violations")
    if not is_array(listed):
        return fault
    renamed = [{**each, "field": names.get(each.get("field", ""), "")} for each in listed if is_object(each)]
    return ClientFault(fault.code, fault.message, {**details, "violations": renamed})


def _row(buttons: list[Child]) -> list[Child]:
    return [element("div", {"class": "buttons"}, *buttons)] if buttons else []


def _heading(form: _Form, component: Heading, name: str) -> Markup:
    return element(f"h{form.levels[component.level]}", WORKFLOW_TEXT, component.text)


def _text(form: _Form, component: Text, name: str) -> Markup:
    return element("p", {"class": "text", **WORKFLOW_TEXT}, component.text)


def _text_field(form: _Form, component: TextField, name: str) -> Markup:
    texts = form.entered(name) or [""]
    placeholder = None if component.placeholder is UNSET else component.placeholder
    attributes = {"rows": "2", "dir": "auto", "autocomplete": "off", "placeholder": placeholder}
    control = element("textarea", {**_common(form, component, name), **attributes}, "\n" + texts[0])
    return _field(form, component, name, control)


def _date_field(form: _Form, component: DateField, name: str) -> Markup:
    texts = form.entered(name) or [""]
    attributes = {"type": "date", "value": texts[0], "autocomplete": "off"}
    control = element("input", {**_common(form, component, name), **attributes})
    return _field(form, component, name, control)


def _select_field(form: _Form, component: SelectField, name: str) -> Markup:
    texts = form.entered(name) or []
    # The first option is empty, so that a required choice is made by a person and not by the browser.
    empty = form.messages("choose" if form.must_fill_in(component) else "no-answer")
    options = [element("option", {"value": ""}, empty)]
    for index, option in enumerate(component.options):
        attributes = {"value": str(index), "selected": str(index) in texts, **WORKFLOW_TEXT}
        options.append(element("option", attributes, option.label))
    control = element("select", _common(form, component, name), *options)
    return _field(form, component, name, control)


def _checkbox(form: _Form, component: CheckboxField, name: str) -> Markup:
    texts = form.entered(name)
    is_checked = component.default if texts is None else bool(texts)
    attributes = {"type": "checkbox", "value": "1", "checked": is_checked}
    box = element("input", {**_common(form, component, name), **attributes})
    text = element("span", WORKFLOW_TEXT, _visible_label(component.label, component.id))
    return element("div", {"class": "field"}, element("label", {"class": "pick", "for": name}, box, text))


def _button(form: _Form, component: Button, name: str) -> Markup:
    reason = form.surface.button_reason(component)
    # If no button works, the reason is above the form and not at each of them.
    is_alive = form.surface.dead_reason is None
    note = form.messages.rule(reason) if is_alive and reason is not None else None
    if reason is None:
        note = _effect(form, component)
    attributes: dict[str, str | bool | None] = {
        "type": "submit",
        "name": BUTTON_FIELD,
        "value": component.id,
        "class": "main",
        "disabled": reason is not None,
        "aria-describedby": f"{name}-note" if note else None,
        **WORKFLOW_TEXT,
    }
    text = element("p", {"class": "does", "id": f"{name}-note"}, note) if note else None
    button = element("button", attributes, _visible_label(component.label, component.id))
    return element("div", {"class": "choice"}, button, text)


def _effect(form: _Form, button: Button) -> str | None:
    """surf-70 (host): what a button does at an approval, in the host's words: its label may say something else."""
    bound = form.surface.bound
    if bound is None or bound.kind != "approval":
        return None
    t = form.messages
    vote = t.find(f"does-vote-{button.id}") if required_approvals(bound.data) > 1 else None
    does = vote or t.find(f"does-{button.id}") or ""
    return t("button-effect", action=t.rule(APPROVAL_LABELS.get(button.id, button.id)), does=does)


def _common(form: _Form, component: Field, name: str) -> dict[str, str | bool | None]:
    error = form.submitted.error(name)
    return {
        "id": name,
        "name": name,
        "required": form.must_fill_in(component) and form.surface.dead_reason is None,
        "aria-invalid": "true" if error else None,
        "aria-describedby": f"{name}-wrong" if error else None,
        "autofocus": form.submitted.is_first_error(name),
    }


def _field(form: _Form, component: TextField | DateField | SelectField, name: str, control: Markup) -> Markup:
    t = form.messages
    label = element("span", WORKFLOW_TEXT, _visible_label(component.label, component.id))
    must = element("span", {"class": "must"}, t("required" if form.must_fill_in(component) else "optional"))
    error = form.submitted.error(name)
    note = element("p", {"class": "bad", "id": f"{name}-wrong"}, t.rule(error)) if error else None
    return element("div", {"class": "field"}, element("label", {"for": name}, label, " ", must), note, control)


def _visible_label(label: str, name: str) -> str:
    """A control without a name could not be used by everybody, so an empty label is replaced by the id."""
    return shorten(name, _MAX_SUBJECT) if is_blank(label) else label


Renderer = Callable[[_Form, Any, str], Markup]
RENDERERS: Final[dict[type[AnyComponent], Renderer]] = {
    Heading: _heading,
    Text: _text,
    TextField: _text_field,
    DateField: _date_field,
    SelectField: _select_field,
    CheckboxField: _checkbox,
    Button: _button,
}
"""surf-02: one renderer for each component of the catalogue."""
