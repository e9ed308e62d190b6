"""rules.toml is true in both directions: every row is enforced and proved, every id has a row; so is docs/rules.md."""

import ast
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.harness.cases import each_case

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
MANIFEST = SOURCE / "weftwork" / "protocol" / "rules.toml"

ID = re.compile(r"(?<![\w-])[a-z]+-\d{2}(?![\w-])")
LOOKS_ALIKE = frozenset({"utf-16", "utf-32"})
STATUSES = ("done", "partial", "deferred")
FIELDS = frozenset({"id", "source", "text", "where", "status", "why"})

Row = dict[str, Any]


class Mention(NamedTuple):
    """A rule id in a docstring or comment. `name` is the definition it belongs to, empty for the module."""

    rule: str
    module: str
    name: str
    line: int


class Mark(NamedTuple):
    """One id in a `pytest.mark.rule(...)`; None when the mark holds something else than literal ids."""

    rule: str | None
    place: str


def mentions(source: str, module: str) -> list[Mention]:
    if not _ids(source):
        return []
    tree = ast.parse(source)
    found = [Mention(rule, module, name, line) for name, line, text in _docs(tree, "") for rule in _ids(text)]
    spans = sorted(_spans(tree, ""), key=lambda span: span[1])
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            owner = [name for name, first, last in spans if first <= line <= last]
            found += [Mention(rule, module, owner[-1] if owner else "", line) for rule in _ids(token.string)]
    return found


def _ids(text: str) -> list[str]:
    return [rule for rule in ID.findall(text) if rule not in LOOKS_ALIKE]


def _docs(node: Any, name: str) -> Iterator[tuple[str, int, str]]:
    """Every string that stands alone, with the definition or the constant it documents."""
    before: ast.stmt | None = None
    for statement in node.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            if isinstance(statement.value.value, str):
                owner = ".".join(filter(None, [name, _assigned(before)]))
                yield owner, statement.lineno, statement.value.value
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _docs(statement, f"{name}.{statement.name}".lstrip("."))
        before = statement


def _assigned(statement: ast.stmt | None) -> str:
    target: ast.expr | None = None
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    return target.id if isinstance(target, ast.Name) else ""


def _spans(node: Any, name: str) -> Iterator[tuple[str, int, int]]:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{statement.name}".lstrip(".")
            yield inner, statement.lineno, statement.end_lineno or statement.lineno
            yield from _spans(statement, inner)


def marks(source: str, place: str) -> list[Mark]:
    found: list[Mark] = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rule"):
            continue
        if ast.unparse(node.func) == "pytest.mark.rule":
            values = [argument.value if isinstance(argument, ast.Constant) else None for argument in node.args]
            ids = [value if isinstance(value, str) else None for value in values] or [None]
            found += [Mark(rule, f"{place}:{node.lineno}") for rule in ids]
    return found


def bad_rows(rows: list[Row], families: dict[str, str]) -> list[str]:
    ids = [str(row.get("id")) for row in rows]
    pairs = pairwise(ids)
    found = [f"{later} stands after {rule}: keep the rows sorted" for rule, later in pairs if later < rule]
    found += [f"{rule} has more than one row" for rule in sorted({rule for rule in ids if ids.count(rule) > 1})]
    for rule, row in zip(ids, rows, strict=True):
        if not ID.fullmatch(rule) or rule[:-3] not in families:
            found.append(f"{rule}: an id is a family of [families], a dash and two digits")
        found += [f"{rule}: unknown field {name}" for name in sorted(row.keys() - FIELDS)]
        status = row.get("status")
        needed = ["source", "text"] + ["where"] * (status != "deferred") + ["why"] * (status != "done")
        found += [f"{rule}: {name} is missing or empty" for name in needed if not str(row.get(name, "")).strip()]
        if status not in STATUSES:
            found.append(f"{rule}: status is {status!r}, not one of {', '.join(STATUSES)}")
        if status == "done" and "why" in row:
            found.append(f"{rule}: a rule that is done needs no why")
    used = {rule[:-3] for rule in ids}
    return found + [f"family {name} has no rule" for name in families if name not in used]


