"""What docs/operate/sqlite.md says about the data folder, crashes and backups is so."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.docs.shell import DocsUser, need_curl

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
        assert "1 unfinished, going on" in someone.printed
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
    for name in ("weftwork.db", "weftwork.db-wal", "weftwork.db-shm"):
        (someone.data / name).unlink(missing_ok=True)
    shutil.copy(someone.home / "backup.db", someone.data / "weftwork.db")
    with someone.host():
        assert "1 unfinished, going on" in someone.printed
        assert events(someone, ended) == before
        answer = run(someone, f'curl -s $URL/v1/runs/{later} -H "$AUTH"\n')
        assert json.loads(answer)["error"] == "not_found"
        stopped = run(someone, f'curl -s -X POST $URL/v1/runs/{open_run}/cancel -H "$AUTH"\n')
        assert json.loads(stopped)["status"] == "cancelling"
