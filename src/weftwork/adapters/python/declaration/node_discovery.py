"""Finds nodes and envelope kinds in the modules that the operator names and in installed packages."""

import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

from weftwork.adapters.python.declaration.decorator import NodeFunction, node_of, place_of
from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.protocol.models.capability_gate import requirement_problem

ENTRY_POINT_GROUP: Final = "weftwork.nodes"
CAPABILITIES_ATTRIBUTE: Final = "model_capabilities"
"""The attribute of a package's module with the model capabilities that a host must have to load the package."""

_PACKAGE_PREFIX: Final = str(Path(__file__).parents[3]) + os.sep
_STDLIB_PREFIX: Final = sysconfig.get_path("stdlib") + os.sep
_SITE_FOLDERS: Final = ("site-packages", "dist-packages")


class PackageNeeds(NamedTuple):
    """The model capabilities that a package needs. `label` is its option or entry point, for messages."""

    label: str
    module: str
    capabilities: tuple[str, ...]


class NodeLoadError(Exception):
    """Nodes cannot be loaded. The message names the module or the file and line, and the problem."""


def find_nodes(modules: Iterable[str], installed: bool = True) -> list[NodeFunction]:
    """The nodes of these modules, which are imported as by `python -m`, and of the entry points of installed packages.

    Raises NodeLoadError.
    """
    all_nodes: list[NodeFunction] = []
    for label, module in _modules(modules, installed):
        nodes = [node for each in _loaded_submodules(module) for node in _nodes_defined_in(each, label)]
        if not nodes and not _envelope_kinds_in(module):
            raise NodeLoadError(
                f"{label}: the module {module.__name__} has no nodes; decorate a function with @weftwork.node(...), "
                f"in the module or in a submodule that it imports"
            )
        all_nodes += nodes
    return check_distinct(all_nodes)


def find_envelope_kinds(modules: Iterable[str], installed: bool = True) -> list[EnvelopeKind]:
    """The envelope kinds of the same modules. Raises NodeLoadError."""
    kinds = [kind for _, module in _modules(modules, installed) for kind in _envelope_kinds_in(module)]
    return list(dict.fromkeys(kinds))


def find_model_capabilities(modules: Iterable[str], installed: bool = True) -> list[PackageNeeds]:
    """The model capabilities that the same modules declare as `model_capabilities`, for the whole package.

    Raises NodeLoadError for an invalid declaration.
    """
    needs: list[PackageNeeds] = []
    for label, module in _modules(modules, installed):
        declared: object = getattr(module, CAPABILITIES_ATTRIBUTE, None)
        if declared is None:
            continue
        problem = "it must be a list of model capabilities"
        if isinstance(declared, tuple | list):
            names = tuple(cast("Iterable[str]", declared))
            problem = requirement_problem(names, None)
            needs.append(PackageNeeds(label, module.__name__, names))
        if problem is not None:
            raise NodeLoadError(f"{label}: {module.__name__}.{CAPABILITIES_ATTRIBUTE}: {problem}")
    return needs


def envelope_kinds_near(nodes: Iterable[NodeFunction]) -> list[EnvelopeKind]:
    """The envelope kinds of the modules that define these nodes: the same that a host finds in these modules."""
    names = dict.fromkeys(each.function.__module__ for each in nodes)
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [kind for module in modules for kind in _envelope_kinds_in(module)]


def _modules(modules: Iterable[str], installed: bool) -> Iterator[tuple[str, ModuleType]]:
    """Each module, imported, with a label for messages: its option or its entry point."""
    named = [(f"--nodes {name}", name) for name in modules]
    if named and "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    if installed:
        named += [(f"entry point {each.name}", each.value) for each in sorted(entry_points(group=ENTRY_POINT_GROUP))]
    for label, name in named:
        yield label, _import_module(label, name)


def nodes_from_functions(functions: Iterable[Any]) -> list[NodeFunction]:
    """The nodes of decorated functions. Raises NodeLoadError."""
    nodes: list[NodeFunction] = []
    for each in functions:
        node = node_of(each)
        if node is None:
            place = place_of(each)
            where = f"{place}: " if place else ""
            raise NodeLoadError(f"{where}{each!r} is not a node; decorate it with @weftwork.node(...)")
        nodes.append(node)
    return check_distinct(nodes)


def check_distinct(nodes: Iterable[NodeFunction]) -> list[NodeFunction]:
    """The nodes without duplicates. Raises NodeLoadError if two of them have the same type id."""
    by_type: dict[str, NodeFunction] = {}
    for node in nodes:
        type_id = node.declaration.type_id
        other = by_type.setdefault(type_id, node)
        if other is not node:
            raise NodeLoadError(f"two nodes have the type id {type_id!r}: {other.place} and {node.place}")
    return list(by_type.values())


def _import_module(label: str, name: str) -> ModuleType:
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise NodeLoadError(f"{label}: this is not a module name; use a name such as acme.nodes")
    if name.endswith(".py"):
        raise NodeLoadError(f"{label}: use the name of the module, not of its file: {name.removesuffix('.py')}")
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise NodeLoadError(f"{label}: {_explain_import_error(error, name)}") from None


def _explain_import_error(error: BaseException, name: str) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
        return f"there is no module {error.name} in {Path.cwd()} or on sys.path"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    place = _place(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # Errors of the decorator already begin with the place.
    return text if place is None or str(error).startswith(place) else f"{place}: {text}"


def _place(error: BaseException) -> str | None:
    """File and line of the innermost frame in the author's code, outside of the standard library and this package."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<")]
    author_frames = [
        each for each in frames if not _is_standard(each.filename) and not each.filename.startswith(_PACKAGE_PREFIX)
    ]
    return f"{author_frames[-1].filename}:{author_frames[-1].lineno}" if author_frames else None


def _is_standard(filename: str) -> bool:
    return filename.startswith(_STDLIB_PREFIX) and not any(
        f"{os.sep}{part}{os.sep}" in filename for part in _SITE_FOLDERS
    )


def _loaded_submodules(module: ModuleType) -> list[ModuleType]:
    """The module and its submodules that are already imported."""
    below = f"{module.__name__}."
    return [module, *(each for name, each in [*sys.modules.items()] if name.startswith(below))]


def _envelope_kinds_in(module: ModuleType) -> list[EnvelopeKind]:
    """The kinds that the module or its submodules declare, without imported ones."""
    return [
        value
        for each in _loaded_submodules(module)
        for value in [*vars(each).values()]
        if isinstance(value, EnvelopeKind) and value.module == each.__name__
    ]


def _nodes_defined_in(module: ModuleType, label: str) -> Iterator[NodeFunction]:
    """The nodes that the module defines, without imported ones. Raises NodeLoadError."""
    for name, value in [*vars(module).items()]:
        node = node_of(value)
        if node is None or getattr(value, "__module__", None) != module.__name__:
            continue
        if node.function is not value:
            raise NodeLoadError(
                f"{label}: {node.place}: {name} has a decorator above @weftwork.node; make @weftwork.node the first one"
            )
        yield node
