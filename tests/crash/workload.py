"""Visits: clients that use everything a host has, in three situations, for as long as it lives."""

import contextlib
import copy
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.restartable_host import RestartableHost, has_started
from tests.live import Host

SCENARIOS = ("fresh", "recovering", "crowd")
"""An empty data folder; one that a killed host left behind; the same with several clients at once."""
CONCURRENT_CLIENTS = 4
BULK_TEXT = "x" * 400_000
"""One run of `bulk` with this text fills the write-ahead log, and its frames need several pieces."""


class DeadHostData(NamedTuple):
    """What a killed host left: its data, and what its clients know."""

    data: Path
    history: ClientHistory
    bulk: str


def kill_busy_host(folder: Path) -> DeadHostData:
    """A host dies in the middle of some runs."""
    with RestartableHost(folder) as ground:
        return work_until_killed(ground)


def work_until_killed(ground: RestartableHost) -> DeadHostData:
    ledger = ClientHistory()
    client = RecordingClient(ground.start(), ledger, "before")
    bulk = client.create("bulk", text=BULK_TEXT)
    assert bulk is not None
    client.watch(bulk)
    for workflow in ("long", "waits", "long", "delay", "long", "quick"):
        client.create(workflow, keyed=workflow == "long")
    client.host.kill()
    return DeadHostData(ground.data, ledger, bulk)


def copy_data(ground: RestartableHost, remains: DeadHostData) -> ClientHistory:
    ground.take_over(remains.data)
    return copy.deepcopy(remains.history)


def prepare_scenario(ground: RestartableHost, scenario: str, remains: DeadHostData) -> ClientHistory:
    return ClientHistory() if scenario == "fresh" else copy_data(ground, remains)


def run_workload(host: Host, ledger: ClientHistory, scenario: str, rounds: int) -> list[RecordingClient]:
    """Use a host until it is gone, or for so many rounds; returns the clients."""
    if not has_started(host):
        return []
    names = [f"c{number}" for number in range(CONCURRENT_CLIENTS if scenario == "crowd" else 1)]
    clients = [RecordingClient(host, ledger, name) for name in names]
    with ThreadPoolExecutor(len(clients)) as pool:
        for working in [pool.submit(_run_rounds, client, rounds) for client in clients]:
            working.result(120)
    return clients


def terminate(host: Host) -> int:
    """SIGTERM, if it still runs; the exit code."""
    if host.process.poll() is None:
        host.process.send_signal(signal.SIGTERM)
    return host.process.wait(120)


def _run_rounds(client: RecordingClient, rounds: int) -> None:
    with contextlib.suppress(HostGone):
        for turn in range(rounds):
            run_round(client, turn)


def run_round(client: RecordingClient, turn: int) -> None:
    """Use everything that a host has, once."""
    client.create("due")
    client.create("quick", keyed=True, text="x")
    asks = client.create("asks", keyed=True)
    waits = client.create("waits")
    client.create("fork", keyed=True)
    client.create("calls", keyed=True)
    parent = client.create("drops")
    doomed = client.create("long", keyed=turn % 2 == 0)
    client.make_key()
    for wish in list(client.history.creates.values()):
        # Clients who were not told try again; without a key they had better not.
        if wish.tag.startswith(client.name) and wish.run_id is None and wish.key is not None:
            client.send_create(wish)
    if turn < 2 and client.name == "c0" and (bulk := client.create("bulk", text=BULK_TEXT)) is not None:
        client.watch(bulk)
        client.read(bulk)
    if waits is not None:
        client.watch(waits)
    if asks is not None:
        client.steer(asks, "/interrupts/ask")
    if doomed is not None:
        client.read(doomed)
        client.cancel(doomed, keyed=True)
    if parent is not None:
        client.await_child(parent)
        client.cancel(parent, keyed=True)
    _delete_some(client, turn)


def _delete_some(client: RecordingClient, turn: int) -> None:
    """One of which so much is left that it goes in pieces, and others that are gone at once."""
    if turn == 0 and client.name == "c0" and (bulk := client.create("bulk", text=BULK_TEXT)) is not None:
        client.delete(bulk, keyed=True)
    # Each of these waits for a commit, while pieces of the other one go.
    for number in range(2):
        if (ended := client.create("quick", keyed=number == 0, text="x")) is not None:
            client.delete(ended, keyed=number == 0)
