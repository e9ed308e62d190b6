"""Fills in a form that an agent wrote: from prompts at a terminal, or from the options of `weftwork answer`.

The host checks the values again and builds the answer from the stored form. The checks here only save a request.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.cli.answer.form import NO, YES, InvalidAnswer
from weftwork.cli.answer.prompt import TerminalPrompt
from weftwork.cli.client.surfaces import AgentForm
from weftwork.cli.console.text import clean, say, say_lines
from weftwork.cli.render.form_text import BAR, DATE_HINT, FormText, has_numbers
from weftwork.protocol.surfaces.actions import value_error
from weftwork.protocol.surfaces.surface import Button, CheckboxField, DateField, Field, SelectField, TextField

REQUIRED: Final = "a value is required; press Ctrl-C to quit without answering."
INSTEAD: Final = (
    "Answer the interrupt itself: an approval with --approve, --reject or --action without --set, others with --value."
)
_MAX_NAMES: Final = 20


class FormAnswer(msgspec.Struct, frozen=True):
    """What a person entered: the button, and the values by field id. A field that was left empty has none."""

    button: Button
    values: dict[str, Any]

    @property
    def effect(self) -> dict[str, Any]:
        """The member of the answer that names the button, as the host sets it."""
        return {"action": self.button.id}


def prompt_for_form(form: AgentForm, prompt: TerminalPrompt) -> FormAnswer:
    """Show the form part by part, prompt for each field and for the button, and show the answer. The form must have a
    button that works."""
    assert form.surface is not None, "the form can be rendered"
    text = FormText()
    say_lines(text.top(form), err=True)
    values: dict[str, Any] = {}
    for component in form.surface.components:
        if isinstance(component, Button):
            continue
        say_lines(text.component(component, form, with_options=False), err=True)
        if isinstance(component, Field):
            value = _prompt_for_value(component, prompt)
            if value is not msgspec.UNSET:
                values[component.id] = value
    button = _prompt_for_button(form, text, prompt)
    say_lines(text.summary([*_entered(form.surface.fields, values), ("Button", button.label)]), err=True)
    return FormAnswer(button, values)


def _prompt_for_value(field: Field, prompt: TerminalPrompt) -> Any:
    """The value of a field; UNSET if an optional one is left empty."""
    is_optional = isinstance(field, CheckboxField) or not field.required
    while True:
        typed = prompt.line(f"{BAR}  {_hint(field)}")
        if not typed.strip() and is_optional:
            return field.default if isinstance(field, CheckboxField) else msgspec.UNSET
        try:
            if not typed.strip():
                raise InvalidAnswer(REQUIRED)
            return _READERS[type(field)](field, typed, True)
        except InvalidAnswer as error:
            say(f"{BAR}  {error}", err=True)


def _hint(field: Field) -> str:
    if isinstance(field, CheckboxField):
        return f"y or n; default: {'y' if field.default else 'n'}"
    notes = [DATE_HINT if isinstance(field, DateField) else "", "" if field.required else "optional"]
    return "; ".join(each for each in notes if each)


def _prompt_for_button(form: AgentForm, text: FormText, prompt: TerminalPrompt) -> Button:
    """The button with the number that the person enters; without a prompt if only one works."""
    for each in form.buttons:
        say_lines(text.component(each, form, with_options=False), err=True)
    if len(form.working_buttons) == 1:
        return form.working_buttons[0]
    numbers = {str(form.buttons.index(each) + 1): each for each in form.working_buttons}
    while True:
        typed = prompt.line(f"{BAR}  button").strip()
        if (button := numbers.get(typed)) is not None:
            return button
        say(f"{BAR}  enter the number of a button that works: {', '.join(numbers)}", err=True)


def _entered(fields: Sequence[Field], values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The label of each field, and its value in words."""
    for field in fields:
        value = values.get(field.id)
        if isinstance(field, SelectField):
            value = next((each.label for each in field.options if each.value == value), None)
        elif isinstance(value, bool):
            value = "yes" if value else "no"
        yield field.label, "(left empty)" if value is None else value


