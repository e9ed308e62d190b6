"""A host on PostgreSQL that is killed at any fault point loses nothing, and one whose store fails there goes on."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.crash.client import ClientHistory
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.postgres.busy_host import BusyClients, BusyHost, check_afterwards
from tests.crash.postgres.postgres_host import Database, PostgresHost, disk_server
from tests.crash.restartable_host import check_killed_at, has_started
from tests.crash.workload import (
    SCENARIOS,
    DeadHostData,
    prepare_scenario,
    run_workload,
    terminate,
    work_until_killed,
)
from tests.harness.definitions import FULL
from tests.live import Host, until
from weftwork.ports.fault_points import POINTS

ONCE: Final = ("boot.seated", "boot.ready", "sweep.begin", "drain.begin", "drain.close")
FRESH: Final = ("migration.applied", "migration.stamped")
"""Passed only if the database is empty."""
SELDOM: Final = {"recover.run": 3, "cancel.durable": 2, "answer.durable": 1, "delete.durable": 2, "alarm.ring": 2}
SELDOM_TOO: Final = {"kin.related": 4, "kin.deliver": 2, "kin.order": 1, "stream.begin": 2, "key.stored": 1}
OFTEN: Final = {
    "writer.begin": 14,
    "writer.commit": 6,
    "writer.committed": 20,
    "create.checked": 3,
    "create.durable": 5,
    "create.started": 4,
    "append.begin": 6,
    "append.durable": 8,
    "append.published": 7,
    "node.launch": 3,
    "node.ended": 4,
    "effect.claimed": 3,
    "run.ended": 5,
    "run.parked": 3,
    "stream.frame": 3,
    "stream.piece": 12,
    "response.piece": 2,
    "admin.answer": 1,
}
"""The passing at which the clients are busy."""
BUSY: Final = {**dict.fromkeys((*ONCE, *FRESH), 1), **SELDOM, **SELDOM_TOO, **OFTEN}
ROUNDS: Final = 3

SAMPLE: Final = (
    ("writer.begin", "crowd"),
    ("writer.commit", "recovering"),
    ("append.durable", "recovering"),
    ("effect.claimed", "fresh"),
)


class Case(NamedTuple):
    name: str
    nth: int
    scenario: str


def kills() -> list[Case]:
    if not FULL:
        return [Case(name, BUSY[name], scenario) for name, scenario in SAMPLE]
    found: list[Case] = []
    for name, busy in BUSY.items():
        for scenario in ("fresh",) if name in FRESH else SCENARIOS:
            usual = {1, busy} if name not in OFTEN else {1, 2, 3, busy, busy + 5, busy + 10}
            passings = {1} if name in (*ONCE, *FRESH) else usual
            found += [Case(name, nth, scenario) for nth in sorted(passings)]
    return found


def failures() -> list[Case]:
    names = [name for name in OFTEN if POINTS[name].fault is not None] if FULL else ["writer.committed"]
    return [Case(name, nth, "crowd") for name in names for nth in ({1, OFTEN[name]} if FULL else {OFTEN[name]})]


class Remains(NamedTuple):
    """What a host left that died in the middle of some runs."""

    database: Database
    data: DeadHostData


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Remains:
    database = Database(disk_server())
    with PostgresHost(tmp_path_factory.mktemp("remains"), database) as ground:
        return Remains(database, work_until_killed(ground))


@contextlib.contextmanager
def new_ground(folder: Path, remains: Remains, scenario: str) -> Iterator[tuple[BusyHost, CountingSink, ClientHistory]]:
    """Hosts on an empty database or on a copy of what remains, the sink of their effects, and what clients know."""
    database = Database(disk_server(), None if scenario == "fresh" else remains.database)
    with CountingSink(3).listening() as sink, BusyHost(folder, database, sink) as ground:
        yield ground, sink, prepare_scenario(ground, scenario, remains.data)


def use(host: Host, sink: CountingSink, history: ClientHistory, scenario: str) -> None:
    """Use everything that a host has, until it is gone or for some rounds."""
    if has_started(host):
        with BusyClients(host, sink, history).starting_effects():
            run_workload(host, history, scenario, ROUNDS)


@pytest.mark.parametrize(("name", "nth", "scenario"), kills())
def test_a_host_that_is_killed_there_loses_nothing(
    tmp_path: Path, remains: Remains, name: str, nth: int, scenario: str
) -> None:
    with new_ground(tmp_path, remains, scenario) as (ground, sink, history):
        host = ground.launch(f"{name}:{nth}:kill")
        use(host, sink, history, scenario)
        terminate(host)
        check_killed_at(host, name)
        ground.check_image(tmp_path / "image")
        clients = BusyClients(ground.start(), sink, history)
        check_afterwards(ground, clients, sink, tmp_path)


@pytest.mark.parametrize(("name", "nth", "scenario"), failures())
def test_a_host_whose_store_fails_there_goes_on(
    tmp_path: Path, remains: Remains, name: str, nth: int, scenario: str
) -> None:
    """At writer.committed, this is a connection that is lost after the commit was sent and before the answer."""
    with new_ground(tmp_path, remains, scenario) as (ground, sink, history):
        host = ground.launch(f"{name}:{nth}:raise")
        use(host, sink, history, scenario)
        until(lambda: f'"point":"{name}"' in host.errors, f"{name} to be reached")
        assert "Traceback" not in host.errors
        check_afterwards(ground, BusyClients(host, sink, history), sink, tmp_path)


@pytest.mark.skipif(not FULL, reason="the full proof")
def test_every_point_that_is_passed_is_put_to_the_proof(tmp_path: Path, remains: Remains) -> None:
    passed: set[str] = set()
    for scenario in SCENARIOS:
        with new_ground(tmp_path / scenario, remains, scenario) as (ground, sink, history):
            host = ground.launch(",".join(f"{name}:1:delay=0" for name in POINTS))
            use(host, sink, history, scenario)
            terminate(host)
            passed |= {name for name in POINTS if f'"message":"fault point reached","point":"{name}"' in host.errors}
    assert passed == BUSY.keys()
