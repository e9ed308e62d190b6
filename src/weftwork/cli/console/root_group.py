"""The outermost command: loads a command when it is called, and ends when it cannot go on.

Modules of commands import what they need at the top. `weftwork --help` loads none of them: together they take a second.
"""

import contextlib
import errno
import io
import os
import sys
from collections import UserDict
from collections.abc import Generator, Mapping
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from weftwork.cli.console.command_group import CommandGroup, summary

EXIT_OUTPUT_FAILED: Final = 8
"""What was to be printed could not be."""
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141
"""As for any program whose reader has gone: 128 and the number of SIGPIPE."""
_WRITE_ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


class _ClosedStdout(io.TextIOBase):
    """Standard output of a process that was started without one."""

    encoding = "utf-8"

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class LazyCommands(UserDict[str, click.Command]):
    """Commands by name, each loaded when it is asked for."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        super().__init__({name: click.Command(name, help=text) for name, (_, text) in table.items()})
        self._table = table

    def __getitem__(self, name: str) -> click.Command:
        module = self._table[name][0] if name in self._table else ""
        return getattr(import_module(f"weftwork.cli.commands.{module}"), name) if module else self.data[name]


class RootGroup(CommandGroup):
    """The outermost command. Nothing that happens to its output becomes a traceback."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **extra: Any) -> None:
        """`table` has the module of each command, and what the list of commands says of it."""
        commands = LazyCommands(table)
        super().__init__(*args, **extra, commands=commands)
        self._listing = CommandGroup(commands=commands.data)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._listing.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=summary(self._listing.commands[name])) for name in names]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(self, *args: Any, **extra: Any) -> Any:
        """As click does it, whatever the standard streams are."""
        _replace_missing_streams()
        with _guard_output():
            return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        # The help is printed here.
        with _guard_output():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        # Within click's own handlers, which would make 1 of everything: the code of a run that failed.
        with _guard_output():
            found = super().invoke(ctx)
            sys.stdout.flush()
            return found


def _replace_missing_streams() -> None:
    """Take the places of standard streams that are missing, before a file or a socket gets one of their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    missing: Any = None
    if sys.stdout is missing:
        sys.stdout = _ClosedStdout()
    if sys.stderr is missing:
        sys.stderr = io.StringIO()


@contextlib.contextmanager
def _guard_output() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(EXIT_INTERRUPTED) from None
    except BrokenPipeError:
        discard_stdout()
        raise SystemExit(EXIT_BROKEN_PIPE) from None
    except OSError as error:
        if error.errno not in _WRITE_ERRORS or error.filename is not None:
            raise
        discard_stdout()
        with contextlib.suppress(OSError, ValueError):
            click.echo(f"weftwork: standard output cannot be written: {error.strerror}.", err=True)
        raise SystemExit(EXIT_OUTPUT_FAILED) from None


def discard_stdout() -> None:
    """What is still in the buffer is not tried again when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        finally:
            os.close(nowhere)
