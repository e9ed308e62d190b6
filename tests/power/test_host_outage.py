"""A host whose disk fails: new work is refused clearly, everything else goes on, and it comes back by itself."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.harness.definitions import FULL
from tests.live import KEY, Answer, InProcessHost, delays, in_thread
from tests.live import until as wait_for
from tests.live.host import TIMEOUT_SECONDS
from tests.live.host import Host as Client
from tests.live.listening_host import until
from tests.power.disk_host import check_ended, check_refusal, make_host, open_on_disk, stores_on_disk
from tests.power.recording_disk import QUICK_FOLDER, RecordingDisk, open_disk
from weftwork.testing.deterministic import ManualClock
from weftwork.wiring.data_folder import DATABASE_FILE

DUE_MS = 300
BACK_SECONDS = 5.0
LATE = delays("late", DUE_MS, 0)
LONG = delays("long", 3_600_000)


@pytest.fixture
def disk() -> Iterator[RecordingDisk]:
    with open_disk() as disk:
        yield disk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "error", "late"),
    [
        ("write", apsw.FullError, True),
        ("sync", apsw.IOError, False),
        ("open", apsw.CantOpenError, False),
    ],
)
def test_a_host_outlives_a_disk_that_fails(
    tmp_path: Path, disk: RecordingDisk, operation: str, error: type[Exception], late: bool
) -> None:
    kept: dict[str, str] = {}

    async def work() -> None:
        async with open_on_disk(tmp_path, disk, LATE, LONG) as client:
            ended = await in_thread(client.create, "late")
            check_ended(await in_thread(client.log, ended))
            due = [await in_thread(client.create, "late") for _ in range(3)]
            long = await in_thread(client.create, "long")
            kept.update(dict.fromkeys([ended, *due], "completed"), **{long: "running"})
            stream = await in_thread(client.stream, due[0], "?streamMode=debug")
            with stream.connection:
                disk.broken, disk.error, disk.fails_after_writing = {operation, "sync"}, error, late
                await in_thread(check_outage, client, ended, long)
                await past_due(DUE_MS / 1000)
                assert (await in_thread(client.snapshot, due[1]))["status"] == "running"
                disk.repair()
                await in_thread(await_ends, client, due)
                seen = [frame.document for frame in await in_thread(stream.frames)]
                assert seen == await in_thread(client.log, due[0])
            kept[await in_thread(check_back, client)] = "completed"

    asyncio.run(work())
    assert after_a_restart(tmp_path) == kept


async def past_due(seconds: float) -> None:
    """Return when whatever was started before is due."""
    begun = asyncio.get_running_loop().time()
    await until(lambda: asyncio.get_running_loop().time() > begun + seconds, "the delays to pass")


def await_ends(client: Client, runs: list[str]) -> None:
    """They go on by themselves, and soon."""
    for run in runs:
        ended = lambda run=run: client.snapshot(run)["status"] not in ("pending", "running") or None  # noqa: E731
        wait_for(ended, f"{run} to end", BACK_SECONDS)
        check_ended(client.log(run))


def check_outage(client: Client, ended: str, running: str) -> None:
    """While the disk is away: no new work, all else as ever."""
    check_refusal(post(client, "one"))
    check_refusal(post(client, "one"))
    check_refusal(client.call("POST", f"/v1/runs/{running}/cancel", {}))
    check_refusal(client.call("GET", "/readiness"))
    assert client.call("GET", "/health").status == 200
    check_ended([frame.document for frame in client.stream(ended, "?streamMode=debug").frames()])
    check_ended(client.log(ended))
    assert client.snapshot(ended)["status"] == "completed"
    assert client.snapshot(running)["status"] == "running"
    assert len(client.call("GET", "/v1/runs").document["runs"]) == 5


def check_back(client: Client) -> str:
    """The disk is back: what was refused is taken, once."""
    assert client.call("GET", "/readiness").status == 200
    first, again = post(client, "one"), post(client, "one")
    assert (first.status, again.status) == (201, 201)
    run_id = first.document["runId"]
    assert again.document["runId"] == run_id
    assert "openwop-idempotent-replay" not in first.headers
    assert again.headers["openwop-idempotent-replay"] == "true"
    check_ended(client.log(run_id))
    return run_id


def post(client: Client, key: str) -> Answer:
    return client.call("POST", "/v1/runs", {"workflowId": "late"}, headers={"Idempotency-Key": key})


def after_a_restart(folder: Path) -> dict[str, str]:
    """Every run that a host finds in that folder, and its status."""

    async def work() -> dict[str, str]:
        async with inside(folder) as (_, inner):
            page = (await inner.call("GET", "/v1/runs?limit=100")).document
            return {run["runId"]: run["status"] for run in page["runs"]}

    connection = apsw.Connection(str(folder / DATABASE_FILE))
    assert connection.pragma("integrity_check") == "ok"
    connection.close()
    return asyncio.run(work())


@contextlib.asynccontextmanager
async def inside(folder: Path, *workflows: dict[str, Any]) -> AsyncIterator[tuple[ManualClock, InProcessHost]]:
    """A host without a listener, for which time stands still."""
    clock = ManualClock()
    host = make_host(folder, clock)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await host.open()
        try:
            host.keyring.accept_for_process(KEY, "acme", None)
            for workflow in workflows:
                await host.register_fixture(workflow)
            yield clock, InProcessHost(host)
        finally:
            await host.close()


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
def test_whichever_operation_of_the_disk_fails_callers_and_runs_get_through(disk: RecordingDisk, late: bool) -> None:
    """The n-th write or sync fails, and all after it until somebody is refused: n = 0, 1, 2, ... to the end."""
    disk.fails_after_writing = late
    refused_at: list[int] = []
    for working in range(0, 1000, 1 if FULL else 20):
        disk.error = (apsw.IOError, apsw.FullError)[working % 2]
        with tempfile.TemporaryDirectory(dir=QUICK_FOLDER) as folder, stores_on_disk(disk):
            refused, runs = asyncio.run(through(Path(folder), disk, working))
            assert after_a_restart(Path(folder)) == runs
        if not refused:
            break
        refused_at.append(working)
    assert refused_at[-1] > 50


async def through(folder: Path, disk: RecordingDisk, working: int) -> tuple[int, dict[str, str]]:
    """Callers who repeat what is refused. How often that was, and how each run ended."""
    refused = 0
    runs: dict[str, str] = {}
    async with inside(folder, LATE, LONG) as (clock, inner):

        async def insist(path: str, document: Any, key: str) -> Any:
            nonlocal refused
            answer = await inner.call("POST", path, document, headers={"Idempotency-Key": key})
            while answer.status == 503:
                check_refusal(answer)
                refused += 1
                disk.repair()
                clock.advance(1000)
                answer = await inner.call("POST", path, document, headers={"Idempotency-Key": key})
            assert answer.status in (200, 201), answer
            return answer.document

        disk.after = working
        for number in range(3):
            created = await insist("/v1/runs", {"workflowId": "late"}, f"late-{number}")
            runs[created["runId"]] = "completed"
        stopped = (await insist("/v1/runs", {"workflowId": "long"}, "long"))["runId"]
        await insist(f"/v1/runs/{stopped}/cancel", {}, "cancel")
        runs[stopped] = "cancelled"
        for run_id, status in runs.items():
            page: dict[str, Any] = {"isComplete": False}
            while not page["isComplete"]:
                clock.advance(1000)
                await asyncio.sleep(0.003)
                if disk.after == 0:
                    refused += 1
                    disk.repair()
                else:
                    page = (await inner.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1")).document
            check_ended(page["events"], f"run.{status}")
        disk.repair()
    return refused, runs


@pytest.mark.parametrize(
    ("guard", "without"),
    [
        ("weftwork.adapters.sqlite.database.writer.OUTAGES", ()),
        ("weftwork.engine.run.live_run.LiveRun._reload", None),
    ],
)
def test_without_a_guard_a_failing_disk_is_felt(
    tmp_path: Path, disk: RecordingDisk, monkeypatch: pytest.MonkeyPatch, guard: str, without: Any
) -> None:
    """The sabotage: an outage that is taken for a fault, a run that does not try again."""
    monkeypatch.setattr(guard, without)
    monkeypatch.setattr(f"{__name__}.BACK_SECONDS", 2.5)
    with pytest.raises(AssertionError):
        test_a_host_outlives_a_disk_that_fails(tmp_path, disk, "write", apsw.FullError, False)
