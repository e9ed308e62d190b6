"""People in the loop under kills: at every point that is passed while they are asked, nothing that was said is lost."""

import contextlib
import copy
import random
import shutil
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.crash.interrupts.interrupt_host import LONG_HOURS, InterruptHost
from tests.crash.interrupts.interrupt_oracle import check_runs, views_agree
from tests.crash.interrupts.scripted_clients import ScriptedClients, ScriptedRun
from tests.crash.restartable_host import check_killed_at, has_started, stop
from tests.crash.store_image import check_store_image
from tests.crash.workload import terminate
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.steering import event_types
from weftwork.ports.fault_points import POINTS
from weftwork.protocol.run.events import INTERRUPT_REMINDER

pytestmark = pytest.mark.slow

ONCE = """
    boot.seated boot.ready sweep.begin writer.checkpoint writer.checkpointed drain.begin drain.close
""".split()
"""Passed once in the life of a host, or not more often for sure."""
OFTEN = """
    recover.run writer.begin writer.commit writer.committed create.checked create.durable create.started
    cancel.durable answer.durable append.begin append.durable append.published run.ended run.parked alarm.ring
""".split()
TIMES = (1, 2, 3, 5, 8, 13, 21) if FULL else (7,)
WRITING = ("writer.begin", "writer.commit", "writer.committed")
BOOT = 8
"""How often the points of the writer may have been passed when a host has started."""
SELDOM = {"alarm.ring": 3, "recover.run": 3, "cancel.durable": 3}
"""Points that are not passed more often than that for sure, and how often they are."""
FAILURES = range(1, 200, 3) if FULL else (1, 2, 5, 6, 9, 14, 15, 22, 30)
"""At which passings of a point the host fails there."""
FAILING = ("answer.durable",)
"""Where it does in the short proof."""
CASES = 8
"""New cases of every person in one life."""
LIVES = 25 if FULL else 1


class Remains(NamedTuple):
    """What a killed host left: its data, and what people know."""

    data: Path
    desk: ScriptedClients


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Remains:
    """Of a host that died while many runs waited, some of them as far as their time was up by now."""
    folder = tmp_path_factory.mktemp("remains")
    desk = ScriptedClients(seed=21)
    with InterruptHost(folder) as ground:
        host = ground.start()
        for steps in (1, 2, 3, 4):
            for workflow in ("ask", "vote", "turns", "drop"):
                desk.start_run(host, workflow, steps)
        for _ in range(3):
            desk.start_run(host, "due")
        host.kill()
    return Remains(ground.data, desk)


def take_over(ground: InterruptHost, remains: Remains) -> ScriptedClients:
    shutil.copytree(remains.data, ground.data, ignore=shutil.ignore_patterns("*.sock"))
    ground.data.chmod(0o700)
    return copy.deepcopy(remains.desk)


def cases() -> list[tuple[str, int]]:
    often = [(name, nth) for name in OFTEN for nth in sorted({min(nth, SELDOM.get(name, nth)) for nth in TIMES})]
    return [*((name, 1) for name in ONCE), *often][:: 1 if FULL else 4]


@pytest.mark.rule("int-06", "int-17", "int-18", "appr-10", "park-01", "park-02", "tok-04")
@pytest.mark.parametrize(("name", "nth"), cases())
def test_nothing_is_lost_at_any_point(tmp_path: Path, remains: Remains, name: str, nth: int) -> None:
    with InterruptHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        host = ground.launch(f"{name}:{nth + BOOT if name in WRITING else nth}:kill")
        if has_started(host):
            desk.start_runs(host, CASES)
        terminate(host)
        check_killed_at(host, name)
        check_store_image(ground.data, tmp_path / "image")
        host = ground.start()
        check_runs(host, desk)
        stop(host)


def failing() -> list[str]:
    found = [name for name in OFTEN if POINTS[name].fault is not None]
    return found if FULL else [name for name in found if name in FAILING]


@pytest.mark.rule("int-06", "int-17", "int-18", "appr-10", "park-01", "park-02")
@pytest.mark.parametrize("name", failing())
def test_a_host_that_fails_at_a_point_again_and_again_keeps_its_word(
    tmp_path: Path, remains: Remains, name: str
) -> None:
    """People who are told to come back do; what they ask again is one, whether it was stored the first time or not."""
    with InterruptHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        first = BOOT if name in WRITING else 2 if name == "recover.run" else 0
        host = ground.start(",".join(f"{name}:{first + at}:raise" for at in FAILURES))
        assert desk.start_runs(host, CASES)
        with contextlib.suppress(AssertionError):
            until(lambda: views_agree(host, desk), "all views to agree")
        check_runs(host, desk)
        assert f'"message":"fault point reached","point":"{name}"' in host.errors, "nothing has failed"
        assert "Traceback" not in host.errors
        host.kill()
        check_store_image(ground.data, tmp_path / "image")


