"""Asking somebody at a terminal. What is shown goes to standard error; nothing of a host is shown as it came."""

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
"""So many are listed."""
_MAX_NAME: Final = 60


class InputEnded(click.ClickException):
    """Whoever was asked has gone."""

    def __init__(self) -> None:
        super().__init__("the input has ended; nothing was sent.")


class TerminalPrompt:
    """Puts questions, and puts them again until what is written fits."""

    def __init__(self, read: Callable[[], str] | None = None) -> None:
        self._read = read or sys.stdin.readline
        self._flush_input = _flush_typed_input if read is None else lambda: None

    def text(self, words: str, required: bool = False) -> str:
        """A line; empty only if it may be left out."""
        while True:
            found = self._line(words if required else f"{words} (may be left out)")
            if found.strip() or not required:
                return found.strip()
            say("  something has to be written; Ctrl-C leaves without an answer.", err=True)

    def confirm(self, words: str) -> bool:
        """Yes has to be said, once this is asked: the end of a text that was pasted before does not count."""
        while True:
            self._flush_input()
            found = self._line(f"{words} [y/N]").strip().lower()
            if found in ("y", "yes"):
                return True
            if found in ("", "n", "no"):
                return False

    def choice(self, words: str, names: Sequence[str]) -> str:
        """One of these names, by its place or itself."""
        field = AnswerField("", words, {"enum": list(names)})
        return self.field(field)

    def form(self, form: AnswerForm) -> Any:
        """The answer, field by field; once more from the start if the whole does not fit."""
        while True:
            values: dict[str, Any] = {}
            for field in form.fields:
                value = self.field(field)
                if value is not msgspec.UNSET:
                    values[field.name] = value
            answer = form.answer(values)
            wrong = schema_problems(form.schema, answer)
            if not wrong:
                return answer
            say(f"  that does not fit together: {'; '.join(wrong)}. Once more:", err=True)

    def field(self, field: AnswerField) -> Any:
        """The value of a field; UNSET if it is left out."""
        words = [clean(each, MAX_MESSAGE) for each in field.label[:MAX_MESSAGE].split("\n")]
        named = f"{clean(field.name, _MAX_NAME)}: " if field.name and field.label else clean(field.name, _MAX_NAME)
        say(f"{named}{words[0]}", err=True)
        for line in words[1:]:
            say(f"  {line}", err=True)
        for place, each in enumerate(field.choices[:MAX_CHOICES], 1):
            say(f"  {f'{place}) ' if field.is_numbered else ''}{clean(as_text(each), 200)}", err=True)
        if len(field.choices) > MAX_CHOICES:
            say(f"  and {len(field.choices) - MAX_CHOICES} more", err=True)
        hint = field.hint()
        while True:
            text = self._line(f"  {hint}")
            if not text.strip():
                if field.default is not msgspec.UNSET or not field.required:
                    return field.default
                say("  something has to be written; Ctrl-C leaves without an answer.", err=True)
                continue
            try:
                return field.parse(text, by_number=True)
            except InvalidAnswer as unfit:
                say(f"  {unfit}.", err=True)

    def _line(self, words: str) -> str:
        """A line as it was written, without its end. Words are printable already."""
        while True:
            click.echo(f"{words}> " if words.endswith(" ") else f"{words} > ", err=True, nl=False)
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
                say("  that is not text in the encoding of this terminal.", err=True)
                continue
            return text.rstrip("\r\n")


def _flush_typed_input() -> None:
    import termios

    with contextlib.suppress(termios.error, OSError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
