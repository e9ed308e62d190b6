"""The work of a call, in steps that do not depend on the machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from weftwork.adapters.sqlite.database.connection import open_reader


def instructions_of(path: Path, work: Callable[[Any], Any], connect: Callable[[Path, None], Any] = open_reader) -> int:
    """How many instructions SQLite carries out for a call."""
    connection = connect(path, None)
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    try:
        connection.set_progress_handler(count, 1)
        assert work(connection) is not None
    finally:
        connection.close(True)
    return steps
