"""Paused, waiting and retrying runs outlive a killed host, and what was said to those who steer them holds."""

import contextlib
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.client import HostGone
from tests.crash.interrupts.scripted_clients import TrackedRequest, asked, send_tracked
from tests.crash.oracle import Log, check_log, follow, tags, timestamp_ms
from tests.crash.restartable_host import RestartableHost, check_killed_at, stop
from tests.crash.store_image import check_store_image
from tests.crash.workflows import RETRY_HOURS
from tests.harness.definitions import FULL
from tests.live import Host, until
from tests.live.steering import (
    answer_over_http,
    await_status,
    cancel,
    error_code,
    event_types,
    events,
    pause,
    resume,
    without_tokens,
)

pytestmark = pytest.mark.slow


class SteeringClient:
    """Steers one run, one wish after another, each with its key, so that each of them can be taken."""

    def __init__(self, run_id: str, name: str, asks: bool) -> None:
        self.run_id = run_id
        self.requests: list[TrackedRequest] = []
        self._name = name
        self._asks = asks

    def send_requests(self, host: Host, count: int) -> None:
        """So many wishes. Raises Gone if there is no host any more."""
        for _ in range(count):
            if self._asks:
                # A busy host stores the next question in a commit of its own, after the response to the answer.
                until(lambda: asked(host, self.run_id) > len(self.requests), "the next question")
            self.requests.append(self._next())
            send_tracked(host, self.requests[-1])

    def check_replays(self, host: Host) -> None:
        """Every wish once more: what was acknowledged is known, what was not is taken now, and each counts once."""
        for wish in self.requests * 2:
            send_tracked(host, wish)
        log = events(host, self.run_id)
        assert tags(log) == [wish.key for wish in self.requests]
        answered = [event["interruptId"] for event in log if event["type"] == "interrupt.resolved"]
        assert len(set(answered)) == len(answered), "a question has two answers"

    def _next(self) -> TrackedRequest:
        tag = f"{self._name}-{len(self.requests)}"
        how, body = ":pause", {"drainPolicy": "immediate", "reason": tag}
        if self._asks:
            how, body = "/interrupts/ask", {"resumeValue": tag}
        elif len(self.requests) % 2:
            how, body = ":resume", {"reason": tag}
        return TrackedRequest(f"/v1/runs/{self.run_id}{how}", body, tag)


def steering_clients(host: Host, chance: random.Random) -> list[SteeringClient]:
    """One for a run that is paused and resumed, and two for runs that ask."""
    made = [SteeringClient(host.create("long"), f"steer{chance.randrange(10**9)}", asks=False)]
    made += [SteeringClient(host.create("rounds"), f"answer{chance.randrange(10**9)}", asks=True) for _ in range(2)]
    return made


def check_retry(log: Log) -> None:
    """The node was tried again, and not before its time had come."""
    (retried,) = [event for event in log if event["type"] == "node.retried"]
    _, again = [event for event in log if event["type"] == "node.started"]
    delay = retried["payload"]["delayMs"]
    assert timestamp_ms(again) >= timestamp_ms(retried) + delay, "the node was tried again too early"


NOW = {"drainPolicy": "immediate"}
POINTS = ["append.begin", "append.durable", "append.published", "writer.begin", "writer.commit", "writer.committed"]
BOOT = 20
"""How often the points of the writer may have been passed when a host has started."""
TIMES = [1, 2, 3, 5, 8, 13, 21, 34] if FULL else [11]
LIVES = 20 if FULL else 1


