"""Whatever a user can set, call, meet or read about in the log stands on its page."""

import ast
import re
from pathlib import Path

import click
import msgspec
import pytest

from tests.docs.pages import ROOT
from tests.harness.payload_types import EVENT_TYPES
from weftwork.cli.main import main
from weftwork.protocol.errors import ERRORS, RUN_ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.wire.streams import ANNOTATED_TYPE, MODES
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES
from weftwork.settings import Settings
from weftwork.wiring.node_types import builtin_node_types

SOURCE = ROOT / "src" / "weftwork"
CLI_PAGES = tuple(f"cli-{name}" for name in "run runs bundle assets answer keys workflows envelope".split())


def missing(names: list[str], text: str) -> list[str]:
    """Names that do not stand in the text on their own; `port` does not count inside `--port` or `report`."""
    assert names
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def options(command: click.Command) -> list[str]:
    """The option names and arguments of a command and of those below it, and their names."""
    found = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    for name, child in command.commands.items() if isinstance(command, click.Group) else ():
        found += [name, *options(child)]
    return found


def log_messages(folder: Path) -> list[str]:
    """The fixed part of each message that the host logs."""
    found: list[str] = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                owner, first = node.func.value, node.args[0]
                if isinstance(owner, ast.Name) and owner.id == "log" and isinstance(first, ast.Constant):
                    found.append(str(first.value).partition("%")[0].strip())
    return found


def members(*path: str) -> list[str]:
    shape = schema.document("workflow-definition")
    for step in path:
        shape = shape[step]
    return list(shape["properties"])


def test_settings() -> None:
    names = [field.name for field in msgspec.structs.fields(Settings)]
    assert not missing([*names, *(f"WEFTWORK_{name.upper()}" for name in names)], page("reference/settings.md"))


def test_error_codes() -> None:
    assert not missing([*ERRORS, *RUN_ERRORS], page("reference/errors.md"))


def test_commands_and_options() -> None:
    names = options(main)
    assert {"serve", "keys", "create", "--api-key", "--expires-in"} <= set(names)
    assert not missing(names, "".join(page(f"reference/{name}.md") for name in ("cli", *CLI_PAGES)))


def test_node_types() -> None:
    assert {"core.noop", "core.ai.callPrompt", "local.sample.demo.mock-ai"} <= set(builtin_node_types())
    assert not missing(list(builtin_node_types()), page("reference/nodes.md"))


def test_operations_parameters_and_scopes() -> None:
    text = page("reference/http.md")
    details = "".join(page(f"reference/{name}.md") for name in ("parameters", "seams", "assets"))
    assert not missing([route.operation_id for route in ROUTES], text)
    assert not missing([route.operation_id for route in ROUTES], details)
    assert not missing([param.name for route in ROUTES for param in route.params], details)
    assert not [route.path for route in ROUTES if f"{route.method} {route.path}" not in text]
    assert not missing(list(SCOPES), text)


def test_members_of_a_definition() -> None:
    text = page("reference/workflow.md")
    assert not missing(members(), text)
    for part in ("WorkflowNode", "WorkflowEdge", "WorkflowVariable", "WorkflowSettings"):
        assert not missing(members("$defs", part), text), part


def test_members_of_a_new_run() -> None:
    body = schema.document("create-run")["$defs"]["Routing"]["properties"]
    configurable = schema.document("run-options")["$defs"]["Configurable"]["properties"]
    unknown = {"mode", "evalSuiteRef", "agentId", "mockProvider"}
    assert not missing([*(set(body) | set(configurable)) - unknown, "tags", "metadata"], page("reference/http.md"))


def test_events_statuses_and_modes() -> None:
    text = page("concepts.md")
    assert not missing([*sorted(EVENT_TYPES), ANNOTATED_TYPE, *STATUSES, *MODES], text)


def test_log_messages() -> None:
    found = log_messages(SOURCE)
    assert "run ended" in found
    text = page("operate/observability.md")
    assert not [message for message in found if message not in text]


def test_every_page_is_listed_on_the_first_one() -> None:
    first = page("index.md")
    inner = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    top = [name for name in inner if not name.startswith("reference/nodes/")]
    assert not [name for name in top if name != "index.md" and f"({name})" not in first]


def test_every_reading_that_the_code_cites_is_there() -> None:
    readings = page("design/0004-readings.md")
    known = set(re.findall(r"^(?:## |\| )([^|\n]+?)(?: \||$)", readings, re.MULTILINE))
    cited = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"readings(?:, | \()([^)\n]+)\)", path.read_text("utf-8"))
    }
    assert "Data flow" in cited
    assert not cited - known


@pytest.mark.parametrize(
    ("name", "text", "gone"),
    [
        ("port", "| `port` |", []),
        ("port", "the report says --port", ["port"]),
        ("--data", "--data-folder", ["--data"]),
        ("run.failed", "run.failed-later, xrun.failed", ["run.failed"]),
    ],
)
def test_a_name_that_is_left_out_is_seen(name: str, text: str, gone: list[str]) -> None:
    assert missing([name], text) == gone