def test_every_point_that_is_passed_is_put_to_the_proof(tmp_path: Path, remains: Remains) -> None:
    with InterruptHost(tmp_path) as ground:
        desk = take_over(ground, remains)
        host = ground.start(",".join(f"{name}:1:delay=0" for name in POINTS))
        assert desk.start_runs(host, CASES)
        check_runs(host, desk)
        stop(host)
        passed = {name for name in POINTS if f'"message":"fault point reached","point":"{name}"' in host.errors}
    assert passed == {*ONCE, *OFTEN}


@pytest.mark.rule("int-06", "appr-10")
def test_killed_at_any_moment_a_host_keeps_what_people_said(tmp_path: Path) -> None:
    chance = random.Random(17)
    desk = ScriptedClients(seed=22)
    with InterruptHost(tmp_path) as ground:
        for _ in range(LIVES):
            host = ground.start()
            with desk.running(host):
                time.sleep(chance.uniform(0.05, 0.5))
                host.kill()
        host = ground.start()
        check_runs(host, desk)
        stop(host)
    assert len(desk.runs) > LIVES * 2


def await_reminders(host: Host, cases: list[ScriptedRun], count: int) -> None:
    """Return when all were reminded so often; their time is not up."""

    def logs() -> list[list[str]]:
        return [event_types(host, case.run_id) for case in cases]

    until(lambda: all(kinds.count(INTERRUPT_REMINDER) >= count for kinds in logs()), f"reminder {count}")
    for kinds in logs():
        assert kinds.count(INTERRUPT_REMINDER) == count
        assert "interrupt.resolved" not in kinds, "the time was up too early"


@pytest.mark.rule("int-17", "int-18", "park-02")
def test_deadlines_and_reminders_outlive_their_host(tmp_path: Path) -> None:
    desk = ScriptedClients(seed=23)
    with InterruptHost(tmp_path) as ground:
        host = ground.start()
        late = [desk.start_run(host, "late") for _ in range(3)]
        soon = [desk.start_run(host, "due") for _ in range(3)]
        await_reminders(host, late, 1)
        host.kill()
        host = ground.start_later(LONG_HOURS - 1)
        await_reminders(host, late, 2)
        host.kill()
        host = ground.start_later(LONG_HOURS)
        logs = check_runs(host, desk)
        for case in late:
            assert [event["type"] for event in logs[case.name]].count(INTERRUPT_REMINDER) == 2
        for case in soon:
            # What came due while nobody was there is not said any more once the time is up.
            assert [event["type"] for event in logs[case.name]].count(INTERRUPT_REMINDER) <= 2
        stop(host)


def broken(
    tmp_path: Path, sabotage: str, *workflows: str, steps: int | None = None
) -> tuple[InterruptHost, ScriptedClients]:
    """A host that breaks its word has been killed after some cases."""
    ground, desk = InterruptHost(tmp_path, sabotage), ScriptedClients(seed=24)
    with ground:
        host = ground.start()
        for workflow in workflows:
            desk.start_run(host, workflow, steps)
        host.kill()
    return ground, desk


@pytest.mark.parametrize(
    ("sabotage", "workflow", "steps", "said"),
    [
        ("acknowledge_answer_before_storing", "ask", 3, "was acknowledged and is lost"),
        ("acknowledge_answer_before_storing", "vote", 3, "was acknowledged and is lost"),
        ("acknowledge_answer_before_storing", "drop", 3, "the cancel is lost"),
        ("keep_votes_in_memory", "vote", 4, "was acknowledged and is lost"),
        ("sign_with_new_secret", "ask", 2, "its link leads nowhere"),
        ("skip_inbox_index", "ask", 1, "and the inbox has set"),
        ("skip_alarm", "due", 1, "did not go on"),
    ],
)
def test_a_host_that_breaks_its_word_is_seen(
    tmp_path: Path, sabotage: str, workflow: str, steps: int, said: str
) -> None:
    ground, desk = broken(tmp_path, sabotage, workflow, steps=steps)
    with ground, pytest.raises(AssertionError, match=said):
        check_runs(ground.start(), desk, patience=2.0)


def test_a_wait_for_people_that_begins_anew_is_seen(tmp_path: Path) -> None:
    desk = ScriptedClients(seed=24)
    with InterruptHost(tmp_path, "restart_timeouts") as ground:
        host = ground.start()
        case = desk.start_run(host, "late")
        await_reminders(host, [case], 1)
        host.kill()
        host = ground.start_later(LONG_HOURS)
        with pytest.raises(AssertionError, match="did not go on"):
            check_runs(host, desk, patience=2.0)
        # The host has woken up for it, and goes on waiting.
        await_reminders(host, [case], 2)
