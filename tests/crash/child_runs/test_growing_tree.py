"""A tree that grows by itself, on a host that is killed again and again: each start listens at once and says how far it
is, and the tree continues, with each child made once."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child_runs.child_run_oracle import check_no_messages
from tests.crash.interrupts.scripted_clients import call
from tests.crash.restartable_host import RestartableHost, stop
from tests.harness.definitions import FULL, node
from tests.live import Host, until
from tests.live.steering import flow

pytestmark = pytest.mark.slow

WIDTH = 3
DEPTH = 6 if FULL else 4
KILLS = 25 if FULL else 4
ROUNDS = 3 if FULL else 1
LONGEST = 0.4 if FULL else 0.15
"""Seconds for which a host lives that is to be killed."""
RUNS = sum(WIDTH**level for level in range(DEPTH + 1))
"""In the whole tree. The runs at the limit of the depth find that they cannot start a child, and complete."""

RATE = RUNS // (KILLS + 6)
"""Children per second, and children that each host can create at once: the tree outlives all kills by some seconds."""

MAP = {"items": list(range(WIDTH)), "body": {"workflowId": "grows"}, "concurrency": WIDTH, "onError": "collect"}


SETTINGS = f"max_run_depth = {DEPTH}\nmax_live_children = 4\nmax_children_per_second = {RATE}\n"


class GrowingTreeHost(RestartableHost):
    """A map over itself, down to a depth; few of its runs are executed at a time, so that many are unfinished."""

    workflows = (flow("grows", [node("each", "core.flow.map", config=MAP)]),)


def launch(ground: RestartableHost) -> Host:
    """A host that listens. It has to do so while most of its runs are not resumed yet."""
    host = ground.start()
    recovery = host.call("GET", "/readiness", key=None).document["recovery"]
    assert {"total", "resumed", "skipped", "done"} == recovery.keys()
    assert recovery["skipped"] == 0
    return host


def recovered(host: Host) -> dict[str, Any] | None:
    recovery = host.call("GET", "/readiness", key=None).document["recovery"]
    return recovery if recovery["done"] else None


def has_ended(host: Host, root: str) -> bool:
    return call(host, "GET", f"/v1/runs/{root}").document["status"] == "completed"


@pytest.mark.rule("kin-02", "kin-04", "kin-13", "lim-17")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_tree_that_grows_is_complete_however_often_the_host_is_killed(tmp_path: Path, seed: int) -> None:
    grow_under_kills(tmp_path, seed)


def test_a_host_that_resumes_nothing_is_seen(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="waited 5 s for the tree to end"):
        grow_under_kills(tmp_path, 0, sabotage="skip_recovery", patience=5)


def grow_under_kills(folder: Path, seed: int, sabotage: str | None = None, patience: int = 120) -> None:
    chance = random.Random(seed)
    with GrowingTreeHost(folder, sabotage) as ground:
        ground.data.mkdir(parents=True)
        (ground.data / "weftwork.toml").write_text(SETTINGS, "utf-8")
        host = launch(ground)
        root = host.create("grows")
        killed = 0
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.0, LONGEST))
            killed += not has_ended(host, root)
            host.kill()
            host = launch(ground)
        until(
            lambda: call(host, "GET", f"/v1/runs/{root}").document["status"] == "completed", "the tree to end", patience
        )
        progress = until(lambda: recovered(host), "all runs to be resumed")
        assert progress["resumed"] == progress["total"]
        runs = host.pages("/v1/runs?limit=200", "runs")
        assert len(runs) == len({run["runId"] for run in runs}) == RUNS
        assert {run["status"] for run in runs} == {"completed"}
        parents = [run["parentRunId"] for run in runs if run["runId"] != root]
        assert {parents.count(parent) for parent in parents} == {WIDTH}, "a child is missing or was made twice"
        check_no_messages(host.data)
        stop(host)
    assert killed >= min(KILLS, 2), "the tree was complete before the host was killed"
