"""A reader that does not read costs next to nothing, is in nobody's way, and loses nothing when it goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.live import Host, delays, echoes, in_thread, open_listening, start_host, until, write_workflows
from tests.live.listening_host import until as soon
from tests.readers.crowd import StreamReader, open_readers
from tests.readers.process_stats import forget_peak, memory, peak, wait_until_blocked, without_guard
from weftwork.adapters.http import response_writer

pytestmark = pytest.mark.slow

READERS = 500 if FULL else 50
RETURNING = 40 if FULL else 4
COST = 64 * 1024
SLACK = 9 * 2**20
"""What the host may need in addition, for any number of readers. A reading thread of the store that is used for the
first time has a page cache of its own."""
PASSING = 24 * 2**20
"""What it may need for a moment: pages that are read and encoded at the same time."""
ROOM = 4096

SIZES = {"large": 900_000, "small": 20_000}
"""Few events of which each is more than one piece, and many of which several are less than one."""
WORKFLOWS = (echoes("large", 6), echoes("small", 480), delays("quick", 1, 1))


def start(folder: Path, program: list[str] | None = None) -> Any:
    return start_host(folder, "--workflows", write_workflows(folder / "workflows", *WORKFLOWS), program=program)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with start(tmp_path) as running:
        yield running


def stream_of(host: Host, kind: str) -> str:
    """The path of the stream of a run that is over."""
    run_id = host.create(kind, inputs={"text": "x" * SIZES[kind]})
    until(lambda: host.snapshot(run_id)["status"] == "completed", "the run to end")
    return f"/v1/runs/{run_id}/events?streamMode=debug"


def read_whole(port: int, path: str, last: str | None = None) -> StreamReader:
    with open_readers(port, 1, path, lambda _: last) as one:
        one.finish()
        return one.clients[0]


def warm(host: Host, path: str) -> int:
    """The memory of a host that has done it all before."""
    for _ in range(2):
        read_whole(host.port, path)
    with open_readers(host.port, 16, path, room=ROOM):
        wait_until_blocked(host, 16)
    forget_peak(host)
    return memory(host)


@pytest.mark.parametrize("kind", SIZES)
def test_stalled_readers_cost_little_and_are_in_nobodys_way(host: Host, kind: str) -> None:
    path = stream_of(host, kind)
    whole = read_whole(host.port, path).shown
    before = warm(host, path)
    with open_readers(host.port, READERS, path, room=ROOM) as stalled:
        wait_until_blocked(host, READERS)
        assert memory(host) - before <= READERS * COST + SLACK
        assert peak(host) - before <= READERS * COST + PASSING
        assert host.call("GET", "/health").status == 200
        assert read_whole(host.port, path).shown == whole
        assert [event["type"] for event in host.log(host.create("quick"))][-1] == "run.completed"
        # Some read on where they stopped; others come back with what they had.
        going_on, returning = stalled.clients[:RETURNING], stalled.clients[-RETURNING:]
        stalled.finish(going_on)
        assert {client.shown for client in going_on} == {whole}
        stalled.read(lambda client: client.last != "", returning)
        for client in returning:
            rest = read_whole(host.port, path, client.last)
            assert client.shown[: client.shown.rindex(b"\n\n") + 2] + rest.shown == whole


@pytest.mark.parametrize("guard", ["buffer_frames", "widen_write_buffer"])
def test_the_proof_sees_what_stalled_readers_hold(tmp_path: Path, guard: str) -> None:
    with start(tmp_path, without_guard(guard)) as host:
        path = stream_of(host, "large")
        read_whole(host.port, path)
        before = memory(host)
        with open_readers(host.port, 32, path, room=ROOM):
            wait_until_blocked(host, 32)
            assert memory(host) - before > 32 * COST + SLACK


async def test_a_stalled_reader_is_let_go_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_writer, "STALL_SECONDS", 0.3)

    async with open_listening(echoes("large", 6)) as served:
        run_id = await served.create("large", inputs={"text": "x" * SIZES["large"]})
        path = f"/v1/runs/{run_id}/events?streamMode=debug"
        whole = (await in_thread(read_whole, served.port, path)).shown
        with open_readers(served.port, RETURNING, path, room=ROOM) as stalled:
            await soon(lambda: served.readers == RETURNING, "the readers")
            await soon(lambda: served.readers == 0, "the host to let go of them")
            await in_thread(stalled.read, lambda client: client.is_closed)
            for client in stalled.clients:
                assert not client.is_complete
                rest = await in_thread(read_whole, served.port, path, client.last)
                assert client.shown[: client.shown.rindex(b"\n\n") + 2] + rest.shown == whole


if FULL:

    def test_a_stalled_reader_is_let_go_in_time(host: Host) -> None:
        path = stream_of(host, "large")
        with open_readers(host.port, RETURNING, path, room=ROOM):
            wait_until_blocked(host, RETURNING)
            said = "client stopped reading"
            until(
                lambda: host.errors.count(said) == RETURNING, "the host to let go", response_writer.STALL_SECONDS + 15
            )
