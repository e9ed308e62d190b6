"""Size follows the idea: large modules, fragments and crowded folders need a reason."""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LARGE, SMALL = 500, 40
CROWDED = {"src": 16, "tests": 25, "bench": 25}
"""Modules that a folder may hold besides `__init__.py`, by the folder at the root that it is in."""

LARGE_WITH_REASON: dict[str, str] = {
    "src/weftwork/adapters/python/context.py": "all calls that an author can make, each documented where it is typed",
    "src/weftwork/app.py": "the composition root, which names every part of a host once",
    "tests/house/linear_text/pattern_table.py": "one table, with an entry for each pattern of the source",
    "tests/house/linear_text/scanner_table.py": "one table, with an entry for each scanner of the source",
}
"""Path from the root -> why the module is longer than `LARGE` lines."""

SMALL_WITH_REASON: dict[str, str] = {
    "src/weftwork/adapters/system/file_limit.py": "wraps the resource module, which not every system has",
    "src/weftwork/testing/storage/suite.py": "`__init__.py` holds no logic, and the checks import the harness",
    "src/weftwork/testing/exports.py": "`__init__.py` holds no logic, and this is the logic behind its lazy names",
}
"""Path from the root -> why the module stands alone although it is short and has at most one importer."""


def lines_of(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def modules(root: Path, *folders: str) -> list[Path]:
    found = [path for folder in folders for path in (root / folder).rglob("*.py")]
    return sorted(path for path in found if path.name != "__init__.py")


def oversized(root: Path, allowed: Mapping[str, str]) -> list[str]:
    sizes = {path.relative_to(root).as_posix(): lines_of(path) for path in modules(root, "src", "tests", "bench")}
    large = {name: lines for name, lines in sizes.items() if lines > LARGE and name not in allowed}
    return [f"{name}: {lines} lines, over {LARGE}: split it, or give a reason" for name, lines in large.items()]


def imported(tree: ast.AST) -> Iterable[str]:
    """Dotted names of everything that is imported, whether it is a module or something in one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def fragments(root: Path, allowed: Mapping[str, str]) -> list[str]:
    """Short modules of the package with fewer than two importers in it."""
    source = root / "src"
    files = sorted(source.rglob("*.py"))
    imports = {path: set(imported(ast.parse(path.read_text("utf-8")))) for path in files}
    found: list[str] = []
    for path in modules(root, "src"):
        name = path.relative_to(root).as_posix()
        dotted = ".".join(path.relative_to(source).with_suffix("").parts)
        importers = sum(dotted in names for other, names in imports.items() if other != path)
        if lines_of(path) < SMALL and importers < 2 and name not in allowed:
            found.append(f"{name}: under {SMALL} lines with {importers} importers: merge it, or give a reason")
    return found


def crowded(root: Path) -> list[str]:
    found: list[str] = []
    for top, most in CROWDED.items():
        parents = [path.parent for path in modules(root, top)]
        for folder in sorted(set(parents)):
            if (count := parents.count(folder)) > most:
                found.append(f"{folder.relative_to(root).as_posix()}: {count} modules, at most {most}: use sub-folders")
    return found


def test_a_module_that_is_too_large_or_a_fragment_has_a_reason_and_no_other_has_one() -> None:
    for lines, reasons in ((oversized(ROOT, {}), LARGE_WITH_REASON), (fragments(ROOT, {}), SMALL_WITH_REASON)):
        named = {line.partition(":")[0]: line for line in lines}
        assert [line for name, line in named.items() if name not in reasons] == []
        assert [name for name in reasons if name not in named] == []


def test_no_folder_is_crowded() -> None:
    assert crowded(ROOT) == []


@pytest.mark.parametrize(("lines", "allowed", "count"), [(500, "", 0), (501, "", 1), (501, "src/a/big.py", 0)])
def test_a_large_module_is_seen(tmp_path: Path, lines: int, allowed: str, count: int) -> None:
    write(tmp_path / "src/a/big.py", "x = 1\n" * lines)
    assert len(oversized(tmp_path, {allowed: "a table"})) == count


@pytest.mark.parametrize(
    ("lines", "importers", "count"),
    [
        (39, ["from a.small import x"], 1),
        (39, ["from a.small import x", "from a import small"], 0),
        (39, ["from a.small import x", "import a.small"], 0),
        (39, ["from a.other import x", "from a.small import x"], 1),
        (40, [], 0),
    ],
)
def test_a_fragment_is_seen(tmp_path: Path, lines: int, importers: list[str], count: int) -> None:
    write(tmp_path / "src/a/small.py", "x = 1\n" * lines)
    for number, line in enumerate(importers):
        write(tmp_path / f"src/b/user{number}.py", line + "\n" * 50)
    assert len(fragments(tmp_path, {})) == count
    assert fragments(tmp_path, {"src/a/small.py": "wraps a device"}) == []


@pytest.mark.parametrize(("top", "most"), CROWDED.items())
def test_a_crowded_folder_is_seen(tmp_path: Path, top: str, most: int) -> None:
    for number in range(most):
        write(tmp_path / top / "folder" / f"m{number}.py", "")
    write(tmp_path / top / "folder" / "__init__.py", "")
    assert crowded(tmp_path) == []
    write(tmp_path / top / "folder" / "one_more.py", "")
    assert len(crowded(tmp_path)) == 1


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
