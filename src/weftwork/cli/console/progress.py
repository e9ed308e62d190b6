"""How far a transfer is: said on one line of a terminal, which is gone in the end. Nothing is said elsewhere."""

import sys
from collections.abc import Callable
from typing import Final

import click

from weftwork.cli.console.units import format_size

MIN_BYTES_SHOWN: Final = 1_000_000
"""Bytes from which on a terminal is shown how much has come."""


def transfer_progress(done: str) -> tuple[Callable[[int], None], Callable[[], None]]:
    """Two functions: one is told how many bytes there are so far, the other clears the line."""
    width = 0

    def heard(count: int) -> None:
        nonlocal width
        if count >= MIN_BYTES_SHOWN and sys.stderr.isatty():
            text = f"{done} {format_size(count)}"
            click.echo(f"\r{text:<{width}}", err=True, nl=False)
            width = len(text)

    def clear() -> None:
        if width:
            click.echo(f"\r{'':<{width}}\r", err=True, nl=False)

    return heard, clear
