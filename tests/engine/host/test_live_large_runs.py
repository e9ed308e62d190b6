"""Runs that hold and write as much as a workflow can ask for: the host keeps its memory, and they fail by name."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import FULL, edge, node, variable, workflow
from tests.live import KEY
from tests.live.host import Host, start_host, until, weftwork
from tests.readers.process_stats import forget_peak, memory, peak

pytestmark = pytest.mark.slow

NODES = 900 if FULL else 80
MORE_BYTES = 300 * 2**20
"""How much more memory than an idle host a host may need for any run."""
SECONDS = 120.0
TEXT = "a large value, " * 66_000


def copies() -> dict[str, Any]:
    """Nodes that each copy a variable of 1 MB, all at once."""
    given = {"input": {"type": "variable", "variableName": "v"}}
    nodes = [node(f"n{index}", "core.identity", inputs=given) for index in range(NODES)]
    edges = [edge("start", f"n{index}") for index in range(NODES)]
    return workflow([node("start"), *nodes], edges, [variable("v")], id="copies")


def idle_memory(host: Host) -> int:
    """Bytes of a host that has answered a request and executed nothing."""
    assert host.call("GET", "/health").status == 200
    forget_peak(host)
    return memory(host)


def end_of(host: Host, run_id: str) -> dict[str, Any]:
    """The snapshot of the run once it has ended."""

    def look() -> dict[str, Any] | None:
        snapshot = host.snapshot(run_id)
        return snapshot if snapshot["status"] in ("completed", "failed", "cancelled") else None

    return until(look, "the end of the run", SECONDS)


def start(host: Host, document: dict[str, Any]) -> str:
    answer = host.call("POST", "/v1/workflows", document)
    assert answer.status in (200, 201), answer
    return host.create(document["id"], inputs={"v": TEXT})


def test_a_run_that_copies_a_large_variable_is_held_to_its_state(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        idle = idle_memory(host)
        run_id = start(host, copies())
        ended = end_of(host, run_id)
        assert (ended["status"], ended["error"]["code"]) == ("failed", "run_state_too_large")
        assert peak(host) < idle + MORE_BYTES
        types = Counter(each["status"] for each in ended["nodeStates"].values())
        # 64 MiB hold the input and 66 copies.
        assert types["completed"] == 67
        assert types["failed"] == NODES - 66


def test_a_log_that_is_full_ends_the_run_with_little_memory(tmp_path: Path) -> None:
    with start_host(tmp_path, env={"WEFTWORK_MAX_RUN_LOG_BYTES": "40000000"}) as host:
        idle = idle_memory(host)
        ended = end_of(host, start(host, copies()))
        assert ended["error"]["code"] == "run_log_too_large"
        assert peak(host) < idle + MORE_BYTES


def test_a_run_of_another_time_is_set_aside_shown_and_removed(tmp_path: Path) -> None:
    """Written with higher limits, and too large for a host with the default ones."""
    held = copies()
    held["nodes"].append(node("wait", "core.delay", config={"delayMs": 600_000}))
    high = dict.fromkeys(("WEFTWORK_MAX_RUN_STATE_BYTES", "WEFTWORK_MAX_RUN_LOG_BYTES"), "2000000000")
    with start_host(tmp_path, env=high) as host:
        run_id = start(host, held)
        until(lambda: _completed(host, run_id) > NODES, "all copies", SECONDS)
        host.kill()
    for _ in range(2):
        with start_host(tmp_path) as host:
            idle = idle_memory(host)
            # The run is parked, so the first request for it finds that it is too large.
            assert host.call("POST", f"/v1/runs/{run_id}:pause", {}).status == 409
            shown = host.snapshot(run_id)["error"]
            assert shown["code"] in ("run_state_too_large", "run_log_too_large")
            assert peak(host) < idle + MORE_BYTES
            host.kill()
    with start_host(tmp_path) as host:
        listed = weftwork(tmp_path, "runs", "ls", "--url", host.address, "--key", KEY)
        assert "set aside" in listed.stdout
        detail = weftwork(tmp_path, "runs", "show", run_id, "--url", host.address, "--key", KEY)
        assert "raise" in detail.stdout
        events = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1").document
        assert events["events"]
        assert host.call("GET", f"/v1/runs/{run_id}/debug-bundle").status == 200
        assert host.call("POST", f"/v1/runs/{run_id}/cancel", {}).status == 200
        assert host.snapshot(run_id)["status"] == "cancelled"
        assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204


def _completed(host: Host, run_id: str) -> int:
    return Counter(each["status"] for each in host.snapshot(run_id)["nodeStates"].values())["completed"]
