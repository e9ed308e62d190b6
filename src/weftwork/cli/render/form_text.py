"""A form that an agent wrote, as lines for a terminal: the frame of the host, and one renderer per component type.

All texts of the agent are inside the frame. Each line of the frame begins with its bar, also where the agent's text has
a line break or is too long for one line, so no text of an agent can pass for a line of this command or of the shell.
Characters that hide text, reorder it or control a terminal are shown as marks such as ⟦U+001B⟧.
"""

import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from weftwork.cli.client.surfaces import AgentForm
from weftwork.cli.console.text import display_width
from weftwork.protocol.forms.visible_text import mark_hidden, shorten
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

DATE_HINT: Final = "a date such as 2026-01-31"
BAR: Final = "│ "
"""Begins each line of the frame."""
_TOP: Final = "╭─ "
_MIDDLE: Final = "├─"
_BOTTOM: Final = "╰─"
_INDENT: Final = "  "
_MIN_WIDTH: Final = 24
_MAX_WIDTH: Final = 100
"""Longer lines are hard to read."""
_MAX_ID: Final = 60
_MAX_SHORT: Final = 100
_JOINERS: Final = "\u200c\u200d"
"""Some scripts and emoji need them, and they hide nothing."""
_MAX_MARKS: Final = 8
"""Combining marks of one character. A pile of them covers the lines above, also outside the frame."""
_WORDS: Final = re.compile(r"\S+|\s+")
_TRUST_TEXT: Final = {
    False: "A node of the workflow wrote everything below. The host checked its structure, not what it says.",
    True: (
        "UNTRUSTED: content from outside the workflow, such as a web page or a message, went into the form below. "
        "Check what it says before you answer, and enter no passwords."
    ),
}


def visible(text: str) -> str:
    """The text on one line, with a mark for each line break and for each character that cannot be seen."""
    return "".join(map(_visible_character, _limit_marks(mark_hidden(text).replace("\t", " "))))


def _visible_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if unicodedata.category(character) == "Zs" else f"⟦U+{ord(character):04X}⟧"


