"""Wherever a stream is cut, what was read before and what is read after make the uninterrupted stream."""

import asyncio
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.live import (
    SEEDED_RUN,
    Frame,
    Host,
    delays,
    frames,
    open_in_process,
    seed_messages,
    start_host,
    write_workflows,
)
from tests.live.fixtures import QUICK_WORKFLOW
from weftwork.protocol.wire import streams

MODES = ("updates", "debug", "messages", "updates,messages")
FULL = os.environ.get("WEFTWORK_PROOF") == "full"
EXAMPLES = 5000 if FULL else 400
LIVE_RUNS = 200 if FULL else 16


class Reader:
    """Reads a stream in pieces, each from after the last frame that arrived whole."""

    def __init__(self, run_id: str, mode: str) -> None:
        self.run_id = run_id
        self.query = f"?streamMode={mode}"
        self.got: list[Frame] = []

    @property
    def last(self) -> str | None:
        return self.got[-1].id if self.got else None

    def cut(self, host: Host, size: int, by_query: bool = False) -> None:
        """Read so many bytes of the wire and drop the connection."""
        if by_query and self.last is not None:
            stream = host.stream(self.run_id, f"{self.query}&lastEventId={self.last}")
        else:
            stream = host.stream(self.run_id, self.query, self.last)
        self.got += frames(stream.read(size))

    def finish(self, host: Host) -> bytes:
        self.got += host.stream(self.run_id, self.query, self.last).frames()
        return b"".join(frame.raw for frame in self.got)


@pytest.mark.rule("sse-06", "sse-07", "sse-08")
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    mode=st.sampled_from(MODES),
    cuts=st.lists(st.integers(1, 2600), min_size=1, max_size=4),
    by_query=st.booleans(),
)
def test_cuts_at_any_byte_leave_no_trace(host: Host, mode: str, cuts: list[int], by_query: bool) -> None:
    whole = host.stream(SEEDED_RUN, f"?streamMode={mode}").finish()
    reader = Reader(SEEDED_RUN, mode)
    for size in cuts:
        reader.cut(host, size, by_query)
    assert reader.finish(host) == whole


@pytest.mark.rule("sse-06")
@pytest.mark.parametrize("mode", MODES)
def test_every_id_resumes_exactly_after_it(host: Host, mode: str) -> None:
    shown = host.stream(SEEDED_RUN, f"?streamMode={mode}").frames()
    for at, frame in enumerate(shown):
        assert host.stream(SEEDED_RUN, f"?streamMode={mode}", frame.id).frames() == shown[at + 1 :]


def test_cuts_of_a_live_run_leave_no_trace(host: Host) -> None:
    def follow(seed: int) -> None:
        chance = random.Random(seed)
        mode = chance.choice(MODES)
        run_id = host.create(QUICK_WORKFLOW)
        witness = host.stream(run_id, f"?streamMode={mode}")
        reader = Reader(run_id, mode)
        while len(reader.got) < 6 and mode != "messages":
            reader.cut(host, chance.randint(1, 900), chance.random() < 0.5)
        whole = b"".join(frame.raw for frame in witness.frames())
        assert reader.finish(host) == whole
        assert b"".join(frame.raw for frame in host.stream(run_id, f"?streamMode={mode}").frames()) == whole

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(follow, range(LIVE_RUNS)))


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(mode=st.sampled_from(MODES), size=st.integers(1, 2600), buffer_ms=st.sampled_from([1, 50, 5000]))
def test_a_cut_batch_comes_again_whole(host: Host, mode: str, size: int, buffer_ms: int) -> None:
    query = f"?streamMode={mode}&bufferMs={buffer_ms}"
    before = frames(host.stream(SEEDED_RUN, query).read(size))
    after = host.stream(SEEDED_RUN, query, before[-1].id if before else None).frames()
    plain = host.stream(SEEDED_RUN, f"?streamMode={mode}").frames()
    read = [item for frame in [*before, *after] for item in frame.document]
    assert read == [frame.document for frame in plain]


@pytest.mark.parametrize("end", [Host.stop, Host.kill])
def test_a_restart_between_two_cuts_leaves_no_trace(tmp_path: Path, end: Callable[[Host], Any]) -> None:
    seed_messages(tmp_path / "data")
    workflows = write_workflows(tmp_path / "workflows", delays("long", 0, 20, 600, 10, 0, 20))
    readers: list[Reader] = []
    with start_host(tmp_path, "--workflows", workflows) as host:
        live = host.create("long")
        readers += [Reader(run_id, mode) for run_id in (live, SEEDED_RUN) for mode in MODES]
        watch = host.stream(live)
        with watch.connection:
            watch.read_until(lambda body: b"n1" in body)
        for at, reader in enumerate(readers):
            if reader.run_id == SEEDED_RUN:
                reader.cut(host, 500 + 97 * at)
            elif reader.query.partition("=")[2] != "messages":
                reader.cut(host, 450 + 41 * at)
        end(host)
    with start_host(tmp_path) as host:
        for at, reader in enumerate(readers):
            if reader.run_id == SEEDED_RUN:
                reader.cut(host, 300 + 89 * at)
            whole = reader.finish(host)
            stream = host.stream(reader.run_id, reader.query).frames()
            assert b"".join(frame.raw for frame in stream) == whole
        assert host.snapshot(live)["status"] == "completed"


@pytest.mark.rule("sse-06")
def test_the_proof_sees_a_cursor_that_is_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> tuple[list[Frame], list[Frame]]:
        async with open_in_process(delays("short", 0, 0)) as inside:
            run_id = (await inside.call("POST", "/v1/runs", {"workflowId": "short"})).document["runId"]
            path = f"/v1/runs/{run_id}/events?streamMode=debug"
            whole = frames((await inside.call("GET", path)).body)
            rest = frames((await inside.call("GET", path, headers={"last-event-id": whole[2].id})).body)
            return whole, [*whole[:3], *rest]

    whole, pieced = asyncio.run(read())
    assert whole == pieced
    assert len(whole) == 6
    honest = streams.parse_cursor
    for shift in (-1, 1):
        monkeypatch.setattr(streams, "parse_cursor", lambda text, by=shift: _moved(honest(text), by))
        whole, pieced = asyncio.run(read())
        assert whole != pieced


def _moved(cursor: streams.Cursor, by: int) -> streams.Cursor:
    return cursor if cursor.sequence < 0 else streams.Cursor(cursor.sequence + by, cursor.chunk)
