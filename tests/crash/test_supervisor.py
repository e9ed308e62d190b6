"""A supervisor that kills and restarts a busy host: every run that was promised ends, once, and on time."""

import os
import random
import time
from pathlib import Path

import pytest

from tests.crash.client_history import ClientHistory
from tests.crash.fleet import ClientFleet, check_deadlines
from tests.crash.oracle import check_history, listing
from tests.crash.restartable_host import RestartableHost, stop
from tests.crash.store_image import check_store_image
from tests.live import Host, until

pytestmark = pytest.mark.slow

FULL = os.environ.get("WEFTWORK_PROOF") == "full"
KILLS = 20 if FULL else 2
RUNS = 2000 if FULL else 200
SHARE = RUNS // (KILLS + 1)


def test_every_promised_run_ends_once_and_on_time(tmp_path: Path) -> None:
    chance = random.Random(11)
    ledger = ClientHistory()
    fleet = ClientFleet(ledger, seed=12)
    restarts: list[int] = []
    with RestartableHost(tmp_path) as ground:
        for life in range(KILLS):
            restarts.append(int(time.time() * 1000))
            host = ground.start()
            with fleet.at_work(host, SHARE * (life + 2)) as working:
                if life % 2 == 0:
                    enough = SHARE * life + chance.randrange(1, SHARE)
                    until(lambda enough=enough: len(ledger.acknowledged()) >= enough, "answers")
                    assert not all(each.done() for each in working), "the kill comes while clients are busy"
                else:
                    enough = ended(host) + chance.randrange(1, SHARE // 4)
                    until(lambda host=host, enough=enough: ended(host) >= enough, "runs to end")
                host.kill()
            check_store_image(ground.data, tmp_path / f"image-{life}")
        restarts.append(int(time.time() * 1000))
        host = ground.start()
        with fleet.at_work(host, RUNS):
            pass
        logs = check_history(host, ledger)
        runs = listing(host)
        outlived = check_deadlines(logs, {run: runs[run]["workflowId"] for run in runs}, restarts[1:])
        assert outlived > RUNS // 4, f"only {outlived} waits outlived a host"
        assert len(ledger.acknowledged()) > RUNS * 0.9
        stop(host)


def ended(host: Host) -> int:
    return sum(run["status"] == "completed" for run in listing(host).values())
