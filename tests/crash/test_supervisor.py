"""A supervisor that kills and restarts a busy host: every run that was promised ends, once, and on time."""

import contextlib
import itertools
import random
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.oracle import check_history, follow, listing, timestamp_ms
from tests.crash.restartable_host import RestartableHost, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.later_host import HOUR_MS
from tests.live.steering import events

pytestmark = pytest.mark.slow

CLIENTS = 8
WORKFLOWS = ("long", "chain", "branches")


class ClientFleet:
    """Makes runs, over any number of lives of a host."""

    def __init__(self, ledger: ClientHistory, seed: int) -> None:
        self.history = ledger
        self._chance = random.Random(seed)
        self._life = itertools.count()

    @contextlib.contextmanager
    def at_work(self, host: Host, wanted: int) -> Iterator[list["Future[None]"]]:
        """Within it the clients are busy. It ends when they have asked for so many runs or their host is gone."""
        life = next(self._life)
        with ThreadPoolExecutor(CLIENTS) as pool:
            seeds = [self._chance.randrange(2**32) for _ in range(CLIENTS)]
            clients = [RecordingClient(host, self.history, f"l{life}c{number}") for number in range(CLIENTS)]
            working = [pool.submit(self._work, *each, wanted) for each in zip(clients, seeds, strict=True)]
            yield working
            for each in working:
                each.result(120)

    def _work(self, client: RecordingClient, seed: int, wanted: int) -> None:
        chance = random.Random(seed)
        with contextlib.suppress(HostGone):
            while len(self.history.creates) < wanted:
                self._step(client, chance)

    def _step(self, client: RecordingClient, chance: random.Random) -> None:
        lost = [wish for wish in list(self.history.creates.values()) if wish.key and wish.run_id is None]
        if lost and chance.random() < 0.5:
            # Somebody else may be sending it at this moment: one more retry at the same time.
            client.send_create(chance.choice(lost))
            return
        run_id = client.create(chance.choice(WORKFLOWS), keyed=chance.random() < 0.5)
        if run_id is not None and chance.random() < 0.1:
            client.cancel(run_id, keyed=chance.random() < 0.5)


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
