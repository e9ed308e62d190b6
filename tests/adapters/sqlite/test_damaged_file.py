"""A damaged page of the database: one kind of answer on every route, and what can be salvaged."""

import random
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import FULL, node, workflow
from tests.live.in_process_host import KEY, InProcessHost, open_in_process
from weftwork.adapters.sqlite.database import connection as database
from weftwork.adapters.sqlite.operation import salvage as module
from weftwork.adapters.sqlite.operation.salvage import salvage
from weftwork.app import Host
from weftwork.ports.storage.event_log import StoreDamaged
from weftwork.settings import Settings
from weftwork.wiring.data_folder import DATABASE_FILE

PAGE = 4096
RUNS = 60
FLOW = {**workflow([node("n", "core.noop")]), "id": "flow"}


async def fill(folder: Path) -> list[str]:
    """The ids of the runs of a store in that folder."""
    async with open_in_process(FLOW, store="sqlite", data=str(folder)) as host:
        metadata = {"text": "x" * 1_000}
        ids: list[str] = []
        for _ in range(RUNS):
            made = await host.call("POST", "/v1/runs", {"workflowId": "flow", "metadata": metadata})
            ids.append(made.document["runId"])
        for run_id in ids:
            await host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=3&timeout=15")
        return ids


def damage(folder: Path, page: int, bits: bool) -> None:
    """Overwrite a page with noise, or flip some bits of it."""
    noise = random.Random(page)
    with (folder / DATABASE_FILE).open("r+b") as file:
        file.seek(page * PAGE)
        old = bytearray(file.read(PAGE))
        for _ in range(40):
            old[noise.randrange(100 if page == 0 else 0, PAGE)] ^= 1 << noise.randrange(8)
        file.seek(page * PAGE)
        file.write(old if bits else noise.randbytes(PAGE))


def calls(first: str, last: str) -> list[tuple[str, str, Any]]:
    reads = ("", "/events?limit=5", "/events/poll", f":diff?against={last}", "/annotations", "/ancestry")
    return [
        *(("GET", f"/v1/runs/{first}{rest}", None) for rest in reads),
        ("GET", f"/v1/runs/{last}", None),
        ("GET", "/v1/runs", None),
        ("GET", "/v1/workflows", None),
        ("GET", "/v1/host/weftwork/assets", None),
        ("GET", "/v1/host/weftwork/interrupts", None),
        ("POST", f"/v1/runs/{first}/cancel", {}),
        ("POST", "/v1/runs", {"workflowId": "flow"}),
        ("DELETE", f"/v1/runs/{last}", None),
    ]


async def answers(folder: Path, ids: list[str]) -> Counter[tuple[int, str]]:
    """The statuses and error codes of all routes, or of the start if the store cannot be opened."""
    found: Counter[tuple[int, str]] = Counter()
    host = Host(Settings(store="sqlite", data=str(folder)))
    try:
        await host.open()
    except StoreDamaged:
        return Counter({(0, "not opened"): 1})
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        inside = InProcessHost(host)
        for method, path, body in calls(ids[0], ids[-1]):
            answer = await inside.call(method, path, body, headers={"accept": "application/json"})
            found[answer.status, answer.document["error"] if answer.status >= 400 else ""] += 1
            if answer.status == 503:
                assert answer.document["details"] == {"retryAfter": 60}
                assert "damaged" in answer.document["message"]
    finally:
        await host.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("bits", [False, True], ids=["noise", "bits"])
async def test_every_route_answers_a_damaged_page_alike(tmp_path: Path, bits: bool) -> None:
    ids = await fill(tmp_path / "base")
    pages = (tmp_path / "base" / DATABASE_FILE).stat().st_size // PAGE
    found: Counter[tuple[int, str]] = Counter()
    for page in range(0, pages, 1 if FULL else 7):
        shutil.copytree(tmp_path / "base", tmp_path / "damaged")
        damage(tmp_path / "damaged", page, bits)
        found += await answers(tmp_path / "damaged", ids)
        shutil.rmtree(tmp_path / "damaged")
    # Whether a flipped bit hits a text, a key or nothing is a matter of chance: then a run may be unknown.
    refused = {(400, "validation_error"), (404, "not_found"), (409, "conflict")}
    assert {*found} <= {(200, ""), (201, ""), (204, ""), (503, "service_unavailable"), (0, "not opened"), *refused}
    assert found[503, "service_unavailable"] or found[0, "not opened"]


