"""The import contracts hold, and each goes red when broken; paths and literals of the wire stand in protocol/ only."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import importlinter.configuration
import pytest
from grimp import ImportGraph
from importlinter.application.use_cases import read_user_options
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

from tests.harness.cases import each_case
from tests.harness.payload_types import EVENT_TYPES
from tests.house.test_purity import core, imported
from weftwork.protocol.run.events import CATALOGUE
from weftwork.protocol.wire.v1.paths import PATHS, VERSION_PREFIX, method_and_path, path_for, path_prefix
from weftwork.protocol.wire.v1.routes import ROUTES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "weftwork"

EDGES = "Edges see only engine/api"
PROTOCOL_ORDER = "Packages of the protocol build on one another"
NODE_CODE = "Nodes and providers see ports and the SDK"
CONFORMANCE_IMPORTS = "Only the composition root imports conformance"
CONFORMANCE_FACADES = "conformance uses the facades of the engine"
NODE_FAMILIES = "Node families build on each other one way"
SQLITE = "SQLite statements build on the database"

CONTRACT_TYPES = {"forbidden": ForbiddenContract, "independence": IndependenceContract, "layers": LayersContract}

LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(no_cache=True, no_logo=True))
"""


def verdicts() -> tuple[dict[str, str], str]:
    """Contract name -> KEPT or BROKEN, and everything the linter said."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", LINT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = ended.stdout + ended.stderr
    found = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", said, re.MULTILINE))
    assert (ended.returncode == 0) == (bool(found) and "BROKEN" not in found.values()), said
    return found, said


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    return grimp.build_graph("weftwork", include_external_packages=True, cache_dir=None)


def test_the_contracts_hold() -> None:
    found, said = verdicts()
    assert found, said
    assert set(found.values()) == {"KEPT"}, said


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("protocol/run/header.py", "import time", "protocol does no I/O"),
        ("protocol/run/header.py", "import weftwork.ports.clock", "Arrows point inward"),
        ("protocol/run/header.py", "import weftwork.protocol.fold.state", PROTOCOL_ORDER),
        ("protocol/privacy/trust.py", "import weftwork.protocol.privacy.redaction", PROTOCOL_ORDER),
        ("protocol/workflow/plan.py", "import weftwork.protocol.media.media_types", PROTOCOL_ORDER),
        ("app.py", "import weftwork.testing.deterministic", "Only tests import the test kit"),
        ("adapters/http/app.py", "import weftwork.conformance.test_endpoints", "Arrows point inward"),
        ("conformance/workflows.py", "import weftwork.wiring.models", "Arrows point inward"),
        ("cli/serve/startup.py", "import weftwork.conformance.workflows", CONFORMANCE_IMPORTS),
        ("conformance/endpoints/test_log.py", "import weftwork.engine.runtime", CONFORMANCE_FACADES),
        ("conformance/nodes/mock_ai.py", "import weftwork.engine.decide.envelopes", CONFORMANCE_FACADES),
        ("engine/decide/transitions.py", "import weftwork.ports.clock", "decide sees the protocol only"),
        ("engine/decide/inputs.py", "import weftwork.engine.runtime", "decide sees the protocol only"),
        ("engine/run/pending_commit.py", "import weftwork.engine.host.alarm", "engine packages are layered"),
        ("engine/runtime.py", "import weftwork.engine.host.child_start", "engine packages are layered"),
        ("engine/streams/feeds.py", "import weftwork.engine.signer", "engine packages are layered"),
        ("engine/sdk/generation.py", "import weftwork.engine.decide.inputs", "engine packages are layered"),
        ("adapters/nodes/ai/model_nodes.py", "import weftwork.engine.models.model_calls", NODE_CODE),
        ("adapters/providers/registry.py", "import weftwork.engine.runtime", NODE_CODE),
        ("adapters/python/calls/media.py", "import weftwork.engine.media.node_media", NODE_CODE),
        ("testing/provider.py", "import weftwork.engine.models.message_media", NODE_CODE),
        ("engine/sdk/model_request.py", "import weftwork.engine.models.message_media", NODE_CODE),
        ("adapters/http/sse.py", "import weftwork.engine.streams.feeds", EDGES),
        ("adapters/http/routes/assets.py", "import weftwork.engine.media.assets", EDGES),
        ("adapters/admin/server.py", "import weftwork.engine.runtime", EDGES),
        ("cli/main.py", "import weftwork.engine.host.executor", EDGES),
        ("engine/host/__init__.py", "import weftwork.protocol.wire.v1.routes", "engine knows no wire version"),
        ("protocol/wire/openapi.py", "import weftwork.protocol.wire.v1.paths", "wire knows no version of it"),
        ("cli/console/text.py", "import weftwork.cli.client.errors", "Layers of the command line"),
        ("cli/client/event_stream.py", "import weftwork.cli.render.outline", "Layers of the command line"),
        ("cli/render/outline.py", "import weftwork.cli.follow.run_watch", "Layers of the command line"),
        ("cli/follow/run_watch.py", "import weftwork.cli.answer.target", "Layers of the command line"),
        ("cli/doctor/machine_checks.py", "import weftwork.cli.serve.startup", "Layers of the command line"),
        ("cli/answer/target.py", "import weftwork.cli.commands.run", "Layers of the command line"),
        ("engine/__init__.py", "import apsw", "engine and ports know no drivers"),
        ("adapters/memory/__init__.py", "import weftwork.adapters.http", "Adapters do not import each other"),
        ("adapters/outbound/__init__.py", "import weftwork.adapters.nodes", "Adapters do not import each other"),
        ("adapters/nodes/data/lists.py", "import weftwork.adapters.nodes.people.gates", NODE_FAMILIES),
        ("adapters/nodes/people/gates.py", "import weftwork.adapters.nodes.runs.supervisor", NODE_FAMILIES),
        ("adapters/nodes/runs/dispatch.py", "import weftwork.adapters.nodes.flow.map", NODE_FAMILIES),
        ("adapters/nodes/flow/control.py", "import weftwork.adapters.nodes.samples", NODE_FAMILIES),
        ("adapters/nodes/ai/model_nodes.py", "import weftwork.adapters.nodes.media.media_emit", NODE_FAMILIES),
        ("adapters/nodes/samples.py", "import weftwork.adapters.nodes.builtin", NODE_FAMILIES),
        ("adapters/nodes/schemas.py", "import weftwork.adapters.nodes.data.lists", NODE_FAMILIES),
        ("adapters/sqlite/database/worker.py", "import weftwork.adapters.sqlite.run_queries", SQLITE),
        ("adapters/sqlite/transactions.py", "import weftwork.adapters.sqlite.event_log", SQLITE),
        ("adapters/sqlite/keys.py", "import weftwork.adapters.sqlite.definitions", SQLITE),
    ],
)
def test_a_broken_contract_goes_red(graph: ImportGraph, module: str, line: str, contract: str) -> None:
    importer, imported = (
        f"weftwork/{module}".removesuffix(".py").removesuffix("/__init__").replace("/", "."),
        line.removeprefix("import "),
    )
    assert importer in graph.modules
    assert imported in graph.modules or not imported.startswith("weftwork")
    assert is_kept(graph, contract)
    changed = deepcopy(graph)
    changed.add_import(importer=importer, imported=imported)
    assert not is_kept(changed, contract)


def is_kept(graph: ImportGraph, name: str) -> bool:
    importlinter.configuration.configure()
    options = read_user_options(str(ROOT / "pyproject.toml"))
    (found,) = [each for each in options.contracts_options if each["name"] == name]
    checked = CONTRACT_TYPES[found["type"]](name, options.session_options, found)
    return checked.check(deepcopy(graph), verbose=False).kept


def contract(name: str) -> dict[str, Any]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (found,) = [each for each in settings["tool"]["importlinter"]["contracts"] if each["name"] == name]
    return found


def modules(*paths: Path) -> list[str]:
    return sorted(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in paths)


def test_the_contracts_name_every_module_they_are_about() -> None:
    """A new module is under no contract until it is named in it."""
    wires = modules(*(each.parent for each in (SOURCE / "protocol" / "wire").glob("v*/__init__.py")))
    assert wires == sorted(contract("engine knows no wire version")["forbidden_modules"]) != []
    shared = {each.name for each in (SOURCE / "protocol" / "wire").glob("*.py")} - {"__init__.py"}
    named = contract("wire knows no version of it")
    assert modules(*(SOURCE / "protocol" / "wire" / name for name in shared)) == sorted(named["source_modules"])
    assert wires == sorted(named["forbidden_modules"])
    adapters = modules(*(each.parent for each in (SOURCE / "adapters").glob("*/__init__.py")))
    assert adapters == sorted(contract("Adapters do not import each other")["modules"])
    decide = contract("decide sees the protocol only")
    assert decide["source_modules"] == ["weftwork.engine.decide"]
    assert {path.parent.name for path in core() if "engine" in path.parts} == {"decide"}
    others = {each.stem if each.is_file() else each.name for each in (SOURCE / "engine").iterdir()}
    others -= {"__init__", "__pycache__", "decide"}
    assert {f"weftwork.engine.{name}" for name in others} <= set(decide["forbidden_modules"])
    facades = {"weftwork.engine.api", "weftwork.engine.sdk"}
    assert facades | set(contract(CONFORMANCE_FACADES)["forbidden_modules"]) == {
        f"weftwork.engine.{name}" for name in (*others, "decide")
    }
    engine = [name for layer in contract("engine packages are layered")["layers"] for name in layer.split(" | ")]
    assert {f"weftwork.engine.{name}" for name in (*others, "decide")} == set(engine)
    assert set(contract(NODE_CODE)["forbidden_modules"]) == set(engine) - {"weftwork.engine.sdk"}
    assert {f"weftwork.engine.{name}" for name in (*others - {"api"}, "decide")} == set(
        contract(EDGES)["forbidden_modules"]
    )
    layers = contract(PROTOCOL_ORDER)["layers"]
    named = {name.split(".")[2] for layer in layers for name in re.findall(r"[\w.]+", layer)}
    assert named == {each.split(".")[2] for each in modules(*_entries(SOURCE / "protocol"))}
    privacy = {name for layer in layers for name in re.findall(r"[\w.]+", layer) if ".privacy." in name}
    assert privacy == set(modules(*_entries(SOURCE / "protocol" / "privacy")))


def _entries(folder: Path) -> list[Path]:
    packages = [each.parent for each in folder.glob("*/__init__.py")]
    return [*packages, *(each for each in folder.glob("*.py") if each.stem != "__init__")]


TABLES = SOURCE / "protocol" / "wire" / "v1"

WIRE_PATH = re.compile(r"(?<![\w.])/(?:v1(?![\w.])|\.well-known/openwop|health\b|readiness\b|schemas/)")
"""What only a wire path looks like. Docstrings count as well: they name the operation id instead."""
FRAGMENT = re.compile(
    r"(?:^|[})])/(?:runs|workflows|interrupts|events|poll|cancel|tree|links|annotations|artifacts|debug-bundle)\b"
)
"""The rest of a path behind something that a program filled in."""

ALLOWED = {
    "protocol/envelopes/gate_rules.py": frozenset({"{}/artifacts/{}"}),
    "protocol/review/bundle_import.py": frozenset({"/events", "/events/{}", "/events/{}/payload"}),
    "adapters/model_server/model_server.py": frozenset({"http://{}:{}/v1"}),
}
"""Module -> strings that look like one and are something else: JSON pointers, and the address of another server."""


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


def python_files() -> list[Path]:
    return sorted(path for path in SOURCE.glob("**/*.py") if TABLES not in path.parents)


def test_no_wire_path_is_written_outside_the_tables() -> None:
    found: list[str] = []
    for path in python_files():
        name = path.relative_to(SOURCE).as_posix()
        allowed = ALLOWED.get(name, frozenset())
        found += [f"{name}: {text[:80]!r}" for text in path_literals(path.read_text("utf-8")) if text not in allowed]
    assert not found, "take it from weftwork.protocol.wire.v1.paths:\n" + "\n".join(found)


def test_what_is_allowed_is_there() -> None:
    for name, texts in ALLOWED.items():
        assert texts <= set(path_literals((SOURCE / name).read_text("utf-8"))), name


@each_case(
    "source, said",
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
)
def test_a_wire_path_is_seen(source: str, said: str) -> None:
    assert path_literals(source) == [said]


@each_case("source", '"/assets/v1."', '"https://x.test/api/v1.json"', "'a/v1x'", '"/tmp/runs"')
def test_other_texts_pass(source: str) -> None:
    assert path_literals(source) == []


def test_the_check_looks_at_every_package_of_the_source() -> None:
    assert {path.relative_to(SOURCE).parts[0] for path in python_files()} >= {"adapters", "cli", "engine", "protocol"}
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


LEFT = {"engine": 151, "adapters": 503, "conformance": 121}
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
