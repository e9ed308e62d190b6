"""A counting sink under kills: what must not happen twice does not, whatever moment a host dies in."""

import contextlib
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.effects.effect_host import (
    EFFECTS,
    IDEMPOTENT,
    ONCE,
    EffectHost,
    answer_open_interrupts,
    answer_truthfully,
    answer_until_host_gone,
    key_of,
    open_effect_interrupts,
)
from tests.crash.effects.effect_sink import CountingSink
from tests.crash.oracle import follow, listing
from tests.crash.restartable_host import RestartableHost, check_killed_at, stop
from tests.harness.cases import present
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.steering import events

pytestmark = pytest.mark.slow

LIVES = 150 if FULL else 3
"""Hosts that are killed."""


def ask_again(client: RecordingClient) -> None:
    """For runs of which nobody was told whether they are there."""
    for wish in [each for each in client.history.creates.values() if each.run_id is None]:
        client.send_create(wish)


def keep_asking(client: RecordingClient) -> None:
    """For one run after the other, each with effects of all kinds, until there is no host."""
    with contextlib.suppress(HostGone):
        ask_again(client)
        while True:
            client.create("effects", keyed=True)


def check_sink(sink: CountingSink, runs: list[str]) -> int:
    """Everything happened, once where that was asked for; returns how often an idempotent one was sent again."""
    once = {key_of(run_id, each): (run_id, *each) for run_id in runs for each in ONCE}
    others = {key_of(run_id, each): (run_id, *each) for run_id in runs for each in IDEMPOTENT}
    assert sink.counts.keys() <= once.keys() | others.keys(), "something came under a key that nobody has"
    twice = [where for key, where in once.items() if sink.counts[key] > 1]
    assert not twice, f"{len(twice)} of {len(once)} effects happened twice: {twice[:5]}"
    missing = [where for key, where in (once | others).items() if not sink.counts[key]]
    assert not missing, f"{len(missing)} effects never happened: {missing[:5]}"
    return sum(sink.counts[key] - 1 for key in others)


def live_through(
    ground: RestartableHost, sink: CountingSink, lives: int, end: Callable[[Host], object]
) -> dict[str, int]:
    """Runs go on over so many hosts and their ends, until all is done; what was counted on the way."""
    chance = random.Random(5)
    ledger = ClientHistory()
    for life in range(lives):
        host = ground.start()
        with ThreadPoolExecutor(2) as pool:
            client = RecordingClient(host, ledger, f"l{life}")
            working = [pool.submit(keep_asking, client), pool.submit(answer_until_host_gone, host, sink)]
            time.sleep(chance.uniform(0.1, 0.5))
            end(host)
            for each in working:
                each.result(60)
    host = ground.start()
    ask_again(RecordingClient(host, ledger, "last"))
    until(lambda: answer_open_interrupts(host, sink), "all runs to end", seconds=60)
    runs = listing(host)
    assert {run["status"] for run in runs.values()} == {"completed"}
    assert ledger.acknowledged().keys() == runs.keys()
    again = check_sink(sink, list(runs))
    logs = [follow(host, run_id) for run_id in runs]
    questions = sum(event["type"] == "interrupt.requested" for log in logs for event in log)
    stop(host)
    found = {"runs": len(runs), "effects": len(runs) * EFFECTS, "lives": lives, "questions": questions}
    return {**found, "duplicates": 0, "idempotent effects sent again": again}


@pytest.mark.rule("eff-02", "eff-05", "eff-06")
def test_nothing_happens_twice_whenever_a_host_is_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with CountingSink(5).listening() as sink, EffectHost(tmp_path, sink) as ground:
        found = live_through(ground, sink, LIVES, Host.kill)
    for name, number in found.items():
        record_property(name, number)
        print(f"{name}: {number}")
    assert found["questions"], "no host died while something was under way"


@pytest.mark.rule("eff-04")
def test_nobody_is_asked_after_a_host_that_was_told_to_stop(tmp_path: Path) -> None:
    with CountingSink(6).listening() as sink, EffectHost(tmp_path, sink) as ground:
        found = live_through(ground, sink, LIVES // 3, stop)
    assert found["questions"] == 0, f"somebody was asked in vain: {found}"


def under_way(ground: RestartableHost, sink: CountingSink) -> tuple[Host, str]:
    """The next host, and a run of the host before it, which died while its effect was under way."""
    sink.answers.clear()
    host = ground.start()
    run_id = host.create("pays")
    until(lambda: bool(sink.counts), "the effect to arrive")
    host.kill()
    sink.answers.set()
    return ground.start(), run_id


@pytest.mark.rule("eff-02")
def test_somebody_is_asked_and_nothing_is_sent_before_the_answer(tmp_path: Path) -> None:
    with CountingSink(1).listening() as sink, EffectHost(tmp_path, sink) as ground:
        host, run_id = under_way(ground, sink)
        until(lambda: bool(open_effect_interrupts(events(host, run_id))), "the question")
        host.kill()
        host = ground.start()
        assert host.snapshot(run_id)["status"] == "waiting-input"
        answer_truthfully(host, sink, run_id)
        assert follow(host, run_id)[-1]["type"] == "run.completed"
        assert list(sink.counts.values()) == [1]
        stop(host)


@pytest.mark.rule("eff-02")
def test_somebody_is_asked_about_an_effect_that_was_claimed_and_did_not_begin(tmp_path: Path) -> None:
    with CountingSink(1).listening() as sink, EffectHost(tmp_path, sink) as ground:
        host = ground.start("effect.claimed:1:kill")
        run_id = RecordingClient(host, ClientHistory(), "c").create("pays")
        check_killed_at(host, "effect.claimed")
        assert not sink.counts
        host = ground.start()
        until(lambda: bool(open_effect_interrupts(events(host, present(run_id)))), "the question")
        answer_truthfully(host, sink, present(run_id))
        assert follow(host, present(run_id))[-1]["type"] == "run.completed"
        assert list(sink.counts.values()) == [1]
        stop(host)


def test_a_host_that_claims_nothing_is_seen_by_the_sink(tmp_path: Path) -> None:
    with CountingSink(1).listening() as sink, EffectHost(tmp_path, sink, "skip_claims") as ground:
        host, run_id = under_way(ground, sink)
        assert follow(host, run_id)[-1]["type"] == "run.completed"
        assert sink.counts == {key_of(run_id, ("pay", "")): 2}
