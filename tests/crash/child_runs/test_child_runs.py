"""Trees of runs under kills: at every point that is passed, each child is made once, and no word of it is lost."""

import copy
import random
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crash.child_runs.child_run_host import SCENARIOS, ChildRunClients, ChildRunHost
from tests.crash.child_runs.child_run_oracle import check_trees
from tests.crash.child_runs.message_image import check_messages
from tests.crash.interrupts.scripted_clients import ScriptedClients
from tests.crash.restartable_host import check_killed_at, has_started, stop
from tests.crash.workload import terminate
from tests.harness.definitions import FULL
from weftwork.ports.fault_points import POINTS

pytestmark = pytest.mark.slow

ONCE = """
    boot.seated boot.ready sweep.begin writer.checkpoint writer.checkpointed drain.begin drain.close
""".split()
"""Passed once in the life of a host, or not more often for sure."""
RARELY = ("boot.ready", "drain.close")
"""Those of them where a host is killed in the short proof."""
OFTEN = """
    recover.run writer.begin writer.commit writer.committed create.checked create.durable create.started
    cancel.durable answer.durable append.begin append.durable append.published node.launch node.ended run.ended
    run.parked kin.related kin.deliver kin.order
""".split()
TIMES = (1, 2, 3, 5, 8, 13, 21) if FULL else (11,)
WRITING = ("writer.begin", "writer.commit", "writer.committed")
BOOT = 30
"""How often the points of the writer may have been passed when a host has started."""
SELDOM = {"cancel.durable": 3, "answer.durable": 3, "recover.run": 3, "kin.order": 3}
"""Points that are not passed more often than that for sure, and how often they are."""
FAILURES = range(1, 200, 3) if FULL else (1, 2, 5, 6, 9, 14, 15, 22, 30)
"""At which passings of a point the host fails there."""
FAILING = ("kin.deliver",)
"""Where it does in the short proof."""
CASES = 8 if FULL else 4
"""New cases of every person in one life."""
LIVES = 20 if FULL else 1


class Remains(NamedTuple):
    """What a killed host left: its data, and what people know."""

    data: Path
    desk: ScriptedClients


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Remains:
    """Of a host that died while trees were being built, waited, and were taken down."""
    folder = tmp_path_factory.mktemp("remains")
    desk = ChildRunClients(seed=31)
    with ChildRunHost(folder) as ground:
        host = ground.start()
        for steps in (2, 1):
            for story in SCENARIOS:
                desk.start_run(host, story, steps)
        for _ in range(SELDOM["recover.run"]):
            # Nobody has to be woken for these: their children are at work.
            desk.start_run(host, "slow")
        host.kill()
    return Remains(ground.data, desk)


def take_over(ground: ChildRunHost, remains: Remains) -> ScriptedClients:
    shutil.copytree(remains.data, ground.data, ignore=shutil.ignore_patterns("*.sock"))
    ground.data.chmod(0o700)
    return copy.deepcopy(remains.desk)


def cases() -> list[tuple[str, int]]:
    often = [(name, nth) for name in OFTEN for nth in sorted({min(nth, SELDOM.get(name, nth)) for nth in TIMES})]
    return [*((name, 1) for name in ONCE if FULL or name in RARELY), *often][:: 1 if FULL else 4]


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
@pytest.mark.parametrize(("name", "nth"), cases())
def test_each_child_is_made_once_at_any_point(tmp_path: Path, remains: Remains, name: str, nth: int) -> None:
    with ChildRunHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        host = ground.launch(f"{name}:{nth + BOOT if name in WRITING else nth}:kill")
        if has_started(host):
            desk.start_runs(host, CASES)
        terminate(host)
        check_killed_at(host, name)
        check_messages(ground.data, tmp_path / "image")
        host = ground.start()
        check_trees(host, desk)
        stop(host)


def failing() -> list[str]:
    # One that fails to load what it finds does not start.
    found = [name for name in OFTEN if POINTS[name].fault is not None and name != "recover.run"]
    return found if FULL else [name for name in found if name in FAILING]


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
@pytest.mark.parametrize("name", failing())
def test_a_host_that_fails_at_a_point_again_and_again_keeps_its_trees(
    tmp_path: Path, remains: Remains, name: str
) -> None:
    with ChildRunHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        first = BOOT if name in WRITING else 0
        host = ground.start(",".join(f"{name}:{first + at}:raise" for at in FAILURES))
        assert desk.start_runs(host, CASES)
        check_trees(host, desk)
        assert f'"message":"fault point reached","point":"{name}"' in host.errors, "nothing has failed"
        assert "Traceback" not in host.errors
        host.kill()
        check_messages(ground.data, tmp_path / "image")


def test_every_point_that_is_passed_is_put_to_the_proof(tmp_path: Path, remains: Remains) -> None:
    with ChildRunHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        host = ground.start(",".join(f"{name}:1:delay=0" for name in POINTS))
        assert desk.start_runs(host, CASES)
        check_trees(host, desk)
        stop(host)
        passed = {name for name in POINTS if f'"message":"fault point reached","point":"{name}"' in host.errors}
    # Pieces are of answers so large that these are not about trees.
    assert passed - {"response.piece"} == {*ONCE, *OFTEN}


@pytest.mark.rule("kin-02", "kin-04", "kin-05", "kin-06", "kin-07")
def test_killed_at_any_moment_a_host_keeps_its_trees(tmp_path: Path) -> None:
    chance = random.Random(37)
    desk = ChildRunClients(seed=38)
    with ChildRunHost(tmp_path) as ground:
        for life in range(LIVES):
            host = ground.start()
            with desk.running(host):
                time.sleep(chance.uniform(0.05, 0.5))
                host.kill()
            check_messages(ground.data, tmp_path / f"image-{life}")
        host = ground.start()
        check_trees(host, desk)
        stop(host)
    assert len(desk.runs) > LIVES * 2
