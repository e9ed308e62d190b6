"""A folder whose modules can be imported, by tests of what is found in modules."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in; what was imported from it is forgotten, and so is the way to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in (getattr(sys.modules[name], "__file__", None) or str(tmp_path)):
            del sys.modules[name]
