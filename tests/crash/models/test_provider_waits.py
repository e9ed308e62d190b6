"""Runs that wait for a model provider, under kills: each wait ends, and the node continues as the same attempt."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.client import CONNECTION_ERRORS
from tests.crash.restartable_host import RestartableHost, check_killed_at, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL, node
from tests.live import Host, until
from tests.live.steering import events, flow

pytestmark = pytest.mark.slow

WAITING, RETRIED = "weftwork.provider.waiting", "weftwork.provider.retried"
DOWN = {"fault": {"code": "provider_unavailable", "waitMs": 1000}}
FLOW = flow("asks", [node("ask", "core.ai.callPrompt", config={"prompt": "Well?"})])
CASES = [("run.parked", 1), ("alarm.ring", 1)]
"""At which point the host is killed, and how often it has passed it by then."""
if FULL:
    CASES += [(name, nth) for name in ("append.begin", "append.durable", "append.published") for nth in range(1, 4)]
    CASES += [("run.parked", 2), ("alarm.ring", 2), ("node.launch", 1), ("node.launch", 2), ("node.ended", 1)]
    CASES += [("node.ended", 2), ("run.ended", 1)]


class DownHost(RestartableHost):
    """A host whose model provider is down for the first two calls of a process."""

    workflows = (FLOW,)

    def __init__(self, folder: Path, sabotage: str | None = None) -> None:
        super().__init__(folder, sabotage)
        script = folder / "script.json"
        script.write_text(json.dumps({"nodes": {"ask": [DOWN, DOWN, {"content": "Fine."}]}}))
        self.arguments = ("--model-script", script)


def start_run(host: Host) -> str:
    answer = host.call("POST", "/v1/runs", {"workflowId": "asks"})
    assert answer.status == 201, answer
    return str(answer.document["runId"])


def run_ids(host: Host) -> list[str]:
    return [each["runId"] for each in host.call("GET", "/v1/runs").document["runs"]]


def check_run(host: Host, run_id: str) -> None:
    until(lambda: host.call("GET", f"/v1/runs/{run_id}").document["status"] == "completed", "did not go on")
    log = events(host, run_id)
    check_waits(log)


def check_waits(log: list[dict[str, Any]]) -> None:
    """Each wait ends at its time, with a call of the same attempt. A crash during a call adds an attempt."""
    kinds = [each["type"] for each in log]
    assert kinds.count(WAITING) == kinds.count(RETRIED) >= 2
    retry_at = ""
    for each in log:
        assert not retry_at or each["type"] == RETRIED, f"{each['type']} during a wait"
        if each["type"] == RETRIED:
            assert each["timestamp"] >= retry_at, "the provider was called too early"
            retry_at = ""
        retry_at = each["payload"]["retryAt"] if each["type"] == WAITING else retry_at
    assert "node.retried" not in kinds
    assert kinds.count("weftwork.model.answered") == 1


@pytest.mark.rule("park-05", "rel-15")
@pytest.mark.parametrize(("name", "nth"), CASES)
def test_a_wait_ends_wherever_the_host_is_killed(tmp_path: Path, name: str, nth: int) -> None:
    with DownHost(tmp_path) as ground:
        host = ground.start(f"{name}:{nth}:kill")
        # The host may die before the response, when the run is stored.
        with contextlib.suppress(*CONNECTION_ERRORS):
            start_run(host)
        check_killed_at(host, name)
        check_store_image(ground.data, tmp_path / "image")
        host = ground.start()
        (run_id,) = run_ids(host)
        check_run(host, run_id)
        starts = [each["payload"]["attempt"] for each in events(host, run_id) if each["type"] == "node.started"]
        # A run that is parked is not executed again by a restart.
        assert starts == [1] or name not in ("run.parked", "alarm.ring")
        stop(host)


def test_a_host_that_wakes_no_run_is_seen(tmp_path: Path) -> None:
    with DownHost(tmp_path, "skip_alarm") as ground:
        host = ground.start()
        run_id = start_run(host)
        until(lambda: WAITING in [each["type"] for each in events(host, run_id)], "a wait")
        with pytest.raises(AssertionError, match="did not go on"):
            until(lambda: RETRIED in [each["type"] for each in events(host, run_id)], "did not go on", 3)
