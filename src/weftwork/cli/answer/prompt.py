"""Prompts at a terminal. Prompts go to standard error; texts from a host are made printable first."""

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import click
import msgspec

from weftwork.cli.answer.form import AnswerField, AnswerForm, InvalidAnswer, as_text
from weftwork.cli.console.text import clean, say
from weftwork.cli.render.interrupt_text import MAX_MESSAGE
from weftwork.cli.render.schema_text import schema_problems

MAX_CHOICES: Final = 50
"""Choices listed for one field."""
_MAX_NAME: Final = 60


class InputEnded(click.ClickException):
    """Standard input ended before every prompt was answered."""

    def __init__(self) -> None:
        super().__init__("standard input ended before the answer was complete; nothing was sent.")


class TerminalPrompt:
    """Prompts for values and repeats a prompt until the typed text is valid. Raises InputEnded."""

    def __init__(self, read: Callable[[], str] | None = None) -> None:
        self._read = read or sys.stdin.readline
        self._flush_input = _flush_typed_input if read is None else lambda: None

    def text(self, label: str, required: bool = False) -> str:
        """A line; empty only if it is not required."""
        while True:
            line = self.line(label if required else f"{label} (optional)")
            if line.strip() or not required:
                return line.strip()
            say("  a value is required; press Ctrl-C to quit without answering.", err=True)

    def confirm(self, label: str) -> bool:
        """Whether the user enters yes. Input typed before the prompt is discarded, so that the rest of a pasted text
        cannot confirm."""
        while True:
            self._flush_input()
            reply = self.line(f"{label} [y/N]").strip().lower()
            if reply in ("y", "yes"):
                return True
            if reply in ("", "n", "no"):
                return False

    def choice(self, label: str, names: Sequence[str]) -> str:
        """One of the names, entered by number or by name."""
        field = AnswerField("", label, {"enum": list(names)})
        return self.field(field)

    def form(self, form: AnswerForm) -> Any:
        """Prompts field by field, and starts over if the whole answer does not fit the schema."""
        while True:
            values: dict[str, Any] = {}
            for field in form.fields:
                value = self.field(field)
                if value is not msgspec.UNSET:
                    values[field.name] = value
            answer = form.answer(values)
            problems = schema_problems(form.schema, answer)
            if not problems:
                return answer
            say(f"  the answer is not valid: {'; '.join(problems)}. Enter it again:", err=True)

    def field(self, field: AnswerField) -> Any:
        """The value of a field; UNSET if an optional field without a default is left empty."""
        lines = [clean(each, MAX_MESSAGE) for each in field.label[:MAX_MESSAGE].split("\n")]
        name = f"{clean(field.name, _MAX_NAME)}: " if field.name and field.label else clean(field.name, _MAX_NAME)
        say(f"{name}{lines[0]}", err=True)
        for line in lines[1:]:
            say(f"  {line}", err=True)
        for number, each in enumerate(field.choices[:MAX_CHOICES], 1):
            say(f"  {f'{number}) ' if field.is_numbered else ''}{clean(as_text(each), 200)}", err=True)
        if len(field.choices) > MAX_CHOICES:
            say(f"  and {len(field.choices) - MAX_CHOICES} more", err=True)
        hint = field.hint()
        while True:
            text = self.line(f"  {hint}")
            if not text.strip():
                if field.default is not msgspec.UNSET or not field.required:
                    return field.default
                say("  a value is required; press Ctrl-C to quit without answering.", err=True)
                continue
            try:
                return field.parse(text, by_number=True)
            except InvalidAnswer as error:
                say(f"  {error}.", err=True)

    def line(self, prompt: str) -> str:
        """A line as typed, without its line end. The prompt must be printable."""
        while True:
            say(f"{prompt}> " if prompt.endswith(" ") else f"{prompt} > ", err=True, ends_line=False)
            try:
                text = self._read()
            except UnicodeDecodeError:
                text = "\udcff\n"
            if not text:
                say("", err=True)
                raise InputEnded
            try:
                text.encode()
            except UnicodeEncodeError:
                say("  the input is not valid text in this terminal's encoding; enter it again.", err=True)
                continue
            return text.rstrip("\r\n")


def _flush_typed_input() -> None:
    import termios

    with contextlib.suppress(termios.error, OSError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
