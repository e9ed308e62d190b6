"""A fleet: clients that create, retry, cancel and watch runs at the same time, until there are enough or no host."""

import contextlib
import itertools
import random
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tests.crash.client import HostGone, RecordingClient
from tests.crash.client_history import ClientHistory
from tests.live import Host

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