def bad_places(rows: list[Row], seen: list[Mention]) -> list[str]:
    found: list[str] = []
    for row in rows:
        rule, where = row["id"], row.get("where")
        if where is None:
            continue
        module, _, name = where.partition(":")
        if problem := unresolved(module, name):
            found.append(f"{rule}: where = {where!r}: {problem}")
            continue
        places = {mention.name for mention in seen if mention.rule == rule and mention.module == module}
        parts = name.split(".")
        if not places & {"", *(".".join(parts[: count + 1]) for count in range(len(parts)))}:
            elsewhere = sorted(f"{m.module}:{m.name}" for m in seen if m.rule == rule)
            found.append(f"{rule}: no docstring or comment of {where} names it (named in: {elsewhere or 'nothing'})")
    return found


def unresolved(module: str, name: str) -> str | None:
    if not name:
        return "write it as module:name"
    try:
        thing: Any = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
    except Exception as error:  # a module that is broken is as wrong a place as one that is missing
        return f"{type(error).__name__}: {error}"
    return None


def unlisted(rows: list[Row], seen: list[Mention]) -> list[str]:
    known = {row["id"] for row in rows}
    return [f"{m.rule}: named in {m.module} line {m.line}, has no row" for m in seen if m.rule not in known]


def unproved(rows: list[Row], made: list[Mark]) -> list[str]:
    known = {row["id"] for row in rows}
    proved = {mark.rule for mark in made}
    done = [row["id"] for row in rows if row["status"] == "done"]
    found = [f"{rule}: is done, but no test is marked with it" for rule in done if rule not in proved]
    found += [f"{mark.place}: a rule mark takes literal ids" for mark in made if mark.rule is None]
    return found + [f"{mark.place}: no row for {mark.rule}" for mark in made if mark.rule and mark.rule not in known]


def none_of(found: list[str]) -> None:
    """Every finding on its own line; a bare comparison would show the first ones only."""
    if found:
        pytest.fail("\n".join([f"{len(found)} findings:", *found]), pytrace=False)


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return tomllib.loads(MANIFEST.read_text("utf-8"))


