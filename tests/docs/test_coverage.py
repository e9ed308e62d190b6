"""Every setting, operation, error and option is on its page; generated parts are up to date; links lead somewhere."""

import ast
import re
import tomllib
from pathlib import Path

import click
import msgspec
import pytest
from openwop_client import OpenwopClient

from tests.docs.page_tool import copy_tree, run_tool
from tests.docs.pages import ROOT, anchors, links, name, pages
from tests.harness.cases import each_case
from tests.harness.payload_types import EVENT_TYPES
from weftwork.cli.main import main
from weftwork.protocol.errors import ERRORS, RUN_ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.run.header import STATUSES
from weftwork.protocol.wire.streams import ANNOTATED_TYPE, MODES
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES
from weftwork.settings import FILE_ONLY, Settings
from weftwork.wiring.node_types import builtin_node_types

SOURCE = ROOT / "src" / "weftwork"
CLI_PAGES = tuple(
    f"cli-{name}"
    for name in (
        "run runs time-travel eval bundle diff history assets answer keys workflows models envelope surface "
        "store".split()
    )
)


def missing(names: list[str], text: str) -> list[str]:
    """Names that do not stand in the text on their own; `port` does not count inside `--port` or `report`."""
    assert names
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def options(command: click.Command) -> list[str]:
    """The option names and arguments of a command and of those below it, and their names."""
    found = [option for parameter in command.params for option in parameter.opts if option.startswith("-")]
    for word, child in command.commands.items() if isinstance(command, click.Group) else ():
        found += [word, *options(child)]
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
    names = [field.name for field in msgspec.structs.fields(Settings) if field.name not in FILE_ONLY]
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
    names = ("parameters", "test-endpoints", "assets", "surfaces", "forks")
    details = "".join(page(f"reference/{name}.md") for name in names)
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
    assert not missing(sorted(EVENT_TYPES), page("reference/events.md"))
    assert not missing([ANNOTATED_TYPE, *STATUSES, *MODES], page("concepts.md"))


def test_log_messages() -> None:
    found = log_messages(SOURCE)
    assert "run ended" in found
    text = page("operate/observability.md")
    assert not [message for message in found if message not in text]


def test_the_messages_to_watch_are_messages_of_the_host() -> None:
    table = page("how-to/watch-a-host.md").partition("| message |")[2].partition("\n\n")[0]
    watched = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert "store unavailable" in watched
    assert set(watched) <= set(log_messages(SOURCE))


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


@each_case(
    "name, text, gone",
    ("port", "| `port` |", []),
    ("port", "the report says --port", ["port"]),
    ("--data", "--data-folder", ["--data"]),
    ("run.failed", "run.failed-later, xrun.failed", ["run.failed"]),
)
def test_a_name_that_is_left_out_is_seen(name: str, text: str, gone: list[str]) -> None:
    assert missing([name], text) == gone


TOOL = "reference_pages.py"
REFERENCE = ("settings", "errors", "cli", "http", "parameters", "test-endpoints", "nodes", "workflow")
PAGES = ("concepts.md", *(f"reference/{name}.md" for name in REFERENCE))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return copy_tree(tmp_path, TOOL)


def test_the_pages_are_up_to_date() -> None:
    assert run_tool(ROOT, TOOL, "--check") == (0, "")


def test_a_stale_part_is_seen_and_written_anew(tree: Path) -> None:
    page = tree / "docs" / "reference" / "settings.md"
    before = page.read_text("utf-8")
    page.write_text(before.replace("`8787`", "`8788`"), "utf-8")
    assert run_tool(tree, TOOL, "--check") == (1, "docs/reference/settings.md is stale: run `make docs`\n")
    assert run_tool(tree, TOOL) == (0, "")
    assert page.read_text("utf-8") == before


@each_case("page", *PAGES)
def test_a_page_has_generated_parts(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    assert "<!-- begin: " in text
    assert text.count("<!-- begin: ") == text.count("<!-- end: ")


def test_an_unknown_part_stops_the_tool(tree: Path) -> None:
    page = tree / "docs" / "index.md"
    page.write_text("<!-- begin: weather -->\n<!-- end: weather -->\n", "utf-8")
    status, said = run_tool(tree, TOOL)
    assert status != 0
    assert "weather" in said


RULE = re.compile(r"`--rule ([a-z]+-\d\d)`|pytest --rule ([a-z]+-\d\d)")


def broken(page: Path) -> list[str]:
    """Links of a page that lead to no file or to no heading of it."""
    found: list[str] = []
    for link in links(page.read_text("utf-8")):
        if "://" in link:
            continue
        file, _, fragment = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (fragment and fragment not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@each_case("page", *pages())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other things, here\n\n```text\n# not a heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#other-things-here) [c](other.md#not-a-heading) [d](gone.md) [e](#own)\n"
    )
    assert broken(page) == ["other.md#not-a-heading", "gone.md", "#own"]


def test_the_rules_that_pages_name_are_rules() -> None:
    manifest = tomllib.loads((ROOT / "src" / "weftwork" / "protocol" / "rules.toml").read_text("utf-8"))
    known = {row["id"] for row in manifest["rule"]}
    named = {a or b for page in pages() for a, b in RULE.findall(page.read_text("utf-8"))}
    assert "fold-01" in named
    assert named <= known


def test_the_tests_that_pages_name_exist() -> None:
    named = {path for page in pages() for path in re.findall(r"`(tests/[\w/.]+)`", page.read_text("utf-8"))}
    assert "tests/docs/test_snippets.py" in named
    assert [path for path in named if not (ROOT / path).exists()] == []


README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_has_a_picture_a_start_and_proofs() -> None:
    assert "(docs/assets/run.svg)" in README
    assert "```sh\nmake run\n```" in README
    assert "```sh\nmake test\n```" in README
    assert len(RULE.findall(README)) >= 4


CLIENT_METHODS = [name for name in vars(OpenwopClient) if not name.startswith("_")]


def test_the_readme_names_the_client_methods_that_work() -> None:
    """A method works if a test of tests/interop calls it by name; what the others answer is in `cases` there."""
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "interop").glob("test_*.py"))
    work = {method for method in CLIENT_METHODS if f".{method}(" in tests}
    listed = set(re.findall(r"`([a-z]+_[a-z_]+)`", README.partition("## Python client")[2]))
    assert listed == work
    assert f"{len(work)} of the {len(CLIENT_METHODS)} methods" in README


def test_pages_are_short() -> None:
    """Lists of rules, modules and changes are not read from end to end, and a tutorial contains whole files."""
    lists = ("CHANGELOG.md", "docs/rules.md", "docs/architecture.md")
    lines = {name(page): len(page.read_text("utf-8").splitlines()) for page in pages() if name(page) not in lists}
    assert not {page: count for page, count in lines.items() if count > (350 if "/tutorial/" in page else 300)}
