"""What holds of a host that dies or fails at any fault point while scripted clients are at work."""

import copy
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.crash.interrupts.scripted_clients import ScriptedClients
from tests.crash.restartable_host import RestartableHost, check_killed_at, has_started, stop
from tests.crash.workload import terminate
from tests.harness.definitions import FULL
from tests.live import Host
from weftwork.ports.fault_points import POINTS

ONCE = "boot.seated boot.ready sweep.begin writer.checkpoint writer.checkpointed drain.begin drain.close".split()
"""Passed once in the life of a host, or not more often for sure."""
FAILURES = range(1, 200, 3) if FULL else (1, 2, 5, 6, 9, 14, 15, 22, 30)
"""At which passings of a point the host fails there."""


class Remains(NamedTuple):
    """What a killed host left: its data, and what its clients know."""

    data: Path
    clients: ScriptedClients


@dataclass
class PointProof:
    """`check` looks at a host after a start, `check_image` at what a dead one left."""

    host: type[RestartableHost]
    make_clients: Callable[[int], ScriptedClients]
    check: Callable[[Host, ScriptedClients], object]
    check_image: Callable[[Path, Path], None]
    often: Sequence[str]
    """The points that are passed again and again."""
    once: Sequence[str]
    times: tuple[int, ...]
    """At which passings of those the host is killed."""
    boot: int
    """How often the points of the writer may have been passed when a host has started."""
    seldom: dict[str, int]
    """Points that are not passed more often than that for sure, and how often they are."""
    runs: int
    """New runs of every client in one life."""

    def cases(self) -> list[tuple[str, int]]:
        """Points, and the passings at which a host is killed there; some of them in the short proof."""
        times = {name: sorted({min(nth, self.seldom.get(name, nth)) for nth in self.times}) for name in self.often}
        found = [*((name, 1) for name in self.once), *((name, nth) for name in self.often for nth in times[name])]
        return found[:: 1 if FULL else 4]

    def failing(self, *short: str) -> list[str]:
        """Points at which a host can fail; those named in the short proof."""
        found = [name for name in self.often if POINTS[name].fault is not None]
        return found if FULL else [*short]

    def take_over(self, ground: RestartableHost, remains: Remains) -> ScriptedClients:
        ground.take_over(remains.data)
        return copy.deepcopy(remains.clients)

    def check_kill(self, folder: Path, remains: Remains, name: str, nth: int) -> None:
        with self.host(folder) as ground:
            clients = self.take_over(ground, remains)
            host = ground.launch(f"{name}:{nth + self._first(name)}:kill")
            if has_started(host):
                clients.start_runs(host, self.runs)
            terminate(host)
            check_killed_at(host, name)
            self.check_image(ground.data, folder / "image")
            host = ground.start()
            self.check(host, clients)
            stop(host)

    def check_failures(
        self,
        folder: Path,
        remains: Remains,
        name: str,
        settle: Callable[[Host, ScriptedClients], None] = lambda *_: None,
    ) -> None:
        """The host fails again and again. Clients who are told to come back do."""
        with self.host(folder) as ground:
            clients = self.take_over(ground, remains)
            first = 2 if name == "recover.run" else self._first(name)
            host = ground.start(",".join(f"{name}:{first + at}:raise" for at in FAILURES))
            assert clients.start_runs(host, self.runs)
            settle(host, clients)
            self.check(host, clients)
            assert f'"message":"fault point reached","point":"{name}"' in host.errors, "nothing has failed"
            assert "Traceback" not in host.errors
            host.kill()
            self.check_image(ground.data, folder / "image")

    def passed_points(self, folder: Path, remains: Remains) -> set[str]:
        with self.host(folder) as ground:
            clients = self.take_over(ground, remains)
            host = ground.start(",".join(f"{name}:1:delay=0" for name in POINTS))
            assert clients.start_runs(host, self.runs)
            self.check(host, clients)
            stop(host)
            return {name for name in POINTS if f'"message":"fault point reached","point":"{name}"' in host.errors}

    def check_lives(self, folder: Path, lives: int, seed: int) -> None:
        """So many hosts are killed at any moment."""
        chance, clients = random.Random(seed), self.make_clients(seed)
        with self.host(folder) as ground:
            for life in range(lives):
                host = ground.start()
                with clients.running(host):
                    time.sleep(chance.uniform(0.05, 0.5))
                    host.kill()
                self.check_image(ground.data, folder / f"image-{life}")
            host = ground.start()
            self.check(host, clients)
            stop(host)
        assert len(clients.runs) > lives * 2

    def _first(self, name: str) -> int:
        return self.boot if name.startswith("writer.") and name not in ONCE else 0
