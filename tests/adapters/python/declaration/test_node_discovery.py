"""Finding nodes: modules, packages, entry points, and what is said when something is wrong with them."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import weftwork
from tests.harness.cases import each_case, fails_without
from weftwork import app
from weftwork.adapters.python.declaration import node_discovery as module
from weftwork.adapters.python.declaration.node_discovery import (
    NodeLoadError,
    find_nodes,
    nodes_from_functions,
)
from weftwork.app import Host
from weftwork.protocol.models.capability_gate import ModelCatalogue, OfferedProvider
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.node_types import check_packages, load_python_nodes

NODE = """
import weftwork

@weftwork.node("{0}")
def {1}(ctx):
    return 1
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def ids(*names: str) -> list[str]:
    return [node.declaration.type_id for node in find_nodes(names, installed=False)]


def refusal(*names: str) -> str:
    with pytest.raises(NodeLoadError) as refused:
        find_nodes(names, installed=False)
    return str(refused.value)


def test_a_module_in_the_current_folder_is_taken_once(module_folder: Path) -> None:
    """However often it is named or imported, and however many names a node has in it."""
    text = NODE.format("acme.one", "one") + NODE.format("acme.two", "two")
    write(module_folder, "one_module.py", f"{text}\nother = one\n")
    assert ids("one_module") == ["acme.one", "acme.two"]
    assert ids("one_module", "one_module") == ["acme.one", "acme.two"]
    del sys.modules["one_module"]
    write(module_folder, "one_module.py", NODE.format("acme.newer", "one"))
    assert ids("one_module") == ["acme.newer"]


def test_a_package_has_the_nodes_below_it_and_none_of_others(module_folder: Path) -> None:
    write(module_folder, "whole_pack/__init__.py", "from whole_pack.inner import one\n")
    write(module_folder, "whole_pack/inner.py", NODE.format("acme.one", "one"))
    write(module_folder, "whole_pack/unused.py", NODE.format("acme.two", "two"))
    assert ids("whole_pack") == ["acme.one"]
    assert ids("whole_pack", "whole_pack.unused") == ["acme.one", "acme.two"]
    write(module_folder, "their_nodes.py", NODE.format("acme.theirs", "theirs"))
    write(module_folder, "my_nodes.py", "from their_nodes import theirs\n" + NODE.format("acme.mine", "mine"))
    assert ids("my_nodes") == ["acme.mine"]
    assert ids("my_nodes", "their_nodes") == ["acme.mine", "acme.theirs"]


@fails_without(module, "check_distinct", lambda nodes: nodes, match="DID NOT RAISE")
def test_two_nodes_of_one_name_are_both_named(module_folder: Path) -> None:
    first = write(module_folder, "first_of_two.py", NODE.format("acme.same", "one"))
    second = write(module_folder, "second_of_two.py", "\n" + NODE.format("acme.same", "two"))
    said = refusal("first_of_two", "second_of_two")
    assert said == f"two nodes have the type id 'acme.same': {first}:4 and {second}:5"


def test_a_decorator_on_top(module_folder: Path) -> None:
    path = write(
        module_folder,
        "wrapped_nodes.py",
        "import functools, weftwork\n"
        "def other(f):\n    return functools.wraps(f)(lambda *a: f(*a))\n"
        "@other\n@weftwork.node('acme.one')\ndef one(ctx): ...\n",
    )
    said = refusal("wrapped_nodes")
    assert said == (
        f"--nodes wrapped_nodes: {path}:4: one has a decorator above @weftwork.node; make @weftwork.node the first one"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n\nimport nowhere_at_all\n", "3: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def broken(:\n", "1: SyntaxError: invalid syntax"),
        ("x = 1\n  y = 2\n", "2: IndentationError: unexpected indent"),
        ("\n1 / 0\n", "2: ZeroDivisionError: division by zero"),
        ("import json\njson.loads('{')\n", "2: JSONDecodeError: Expecting property name"),
        ("import sys\nsys.exit(4)\n", "2: SystemExit: 4"),
        ("raise RuntimeError\n", "1: RuntimeError"),
        ("import weftwork\n@weftwork.node('acme.x')\ndef f(): ...\n", "2: f cannot be the node 'acme.x': "),
        ("import weftwork\n@weftwork.node('Acme')\ndef f(ctx): ...\n", "2: f: 'Acme' is not a valid type id"),
    ],
)
def test_what_goes_wrong_is_told_with_file_and_line(module_folder: Path, text: str, said: str) -> None:
    path = write(module_folder, "bad_nodes.py", text)
    found = refusal("bad_nodes")
    assert found.startswith("--nodes bad_nodes: ")
    assert f"{path}:{said}" in found
    assert "\n" not in found
    assert "Traceback" not in found


def test_an_error_in_a_module_that_the_module_imports(module_folder: Path) -> None:
    write(module_folder, "outer_nodes.py", "import deeper_module\n")
    inner = write(module_folder, "deeper_module.py", "\n\n\n{}['x']\n")
    assert refusal("outer_nodes") == f"--nodes outer_nodes: {inner}:4: KeyError: 'x'"


