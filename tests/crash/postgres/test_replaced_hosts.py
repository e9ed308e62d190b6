"""A host that is frozen at any fault point and replaced meanwhile does nothing any more when it goes on, and ends."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.postgres.busy_host import BusyClients, BusyHost, check_afterwards
from tests.crash.postgres.postgres_host import Database, disk_server
from tests.harness.definitions import FULL
from tests.live import Host, until

BEFORE, AFTER = "before", "after"
"""When the frozen host goes on: before the first append of the new one, or after that has done everything."""
BOOT: Final = {"writer.commit": 20}
"""How often a point is passed while a host starts."""
POINTS: Final = ("append.begin", "writer.begin", "writer.commit", "writer.committed", "append.durable",
                 "append.published", "node.launch", "effect.claimed", "node.ended")  # fmt: skip
PASSINGS: Final = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30)
SAMPLE: Final = (("append.begin", 6, BEFORE), ("effect.claimed", 1, AFTER), ("writer.commit", 4, AFTER))
CASES: Final = (
    [(name, nth, when) for name in POINTS for nth in PASSINGS for when in (BEFORE, AFTER)] if FULL else SAMPLE
)
CLAIMED: Final = ("effect.claimed", 1)
"""The first effect of a run is claimed, and none has begun."""
PATIENCE: Final = 8.0
"""Seconds after which a run is said not to go on, where that is expected."""


def is_frozen(host: Host) -> bool:
    assert host.process.poll() is None, f"the host ended with {host.process.returncode}: {host.errors}"
    state = Path(f"/proc/{host.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    return state == "T"


def await_freeze(host: Host) -> None:
    until(lambda: is_frozen(host), "the host to freeze")


@contextlib.contextmanager
def clients_of(host: Host, history: ClientHistory, alone: bool) -> Iterator[None]:
    """Within it, clients start runs until their host is gone; if `alone`, only one run."""
    is_over = threading.Event()

    def work(workflow: str) -> None:
        client = RecordingClient(host, history, f"old-{workflow}")
        with contextlib.suppress(HostGone):
            client.create(workflow, keyed=True)
            while not is_over.is_set() and not alone:
                client.create(workflow, keyed=True)

    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work, each) for each in (("pays",) if alone else ("effects", "calls"))]
        try:
            yield
        finally:
            is_over.set()
            if host.process.poll() is None:
                host.kill()
            for each in working:
                each.result(120)


def thaw(host: Host) -> None:
    """Let a frozen host go on, and return when it has ended because it was replaced."""
    host.process.send_signal(signal.SIGCONT)
    assert host.process.wait(60) == 1, host.errors
    assert "another process executes the runs of this store" in host.errors
    assert "Traceback" not in host.errors


def replace_frozen_host(
    folder: Path, name: str, nth: int, when: str, guard: str | None = None, patience: float = 120.0
) -> dict[str, int]:
    """Freeze a host at a point and replace it, let it go on, and check everything at the end.

    A person says of an effect whether it has happened. Where nothing has begun, that is said before the frozen host
    goes on. Otherwise it is said when that has ended: it may have been frozen between its last proof of the fence and
    the first byte of an effect, which no store can prevent.
    """
    history = ClientHistory()
    with (
        CountingSink(7).listening() as sink,
        BusyHost(folder, Database(disk_server()), sink, guard=guard) as ground,
    ):
        old = ground.start(f"{name}:{BOOT.get(name, 0) + nth}:freeze")
        with clients_of(old, history, (name, nth) == CLAIMED):
            await_freeze(old)
            new = ground.launch_rival("append.begin:1:freeze" if when == BEFORE else None)
            clients = BusyClients(new, sink, history)
            if when == BEFORE:
                await_freeze(new)
                thaw(old)
                new.process.send_signal(signal.SIGCONT)
                new.wait_for_start()
            else:
                new.wait_for_start()
                clients.await_all(patience, (name, nth) == CLAIMED)
                thaw(old)
        return check_afterwards(ground, clients, sink, folder, patience)


@pytest.mark.parametrize(("name", "nth", "when"), CASES)
def test_a_host_that_was_replaced_acts_no_more(tmp_path: Path, name: str, nth: int, when: str) -> None:
    replace_frozen_host(tmp_path, name, nth, when, None if FULL else "shorten_times")


@pytest.mark.parametrize(
    ("guard", "case", "said"),
    [
        ("skip_fence_check", ("effect.claimed", 1, AFTER), "the effect happened 2 times"),
        ("allow_idle_transactions", ("writer.commit", 4, AFTER), "did not go on"),
        ("skip_look_for_work", ("append.begin", 6, BEFORE), "did not go on"),
    ][: 3 if FULL else 1],
)
def test_a_host_without_this_guard_is_seen(tmp_path: Path, guard: str, case: tuple[str, int, str], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        print(replace_frozen_host(tmp_path, *case, guard, PATIENCE))