@each_case("text", b"\xff\xfe", b"{")
@fails_without(database, "DAMAGE", (), errors=(AssertionError,))
async def test_a_row_that_cannot_be_decoded_is_damage(text: bytes, tmp_path: Path) -> None:
    folder = tmp_path / text.hex()
    shutil.rmtree(folder, ignore_errors=True)
    ids = await fill(folder)
    connection: Any = apsw.Connection(str(folder / DATABASE_FILE))
    connection.execute("UPDATE run_headers SET header = ?", (text,))
    connection.close()
    found = await answers(folder, ids)
    assert found[503, "service_unavailable"] > 3
    assert {code for status, code in found if status == 500} == set()


def leaf_pages(file: Path, table: str) -> list[int]:
    connection: Any = apsw.Connection(str(file))
    root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()[0][0]
    connection.close()
    content = file.read_bytes()
    page = content[(root - 1) * PAGE : root * PAGE]
    assert page[0] == 5, "an inner page"
    cells = [int.from_bytes(page[12 + 2 * at : 14 + 2 * at], "big") for at in range(int.from_bytes(page[3:5], "big"))]
    return [int.from_bytes(page[at : at + 4], "big") - 1 for at in cells]


def event_numbers(file: Path) -> list[int]:
    connection: Any = apsw.Connection(str(file))
    numbers = [row[0] for row in connection.execute("SELECT rowid FROM events ORDER BY rowid")]
    connection.close()
    return numbers


async def salvaged(folder: Path, table: str, *pages: int) -> dict[str, module.SalvagedTable]:
    shutil.rmtree(folder, ignore_errors=True)
    await fill(folder)
    leaves = leaf_pages(folder / DATABASE_FILE, table)
    assert len(leaves) > max(pages) + 1
    shutil.copy(folder / DATABASE_FILE, folder / "intact.db")
    for page in pages:
        damage(folder, leaves[page], bits=False)
    (folder / "new.db").unlink(missing_ok=True)
    return {each.name: each for each in salvage(folder / DATABASE_FILE, folder / "new.db")}


@fails_without(module._Scan, "_number_beyond", lambda scan, after: None)
@fails_without(module._Scan, "_backwards", lambda scan, after, before: iter(()))
async def test_all_rows_outside_of_a_damaged_page_are_salvaged(tmp_path: Path) -> None:
    tables = await salvaged(tmp_path / "data", "events", 1, 3)
    events = tables.pop("events")
    assert not events.is_complete
    kept = event_numbers(tmp_path / "data" / "new.db")
    assert len(kept) == events.rows
    every = event_numbers(tmp_path / "data" / "intact.db")
    lost = [at for at, number in enumerate(every) if number not in set(kept)]
    gaps = [(before, after) for before, after in pairwise(lost) if after != before + 1]
    assert len(gaps) == 1, "the rows of two pages, and nothing else"
    assert len(lost) < len(every) // 2
    assert (tables["runs"].rows, tables["run_headers"].rows) == (RUNS, RUNS)
    assert all(each.is_complete for each in tables.values())


async def test_a_host_starts_with_what_was_salvaged(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    await salvaged(folder, "events", 2)
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm"):
        (folder / name).unlink(missing_ok=True)
    (folder / "new.db").rename(folder / DATABASE_FILE)
    assert (folder / DATABASE_FILE).stat().st_mode & 0o777 == 0o600
    async with open_in_process(FLOW, store="sqlite", data=str(folder)) as host:
        listed = (await host.call("GET", "/v1/runs?limit=100")).document["runs"]
        assert len(listed) == RUNS
        statuses = {(await host.call("GET", f"/v1/runs/{each['runId']}")).status for each in listed}
        assert statuses == {200}
        assert (await host.call("POST", "/v1/runs", {"workflowId": "flow"})).status == 201


async def test_rows_that_cannot_be_decoded_are_left_out(tmp_path: Path) -> None:
    await fill(tmp_path)
    connection: Any = apsw.Connection(str(tmp_path / DATABASE_FILE))
    connection.execute("UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE rowid IN (SELECT rowid FROM events LIMIT 2)")
    connection.close()
    tables = {each.name: each for each in salvage(tmp_path / DATABASE_FILE, tmp_path / "new.db")}
    assert (tables["events"].rows, tables["events"].is_complete) == (4 * RUNS - 2, False)
    with pytest.raises(FileExistsError):
        salvage(tmp_path / DATABASE_FILE, tmp_path / "new.db")
    (tmp_path / DATABASE_FILE).write_bytes(b"no database" * 1_000)
    with pytest.raises(apsw.NotADBError):
        salvage(tmp_path / DATABASE_FILE, tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    assert present(tables["meta"]).is_complete