@each_case(
    "name, said",
    ("no_such_module", "there is no module no_such_module in "),
    ("no_such_pack.inner", "there is no module no_such_pack in "),
    ("nodes.py/x", "this is not a module name; use a name such as acme.nodes"),
    ("acme.py", "--nodes acme.py: use the name of the module, not of its file: acme"),
    ("", "this is not a module name; use a name such as acme.nodes"),
    ("json", "the module json has no nodes; decorate a function with @weftwork.node(...)"),
)
def test_modules_that_cannot_be_nodes(module_folder: Path, name: str, said: str) -> None:
    assert said in refusal(name)


def test_entry_points(module_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(module_folder, "offered_nodes.py", NODE.format("acme.offered", "one"))
    asked: list[str] = []

    def entry_points(group: str) -> list[EntryPoint]:
        asked.append(group)
        return [EntryPoint("acme", "offered_nodes", group)]

    monkeypatch.setattr(module, "entry_points", entry_points)
    monkeypatch.syspath_prepend(module_folder)
    assert [node.declaration.type_id for node in find_nodes([])] == ["acme.offered"]
    assert asked == ["weftwork.nodes"]
    write(module_folder, "offered_nodes.py", "")
    del sys.modules["offered_nodes"]
    with pytest.raises(NodeLoadError, match="entry point acme: the module offered_nodes has no nodes"):
        find_nodes([])


def test_functions_can_be_given_to_a_host_and_what_is_no_node_is_named_with_its_place() -> None:
    @weftwork.node("acme.given")
    def given(ctx: weftwork.PlainContext) -> None: ...

    def other(ctx: weftwork.PlainContext) -> None: ...

    host = Host(Settings(store="memory"), nodes=[given])
    assert host.types["acme.given"].declaration.source.endswith("given")
    assert "core.noop" in host.types
    assert len(nodes_from_functions([given, given])) == 1
    with pytest.raises(SettingsError, match="is not a node; decorate it"):
        Host(Settings(store="memory"), nodes=[other])
    odd: Any = "acme.score"
    for function, said in ((other, f"{__file__}:{other.__code__.co_firstlineno}: "), (odd, f"{odd!r} is not a node; ")):
        with pytest.raises(NodeLoadError) as refused:
            nodes_from_functions([function])
        assert str(refused.value).startswith(said)


def test_a_type_of_the_host_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.adapters.python.declaration.decorator.RESERVED_PREFIXES", ("nothing.",))

    @weftwork.node("core.noop")
    def mine(ctx: weftwork.PlainContext) -> None: ...

    with pytest.raises(SettingsError, match=r"'core\.noop' is a built-in node type"):
        load_python_nodes((), [mine])


SEEING = ModelCatalogue({"local": OfferedProvider("eyes", {"eyes": frozenset({"vision-input"})})})


def check_needs(declared: str, models: ModelCatalogue, folder: Path) -> None:
    write(folder, "needy_pack.py", f"{NODE.format('acme.one', 'one')}\nmodel_capabilities = {declared}\n")
    sys.modules.pop("needy_pack", None)
    check_packages(["needy_pack"], models)


@pytest.mark.rule("cap-09")
def test_a_package_whose_model_capability_the_host_lacks_is_refused(module_folder: Path) -> None:
    for declared in ("()", '("vision-input",)', '["vision-input"]'):
        check_needs(declared, SEEING, module_folder)
    with pytest.raises(SettingsError) as refused:
        check_needs('("vision-input", "reasoning")', SEEING, module_folder)
    assert str(refused.value) == (
        "host_capability_missing: --nodes needy_pack: the package needy_pack needs the model capability reasoning "
        "(host.aiProviders.modelCapabilities), and no model of this host has it; configure a model with it in "
        '[[providers.NAME.models]], capabilities = ["reasoning"], or do not load the package'
    )
    for declared in ("'vision-input'", "{'vision-input': 1}", "True", '("Vision",)', "(1,)"):
        with pytest.raises(SettingsError, match=r"--nodes needy_pack: needy_pack\.model_capabilities: "):
            check_needs(declared, SEEING, module_folder)


@pytest.mark.rule("cap-09")
@fails_without(app, "check_packages", lambda *_: None, match="DID NOT RAISE")
def test_a_host_does_not_load_a_package_that_its_models_cannot_serve(
    module_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(module_folder)
    write(module_folder, "needy_entry.py", NODE.format("acme.one", "one") + '\nmodel_capabilities = ("x-host-a-b",)\n')
    sys.modules.pop("needy_entry", None)

    def entry_points(group: str) -> list[EntryPoint]:
        return [EntryPoint("needy", "needy_entry", group)] if group == module.ENTRY_POINT_GROUP else []

    monkeypatch.setattr(module, "entry_points", entry_points)
    with pytest.raises(
        SettingsError, match=r"^host_capability_missing: entry point needy: the package needy_entry needs"
    ):
        Host(Settings(store="memory"))
