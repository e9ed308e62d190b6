"""A fleet: clients that create, retry, cancel and watch runs at the same time, until there are enough or no host."""

import contextlib
import itertools
import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tests.crash.client import HostGone, RecordingClient
from tests.crash.client_history import ClientHistory
from tests.crash.oracle import Log, timestamp_ms
from tests.crash.workflows import MIN_NODE_MS
from tests.live import Host

CLIENTS = 8
LONG_WORKFLOWS = ("delay", "chain", "branches")
MIN_MEASURED_MS = 2500
"""Waits of this length and more tell a kept deadline from a new one, however slowly a host starts."""


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
        run_id = client.create(chance.choice(LONG_WORKFLOWS), keyed=chance.random() < 0.5)
        if run_id is not None and chance.random() < 0.1:
            client.cancel(run_id, keyed=chance.random() < 0.5)


def check_deadlines(logs: dict[str, Log], workflows: dict[str, str], restarts: list[int]) -> int:
    """No wait that began before a restart was begun anew by it; returns how many waits outlived one."""
    outlived = 0
    for run_id, log in logs.items():
        lengths = MIN_NODE_MS[workflows[run_id]]
        begun = {event["nodeId"]: timestamp_ms(event) for event in log if event["type"] == "node.started"}
        for event in log:
            if event["type"] != "node.completed" or lengths[event["nodeId"]] < MIN_MEASURED_MS:
                continue
            node = event["nodeId"]
            within = [restart for restart in restarts if begun[node] < restart < timestamp_ms(event)]
            if within:
                outlived += 1
                late = timestamp_ms(event) - within[-1]
                assert late < lengths[node], f"{run_id} began {node} anew: it ended {late} ms after a restart"
    return outlived
