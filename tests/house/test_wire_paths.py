"""Paths, event types and members of the wire are written in protocol/ only: everything else asks for them."""

import ast
import re
from pathlib import Path

import pytest

from tests.harness.payload_types import EVENT_TYPES
from tests.house.test_purity import imported
from weftwork.protocol.run.events import CATALOGUE
from weftwork.protocol.wire.v1.paths import PATHS, VERSION_PREFIX, method_and_path, path_for, path_prefix
from weftwork.protocol.wire.v1.routes import ROUTES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weftwork"
TABLES = SOURCE / "protocol" / "wire" / "v1"

WIRE_PATH = re.compile(r"(?<![\w.])/(?:v1(?![\w.])|\.well-known/openwop|health\b|readiness\b|schemas/)")
"""What only a wire path looks like. Docstrings count as well: they name the operation id instead."""
FRAGMENT = re.compile(
    r"(?:^|[})])/(?:runs|workflows|interrupts|events|poll|cancel|tree|links|annotations|artifacts|debug-bundle)\b"
)
"""The rest of a path behind something that a program filled in."""

ALLOWED = {"protocol/envelopes/contract.py": frozenset({"{}/artifacts/{}"})}
"""Module -> strings that look like one and are something else: this one is a JSON pointer."""


def path_literals(source: str) -> list[str]:
    """Every string of a module that holds a wire path, f-strings with `{}` for what is filled in."""
    found: list[str] = []
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in parts:
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        else:
            continue
        if WIRE_PATH.search(text) or FRAGMENT.search(text):
            found.append(text)
    return found


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.glob("**/*.py") if TABLES not in path.parents)


def test_no_wire_path_is_written_outside_the_tables() -> None:
    found: list[str] = []
    for path in modules():
        name = path.relative_to(SOURCE).as_posix()
        allowed = ALLOWED.get(name, frozenset())
        found += [f"{name}: {text[:80]!r}" for text in path_literals(path.read_text("utf-8")) if text not in allowed]
    assert not found, "take it from weftwork.protocol.wire.v1.paths:\n" + "\n".join(found)


def test_what_is_allowed_is_there() -> None:
    for name, texts in ALLOWED.items():
        assert texts <= set(path_literals((SOURCE / name).read_text("utf-8"))), name


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('client.get("/v1/runs")', "/v1/runs"),
        ('client.get(f"/v1/runs/{segment(run_id)}/events")', "/v1/runs/{}/events"),
        ('client.get(f"{base}/runs")', "{}/runs"),
        ('client.get(f"{path}/events/poll")', "{}/events/poll"),
        ('text = f"{address}/v1/runs"', "{}/v1/runs"),
        ('get("/.well-known/openwop")', "/.well-known/openwop"),
        ('check("/health")', "/health"),
        ('path.startswith("/v1/")', "/v1/"),
        ('path == b"/v1"', "/v1"),
        ('raise ClickException("this host has no GET /v1/runs.")', "this host has no GET /v1/runs."),
        ('def f():\n    """Asks GET /v1/runs."""', "Asks GET /v1/runs."),
    ],
)
def test_a_wire_path_is_seen(source: str, said: str) -> None:
    assert path_literals(source) == [said]


@pytest.mark.parametrize("source", ['"/assets/v1."', '"https://x.test/api/v1.json"', "'a/v1x'", '"/tmp/runs"'])
def test_other_texts_pass(source: str) -> None:
    assert path_literals(source) == []


def test_the_check_looks_at_every_package_of_the_source() -> None:
    assert {path.relative_to(SOURCE).parts[0] for path in modules()} >= {"adapters", "cli", "engine", "protocol"}
    assert path_literals((TABLES / "paths.py").read_text("utf-8"))


def test_the_routes_and_the_paths_are_the_same_table() -> None:
    assert [each.operation_id for each in ROUTES] == list(PATHS)
    assert {each.operation_id: (each.method, each.path) for each in ROUTES} == PATHS


def test_the_table_of_paths_imports_nothing_of_ours() -> None:
    """The command line imports it at start-up, also to complete a word in a shell."""
    tree = ast.parse((TABLES / "paths.py").read_text("utf-8"))
    assert not [name for node in ast.walk(tree) for name in imported(node) if name.startswith((".", "weftwork"))]


def test_parameters_are_filled_in_as_one_segment_each() -> None:
    assert path_for("listRuns") == f"{VERSION_PREFIX}/runs"
    filled = path_for("resolveInterruptByRun", runId="a/b", nodeId="{runId} ä?")
    assert filled == f"{VERSION_PREFIX}/runs/a%2Fb/interrupts/%7BrunId%7D%20%C3%A4%3F"
    assert path_for("pauseRun", runId="r:x") == f"{VERSION_PREFIX}/runs/r%3Ax:pause"
    assert path_prefix("getAsset") + "t" == path_for("getAsset", token="t")
    assert method_and_path("registerWorkflow") == f"POST {VERSION_PREFIX}/workflows"


def test_a_path_that_cannot_be_made_is_a_bug_of_the_caller() -> None:
    with pytest.raises(KeyError):
        path_for("getNothing")
    with pytest.raises(KeyError):
        path_for("getRun")
    with pytest.raises(TypeError, match="has no parameter nodeId"):
        path_for("getRun", runId="r", nodeId="n")


LEFT = {"engine": 159, "adapters": 561, "conformance": 118}
"""Literals per folder. Write the new number here when there are fewer."""
TYPES = CATALOGUE | EVENT_TYPES
MEMBER = re.compile(r"[a-z]+(?:[A-Z][a-z0-9]*)+")


def wire_literals(text: str) -> list[str]:
    """Texts that are the type of an event, or a name in camelCase, which may also be the keyword of a call."""
    found: list[object] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant | ast.keyword):
            found.append(node.value if isinstance(node, ast.Constant) else node.arg)
    return [each for each in found if isinstance(each, str) and (each in TYPES or MEMBER.fullmatch(each))]


@pytest.mark.parametrize("folder", LEFT)
def test_wire_literals_become_fewer(folder: str) -> None:
    count = sum(len(wire_literals(path.read_text("utf-8"))) for path in (SOURCE / folder).rglob("*.py"))
    assert count <= LEFT[folder], f"{folder} has {count} wire literals: name new ones in protocol/run/payloads.py"
    assert count == LEFT[folder], f"{folder} has {count} wire literals: write that number into {Path(__file__).name}"


def test_types_and_members_are_seen_and_other_texts_are_not() -> None:
    text = '''
"""node.started, nodeId"""
Draft("node.started", {"nodeId": 1, "node_id": 2, "HTTPError": 3, "core.noop": 4, "run": 5, f"{x}Ms": 6})
port_schema(**members, runId=1, run_id=2)
'''
    assert sorted(wire_literals(text)) == ["node.started", "nodeId", "runId"]
