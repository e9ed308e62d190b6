"""The root command: imports a subcommand only when it is called, and turns output errors into exit codes.

Command modules import what they need at the top. `weftwork --help` imports none of them; together they take a second.
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
"""Standard output could not be written."""
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141
"""128 + SIGPIPE, as shells report for a program whose reader has closed the pipe."""
_WRITE_ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


class _ClosedStdout(io.TextIOBase):
    """The standard output of a process that was started without one."""

    encoding = "utf-8"

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


class LazyCommands(UserDict[str, click.Command]):
    """Commands by name; each is imported on first access."""

    def __init__(self, table: Mapping[str, tuple[str, str]]) -> None:
        super().__init__({name: click.Command(name, help=text) for name, (_, text) in table.items()})
        self._table = table

    def __getitem__(self, name: str) -> click.Command:
        module = self._table[name][0] if name in self._table else ""
        return getattr(import_module(f"weftwork.cli.commands.{module}"), name) if module else self.data[name]


class RootGroup(CommandGroup):
    """The root command. An error on standard output ends the process with an exit code, not with a traceback."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **extra: Any) -> None:
        """`table` has the module of each command and its summary for the help."""
        commands = LazyCommands(table)
        super().__init__(*args, **extra, commands=commands)
        self._listing = CommandGroup(commands=commands.data)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._listing.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=summary(self._listing.commands[name])) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(self, *args: Any, **extra: Any) -> Any:
        """As in click, but also works if standard streams are closed or missing."""
        _replace_missing_streams()
        with _guard_output():
            return super().main(*args, **extra)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        # click prints --help here.
        with _guard_output():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        # Inside click's handlers, which would exit with 1 for every error; 1 means that a run failed.
        with _guard_output():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


def _replace_missing_streams() -> None:
    """Open the null device for missing standard streams, before a file or a socket gets descriptor 0, 1 or 2."""
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
            click.echo(f"weftwork: cannot write to standard output: {error.strerror}.", err=True)
        raise SystemExit(EXIT_OUTPUT_FAILED) from None


def discard_stdout() -> None:
    """Redirect standard output to the null device, so that Python does not fail to flush its buffer at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, sys.stdout.fileno())
        finally:
            os.close(nowhere)
