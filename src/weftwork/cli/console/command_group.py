"""Command groups with complete summaries in their help, and `list` as an alias of `ls`."""

from typing import Final

import click

_ALIASES: Final = {"list": "ls"}
"""Aliases, valid in every group that has the command. The help does not list them."""


class CommandGroup(click.Group):
    """The class of every group of the command line."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, _ALIASES.get(cmd_name, ""))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click truncates each summary to one line.
        rows = [(name, summary(command)) for name, command in sorted(self.commands.items()) if not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def summary(command: click.Command) -> str:
    """The complete first sentence of a command's help."""
    return command.get_short_help_str(limit=10_000)
