"""Replays a recording: restores its data folder, opens it with a host of today, and lets every run end.

A recording is a folder with the store as SQL (`store.sql`), the bytes of assets (`assets`), and what must hold
(`expected.json`). `python -m tools.record_history` writes one.
"""

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from tests.live.host import Answer
from tests.live.in_process_host import InProcessHost
from weftwork.adapters.system.clock_and_ids import SystemClock
from weftwork.app import Host
from weftwork.protocol.replay.history import encode_history
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.settings import Settings
from weftwork.testing import Diverged, areplay
from weftwork.wiring.data_folder import DATABASE_FILE

RECORDINGS = Path(__file__).parent / "recordings"
TIMEOUT_SECONDS = 60.0
EVENTS = """
    SELECT run_id, id & (1 << 26) - 1, event_id, type, timestamp, payload, node_id, causation_id, schema_version,
      engine_version FROM events JOIN runs ON run_no = id >> 26 ORDER BY id
"""
"""The columns that the first schema has."""
ALL_DEFINITIONS = "SELECT digest, document FROM definitions"
FILE_WORKFLOWS = "SELECT document FROM definitions WHERE digest NOT IN (SELECT digest FROM workflows)"

Events = dict[str, list[tuple[Any, ...]]]


class ExpectedRun(msgspec.Struct, frozen=True, rename="camel"):
    """What must hold for one run."""

    workflow_id: str
    opened: str
    """Its status when the host has opened. A run that is not waiting may go on at once."""
    finished: str
    """Its status when it has ended."""
    log: str
    """Digest of its events as they were recorded."""


