"""A supervisor that kills and restarts a busy host: every run that was promised ends, once, and on time."""

import random
import time
from pathlib import Path

import pytest

from tests.crash.client_history import ClientHistory
from tests.crash.fleet import ClientFleet
from tests.crash.oracle import check_history, follow, listing, timestamp_ms
from tests.crash.restartable_host import RestartableHost, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.later_host import HOUR_MS
from tests.live.steering import events

pytestmark = pytest.mark.slow

KILLS = 20 if FULL else 2
RUNS = 2000 if FULL else 200
SHARE = RUNS // (KILLS + 1)


def test_every_promised_run_ends_once_and_on_time(tmp_path: Path) -> None:
    chance = random.Random(11)
    ledger = ClientHistory()
    fleet = ClientFleet(ledger, seed=12)
    with RestartableHost(tmp_path) as ground:
        for life in range(KILLS):
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
        # All waits that began before are over now: of an hour, too, unless one began anew.
        host = ground.start_later(1)
        due = [
            run_id for run_id, run in listing(host).items() if run["workflowId"] == "long" and was_begun(host, run_id)
        ]
        with fleet.at_work(host, RUNS):
            pass
        outlived = sum(follow(host, run_id)[-1]["type"] == "run.completed" for run_id in due)
        assert outlived > RUNS // 25, f"only {outlived} waits outlived a host"
        check_history(host, ledger)
        assert len(ledger.acknowledged()) > RUNS * 0.9
        stop(host)


def was_begun(host: Host, run_id: str) -> bool:
    """Whether the wait of a run began in the time of a host before this one, whose clock is an hour ahead."""
    begun = [timestamp_ms(event) for event in events(host, run_id) if event["type"] == "node.started"]
    return bool(begun) and begun[0] < int(time.time() * 1000) + HOUR_MS // 2


def ended(host: Host) -> int:
    return sum(run["status"] == "completed" for run in listing(host).values())
