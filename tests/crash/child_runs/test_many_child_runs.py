"""A parent with many children is killed again and again while they are made and end: each is made once, and counts."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.crash.child_runs.child_run_host import ChildRunHost
from tests.crash.child_runs.child_run_oracle import check_no_messages, check_tree, pending_messages
from tests.crash.child_runs.message_image import check_messages
from tests.crash.interrupts.scripted_clients import call
from tests.crash.oracle import listing
from tests.crash.restartable_host import has_started, stop
from tests.harness.definitions import FULL
from tests.live import Host, until
from weftwork.protocol.run.events import CHILD_ENDED, CHILD_STARTED

pytestmark = pytest.mark.slow

CHILDREN = 1000 if FULL else 60
KILLS = 25 if FULL else 2
ROUNDS = 4 if FULL else 1
LONGEST = 0.25 if FULL else 0.08
"""Seconds for which a host lives that is to be killed; so short that the parent does not end before the last kill."""


def begin(host: Host) -> str:
    return host.create("many", inputs={"items": list(range(CHILDREN))})


def ended(host: Host, run_id: str) -> bool:
    return call(host, "GET", f"/v1/runs/{run_id}").document["status"] in ("completed", "failed", "cancelled")


def check_counted(host: Host, run_id: str) -> None:
    """All children are there once, have ended once, and each has given its result."""
    family = check_tree(host, run_id)
    log = family[run_id]
    kinds = [event["type"] for event in log]
    assert kinds.count(CHILD_STARTED) == kinds.count(CHILD_ENDED) == CHILDREN
    assert len(family) == CHILDREN + 1 == len(listing(host)), "there are runs that nobody started"
    assert len(log) == 2 * CHILDREN + 4, f"the parent has {len(log)} events"
    shown: dict[str, Any] = call(host, "GET", f"/v1/runs/{run_id}").document
    assert shown["status"] == "completed", shown
    assert shown["outputs"]["each"] == {"results": list(range(CHILDREN)), "count": CHILDREN}
    check_no_messages(host.data)


@pytest.mark.rule("kin-02", "kin-04", "kin-13")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_each_of_many_children_is_made_once_however_often_the_host_is_killed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with ChildRunHost(tmp_path) as ground:
        host = ground.start()
        run_id = begin(host)
        killed = 0
        for life in range(KILLS):
            time.sleep(chance.uniform(0.0, LONGEST))
            killed += not ended(host, run_id)
            host.kill()
            if life % 5 == 0:
                check_messages(ground.data, tmp_path / f"image-{life}")
            host = ground.start()
        until(lambda: ended(host, run_id), "the parent to end")
        check_counted(host, run_id)
        stop(host)
    assert killed >= min(KILLS, 2), "the parent has ended before it was killed"


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-13")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_while_it_starts_again_a_host_makes_no_child_twice(tmp_path: Path, seed: int) -> None:
    """Kills that come while a host takes up what the one before left, some before it listens."""
    chance = random.Random(100 + seed)
    with ChildRunHost(tmp_path) as ground:
        host = ground.start()
        run_id = begin(host)
        host.kill()
        for _ in range(KILLS):
            name = chance.choice(["recover.run", "kin.related", "kin.deliver", "append.durable", "writer.committed"])
            host = ground.launch(f"{name}:{chance.randrange(1, 40)}:kill")
            if has_started(host):
                host.kill()
        host = ground.start()
        until(lambda: ended(host, run_id), "the parent to end")
        check_counted(host, run_id)
        stop(host)


@pytest.mark.rule("kin-06")
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_cancel_of_many_that_is_killed_is_carried_to_the_end(tmp_path: Path, seed: int) -> None:
    chance = random.Random(200 + seed)
    with ChildRunHost(tmp_path) as ground:
        host = ground.start()
        run_id = host.create("crowd", inputs={"items": list(range(CHILDREN))})
        until(lambda: len(listing(host)) > CHILDREN // 2, "half of them to be there")
        assert host.call("POST", f"/v1/runs/{run_id}/cancel").status == 200
        for life in range(KILLS):
            time.sleep(chance.uniform(0.0, LONGEST / 4))
            host.kill()
            if life == 0:
                check_messages(ground.data, tmp_path / "image")
            host = ground.start()
        until(lambda: pending_messages(host.data)[1] == 0, "all orders to be carried out")
        family = check_tree(host, run_id)
        assert {log[-1]["type"] for log in family.values()} == {"run.cancelled"}
        assert len(family) == len(listing(host))
        check_no_messages(host.data)
        stop(host)
