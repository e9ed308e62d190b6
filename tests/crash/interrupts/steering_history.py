"""Steering that is written down: what was asked of runs, what was told, and what their logs must hold of it."""

import random
from dataclasses import dataclass
from typing import Any

from tests.crash.client import CONNECTION_ERRORS, HostGone
from tests.crash.oracle import Log, tags, timestamp_ms
from tests.live import Answer, Host
from tests.live.steering import events


@dataclass
class SteeringRequest:
    """One pause, resume or answer, with a tag of its own. `answer` is None while nobody was told how it went."""

    run_id: str
    path: str
    body: dict[str, Any]
    tag: str
    answer: bytes | None = None


class SteeringClient:
    """Steers one run, one wish after another, each with its key, so that each of them can be taken."""

    def __init__(self, run_id: str, name: str, asks: bool) -> None:
        self.run_id = run_id
        self.requests: list[SteeringRequest] = []
        self._name = name
        self._asks = asks

    def send_requests(self, host: Host, count: int) -> None:
        """So many wishes. Raises Gone if there is no host any more."""
        for _ in range(count):
            wish = self._next()
            self.requests.append(wish)
            answer = send_request(host, wish)
            assert answer.status in (200, 202), answer.body
            wish.answer = answer.body

    def check_replays(self, host: Host) -> None:
        """Every wish once more: what was acknowledged is known, what was not is taken now, and each counts once."""
        for wish in self.requests:
            for _ in range(2):
                answer = send_request(host, wish)
                assert answer.status in (200, 202), f"{wish.tag} is refused now: {answer.body!r}"
                replayed = answer.headers.get("openwop-idempotent-replay") == "true"
                assert replayed or wish.answer is None, f"{wish.tag} was acknowledged and is lost"
                assert wish.answer in (None, answer.body), f"{wish.tag} is answered in other words"
                wish.answer = answer.body
        log = events(host, self.run_id)
        assert tags(log) == [wish.tag for wish in self.requests]
        answered = [event["interruptId"] for event in log if event["type"] == "interrupt.resolved"]
        assert len(set(answered)) == len(answered), "a question has two answers"

    def _next(self) -> SteeringRequest:
        tag = f"{self._name}-{len(self.requests)}"
        if self._asks:
            return SteeringRequest(self.run_id, "/interrupts/ask", {"resumeValue": tag}, tag)
        if len(self.requests) % 2 == 0:
            return SteeringRequest(self.run_id, ":pause", {"drainPolicy": "immediate", "reason": tag}, tag)
        return SteeringRequest(self.run_id, ":resume", {"reason": tag}, tag)


def send_request(host: Host, wish: SteeringRequest) -> Answer:
    """Raises Gone if there is no host any more."""
    try:
        path = f"/v1/runs/{wish.run_id}{wish.path}"
        return host.call("POST", path, wish.body, headers={"Idempotency-Key": wish.tag})
    except CONNECTION_ERRORS as error:
        host.process.wait(120)
        raise HostGone from error


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
