"""What is written is also connected: node types, stores, model providers and commands."""

import ast
import importlib
import inspect
import pkgutil
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
from weftwork.cli.main import main
from weftwork.ports.nodes import NodeType
from weftwork.settings import Settings
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
    (field,) = [each for each in msgspec.structs.fields(Settings) if each.name == "store"]
    return list(get_args(field.type))


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
