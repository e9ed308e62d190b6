"""What `import weftwork` offers is decided here and nowhere else."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from weftwork.exports import EXPORTS

SOURCE = Path(__file__).parents[2] / "src" / "weftwork" / "__init__.py"

PUBLIC: list[str] = [
    "Context",
    "EnvelopeKind",
    "FetchError",
    "Host",
    "InterruptTimeout",
    "Media",
    "MediaContent",
    "NodeError",
    "NotDone",
    "PlainContext",
    "Settings",
    "StepError",
    "node",
]
"""The snapshot. A change here is a change of the public API and belongs in CHANGELOG.md."""


def bound(source: str) -> list[str]:
    """Names without a leading underscore that the file binds; submodules that others import do not count."""
    names: set[str] = set()
    statements = ast.parse(source).body
    # What type checkers see is what the names are looked up for.
    statements += [each for node in statements if isinstance(node, ast.If) for each in node.body]
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return sorted(name for name in names - {"TYPE_CHECKING"} if not name.startswith("_"))


def test_the_public_names_are_the_snapshot() -> None:
    assert sorted(importlib.import_module("weftwork").__all__) == sorted(PUBLIC)


def test_nothing_else_is_bound() -> None:
    offered = [name for name in importlib.import_module("weftwork").__all__ if not name.startswith("_")]
    assert bound(SOURCE.read_text("utf-8")) == sorted(offered)


def test_every_public_name_has_its_place() -> None:
    assert sorted(EXPORTS) == sorted(PUBLIC)
    with pytest.raises(AttributeError, match="'weftwork' has no attribute 'nothing'"):
        getattr(importlib.import_module("weftwork"), "nothing")  # noqa: B009


def test_a_module_with_nodes_loads_no_host() -> None:
    script = "import sys, weftwork; weftwork.node; print(*sys.modules)"
    command = [sys.executable, "-W", "error", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    loaded = set(ended.stdout.split())
    assert "weftwork.adapters.python.declaration.decorator" in loaded
    assert not loaded & {"weftwork.app", "weftwork.engine", "asyncio", "apsw", "uvicorn", "click", "jsonschema_rs"}


def test_every_public_name_is_there_in_a_fresh_interpreter() -> None:
    script = "import weftwork; [getattr(weftwork, name) for name in weftwork.__all__]"
    command = [sys.executable, "-W", "error", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from a import b, c as d\nimport e.f", ["b", "d", "e"]),
        ("if TYPE_CHECKING:\n    from a import b", ["b"]),
        ("LIMIT = 1\nother: int = 2\n_own = 3\n__all__ = ['LIMIT']", ["LIMIT", "other"]),
    ],
)
def test_a_bound_name_is_seen(source: str, names: list[str]) -> None:
    assert bound(source) == names