@pytest.mark.rule("run-12", "run-13", "int-06", "node-12")
def test_runs_that_wait_for_something_outlive_their_host(tmp_path: Path) -> None:
    with RestartableHost(tmp_path) as ground:
        host = ground.start()
        paused, draining, resumed = (host.create("long") for _ in range(3))
        waiting, answered, retrying = host.create("asks"), host.create("asks"), host.create("retries")
        for run_id in (paused, draining, resumed):
            until(lambda run_id=run_id: event_types(host, run_id)[-1] == "node.started", "the wait to begin")
        assert pause(host, draining).status == 202
        assert pause(host, paused, NOW).status == 202
        assert pause(host, resumed, NOW).status == 202
        assert resume(host, resumed).status == 202
        until(lambda: event_types(host, resumed)[-1] == "node.started", "the wait to begin anew")
        until(lambda: event_types(host, retrying)[-1] == "node.retried", "the wait before the next try")
        assert answer_over_http(host, answered, "ask", "before").status == 200
        await_status(host, answered, "completed")
        await_status(host, waiting, "waiting-input")
        assert host.snapshot(draining)["status"] == "running"
        shown = {run_id: without_tokens(host.snapshot(run_id)) for run_id in (paused, waiting, answered)}
        seen = {run_id: events(host, run_id) for run_id in (*shown, draining, resumed, retrying)}
        host.kill()
        check_store_image(ground.data, tmp_path / "image")

        host = ground.start_later(1)
        for run_id, before in shown.items():
            assert without_tokens(host.snapshot(run_id)) == before
            assert events(host, run_id) == seen[run_id]
        assert shown[answered]["outputs"] == {"last": {"given": "before"}}
        assert error_code(answer_over_http(host, answered, "ask", "again")) == (409, "interrupt_already_resolved")
        assert pause(host, paused, NOW).document["details"]["runStatus"] == "paused"

        await_status(host, draining, "paused")
        assert event_types(host, draining)[-2:] == ["node.completed", "run.paused"]
        # What began anew would wait for another hour.
        assert follow(host, resumed)[-1]["type"] == "run.completed"
        assert events(host, retrying) == seen[retrying], "the node was tried again too early"
        assert host.snapshot(paused)["status"] == "paused"
        assert host.snapshot(waiting)["status"] == "waiting-input"

        assert answer_over_http(host, waiting, "ask", "after").status == 200
        await_status(host, waiting, "completed")
        assert resume(host, paused).status == 202
        assert resume(host, draining).status == 202
        await_status(host, draining, "completed")
        until(lambda: event_types(host, paused)[-1] == "node.started", "the node to begin anew")
        stop(host)

        host = ground.start_later(RETRY_HOURS)
        for run_id, before in seen.items():
            log = follow(host, run_id)
            assert log[: len(before)] == before
            check_log(run_id, host.snapshot(run_id)["workflowId"], log)
        check_retry(events(host, retrying))
        assert [event_types(host, run_id).count("interrupt.resolved") for run_id in (waiting, answered)] == [1, 1]
        assert [event["payload"]["attempt"] for event in events(host, paused) if event["type"] == "node.started"] == [
            1,
            2,
        ]
        stop(host)


def work(host: Host, all_of_them: list[SteeringClient], count: int) -> bool:
    """All steer at once; whether the host lived through it."""

    def steer(each: SteeringClient) -> bool:
        with contextlib.suppress(HostGone):
            each.send_requests(host, count)
            return True
        return False

    with ThreadPoolExecutor(len(all_of_them)) as pool:
        return all(pool.map(steer, all_of_them))


def finish(host: Host, all_of_them: list[SteeringClient]) -> None:
    for each in all_of_them:
        each.check_replays(host)
        cancel(host, each.run_id)
        assert follow(host, each.run_id)[-1]["type"] == "run.cancelled"


@pytest.mark.rule("idem-03", "int-06", "run-12", "run-13")
@pytest.mark.parametrize("name", POINTS if FULL else POINTS[1::3])
@pytest.mark.parametrize("nth", TIMES)
def test_what_was_acknowledged_is_never_lost(tmp_path: Path, name: str, nth: int) -> None:
    """The host dies at a point while several steer; whatever they were told holds, and what they ask again is one."""
    with RestartableHost(tmp_path) as ground:
        host = ground.start()
        busy = steering_clients(host, random.Random(nth))
        assert work(host, busy, 3)
        host.kill()
        host = ground.start(f"{name}:{nth + BOOT if name.startswith('writer.') else nth}:kill")
        assert not work(host, busy, 40)
        check_killed_at(host, name)
        check_store_image(ground.data, tmp_path / "image")
        host = ground.start()
        finish(host, busy)
        stop(host)


@pytest.mark.rule("idem-03", "int-06")
def test_killed_at_any_moment_a_host_keeps_its_word(tmp_path: Path) -> None:
    chance = random.Random(7)
    with RestartableHost(tmp_path) as ground:
        host = ground.start()
        busy = steering_clients(host, chance)
        for _ in range(LIVES):
            with ThreadPoolExecutor(1) as pool:
                working = pool.submit(work, host, busy, 1000)
                time.sleep(chance.uniform(0.05, 0.4))
                host.kill()
                assert not working.result(60)
            host = ground.start()
            for each in busy:
                each.check_replays(host)
        assert sum(len(each.requests) for each in busy) > LIVES * len(busy)
        finish(host, busy)


def test_an_answer_that_is_acknowledged_too_early_is_missed(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "acknowledge_append_before_storing") as ground:
        host = ground.start()
        busy = steering_clients(host, random.Random(1))
        assert work(host, busy, 1)
        host.kill()
        host = ground.start()
        for each in busy:
            with pytest.raises(AssertionError, match=r"is lost|is refused now"):
                each.check_replays(host)


def test_a_node_that_is_tried_again_too_early_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "retry_without_delay") as ground:
        host = ground.start()
        run_id = host.create("retries")
        host.kill()
        with pytest.raises(AssertionError, match="too early"):
            check_retry(follow(ground.start(), run_id))
