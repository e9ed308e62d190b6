"""Models under kills: at every point that a turn of a model passes, its answer is recorded once and handled once."""

import random
import time
from pathlib import Path

import pytest

from tests.crash.models.model_host import AnsweringClient, ModelHost, check_runs
from tests.crash.restartable_host import check_killed_at, has_started, stop
from tests.crash.store_image import check_store_image
from tests.harness.definitions import FULL
from weftwork.ports.fault_points import POINTS

pytestmark = pytest.mark.slow

APPENDS = {"append.begin": (12,), "append.durable": (3,)}
"""At which appends of one run the host is killed: all of them in the full proof. Each stands between an answer, or an
envelope, and its record, or between the record and whoever waits for it."""
MOST_APPENDS = 30
BOOT = 8
"""How often the points of the writer may have been passed when a host has started."""
OTHERS = {"writer.commit": BOOT, "writer.committed": BOOT, "append.published": 0, "node.launch": 0, "node.ended": 0}
TIMES = {"node.launch": 3, "node.ended": 3}
SHORT = ("writer.commit",)
"""Where it is killed in the short proof too."""
LIVES = 12 if FULL else 1
FAILING = ("append.begin", "append.durable", "writer.commit") if FULL else ("append.durable",)


def cases() -> list[tuple[str, int]]:
    found = [(name, nth) for name, few in APPENDS.items() for nth in (range(1, MOST_APPENDS + 1) if FULL else few)]
    for name, first in OTHERS.items():
        found += (
            [(name, first + nth) for nth in range(1, TIMES.get(name, 20) + 1)]
            if FULL
            else [(name, first + 3)] * (name in SHORT)
        )
    return [*found, ("answer.durable", 1), ("run.ended", 1)]


@pytest.mark.rule("env-26", "model-01", "rel-15", "rel-20")
@pytest.mark.parametrize(("name", "nth"), cases())
def test_an_answer_counts_once_wherever_the_host_is_killed(tmp_path: Path, name: str, nth: int) -> None:
    person = AnsweringClient()
    with ModelHost(tmp_path) as ground:
        host = ground.launch(f"{name}:{nth}:kill")
        if has_started(host):
            person.run_until_host_gone(host)
        check_killed_at(host, name)
        check_store_image(ground.data, tmp_path / "image")
        host = ground.start()
        if not person.runs:
            person.start_runs(host, 1)
        check_runs(host, person)
        stop(host)


@pytest.mark.rule("env-26", "model-01")
def test_killed_at_any_moment_a_host_keeps_what_models_said(tmp_path: Path) -> None:
    chance, person = random.Random(31), AnsweringClient()
    with ModelHost(tmp_path) as ground:
        for _ in range(LIVES):
            host = ground.start()
            # A model that begins anew too often comes to the end of its rounds.
            check_runs(host, person)
            person.start_runs(host, 4)
            time.sleep(chance.uniform(0.01, 0.25))
            host.kill()
        host = ground.start()
        check_runs(host, person)
        stop(host)
    assert len(person.runs) == LIVES * 4


@pytest.mark.rule("env-26", "model-01")
@pytest.mark.parametrize("name", FAILING)
def test_a_store_that_fails_again_and_again_changes_nothing(tmp_path: Path, name: str) -> None:
    person = AnsweringClient()
    first = BOOT if name.startswith("writer") else 0
    with ModelHost(tmp_path) as ground:
        host = ground.start(",".join(f"{name}:{first + nth}:raise" for nth in (3, 4, 9, 15)))
        person.start_runs(host, 2)
        # What was stored without anybody being told is shown again.
        check_runs(host, person, told=name != "append.durable")
        assert f'"message":"fault point reached","point":"{name}"' in host.errors, "nothing has failed"
        assert "Traceback" not in host.errors
        stop(host)


def test_the_points_that_a_turn_of_a_model_passes_are_put_to_the_proof(tmp_path: Path) -> None:
    person = AnsweringClient()
    with ModelHost(tmp_path) as ground:
        host = ground.start(",".join(f"{name}:{MOST_APPENDS if name in APPENDS else 1}:delay=0" for name in POINTS))
        person.start_runs(host, 3)
        check_runs(host, person)
        passed = {name for name in POINTS if f'"message":"fault point reached","point":"{name}"' in host.errors}
        stop(host)
    assert passed >= {*APPENDS, *OTHERS, "answer.durable", "run.ended"}


@pytest.mark.parametrize(
    ("sabotage", "seen"), [("record_answer_twice", "recorded twice"), ("store_interrupt_separately", "was handled")]
)
def test_a_host_that_breaks_its_word_is_seen(tmp_path: Path, sabotage: str, seen: str) -> None:
    person = AnsweringClient()
    with ModelHost(tmp_path, sabotage) as ground:
        for nth in (6, 9):
            host = ground.launch(f"append.durable:{nth}:kill")
            if has_started(host):
                person.run_until_host_gone(host)
            host.process.wait(120)
        host = ground.start()
        with pytest.raises(AssertionError, match=seen):
            check_runs(host, person)