class Expected(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`expected.json` of a recording."""

    schema_version: int
    written_by: str
    """The commit or release that wrote the data folder."""
    opened_at: int
    """The host's clock when it opens the folder: behind every delay, and before any run or asset is too old."""
    runs: dict[str, ExpectedRun]
    model_script: str = ""
    """The answers of the scripted model, as TOML."""


class Replayed(msgspec.Struct, frozen=True):
    """What became of a recording. Statuses and events are by run id."""

    before: Events
    opened: dict[str, str]
    finished: dict[str, str]
    after: Events
    bundles: dict[str, Any]
    differences: dict[str, Any]
    """The first difference of each run to its replay by the host; None if there is none."""
    histories: dict[str, str]
    """The first difference of each run to its replay by the test kit; empty if there is none."""


class _ShiftedClock(SystemClock):
    """The machine's clock, begun at another time."""

    def __init__(self, start: int) -> None:
        self._offset = start - super().now()

    def now(self) -> int:
        return super().now() + self._offset


def read_expected(recording: Path) -> Expected:
    return msgspec.json.decode((recording / "expected.json").read_bytes(), type=Expected)


def restore(recording: Path, data: Path) -> None:
    """Make the data folder that was recorded."""
    data.mkdir(mode=0o700, parents=True)
    if (recording / "assets").exists():
        shutil.copytree(recording / "assets", data / "assets")
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        connection.execute((recording / "store.sql").read_text("utf-8"))


def read_events(data: Path) -> Events:
    """The rows of all events by run id, in the order of each log."""
    found: Events = {}
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        for row in connection.execute(EVENTS):
            found.setdefault(str(row[0]), []).append(row[1:])
    return found


def log_digest(events: list[tuple[Any, ...]]) -> str:
    return hashlib.sha256(repr(events).encode()).hexdigest()[:16]


async def replay(data: Path, expected: Expected) -> Replayed:
    """Open a restored folder, answer what waits, and return when all runs have ended. Bounded in time."""
    before = read_events(data)
    async with _open(data, expected) as tenants:
        opened = await _statuses(tenants)
        finished = unfinished = opened
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while unfinished := {key: each for key, each in finished.items() if each not in TERMINAL_STATUSES}:
                    for tenant in tenants:
                        await _answer_all(tenant)
                    await asyncio.sleep(0.01)
                    finished = await _statuses(tenants)
        except TimeoutError:
            raise AssertionError(f"not ended within {TIMEOUT_SECONDS:g} s: {unfinished}") from None
        bundles = {run_id: await _bundle(tenants, run_id) for run_id in finished}
        # Before the replays, which are runs of the same store.
        after = read_events(data)
        differences = {run_id: await _difference(tenants, run_id, len(after[run_id])) for run_id in finished}
        definitions = _read_definitions(data)
        histories = {run_id: await _replay_history(tenants, run_id, definitions, data) for run_id in finished}
    return Replayed(before, opened, finished, after, bundles, differences, histories)


@contextlib.asynccontextmanager
async def _open(data: Path, expected: Expected) -> AsyncIterator[list["_Tenant"]]:
    """A host on the folder, with a key for each partition in it and the workflows that came from files."""
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        partitions = [str(row[0]) for row in connection.execute("SELECT DISTINCT partition FROM runs")]
        has_workflows = connection.table_exists(None, "workflows")
        statement = FILE_WORKFLOWS if has_workflows else "SELECT document FROM definitions"
        documents = [msgspec.json.decode(row[0]) for row in connection.execute(statement)]  # type: ignore[arg-type]
    script = data / "script.toml"
    script.write_text(expected.model_script)

    async def register(host: Host) -> None:
        for document in documents:
            await host.catalog.register(document)

    settings = Settings(data=str(data), model_script=str(script) if expected.model_script else "")
    host = Host(settings, _ShiftedClock(expected.opened_at))
    await host.open(register)
    try:
        caller = InProcessHost(host)
        yield [_Tenant(caller, partition) for partition in partitions]
    finally:
        await host.close()


class _Tenant:
    """Requests with the key of one partition."""

    def __init__(self, host: InProcessHost, partition: str) -> None:
        mode, _, name = partition.partition(":")
        self._host = host
        self._key = f"hk_test_of_{name}" if mode == "test" else f"key-of-{name}"
        host.host.keyring.accept_for_process(self._key, name, None)

    async def call(self, method: str, path: str, document: Any = None) -> Answer:
        return await self._host.call(method, path, document, key=self._key)

    async def pages(self, path: str, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = (await self.call("GET", f"{path}?limit=100{cursor and f'&cursor={cursor}'}")).document
            found += page[name]
            cursor = page.get("nextCursor")
        return found


async def _statuses(tenants: list[_Tenant]) -> dict[str, str]:
    return {run["runId"]: run["status"] for tenant in tenants for run in await tenant.pages("/v1/runs", "runs")}


async def _answer_all(tenant: _Tenant) -> None:
    for asked in await tenant.pages("/v1/host/weftwork/interrupts", "interrupts"):
        path = f"/v1/runs/{asked['runId']}/interrupts/{asked['nodeId']}?interruptId={asked['interruptId']}"
        answer = await tenant.call("POST", path, {"resumeValue": _answer_to(asked)})
        assert answer.status in (200, 409), f"{asked['runId']}: {asked['kind']} takes no answer: {answer.body!r}"
    for run in await tenant.pages("/v1/runs", "runs"):
        if run["status"] == "paused":
            await tenant.call("POST", f"/v1/runs/{run['runId']}:resume", {})


def _answer_to(asked: dict[str, Any]) -> Any:
    data: Any = asked.get("data") or {}
    if asked["kind"] == "approval":
        return {"action": "accept"}
    if asked["kind"] == "clarification":
        return {"answers": {each["id"]: _example(each.get("schema") or {}) for each in data["questions"]}}
    return {"answer": "yes", "amount": 5, **data.get("correlation", {})}


def _example(schema: dict[str, Any]) -> Any:
    """A value for the simple schemas that questions of recorded workflows have."""
    return {"integer": 2, "number": 2, "boolean": True}.get(schema.get("type", ""), "an answer")


async def _difference(tenants: list["_Tenant"], run_id: str, length: int) -> Any:
    """Replay a run from its first event, and compare both. Bounded in time."""
    for tenant in tenants:
        forked = await tenant.call("POST", f"/v1/runs/{run_id}:fork", {"mode": "replay", "fromSeq": 0})
        if forked.status == 404:
            continue
        if forked.status != 201:
            return forked.document
        fork = forked.document["runId"]
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                page = (await tenant.call("GET", f"/v1/runs/{fork}/events/poll?lastSequence={length - 2}")).document
                if page["events"] or page["isTerminal"]:
                    break
        diff = (await tenant.call("GET", f"/v1/runs/{run_id}:diff?against={fork}")).document
        return next(iter(diff["eventDiffs"]), None)
    return "no tenant has the run"


def _read_definitions(data: Path) -> dict[str, Any]:
    """The definition of each run, by its id."""
    with contextlib.closing(apsw.Connection(str(data / DATABASE_FILE))) as connection:
        documents = {row[0]: msgspec.json.decode(row[1]) for row in connection.execute(ALL_DEFINITIONS)}  # type: ignore[arg-type]
        headers = [msgspec.json.decode(row[0]) for row in connection.execute("SELECT header FROM run_headers")]  # type: ignore[arg-type]
    return {header["run_id"]: documents[header["definition"]] for header in headers}


async def _replay_history(tenants: list["_Tenant"], run_id: str, definitions: dict[str, Any], data: Path) -> str:
    """Record a run as users do, and replay the file."""
    for tenant in tenants:
        snapshot = await tenant.call("GET", f"/v1/runs/{run_id}")
        if snapshot.status == 404:
            continue
        page, events = {"isComplete": False}, list[Any]()
        while not page["isComplete"]:
            page = (await tenant.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={len(events) - 1}")).document
            events += page["events"]
        file = data / "history.json"
        file.write_bytes(encode_history(snapshot.document, events, definitions[run_id], {}, 0))
        try:
            await areplay(file)
        except Diverged as difference:
            return str(difference)
        return ""
    return "no tenant has the run"


async def _bundle(tenants: list[_Tenant], run_id: str) -> Any:
    answers = [await tenant.call("GET", f"/v1/runs/{run_id}/debug-bundle") for tenant in tenants]
    return next((each.document for each in answers if each.status == 200), None)