@pytest.fixture(scope="module")
def seen() -> list[Mention]:
    found: list[Mention] = []
    for path in sorted(SOURCE.glob("weftwork/**/*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found += mentions(path.read_text("utf-8"), module)
    return found


def test_every_row_is_complete(manifest: dict[str, Any]) -> None:
    none_of(bad_rows(manifest["rule"], manifest["families"]))


def test_every_row_points_at_code_that_names_it(manifest: dict[str, Any], seen: list[Mention]) -> None:
    none_of(bad_places(manifest["rule"], seen))


def test_every_id_in_the_code_has_a_row(manifest: dict[str, Any], seen: list[Mention]) -> None:
    none_of(unlisted(manifest["rule"], seen))


def test_every_rule_that_is_done_is_proved_by_a_test(manifest: dict[str, Any]) -> None:
    paths = sorted(ROOT.glob("tests/**/test_*.py"))
    made = [mark for path in paths for mark in marks(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())]
    none_of(unproved(manifest["rule"], made))


GOOD: Row = {
    "id": "run-01",
    "source": "s",
    "text": "t",
    "where": "weftwork.protocol.run.header:TRANSITIONS",
    "status": "done",
}


@each_case(
    "rows, said",
    ([GOOD], []),
    ([GOOD, {**GOOD, "id": "evt-01"}], ["evt-01 stands after run-01: keep the rows sorted"]),
    ([GOOD, GOOD], ["run-01 has more than one row"]),
    ([{**GOOD, "id": "run-1"}], ["run-1: an id is a family of [families], a dash and two digits"]),
    ([{**GOOD, "text": " "}], ["run-01: text is missing or empty"]),
    ([{**GOOD, "note": "x"}], ["run-01: unknown field note"]),
    ([{**GOOD, "status": "partial"}], ["run-01: why is missing or empty"]),
    ([{**GOOD, "why": "x"}], ["run-01: a rule that is done needs no why"]),
    ([{"id": "run-01", "source": "s", "text": "t", "status": "deferred", "why": "w"}], []),
    ([{**GOOD, "status": "soon", "why": "w"}], ["run-01: status is 'soon', not one of done, partial, deferred"]),
)
def test_a_bad_row_is_seen(rows: list[Row], said: list[str]) -> None:
    assert bad_rows(rows, {rule[:-3]: "A family" for row in rows if ID.fullmatch(rule := row["id"])}) == said


def test_an_unused_family_is_seen() -> None:
    assert bad_rows([GOOD], {"run": "Runs", "old": "Gone"}) == ["family old has no rule"]


def test_a_wrong_place_is_seen() -> None:
    here = Mention("run-01", "weftwork.protocol.run.header", "TRANSITIONS", 1)
    there = here._replace(name="next_status")
    assert bad_places([GOOD], [here]) == []
    assert bad_places([GOOD], [here._replace(name="")]) == []
    (said,) = bad_places([GOOD], [there])
    assert "named in: ['weftwork.protocol.run.header:next_status']" in said
    for where in ("weftwork.protocol.run.header", "weftwork.protocol.run.header:GONE", "weftwork.gone:X"):
        (said,) = bad_places([{**GOOD, "where": where}], [here])
        assert said.startswith(f"run-01: where = {where!r}")


def test_a_mention_is_found_where_it_stands() -> None:
    source = (
        '"""Module, abc-01."""\nX = 1\n"""abc-02."""\nclass A:\n    """abc-03."""\n    def f(self):\n'
        '        """abc-04, encoded as utf-16."""\n        # abc-05\n        return "abc-06"\n# abc-07\n'
    )
    found = {mention.rule: mention.name for mention in mentions(source, "m")}
    assert found == {
        "abc-01": "",
        "abc-02": "X",
        "abc-03": "A",
        "abc-04": "A.f",
        "abc-05": "A.f",
        "abc-07": "",
    }


def test_an_id_without_a_row_is_seen() -> None:
    said = unlisted([GOOD], mentions("# run-01\n# run-99\n", "m"))
    assert said == ["run-99: named in m line 2, has no row"]


def test_a_missing_or_wrong_mark_is_seen() -> None:
    source = "import pytest\n\n@pytest.mark.rule({})\ndef test_x(): ...\n"
    assert unproved([GOOD], marks(source.format('"run-01"'), "t.py")) == []
    assert unproved([GOOD], []) == ["run-01: is done, but no test is marked with it"]
    assert unproved([{**GOOD, "status": "partial"}], marks(source.format("X"), "t.py")) == [
        "t.py:3: a rule mark takes literal ids"
    ]
    assert unproved([GOOD], marks(source.format('"run-01", "run-99"'), "t.py")) == ["t.py:3: no row for run-99"]


PARTS = ("tools/rules_page.py", "src/weftwork/protocol/rules.toml", "docs/rules.md")


def run_tool(root: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, str(root / "tools" / "rules_page.py"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return ended.returncode, ended.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for part in PARTS:
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, tmp_path / part)
    return tmp_path


def test_the_page_is_up_to_date() -> None:
    assert run_tool(ROOT, "--check") == (0, "")


def test_a_stale_page_is_seen_and_written_anew(tree: Path) -> None:
    manifest = tree / "src" / "weftwork" / "protocol" / "rules.toml"
    manifest.write_text(manifest.read_text("utf-8").replace('text = "', 'text = "Changed | ', 1), "utf-8")
    assert run_tool(tree, "--check") == (1, "docs/rules.md is stale: run `make docs`\n")
    assert "Changed" not in (tree / "docs" / "rules.md").read_text("utf-8")
    assert run_tool(tree) == (0, "")
    assert "Changed \\| " in (tree / "docs" / "rules.md").read_text("utf-8")
    assert run_tool(tree, "--check") == (0, "")


def test_one_rule_can_be_chosen(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = rule(id): a rule\n")
    (tmp_path / "test_two.py").write_text(
        "import pytest\n\n@pytest.mark.rule('abc-01')\ndef test_one(): ...\n\ndef test_other(): ...\n"
    )
    options = "-m pytest -q --collect-only -p no:cacheprovider --rule abc-01".split()
    # The plugins that it names are modules of the tests.
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *options]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "test_two.py::test_one" in ended.stdout
    assert "test_other" not in ended.stdout
