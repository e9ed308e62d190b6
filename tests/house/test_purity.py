"""The core is pure, names say what a module is, and `__init__.py` decides nothing: read from the syntax."""

import ast
import re
from pathlib import Path

import pytest

from tests.harness.cases import each_case

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weftwork"

# fmt: off
MAY_IMPORT = frozenset({
    "__future__", "abc", "base64", "binascii", "bisect", "collections", "dataclasses", "enum", "functools",
    "difflib", "graphlib", "hashlib", "heapq", "hmac", "html", "importlib.resources", "itertools", "json", "math",
    "operator", "ipaddress", "re", "string", "struct", "tomllib", "types", "typing", "unicodedata", "urllib.parse",
    "msgspec", "jsonschema_rs", "weftwork.protocol", "weftwork.engine.decide",
})
"""What the core may import, with what lies below; nothing that reads a clock, file, socket or chance."""
# fmt: on

DOORS = {
    "protocol/expressions/cel.py": "cel_expr_python",
    "protocol/privacy/secret_matcher.py": "ahocorasick_rs",
    "protocol/envelopes/partial_surface.py": "jiter",
    "protocol/surfaces/delta.py": "jsonpatch",
}
"""The one module that may import a package, by path; everybody else goes through it."""

MAY_NOT_CALL = frozenset({"open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint"})
VAGUE = frozenset({"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"})


def core() -> list[Path]:
    return sorted([*SOURCE.glob("protocol/**/*.py"), *SOURCE.glob("engine/decide/*.py")])


def everything() -> list[Path]:
    return sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("tools/**/*.py")])


def imported(node: ast.AST) -> list[str]:
    """Full dotted names; `from a import b` counts as a.b, so that a package can be allowed in part."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
    return []


def may_import(name: str, door: str = "") -> bool:
    return any(name == allowed or name.startswith(allowed + ".") for allowed in {*MAY_IMPORT, door} - {""})


def impurities(source: str, door: str = "") -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            found.append(f"line {line}: async has no place here")
        if isinstance(node, ast.comprehension) and node.is_async:
            found.append(f"line {node.target.lineno}: async has no place here")
        found += [f"line {line}: imports {name}" for name in imported(node) if not may_import(name, door)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAY_NOT_CALL:
            found.append(f"line {line}: calls {node.func.id}")
    return found


def vague_names(name: str, source: str) -> list[str]:
    found = [f"{part} says nothing about what is inside" for part in Path(name).with_suffix("").parts if part in VAGUE]
    classes = re.findall(r"^\s*class (\w*Manager)\b", source, re.MULTILINE)
    return found + [f"class {kind}: name what it holds or does" for kind in classes]


def decisions(source: str) -> list[str]:
    """Statements of an `__init__.py` other than docstrings, imports, `__all__`, constants and types."""
    return [f"line {node.lineno}: {type(node).__name__}" for node in ast.parse(source).body if not _is_plain(node)]


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.If):
        imports = all(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)
        return ast.unparse(node.test) == "TYPE_CHECKING" and imports and not node.orelse
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    computed = any(isinstance(part, ast.Call | ast.Lambda | ast.comprehension) for part in ast.walk(node.value))
    return not computed and all(isinstance(each, ast.Name) and _is_constant_name(each.id) for each in targets)


def _is_constant_name(name: str) -> bool:
    return name.isupper() or (name.startswith("__") and name.endswith("__"))


@each_case("path", *core())
def test_the_core_is_pure(path: Path) -> None:
    door = DOORS.get(path.relative_to(SOURCE).as_posix(), "")
    found = impurities(path.read_text("utf-8"), door)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", DOORS)
def test_a_door_is_needed_and_opens_for_its_package_only(name: str) -> None:
    source = (SOURCE / name).read_text("utf-8")
    assert impurities(source)
    assert impurities("import os", DOORS[name]) == ["line 1: imports os"]


def test_decide_sees_the_protocol_only() -> None:
    assert SOURCE / "engine" / "decide" / "transitions.py" in core()
    assert impurities("from weftwork.ports.clock import Clock") == ["line 1: imports weftwork.ports.clock.Clock"]


@each_case(
    "source, said",
    ("async def f() -> None: ...", "line 1: async has no place here"),
    ("def f():\n    return [x async for x in y]", "line 2: async has no place here"),
    ("import time", "line 1: imports time"),
    ("def f():\n    from os import path", "line 2: imports os.path"),
    ("import json, socket", "line 1: imports socket"),
    ("from importlib import import_module", "line 1: imports importlib.import_module"),
    ("from urllib import request", "line 1: imports urllib.request"),
    ("from . import events", "line 1: imports ..events"),
    ("text = open('x').read()", "line 1: calls open"),
)
def test_an_impurity_is_seen(source: str, said: str) -> None:
    assert impurities(source) == [said]


def test_the_allowed_imports_pass() -> None:
    source = "import re\nfrom importlib import resources\nfrom weftwork.protocol.run.header import RunKey"
    assert impurities(source) == []


def test_no_name_is_vague() -> None:
    found: list[str] = []
    for path in everything():
        name = path.relative_to(ROOT).as_posix()
        found += [f"{name}: {said}" for said in vague_names(name, path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_a_vague_name_is_seen() -> None:
    assert vague_names("src/weftwork/engine/utils.py", "") == ["utils says nothing about what is inside"]
    assert vague_names("src/weftwork/common/run.py", "") == ["common says nothing about what is inside"]
    assert vague_names("src/a.py", "class RunManager: ...") == ["class RunManager: name what it holds or does"]


def test_package_files_decide_nothing() -> None:
    found: list[str] = []
    for path in everything():
        if path.name == "__init__.py":
            found += [f"{path.relative_to(ROOT)}: {said}" for said in decisions(path.read_text("utf-8"))]
    assert not found, "\n".join(found)


@each_case(
    "source",
    "def f() -> None: ...",
    "if True:\n    X = 1",
    "if TYPE_CHECKING:\n    X = 1",
    "if TYPE_CHECKING:\n    from a import b\nelse:\n    from c import b",
    "X = load()",
    "for x in y: ...",
    "lower = 1",
    "X = [f for f in y]",
)
def test_logic_in_a_package_file_is_seen(source: str) -> None:
    assert len(decisions(source)) == 1


def test_a_plain_package_file_passes() -> None:
    typed = "if TYPE_CHECKING:\n    from c import d\n"
    source = (
        f'"""Doc."""\nfrom a import b\n{typed}__all__ = ["b"]\n__version__: str = "1"\nLIMIT = 3\n"""Why three."""\n'
    )
    assert decisions(source) == []
