"""Readers who come, wait, are told and are sent home in large numbers."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.live import Host, delays, frames, start_host, write_workflows
from tests.readers.crowd import StreamReaders, allow_files, open_readers
from tests.readers.process_stats import memory, without_guard

pytestmark = pytest.mark.slow

IDLE = 5000 if FULL else 400
CROWD = 5000 if FULL else 400
COST = 32 * 1024
SLACK = 4 * 2**20
WORKFLOWS = (delays("still", 600_000), delays("lively", *[60] * 40))


def start(folder: Path, program: list[str] | None = None) -> Any:
    return start_host(folder, "--workflows", write_workflows(folder / "workflows", *WORKFLOWS), program=program)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    allow_files(CROWD)
    with start(tmp_path) as running:
        yield running


def stream_of(host: Host, workflow_id: str) -> tuple[str, str]:
    run_id = host.create(workflow_id)
    return run_id, f"/v1/runs/{run_id}/events?streamMode=debug"


def started(crowd: StreamReaders) -> None:
    crowd.read(lambda client: b"node.started" in client.body)
    assert {client.status for client in crowd.clients} == {200}


def idle_cost(host: Host, count: int) -> int:
    """What so many streams without news add to the memory of the host."""
    _, path = stream_of(host, "still")
    with open_readers(host.port, 50, path) as before_them:
        started(before_them)
    before = memory(host)
    with open_readers(host.port, count, path) as crowd:
        started(crowd)
        return memory(host) - before


def test_an_idle_stream_costs_little(host: Host) -> None:
    assert idle_cost(host, IDLE) <= IDLE * COST + SLACK


def test_the_proof_sees_what_idle_streams_hold(tmp_path: Path) -> None:
    with start(tmp_path, without_guard("hold_memory_per_reader")) as host:
        assert idle_cost(host, 400) > 400 * COST + SLACK


def test_many_readers_at_once_are_served_to_the_byte(host: Host) -> None:
    run_id, path = stream_of(host, "lively")
    with open_readers(host.port, CROWD, path) as crowd:
        crowd.finish()
        assert {client.status for client in crowd.clients} == {200}
        (whole,) = {client.shown for client in crowd.clients}
    shown = frames(whole)
    assert [frame.document for frame in shown] == host.log(run_id)
    # They all come again, each from where it says it was.
    chance = random.Random(7)
    places = [chance.randrange(len(shown)) for _ in range(CROWD)]
    with open_readers(host.port, CROWD, path, lambda at: shown[places[at]].id) as crowd:
        crowd.finish()
        for client, place in zip(crowd.clients, places, strict=True):
            assert client.shown == b"".join(frame.raw for frame in shown[place + 1 :])
    assert "Traceback" not in host.errors


def test_a_crowd_of_live_streams_ends_properly_with_the_host(host: Host) -> None:
    _, path = stream_of(host, "still")
    with open_readers(host.port, CROWD, path) as crowd:
        started(crowd)
        assert host.stop() == 0
        crowd.finish()
        assert len({client.shown for client in crowd.clients}) == 1
    assert "Traceback" not in host.errors
    assert '"level":"error"' not in host.errors


def test_the_proof_sees_streams_that_are_broken_off(tmp_path: Path) -> None:
    with start(tmp_path, without_guard("break_streams")) as host:
        _, path = stream_of(host, "still")
        with open_readers(host.port, 10, path) as crowd:
            started(crowd)
            host.stop()
            crowd.read(lambda client: client.is_closed)
            assert not any(client.is_complete for client in crowd.clients)


def test_news_reaches_a_crowd(host: Host) -> None:
    run_id, path = stream_of(host, "still")
    with open_readers(host.port, CROWD, path) as crowd:
        started(crowd)
        assert host.call("POST", f"/v1/runs/{run_id}/cancel").status == 200
        assert host.call("GET", "/health").status == 200
        crowd.finish()
        (whole,) = {client.shown for client in crowd.clients}
    assert [frame.document for frame in frames(whole)] == host.log(run_id)
