"""People in the loop under kills: at every point that is passed while they are asked, nothing that was said is lost."""

import contextlib
from pathlib import Path

import pytest

from tests.crash.interrupts.interrupt_host import LONG_HOURS, InterruptHost
from tests.crash.interrupts.interrupt_oracle import check_runs, settled_log, views_agree
from tests.crash.interrupts.scripted_clients import ScriptedClients, ScriptedRun
from tests.crash.point_proof import ONCE, PointProof, Remains
from tests.crash.restartable_host import stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.steering import event_types
from weftwork.protocol.run.events import INTERRUPT_REMINDER

pytestmark = pytest.mark.slow

OFTEN = """
    recover.run writer.begin writer.commit writer.committed create.checked create.durable create.started
    cancel.durable answer.durable append.begin append.durable append.published run.ended run.parked alarm.ring
""".split()
PROOF = PointProof(
    InterruptHost,
    ScriptedClients,
    check_runs,
    check_store_image,
    OFTEN,
    once=ONCE,
    times=(1, 2, 3, 5, 8, 13, 21) if FULL else (7,),
    boot=8,
    seldom={"alarm.ring": 3, "recover.run": 3, "cancel.durable": 3},
    runs=8,
)


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
        for case in desk.runs:
            # Otherwise a busy host may die between the start of a node and its question, and the next one launches
            # that node again.
            settled_log(host, case)
        host.kill()
    return Remains(ground.data, desk)


@pytest.mark.rule("int-06", "int-17", "int-18", "appr-10", "park-01", "park-02", "tok-04")
@pytest.mark.parametrize(("name", "nth"), PROOF.cases())
def test_nothing_is_lost_at_any_point(tmp_path: Path, remains: Remains, name: str, nth: int) -> None:
    PROOF.check_kill(tmp_path, remains, name, nth)


def await_agreement(host: Host, clients: ScriptedClients) -> None:
    with contextlib.suppress(AssertionError):
        until(lambda: views_agree(host, clients), "all views to agree")


@pytest.mark.rule("int-06", "int-17", "int-18", "appr-10", "park-01", "park-02")
@pytest.mark.parametrize("name", PROOF.failing("answer.durable"))
def test_a_host_that_fails_at_a_point_again_and_again_keeps_its_word(
    tmp_path: Path, remains: Remains, name: str
) -> None:
    PROOF.check_failures(tmp_path, remains, name, await_agreement)


def test_every_point_that_is_passed_is_put_to_the_proof(tmp_path: Path, remains: Remains) -> None:
    assert PROOF.passed_points(tmp_path, remains) == {*ONCE, *OFTEN}


@pytest.mark.rule("int-06", "appr-10")
def test_killed_at_any_moment_a_host_keeps_what_people_said(tmp_path: Path) -> None:
    PROOF.check_lives(tmp_path, 25 if FULL else 1, seed=22)


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
        ("acknowledge_append_before_storing", "ask", 3, "was acknowledged and is lost"),
        ("acknowledge_append_before_storing", "vote", 3, "was acknowledged and is lost"),
        ("acknowledge_append_before_storing", "drop", 3, "the cancel is lost"),
        ("keep_votes_in_memory", "vote", 4, "was acknowledged and is lost"),
        ("sign_with_new_secret", "ask", 2, "its link leads nowhere"),
        ("skip_inbox_index", "ask", 1, "and the inbox has set"),
        ("skip_alarm", "due", 1, "did not go on"),
    ],
)
def test_a_host_that_breaks_its_word_is_seen(
    tmp_path: Path, sabotage: str, workflow: str, steps: int, said: str
) -> None:
    def break_and_check() -> None:
        ground, desk = broken(tmp_path, sabotage, workflow, steps=steps)
        with ground:
            check_runs(ground.start(), desk, patience=2.0)

    # A host that acknowledges too early may already contradict itself before it is killed, and may lose the question.
    others = "the run was acknowledged and is lost|is refused now|it waits for nobody and has not ended"
    with pytest.raises(AssertionError, match=f"{said}|{others}"):
        break_and_check()


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
