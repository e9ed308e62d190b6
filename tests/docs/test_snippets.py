"""Every command on a page prints what the page shows; what docs/operate/sqlite.md says about the data folder is so."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks, name, pages
from tests.docs.shell import RUNS, DocsUser, differences, matches, need_curl
from tests.harness.cases import each_case
from tests.live import until, weftwork
from weftwork.settings import SettingsError, load_settings

WITH_COMMANDS = [page for page in pages() if any(b.language in RUNS for b in blocks(page.read_text("utf-8")))]


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[DocsUser]:
    need_curl()
    someone = DocsUser(tmp_path / "person")
    with someone.host():
        yield someone


def all_blocks(page: str) -> list[Block]:
    return blocks((ROOT / page).read_text("utf-8"))


def test_the_pages_with_commands_are_found() -> None:
    found = {name(page) for page in WITH_COMMANDS}
    assert found >= {"README.md", "docs/tutorial/quickstart.md", "docs/reference/http.md", "docs/operate/sqlite.md"}


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, newcomer: DocsUser) -> None:
    listed = [block for block in blocks(page.read_text("utf-8")) if block.language in RUNS]
    found = differences(listed, newcomer.run(listed))
    assert not found, "\n\n".join(found)


def test_a_new_host_says_what_the_quickstart_shows(newcomer: DocsUser) -> None:
    start = next(block for block in all_blocks("docs/tutorial/quickstart.md") if block.code == "make run\n")
    assert start.shown is not None
    assert matches(start.shown, newcomer.printed)


def test_a_finished_run_is_logged_as_shown(newcomer: DocsUser) -> None:
    shown = next(b.code for b in all_blocks("docs/operate/observability.md") if b.code.startswith('{"time"'))
    newcomer.run([Block("bash", 'curl -s $URL/v1/runs -H "$AUTH" -H "$JSON" -d \'{"workflowId":"hello"}\'\n', None)])
    line = until(
        lambda: next((text for text in newcomer.log.splitlines() if "run ended" in text), None), "the log line"
    )
    assert list(json.loads(shown)) == list(json.loads(line))
    assert matches(shown, line)


def test_the_make_targets_on_the_pages_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {word for page in pages() for word in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8"))}
    assert named <= targets | {"check test"}


def test_make_run_registers_the_examples() -> None:
    ended = subprocess.run(["make", "-n", "run"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert "weftwork serve --workflows examples/workflows" in ended.stdout


def test_settings_in_toml_are_settings(tmp_path: Path) -> None:
    shown = [block.code for block in all_blocks("docs/reference/settings.md") if block.language == "toml"]
    assert shown
    for number, text in enumerate(shown):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, "utf-8")
        load_settings({}, {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}, str(file))
        file.write_text(text + "colour = 1\n", "utf-8")
        with pytest.raises(SettingsError):
            load_settings({}, {"XDG_DATA_HOME": str(tmp_path)}, str(file))


def test_a_bad_definition_is_reported_as_shown(tmp_path: Path) -> None:
    definition = json.loads((ROOT / "examples" / "workflows" / "hello.json").read_text("utf-8"))
    definition["nodes"][0]["typeId"] = "core.unknown"
    definition["edges"][0]["targetNodeId"] = "nowhere"
    (tmp_path / "flows").mkdir()
    (tmp_path / "flows" / "bad.json").write_text(json.dumps(definition), "utf-8")
    # The folder that is not there ends the host once it has looked at the first one.
    ended = weftwork(tmp_path, "serve", "--store", "memory", "--workflows", "flows", "--workflows", "nowhere")
    shown = next(block.code for block in all_blocks("docs/reference/workflow.md") if block.language == "text")
    assert matches(shown, ended.stderr.partition("Usage")[0])


@each_case(
    "shown, said, right",
    ("id: 4\ndata: {…}\n", "id: 4\r\ndata: {}\n\n", True),
    ("data: {…}", 'data: {"a":1}\ndata: {"b":2}', False),
    ('{"runId":"01m7f5zzhp2z8y1fpzhf93nsbb",…}', '{"runId":"01m7f675y821vqe0shw8tkbexw","a":1}', True),
    ('{"runId":"01m7f5zzhp2z8y1fpzhf93nsbb",…}', '{"error":"validation_error"}', False),
    ("took 253 ms, expires   in 2 d 23 h", "took 1.2 s, expires in 2 d 23 h", False),
    ("253 ms  expires   in 2 d 23 h", "1.2 s  expires  in 3 d 0 h", True),
    ("2026-11-15 08:43:20  ended", "2026-11-16 09:00:00  ended", True),
    ("2026-11-15 08:43:20  ended", "2026-11-16 09:00:00  failed", False),
    ("one", "one\ntwo", False),
    ("one\ntwo", "one", False),
    ("", "anything", False),
    ("", "\n", True),
)
def test_output_is_compared(shown: str, said: str, right: bool) -> None:
    assert matches(shown, said) is right


def test_a_wrong_or_failing_command_is_seen(newcomer: DocsUser) -> None:
    wrong = Block("bash", "echo one\n", "two\n")
    assert len(differences([wrong], newcomer.run([wrong]))) == 1
    with pytest.raises(AssertionError, match="exit 22"):
        newcomer.run([Block("bash", "curl -sf $URL/v1/runs\n", None)])
    with pytest.raises(AssertionError, match="exit 1"):
        newcomer.run([Block("python", "raise ValueError\n", None)])


def test_a_block_that_only_starts_a_host_leaves_it_running(newcomer: DocsUser) -> None:
    code = "weftwork serve --store memory \\\n  --api-key demo=acme\n"
    serve = Block("bash", code, "weftwork … listens on …\n…\n…\n…\n…\n")
    ask = Block("bash", "weftwork runs ls --key demo\nkill -9 $!\n", "…\n")
    listed = [serve, ask, serve, ask]
    assert differences(listed, newcomer.run(listed)) == []
    with pytest.raises(AssertionError, match="no such folder"):
        newcomer.run([Block("bash", "weftwork serve --store memory --prompts nowhere &\n", None)])


PAGE = (ROOT / "docs" / "operate" / "sqlite.md").read_text("utf-8")
LASTING = {"weftwork.db", "weftwork.lock", "assets"}

CREATE = """
curl -s $URL/v1/runs -H "$AUTH" -H "$JSON" -d '{"workflowId": "hello", "inputs": {"waitMs": %d}}' | cut -d '"' -f 4
"""
EVENTS = """
curl -sN $URL/v1/runs/%s/events?streamMode=debug -H "$AUTH" | sed -n 's/^data: //p'
"""


@pytest.fixture
def someone(tmp_path: Path) -> DocsUser:
    need_curl()
    return DocsUser(tmp_path / "person")


def run(someone: DocsUser, code: str) -> str:
    return someone.run([Block("bash", code, None)])[0].strip()


def events(someone: DocsUser, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(someone, EVENTS % run_id).splitlines()]


def files(someone: DocsUser) -> set[str]:
    return {path.name for path in someone.data.iterdir()}


def test_the_folder_holds_what_the_page_lists(someone: DocsUser) -> None:
    rows = re.findall(r"^\| (`weftwork\.\S+`|`admin\.sock`|`assets`)(?:, (`\S+`))? \|", PAGE, re.MULTILINE)
    listed = {name.strip("`") for row in rows for name in row if name} - {"weftwork.toml"}
    with someone.host():
        assert files(someone) == listed
        assert {path.stat().st_mode & 0o077 for path in someone.data.iterdir()} == {0}
        assert someone.data.stat().st_mode & 0o077 == 0
    assert files(someone) == LASTING


def test_an_acknowledged_run_survives_a_killed_process(someone: DocsUser) -> None:
    with someone.host() as process:
        run_id = run(someone, CREATE % 300)
        process.kill()
    with someone.host():
        until(lambda: "1 unfinished, resumed" in someone.printed or None, "the run to be resumed")
        assert "API key" not in someone.printed
        log = events(someone, run_id)
    assert [event["sequence"] for event in log] == list(range(8))
    assert log[-1]["type"] == "run.completed"
    started = [event["nodeId"] for event in log if event["type"] == "node.started"]
    assert started == ["greet", "wait", "answer"]


def test_a_backup_of_a_running_host_can_be_restored(someone: DocsUser) -> None:
    backup = next(block.code for block in blocks(PAGE) if block.language == "bash")
    with someone.host():
        ended = run(someone, CREATE % 0)
        before = events(someone, ended)
        open_run = run(someone, CREATE % 60_000)
        run(someone, backup)
        later = run(someone, CREATE % 0)
        assert events(someone, later)
    for part in ("weftwork.db", "weftwork.db-wal", "weftwork.db-shm"):
        (someone.data / part).unlink(missing_ok=True)
    shutil.copy(someone.home / "backup.db", someone.data / "weftwork.db")
    with someone.host():
        still = run(someone, f'curl -s $URL/v1/runs/{open_run} -H "$AUTH"\n')
        assert json.loads(still)["status"] == "running"
        assert events(someone, ended) == before
        answer = run(someone, f'curl -s $URL/v1/runs/{later} -H "$AUTH"\n')
        assert json.loads(answer)["error"] == "not_found"
        stopped = run(someone, f'curl -s -X POST $URL/v1/runs/{open_run}/cancel -H "$AUTH"\n')
        assert json.loads(stopped)["status"] == "cancelling"