def answer_from_options(form: AgentForm, action: str | None, pairs: Sequence[str]) -> FormAnswer:
    """The answer of `--action BUTTON` and `--set FIELD=VALUE`. Raises UsageError for what the form does not have."""
    button = _button_of_option(form, action)
    fields = {each.id: each for each in form.surface.fields} if form.surface is not None else {}
    values: dict[str, Any] = {}
    for text in pairs:
        name, equals, typed = text.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--set {clean(text, 60)} must have the form FIELD=VALUE.")
        if name not in fields:
            names = f"its fields are {_listed(list(fields))}" if fields else "it has no fields"
            raise click.UsageError(f"the form has no field {clean(name, 60)}; {names}.")
        if typed.strip():
            try:
                values[name] = _READERS[type(fields[name])](fields[name], typed, False)
            except InvalidAnswer as error:
                raise click.UsageError(f"--set {name}: {error}") from None
    missing = [
        each.id
        for each in fields.values()
        if not isinstance(each, CheckboxField) and each.required and each.id not in values
    ]
    if missing:
        raise click.UsageError(f"no value for {_listed(missing)}; add it with --set FIELD=VALUE. --show has the form.")
    return FormAnswer(button, values)


def _button_of_option(form: AgentForm, action: str | None) -> Button:
    """The button with this id, or without an id the only one that works."""
    if form.blocked_reason:
        raise click.UsageError(f"{clean(form.blocked_reason)} {INSTEAD}")
    names = [each.id for each in form.working_buttons]
    if not names:
        raise click.UsageError(f"no button of the form works here. {INSTEAD}")
    if action is None:
        if len(names) != 1:
            raise click.UsageError(f"name the button of the form with --action: {_listed(names)}.")
        action = names[0]
    button = next((each for each in form.buttons if each.id == action), None)
    if button is None:
        raise click.UsageError(f"the form has no button {clean(action, 60)}; choose {_listed(names)}.")
    if (reason := form.disabled.get(action)) is not None:
        raise click.UsageError(f"the button {action} does not work: {clean(reason)}")
    return button


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(clean(each, 60) for each in names[:_MAX_NAMES]) + more


def _read_text(field: TextField, typed: str, is_prompt: bool) -> str:
    return _checked(field, typed)


def _read_date(field: DateField, typed: str, is_prompt: bool) -> str:
    return _checked(field, typed.strip())


def _read_checkbox(field: CheckboxField, typed: str, is_prompt: bool) -> bool:
    text = typed.strip().lower()
    if text not in (*YES, *NO):
        raise InvalidAnswer("Enter y or n." if is_prompt else "The value must be yes or no.")
    return text in YES


def _read_select(field: SelectField, typed: str, is_prompt: bool) -> str:
    """The value of the option that was chosen by number or label at a prompt, or by value or label in an option."""
    text = typed.strip()
    if is_prompt and has_numbers(field):
        if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= len(field.options):
            return field.options[int(text) - 1].value
    elif not is_prompt and typed in (each.value for each in field.options):
        return typed
    labelled = [each.value for each in field.options if each.label.strip() == text]
    if len(labelled) != 1:
        values = "" if is_prompt else f"; choose {_listed([each.value for each in field.options])}"
        raise InvalidAnswer(f"The value is not one of the options{values}.")
    return labelled[0]


def _checked(field: Field, value: str) -> str:
    if (error := value_error(field, value)) is not None:
        raise InvalidAnswer(error)
    return value


_READERS: Final[dict[type[Field], Callable[[Any, str, bool], Any]]] = {
    TextField: _read_text,
    DateField: _read_date,
    SelectField: _read_select,
    CheckboxField: _read_checkbox,
}
"""surf-02 (RFC 0102, catalog): how typed text becomes the value of each type of field."""
