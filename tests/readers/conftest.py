"""Hosts with a guard taken away."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live import host as live

Sabotage = Callable[[str], None]


@pytest.fixture
def sabotage(monkeypatch: pytest.MonkeyPatch) -> Sabotage:
    """From now on hosts are started without the guard of that name."""

    def start(name: str) -> None:
        def command(*args: str | Path) -> list[str]:
            return [sys.executable, "-m", "tests.readers.sabotage", name, *map(str, args)]

        monkeypatch.setattr(live, "command", command)
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    return start
