"""Visits: clients that use everything a host has, in three situations, for as long as it lives."""

import contextlib
import copy
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.crash.client import HostGone, RecordingClient
from tests.crash.client_history import ClientHistory
from tests.crash.restartable_host import RestartableHost, has_started
from tests.live import Host

SCENARIOS = ("fresh", "recovering", "crowd")
"""An empty data folder; one that a killed host left behind; the same with several clients at once."""
CROWD = 4
BULK = "x" * 400_000
"""One run of `bulk` with this text fills the write-ahead log, and its frames need several pieces."""


class Remains(NamedTuple):
    """What a killed host left: its data, and what its clients know."""

    data: Path
    history: ClientHistory
    bulk: str


def leave_behind(folder: Path) -> Remains:
    """A host dies in the middle of some runs."""
    ledger = ClientHistory()
    with RestartableHost(folder) as ground:
        client = RecordingClient(ground.start(), ledger, "before")
        bulk = client.create("bulk", text=BULK)
        assert bulk is not None
        client.watch(bulk)
        for workflow in ("long", "waits", "long", "delay", "long", "quick"):
            client.create(workflow, keyed=workflow == "long")
        client.host.kill()
    return Remains(ground.data, ledger, bulk)


def take_over(ground: RestartableHost, remains: Remains) -> ClientHistory:
    """Put a copy of the data in place; the socket of the dead host stays behind."""
    shutil.copytree(remains.data, ground.data, ignore=shutil.ignore_patterns("*.sock"))
    ground.data.chmod(0o700)
    return copy.deepcopy(remains.history)


def prepare(ground: RestartableHost, scenario: str, remains: Remains) -> ClientHistory:
    return ClientHistory() if scenario == "fresh" else take_over(ground, remains)


def visit(host: Host, ledger: ClientHistory, scenario: str, rounds: int) -> list[RecordingClient]:
    """Use a host until it is gone, or for so many rounds; returns the clients."""
    if not has_started(host):
        return []
    names = [f"c{number}" for number in range(CROWD if scenario == "crowd" else 1)]
    clients = [RecordingClient(host, ledger, name) for name in names]
    with ThreadPoolExecutor(len(clients)) as pool:
        for working in [pool.submit(_use, client, rounds) for client in clients]:
            working.result(120)
    return clients


def send_away(host: Host) -> int:
    """SIGTERM, if it still runs; the exit code."""
    if host.process.poll() is None:
        host.process.send_signal(signal.SIGTERM)
    return host.process.wait(15)


def _use(client: RecordingClient, rounds: int) -> None:
    with contextlib.suppress(HostGone):
        for turn in range(rounds):
            _turn(client, turn)


def _turn(client: RecordingClient, turn: int) -> None:
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
    if turn < 2 and client.name == "c0" and (bulk := client.create("bulk", text=BULK)) is not None:
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
    if turn == 0 and client.name == "c0" and (bulk := client.create("bulk", text=BULK)) is not None:
        client.delete(bulk, keyed=True)
    # Each of these waits for a commit, while pieces of the other one go.
    for number in range(2):
        if (ended := client.create("quick", keyed=number == 0, text="x")) is not None:
            client.delete(ended, keyed=number == 0)
