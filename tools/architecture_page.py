"""Writes the generated parts of docs/architecture.md; with --check it only lists the stale ones.

`packages` and `modules` come from the docstrings below src/weftwork. The walkthroughs come from traces of a real host
(`tools/walkthroughs.py`), which take about ten seconds.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.walkthroughs import LOOP_THREAD, WALKTHROUGHS, Recording, walk  # noqa: E402

PAGE: Final = Path("docs", "architecture.md")
SOURCE: Final = Path("src", "weftwork")
PART: Final = re.compile(r"(<!-- begin architecture: ([a-z-]+) -->\n).*?(<!-- end architecture: \2 -->)", re.DOTALL)
SENTENCE: Final = re.compile(r".*?[.!?](?=\s+[A-Z`]|$)")
CODE: Final = re.compile(r"(`[^`]*`)")

Walk = Callable[[Path], dict[str, Recording]]


def summary(docstring: str | None) -> str:
    """The first sentence of a docstring, escaped for a table cell."""
    paragraph = " ".join((docstring or "").partition("\n\n")[0].split())
    found = SENTENCE.match(paragraph)
    pieces = CODE.split(found[0] if found else paragraph)
    plain = [piece if piece.startswith("`") else piece.replace("<", "&lt;") for piece in pieces]
    return "".join(plain).replace("|", "\\|")


@cache
def docstrings(source: str) -> dict[str, str]:
    """Qualified name -> docstring of each class and function that has one. The empty name is the module."""
    tree = ast.parse(source)
    found = {"": ast.get_docstring(tree) or ""}

    def look(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if text := ast.get_docstring(child):
                    found.setdefault(name, text)
                look(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
            else:
                look(child, prefix)

    look(tree, "")
    return found


def purpose(texts: dict[str, str], function: str) -> str:
    """The first sentence of a function's docstring, or of the enclosing function's, or of the module's."""
    while function not in texts and ".<locals>." in function:
        function = function.rpartition(".<locals>.")[0]
    return summary(texts.get(function, texts[""]))


RINGS = "Arrows point inward"
"""The import contract whose layers are the rings."""


def ring_order(root: Path) -> list[str]:
    """The names directly below the package, from the innermost ring outward, in the order of the import contract."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["name"] == RINGS]
    return [name.rpartition(".")[2] for name in reversed(layers)]


def packages(root: Path) -> list[Path]:
    """The folders with Python code: first the package itself, then by ring."""
    source = root / SOURCE
    order = ring_order(root)

    def place(folder: Path) -> tuple[int, tuple[str, ...]]:
        parts = folder.relative_to(source).parts
        return (-1 if not parts else order.index(parts[0]) if parts[0] in order else len(order)), parts

    return sorted((file.parent for file in source.rglob("__init__.py")), key=place)


def modules(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")


def package_name(root: Path, folder: Path) -> str:
    return folder.relative_to(root / SOURCE).as_posix() if folder != root / SOURCE else SOURCE.name


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    return "".join("| " + " | ".join(cells) + " |\n" for cells in [names, ["---"] * len(names), *rows])


def link(file: str) -> str:
    return f"[{file}](../{SOURCE.as_posix()}/{file})"


def package_table(root: Path) -> str:
    rows: list[list[str]] = []
    for folder in packages(root):
        name, count = package_name(root, folder), len(modules(folder))
        anchor = f"[{name}](#{name.replace('/', '')})" if count else name
        rows.append([anchor, str(count or ""), purpose(read(folder / "__init__.py"), "")])
    return table(("package", "modules", "contents"), rows)


def module_lists(root: Path) -> str:
    """One section for each package that has modules."""
    parts: list[str] = []
    for folder in packages(root):
        if found := modules(folder):
            rows = [[link(file.relative_to(root / SOURCE).as_posix()), purpose(read(file), "")] for file in found]
            parts.append(f"### {package_name(root, folder)}\n\n{table(('module', 'description'), rows)}")
    return "\n".join(parts)


def read(file: Path) -> dict[str, str]:
    """The docstrings of a module. A stale walkthrough can name a deleted module, which has none."""
    return docstrings(file.read_text("utf-8") if file.exists() else "")


def walkthrough(root: Path, name: str, entries: Recording) -> str:
    """The tables of a walkthrough, one per thread, and the number of modules."""
    scenario = WALKTHROUGHS[name]
    parts = [f"### {scenario.title}", scenario.text]
    for thread, group in groupby(entries, lambda each: each.thread):
        parts.append("On the event loop:" if thread == LOOP_THREAD else f"On the thread `{thread}`:")
        rows = [
            [link(each.file), f"`{each.function}`", purpose(read(root / SOURCE / each.file), each.function)]
            for each in group
        ]
        parts.append(table(("module", "entered by", "what it does"), rows).rstrip())
    return "\n\n".join([*parts, f"{len({each.file for each in entries})} modules"]) + "\n"


def generated(root: Path, walked: dict[str, Recording]) -> Iterator[tuple[str, str]]:
    """The name and the expected text of each part."""
    yield "packages", package_table(root)
    yield from ((name, walkthrough(root, name, walked[name])) for name in WALKTHROUGHS)
    yield "modules", module_lists(root)


def stale(text: str, wanted: dict[str, str]) -> list[str]:
    """The names of the parts that are missing, outdated or unknown."""
    there = {part[2]: part[0].removeprefix(part[1]).removesuffix(part[3]) for part in PART.finditer(text)}
    return [name for name in [*wanted, *(there.keys() - wanted.keys())] if wanted.get(name) != there.get(name)]


def main(arguments: list[str], root: Path, walk: Walk = walk) -> int:
    """Exit status: 0 if the page is up to date or was written, 1 if a part is missing or --check finds it stale."""
    page = root / PAGE
    text = page.read_text("utf-8")
    wanted = dict(generated(root, walk(root)))
    if "--check" not in arguments:
        text = PART.sub(lambda part: f"{part[1]}{wanted.get(part[2], '')}{part[3]}", text)
        page.write_text(text, "utf-8")
        if missing := stale(text, wanted):
            sys.stderr.write(f"{PAGE}: these begin/end comments are missing or unknown: {', '.join(missing)}\n")
            return 1
    elif found := stale(text, wanted):
        sys.stderr.write(f"{PAGE} is stale ({', '.join(found)}): run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], ROOT))
