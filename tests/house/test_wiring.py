"""What is written is also connected: node types, stores, providers, commands, and what `import weftwork` offers."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click
import msgspec
import pytest

import weftwork.adapters.nodes
import weftwork.adapters.providers
import weftwork.cli.commands
import weftwork.conformance.nodes
from tests.adapters.providers.test_provider_suite import PROVIDERS
from tests.harness.cases import each_case
from weftwork.cli.main import main
from weftwork.exports import EXPORTS
from weftwork.ports.nodes import NodeType
from weftwork.settings import StoreKind
from weftwork.wiring.node_types import builtin_node_types

ROOT = Path(__file__).parents[2]
STORAGE_TEST = ROOT / "tests" / "adapters" / "storage" / "test_storage.py"


def modules_of(package: ModuleType) -> list[ModuleType]:
    return [
        importlib.import_module(each.name) for each in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    ]


def node_types_in(module: ModuleType) -> set[str]:
    """The ids of the node types that a module holds by itself or in tuples."""
    values = [value if isinstance(value, tuple) else (value,) for value in vars(module).values()]
    return {each.declaration.type_id for value in values for each in value if isinstance(each, NodeType)}


def providers_in(module: ModuleType) -> set[type]:
    """The classes of a module that have what the port for models asks for."""
    classes = [
        value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    return {each for each in classes if inspect.isfunction(vars(each).get("generate")) and not is_protocol(each)}


def is_protocol(each: type) -> bool:
    return getattr(each, "_is_protocol", False)


def commands_in(module: ModuleType) -> set[str]:
    """The names of the commands of a module that belong to no group of it."""
    found = [value for value in vars(module).values() if isinstance(value, click.Command)]
    inner = {id(child) for each in found if isinstance(each, click.Group) for child in each.commands.values()}
    return {each.name or "" for each in found if id(each) not in inner}


def texts_in(source: str) -> set[Any]:
    return {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}


def stores() -> list[str]:
    return list(get_args(StoreKind))


def missing(found: Iterable[Any], known: Collection[Any]) -> list[Any]:
    return sorted((each for each in found if each not in known), key=str)


def test_every_node_type_is_offered() -> None:
    modules = [*modules_of(weftwork.adapters.nodes), *modules_of(weftwork.conformance.nodes)]
    found = {type_id for module in modules for type_id in node_types_in(module)}
    assert len(found) > 20
    assert missing(found, builtin_node_types()) == []


def test_every_store_passes_the_suite() -> None:
    names = stores()
    assert "sqlite" in names
    assert missing(names, texts_in(STORAGE_TEST.read_text("utf-8"))) == []


def test_every_provider_passes_the_suite() -> None:
    found = {each for module in modules_of(weftwork.adapters.providers) for each in providers_in(module)}
    assert len(found) > 1
    assert missing(found, {type(make()) for make in PROVIDERS.values()}) == []


def test_every_command_is_in_the_group() -> None:
    found = {name for module in modules_of(weftwork.cli.commands) for name in commands_in(module)}
    assert {"serve", "run"} <= found
    assert missing(found, main.commands) == []


@pytest.fixture
def forgotten() -> ModuleType:
    """A module with a node type, a provider and a command that nothing connects."""
    node = builtin_node_types()["core.noop"]
    declaration = msgspec.structs.replace(node.declaration, type_id="core.forgotten")
    module = ModuleType("forgotten")
    provider = type("Forgotten", (), {"generate": lambda self, request: None, "__module__": "forgotten"})
    group = click.Group("group", commands={"inner": click.Command("inner")})
    vars(module).update(
        NODES=(msgspec.structs.replace(node, declaration=declaration),),
        Forgotten=provider,
        group=group,
        inner=group.commands["inner"],
    )
    return module


def test_what_is_forgotten_is_seen(forgotten: ModuleType) -> None:
    assert missing(node_types_in(forgotten), builtin_node_types()) == ["core.forgotten"]
    assert [each.__name__ for each in missing(providers_in(forgotten), set())] == ["Forgotten"]
    assert missing(commands_in(forgotten), main.commands) == ["group"]
    assert missing(["sqlite", "postgres"], texts_in('make("sqlite")')) == ["postgres"]


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
    "SurfaceAnswer",
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


@each_case(
    "source, names",
    ("from a import b, c as d\nimport e.f", ["b", "d", "e"]),
    ("if TYPE_CHECKING:\n    from a import b", ["b"]),
    ("LIMIT = 1\nother: int = 2\n_own = 3\n__all__ = ['LIMIT']", ["LIMIT", "other"]),
)
def test_a_bound_name_is_seen(source: str, names: list[str]) -> None:
    assert bound(source) == names
