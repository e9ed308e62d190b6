"""The bundle of a very long run: as large as it may be, made in little memory. Needs Linux."""

import asyncio
import json
import os
from pathlib import Path

import msgspec
import pytest

from tests.live import start_host
from tests.readers.process_stats import forget_peak, memory, peak
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.protocol.review.debug_bundle import EVENTS_TRUNCATED, MAX_BYTES, MAX_SPANS
from weftwork.protocol.run.batch import Batch
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.run.projection import Projection
from weftwork.wiring.data_folder import DATABASE_FILE

pytestmark = pytest.mark.slow

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
EVENTS = 200_000 if FULL else 60_000
PART = 5_000
ALLOWED = 12 * 2**20
"""What the host may need for a bundle, less than two of them; a log of that length is many times more."""
LONG = "long-run-0000000000"
START = 1_790_000_000_000


def event(at: int) -> Event:
    """Nodes that start, say two things, and end."""
    name = f"node{at // 4}"
    kind, payload = [
        ("node.started", {"nodeId": name, "typeId": "core.noop", "attempt": 1}),
        ("log.appended", {"level": "info", "message": "on the way to https://example.com/"}),
        ("log.appended", {"level": "info", "message": "x" * 80}),
        ("node.completed", {"nodeId": name, "outputs": {}}),
    ][at % 4]
    return Event(LONG, at, f"e-{at:012}", kind, START + at, msgspec.json.encode(payload), name)


async def write(data: Path) -> None:
    header = RunHeader(LONG, "live:acme", Owner("acme", "key_1"), "w", "none", START)
    store = SqliteStore(data / DATABASE_FILE)
    await store.open()
    try:
        await store.log.create(header)
        for first in range(0, EVENTS, PART):
            last = first + PART - 1
            status = "completed" if last == EVENTS - 1 else "running"
            projection = Projection(status, last, START, START if status == "completed" else None)
            await store.log.append(header.key, first - 1, Batch(tuple(map(event, range(first, last + 1))), projection))
    finally:
        await store.close()


@pytest.mark.rule("bundle-04", "bundle-07")
def test_the_bundle_of_a_long_run_takes_little_memory(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    asyncio.run(write(data))
    with start_host(tmp_path, data=data) as host:
        path = f"/v1/runs/{LONG}/debug-bundle"
        host.call("GET", f"{path}?maxEvents=1000")
        forget_peak(host)
        before = memory(host)
        answer = host.call("GET", path)
        assert peak(host) - before < ALLOWED
    document = json.loads(answer.body)
    assert MAX_BYTES - 1_000 < len(answer.body) <= MAX_BYTES
    assert (document["truncated"], document["truncatedReason"]) == (True, EVENTS_TRUNCATED)
    assert [each["sequence"] for each in document["events"]] == list(range(document["metrics"]["eventCount"]))
    assert (len(document["spans"]), document["spansTruncated"]) == (MAX_SPANS, True)
