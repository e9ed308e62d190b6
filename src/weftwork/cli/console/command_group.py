"""Groups of commands: their help is never truncated, and `list` is another name of `ls`."""

from typing import Final

import click

_ALIASES: Final = {"list": "ls"}
"""Other names of commands, in every group that has the command. Help does not list them."""


class CommandGroup(click.Group):
    """The class of every group of the command line."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, _ALIASES.get(cmd_name, ""))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click cuts each summary to fit one line.
        shown = [(name, summary(command)) for name, command in sorted(self.commands.items()) if not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(shown)


def summary(command: click.Command) -> str:
    """The whole first sentence of the help of a command."""
    return command.get_short_help_str(limit=10_000)
