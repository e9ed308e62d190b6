"""A host imports the part of weftwork.conformance that a switch asks for, and without a switch nothing of it."""

import ast
import json
from pathlib import Path

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node, workflow
from tests.live.host import start_host

SOURCE = Path(__file__).parents[2] / "src" / "weftwork"
PACKAGE = "weftwork.conformance"
PROBE = f"""
import sys
import weftwork

@weftwork.node("acme.imports")
def imports(ctx: weftwork.Context) -> list[str]:
    return sorted(name for name in sys.modules if name.startswith("{PACKAGE}"))
"""


def imported_by_host(folder: Path, *switches: str, extra: str = "") -> list[str]:
    """The modules of the package that are imported once the host has served discovery and a schema and runs a node."""
    (folder / "probe.py").write_text(extra + PROBE)
    (folder / "workflows").mkdir()
    document = workflow([node("probe", "acme.imports")], id="probe")
    (folder / "workflows" / "probe.json").write_text(json.dumps(document))
    options = ("--nodes", "probe", "--workflows", folder / "workflows")
    with start_host(folder, *options, *switches, store="memory", env={"PYTHONPATH": str(folder)}) as host:
        assert host.call("GET", "/.well-known/openwop").status == 200
        assert host.call("GET", "/schemas/run-event.schema.json").status == 200
        events = host.log(host.create("probe"))
    (outputs,) = [each["payload"]["outputs"] for each in events if each["type"] == "node.completed"]
    return outputs["output"]


@pytest.mark.slow
def test_without_a_switch_nothing_is_imported(tmp_path: Path) -> None:
    assert imported_by_host(tmp_path) == []


@pytest.mark.slow
def test_an_import_would_be_seen(tmp_path: Path) -> None:
    found = imported_by_host(tmp_path, extra="import weftwork.conformance.workflows\n")  # sabotage
    assert f"{PACKAGE}.workflows" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "part", "other"),
    [("--conformance", "workflows", "test_endpoints"), ("--test-seams", "test_endpoints", "workflows")],
)
def test_a_switch_imports_its_part_alone(tmp_path: Path, switch: str, part: str, other: str) -> None:
    found = imported_by_host(tmp_path, switch)
    assert f"{PACKAGE}.{part}" in found
    assert f"{PACKAGE}.{other}" not in found


def eager_imports(source: str) -> list[int]:
    """Lines that import the package when their own module is imported."""
    lines: list[int] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        for each in ast.iter_child_nodes(waiting.pop()):
            if isinstance(each, ast.Import) and any(name.name.startswith(PACKAGE) for name in each.names):
                lines.append(each.lineno)
            elif isinstance(each, ast.ImportFrom):
                names = [f"{each.module}.{name.name}" for name in each.names]
                lines += [each.lineno] if any(name.startswith(PACKAGE) for name in names) else []
            elif not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                waiting.append(each)
    return lines


def test_no_module_imports_the_package_when_it_is_imported() -> None:
    modules = [each for each in SOURCE.rglob("*.py") if each.relative_to(SOURCE).parts[0] != "conformance"]
    assert len(modules) > 400
    assert [str(each) for each in modules if eager_imports(each.read_text("utf-8"))] == []


@each_case(
    "source, count",
    ("import weftwork.conformance", 1),
    ("import weftwork.conformance.workflows as w", 1),
    ("from weftwork import conformance", 1),
    ("from weftwork.conformance import workflows", 1),
    ("if True:\n    from weftwork.conformance.workflows import conformance_nodes", 1),
    ("class A:\n    import weftwork.conformance", 1),
    ("def late():\n    from weftwork.conformance import workflows", 0),
    ("from weftwork.app import Host", 0),
)
def test_an_eager_import_is_seen(source: str, count: int) -> None:
    assert len(eager_imports(source)) == count