def _limit_marks(text: str) -> Iterator[str]:
    count = 0
    for each in text:
        count = count + 1 if unicodedata.category(each) in ("Mn", "Me") else 0
        if count <= _MAX_MARKS:
            yield each
        elif count == _MAX_MARKS + 1:
            yield "…"


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text: one or more per line of the text, each at most `width` columns wide."""
    paragraphs = text.replace("\r\n", "\n").split("\n")
    return [line for each in paragraphs for line in _wrap_line(visible(each.rstrip()), max(width, 1))]


def _wrap_line(text: str, width: int) -> Iterator[str]:
    line, used = "", 0
    for piece in _pieces(text, width):
        size = display_width(piece)
        if used + size > width:
            # An indent that leaves no room for the first word is dropped.
            if line.strip():
                yield line.rstrip()
            line, used = "", 0
            if piece.isspace():
                continue
        line, used = line + piece, used + size
    yield line.rstrip()


def _pieces(text: str, width: int) -> Iterator[str]:
    """The words of a text and the spaces between them. Those that are too wide for a line are split."""
    for found in _WORDS.finditer(text):
        start, used = found.start(), 0
        for at in range(found.start(), found.end()):
            size = display_width(text[at])
            if used + size > width and at > start:
                yield text[start:at]
                start, used = at, 0
            used += size
        yield text[start : found.end()]


class FormText:
    """Draws forms for a terminal of this width. Every line that a method returns is printable."""

    def __init__(self, width: int | None = None) -> None:
        columns = shutil.get_terminal_size().columns if width is None else width
        self._width = max(_MIN_WIDTH, min(columns - 1, _MAX_WIDTH))

    def top(self, form: AgentForm) -> list[str]:
        """The first lines of the frame: who wrote the form, whether it can be trusted, and its title."""
        node, workflow = (visible(each[:_MAX_ID]) for each in (form.node_id, form.workflow_id))
        origin = f"Form written by node {node}" + (f" of workflow {workflow}" if workflow else "")
        first, *rest = wrap(origin, self._width - len(_TOP))
        lines = [f"{_TOP}{first}", *self.inside(*rest), *self.inside(_TRUST_TEXT[form.is_untrusted]), self._rule()]
        title = visible(form.title)
        underline = "─" * min(display_width(title), self._width - len(BAR))
        return [*lines, *self.inside(title, underline)] if title.strip() else lines

    def summary(self, rows: Iterable[tuple[str, str]]) -> list[str]:
        """The last part of the frame: labels, and what the person entered."""
        texts = [f"{visible(shorten(label, _MAX_SHORT))}: {visible(value)}" for label, value in rows]
        return [self._rule(), *self.inside("Your answer:"), *self.inside(*texts, indent=1), *self.bottom()]

    def bottom(self) -> list[str]:
        return [f"{_BOTTOM}{'─' * (self._width - len(_BOTTOM))}"]

    def inside(self, *texts: str, indent: int = 0) -> list[str]:
        """surf-12 (host): texts inside the frame, wrapped, and indented by this many steps."""
        room = self._width - len(BAR) - indent * len(_INDENT)
        return [f"{BAR}{_INDENT * indent}{line}".rstrip() for text in texts for line in wrap(text, room)]

    def component(self, component: AnyComponent, form: AgentForm, with_options: bool) -> list[str]:
        """A component, with a blank line before it: for prompts, or `with_options` of `weftwork answer` that set the
        field or press the button."""
        rows = _RENDERERS[type(component)](component, form, with_options)
        return [*self.inside(""), *(line for indent, text in rows for line in self.inside(text, indent=indent))]

    def whole(self, form: AgentForm, with_options: bool) -> list[str]:
        """The form for reading."""
        if form.surface is None:
            return self._not_rendered(form)
        shown = [self.component(each, form, with_options) for each in form.surface.components]
        blocked = [self._rule(), *self.inside(visible(form.blocked_reason))] if form.blocked_reason else []
        return [*self.top(form), *(line for lines in shown for line in lines), *blocked, *self.bottom()]

    def _not_rendered(self, form: AgentForm) -> list[str]:
        """The notice in place of a form that must not be rendered."""
        return [
            *self.top(form),
            *self.inside("This form is stored, not rendered:"),
            *self.inside(*form.diagnostics, indent=1),
            *self.bottom(),
        ]

    def _rule(self) -> str:
        return f"{_MIDDLE}{'─' * (self._width - len(_MIDDLE))}"


Row = tuple[int, str]
"""How many steps a text is indented, and the text."""


def _heading(heading: Heading, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, f"{'#' * max(1, min(heading.level, 6))} {visible(heading.text)}"


def _text(text: Text, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, text.text


def _text_field(field: TextField, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, _label(field, field.required)
    if with_options:
        yield 1, f"--set {field.id}=TEXT"
    if isinstance(field.placeholder, str) and field.placeholder.strip():
        yield 1, f"for example: {visible(field.placeholder)}"


def _date_field(field: DateField, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, _label(field, field.required)
    if with_options:
        yield 1, f"--set {field.id}=DATE, {DATE_HINT}"


def _select_field(field: SelectField, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, _label(field, field.required)
    if with_options:
        yield 1, f"--set {field.id}=VALUE, one of these values:"
    is_numbered = has_numbers(field)
    for number, each in enumerate(field.options, 1):
        label = visible(each.label)
        yield 1, f"{visible(each.value)}: {label}" if with_options else f"{number}) {label}" if is_numbered else label


def _checkbox_field(field: CheckboxField, form: AgentForm, with_options: bool) -> Iterator[Row]:
    yield 0, _label(field, is_required=False)
    if with_options:
        yield 1, f"--set {field.id}=yes or {field.id}=no, default: {'yes' if field.default else 'no'}"


def _button(button: Button, form: AgentForm, with_options: bool) -> Iterator[Row]:
    number = "" if with_options else f"{form.buttons.index(button) + 1}) "
    yield 0, f"{number}[ {visible(button.label)} ]"
    if form.blocked_reason:
        # The reason is the same for all buttons; `whole` has it once.
        yield 1, "does not work"
    elif reason := form.disabled.get(button.id, ""):
        yield 1, f"does not work: {visible(reason)}"
    elif with_options:
        yield 1, f"--action {button.id}"
    if button in form.working_buttons and (effect := form.effect(button)):
        yield 1, f"means: {effect}"


def _label(field: Field, is_required: bool) -> str:
    return f"{visible(field.label)} (required)" if is_required else visible(field.label)


def has_numbers(field: SelectField) -> bool:
    """Whether options are chosen by number. Labels that are numbers themselves are typed, unless two are equal."""
    labels = [each.label.strip() for each in field.options]
    return len(set(labels)) < len(labels) or not any(each.lstrip("-").isdigit() for each in labels)


_RENDERERS: Final[dict[type[AnyComponent], Callable[[Any, AgentForm, bool], Iterator[Row]]]] = {
    Heading: _heading,
    Text: _text,
    TextField: _text_field,
    DateField: _date_field,
    SelectField: _select_field,
    CheckboxField: _checkbox_field,
    Button: _button,
}
"""surf-02 (RFC 0102, catalog): the renderer of each component type."""
