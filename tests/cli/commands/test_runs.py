"""`weftwork runs prune`: on a running host, and on the store of one that is not running."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.terminal import run_at_terminal
from tests.live import start_host, until, weftwork
from weftwork.adapters.admin.client import send_request
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.cli.main import main
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.samples import NOW, batch, make_run
from weftwork.wiring.data_folder import ADMIN_SOCKET, DATABASE_FILE

OLD = NOW - 1
"""Years ago."""
YEAR = "52w"


def fill(data: Path, count: int, partition: str = "live:acme", completed: int = OLD) -> None:
    """Runs that ended long ago, and one that never did."""

    async def work() -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        store = SqliteStore(data / DATABASE_FILE)
        await store.open()
        await asyncio.gather(*(one(store, number) for number in range(count)))
        await store.close()

    async def one(store: SqliteStore, number: int) -> None:
        run = await make_run(store, f"old-{number}", partition)
        last = batch(run, -1, status="completed")
        await store.log.append(run, -1, replace(last, projection=replace(last.projection, completed_at=completed)))

    asyncio.run(work())


def left(data: Path, partition: str = "live:acme") -> int:
    async def work() -> int:
        store = SqliteStore(data / DATABASE_FILE)
        await store.open()
        try:
            return await store.retention.count_ended(NOW * 2, partition)
        finally:
            await store.close()

    return asyncio.run(work())


def prune(data: Path, *args: str, code: int = 0) -> Any:
    """What the command says in JSON, or its error."""
    done = weftwork(data.parent, "runs", "prune", *args, "--data", data, *(["--json"] if code == 0 else []))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


@pytest.mark.rule("run-11")
def test_old_runs_are_deleted_from_a_stopped_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 450)
    fill(data, 3, "test:acme")
    fill(data, 2, "live:other")
    said = prune(data, "--older-than", YEAR, "--tenant", "acme", "--dry-run")
    assert (said["found"], said["deleted"], said["dryRun"]) == (453, 0, True)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT.*Z", said["endedBefore"])
    assert left(data) == 450
    said = prune(data, "--older-than", YEAR, "--tenant", "acme")
    assert (said["found"], said["deleted"], said["dryRun"]) == (453, 453, False)
    assert (left(data), left(data, "test:acme"), left(data, "live:other")) == (0, 0, 2)
    assert prune(data, "--older-than", YEAR)["deleted"] == 2
    assert prune(data, "--older-than", YEAR) | {"endedBefore": ""} == {
        "endedBefore": "",
        "found": 0,
        "deleted": 0,
        "dryRun": False,
    }


@pytest.mark.rule("run-11")
def test_a_running_host_deletes_old_runs_and_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 230)
    with start_host(tmp_path, "--conformance") as host:
        young = host.create("conformance-noop")
        live = host.create("conformance-cancellable", inputs={"delayMs": 60_000})
        assert host.snapshot("old-7")["status"] == "completed"
        assert prune(host.data, "--older-than", YEAR)["deleted"] == 230
        assert host.call("GET", "/v1/runs/old-7").status == 404
        listed = host.call("GET", "/v1/runs?limit=200").document["runs"]
        assert [run["runId"] for run in listed] == [live, young]
        assert prune(host.data, "--older-than", "1m")["deleted"] == 0
        assert host.snapshot(live)["status"] == "running"


@pytest.mark.rule("run-11")
def test_runs_past_their_time_go_by_themselves(tmp_path: Path) -> None:
    fill(tmp_path / "data", 30)
    with start_host(tmp_path, "--conformance", env={"WEFTWORK_RETENTION_DAYS": "30"}) as host:
        young = host.create("conformance-noop")
        until(lambda: host.call("GET", "/v1/runs/old-29").status == 404, "the last of them to go")
        assert [run["runId"] for run in host.call("GET", "/v1/runs").document["runs"]] == [young]
        until(lambda: '"message":"runs past their time deleted","count":30' in host.errors, "a word in the log")


def test_without_the_setting_every_run_stays(tmp_path: Path) -> None:
    fill(tmp_path / "data", 3)
    with start_host(tmp_path) as host:
        assert host.snapshot("old-2")["status"] == "completed"
    assert left(tmp_path / "data") == 3


def test_what_is_printed_for_people(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 2)
    line = ("runs", "prune", "--older-than", "30d", "--data", data)
    assert re.fullmatch(
        r"2 runs ended before 20\S+Z; nothing was deleted\.\n", weftwork(tmp_path, *line, "--dry-run").stdout
    )
    done = weftwork(tmp_path, *line)
    assert re.fullmatch(r"2 runs that ended before 20\S+Z deleted\.\n", done.stdout), done.stderr
    assert done.stderr == ""
    fill(data, 1, "live:other")
    assert weftwork(tmp_path, *line).stdout.startswith("1 run that ended before ")


def test_somebody_at_a_terminal_is_asked_and_sees_how_far_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    fill(data, 3)
    line = ("runs", "prune", "--older-than", "30d", "--data", data)
    code, shown = run_at_terminal(tmp_path, b"n\n", *line)
    assert code == 1
    assert "Delete 3 runs that ended before 20" in shown
    assert left(data) == 3
    code, shown = run_at_terminal(tmp_path, b"y\n", *line)
    assert (code, left(data)) == (0, 0)
    assert "3 of 3" in shown
    fill(data, 1, "live:other")
    code, shown = run_at_terminal(tmp_path, b"", *line, "--yes")
    assert code == 0
    assert "[y/N]" not in shown


@pytest.mark.parametrize("age", ["", "30", "d", "0d", "1.5d", "-1d", "30 d", "30D", "1y", "1234567d", "٣d"])
def test_an_age_that_is_none_is_refused(tmp_path: Path, age: str) -> None:
    fill(tmp_path / "data", 1)
    said = prune(tmp_path / "data", "--older-than", age, code=2)
    assert "such as" in said or "30d" in said
    assert left(tmp_path / "data") == 1


@pytest.mark.parametrize(("age", "milliseconds"), [("90m", 5_400_000), ("12h", 43_200_000), ("2w", 1_209_600_000)])
def test_an_age_is_a_number_and_a_unit(age: str, milliseconds: int) -> None:
    option = next(each for each in main.commands["runs"].commands["prune"].params if each.name == "older_than")  # type: ignore[attr-defined]
    assert option.callback is not None
    assert option.callback(None, option, age) == milliseconds  # type: ignore[arg-type]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert "--older-than" in prune(data, code=2)
    assert "there is no store" in prune(data, "--older-than", "1d", code=1)
    assert not data.exists()
    fill(data, 1)
    assert "No tenant can have this name" in prune(data, "--older-than", "1d", "--tenant", "a b", code=1)


def test_the_socket_takes_slices_of_a_bounded_size(tmp_path: Path) -> None:
    fill(tmp_path / "data", 205)
    with start_host(tmp_path) as host:

        def asked(operation: str, **arguments: Any) -> Any:
            return send_request(host.data / ADMIN_SOCKET, {"operation": operation, "arguments": arguments})

        assert asked("runs.prune", completed_before=NOW, limit=10**9) == {"deleted": 200, "more": True}
        assert asked("runs.prune", completed_before=NOW, limit=-5) == {"deleted": 1, "more": True}
        assert asked("runs.count", completed_before=NOW) == {"runs": 4}
        assert asked("runs.prune", completed_before="x")["error"] == "validation_error"
        assert asked("runs.prune", completed_before=NOW, tenants=["acme"])["error"] == "validation_error"
        assert asked("runs.prune", completed_before=NOW) == {"deleted": 4, "more": False}


def test_a_run_that_is_gone_stays_gone_after_a_kill(tmp_path: Path) -> None:
    fill(tmp_path / "data", 20)
    with start_host(tmp_path) as host:
        prune(host.data, "--older-than", YEAR)
        host.kill()
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/runs").document == {"runs": []}
        assert host.call("GET", f"/v1/runs/{RunKey('live:acme', 'old-3').run_id}").status == 404
