"""Clients that do not read a large snapshot or page: the document is kept once for all of them, encoded in pieces."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL, node, variable
from tests.live import Host, start_host, until, write_workflows
from tests.live.workflows import chain
from tests.readers.crowd import open_readers
from tests.readers.process_stats import forget_peak, memory, peak, wait_until_blocked, without_guard

pytestmark = pytest.mark.slow

CLIENTS = 24
"""Enough that a document for each client is far more than what the allocator may keep."""
NODES = 64 if FULL else 16
TEXT = 900_000
STATE = NODES * TEXT
GROWTH = 400 * 2**20 if FULL else 240 * 2**20
"""What the host may need besides its idle memory, whatever the clients ask for."""
COPIES = 2
"""Of the state: one is read and becomes the document, or was freed and has not been returned to the system yet."""
SPARE = 128 * 2**20
"""Freed memory that the allocator has not returned to the system."""
ROOM = 4096


def copies(workflow_id: str, count: int) -> dict[str, Any]:
    """A chain of nodes that each copy the input `text` into a variable."""
    text = {"value": {"type": "variable", "variableName": "text"}}
    nodes = [node(f"s{at}", "core.setVariable", config={"name": f"v{at}"}, inputs=text) for at in range(count)]
    return chain(workflow_id, nodes, variables=[variable("text"), *(variable(f"v{at}") for at in range(count))])


def start(folder: Path, program: list[str] | None = None) -> Any:
    return start_host(folder, "--workflows", write_workflows(folder / "w", copies("wide", NODES)), program=program)


@pytest.fixture
def ended(tmp_path: Path) -> str:
    """A run with a large state in a store whose host has stopped, so that nothing of it is in memory."""
    with start(tmp_path) as host:
        run_id = host.create("wide", inputs={"text": "x" * TEXT})
        path = "/v1/runs?status=completed&limit=1"
        until(lambda: host.call("GET", path).document["runs"], "the run to end")
        host.stop()
    return run_id


def paths(run_id: str) -> dict[str, str]:
    return {
        "snapshot": f"/v1/runs/{run_id}",
        "values": f"/v1/runs/{run_id}/events?streamMode=values",
        "poll": f"/v1/runs/{run_id}/events/poll",
    }


def growth(host: Host, path: str, before: int) -> tuple[int, int]:
    """Bytes in memory while CLIENTS do not read, and the most that there were until then."""
    forget_peak(host)
    with open_readers(host.port, CLIENTS, path, room=ROOM):
        wait_until_blocked(host, CLIENTS)
        assert host.call("GET", "/health").status == 200
        held, most = memory(host) - before, peak(host) - before
    return held, most


def test_clients_that_do_not_read_share_one_document(tmp_path: Path, ended: str) -> None:
    with start(tmp_path) as host:
        host.call("GET", "/v1/runs?limit=1")
        before = memory(host)
        for name, path in paths(ended).items():
            held, most = growth(host, path, before)
            assert most <= GROWTH, name
            assert held <= COPIES * STATE + CLIENTS * 64 * 1024 + SPARE, name


@pytest.mark.parametrize("guard", ["copy_documents"])
def test_the_proof_sees_a_document_for_each_client(tmp_path: Path, ended: str, guard: str) -> None:
    with start(tmp_path, without_guard(guard)) as host:
        before = memory(host)
        held, most = growth(host, paths(ended)["snapshot"], before)
        assert most > GROWTH
        assert held > COPIES * STATE + CLIENTS * 64 * 1024 + SPARE
