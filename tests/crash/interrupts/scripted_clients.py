"""The desk: people who answer, vote, make links and cancel, each by a script, and who remember what they were told."""

import contextlib
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.crash.client import CONNECTION_ERRORS, HostGone
from tests.live import KEY, Answer, Host, until

CLIENTS = 4
VOTERS = ("ann", "bob", "cid")
ANSWERED_WORKFLOWS = ("ask", "vote", "turns")
"""Workflows that end when they are answered."""


@dataclass
class TrackedRequest:
    """One request that changes something, with a key of its own. `answer` is None while nobody was told how it went."""

    path: str
    body: Any
    key: str
    expected_mark: str = ""
    """What is looked for in the log: the value of an answer, or who votes."""
    by_link: bool = False
    answer: bytes | None = None


@dataclass
class ScriptedRun:
    """One run and what was asked of it, in order."""

    workflow: str
    name: str
    create_request: TrackedRequest
    run_id: str = ""
    links: list[str] = field(default_factory=list)
    """Tokens that were shown to somebody."""
    requests: list[TrackedRequest] = field(default_factory=list)

    @property
    def cancelled(self) -> bool:
        return any(wish.path.endswith("/cancel") for wish in self.requests)


ScriptStep = Callable[[Host, ScriptedRun], None]


def call(host: Host, method: str, path: str, body: Any = None, key: str | None = KEY, **headers: str) -> Answer:
    """Asks again for as long as the host has to ask its store again. Raises Gone if there is no host any more."""

    def ask() -> Answer | None:
        try:
            answer = host.call(method, path, body, key=key, headers=headers)
        except CONNECTION_ERRORS as error:
            host.process.wait(120)
            raise HostGone from error
        return answer if answer.status != 503 else None

    return until(ask, f"an answer to {path}")


def send(host: Host, wish: TrackedRequest) -> Answer:
    key = None if wish.by_link else KEY
    return call(host, "POST", wish.path, wish.body, key, **{"Idempotency-Key": wish.key})


class ScriptedClients:
    """Cases, over any number of lives of a host."""

    def __init__(
        self,
        seed: int,
        workflows: tuple[str, ...] = ("ask", "vote", "turns", "due", "drop"),
        scripts: Mapping[str, list[ScriptStep]] | None = None,
    ) -> None:
        self.runs: list[ScriptedRun] = []
        self._scripts = SCRIPTS if scripts is None else scripts
        self._rng = random.Random(seed)
        self._workflows = workflows
        self._numbers = itertools.count()

    def start_runs(self, host: Host, count: int) -> bool:
        """Every person takes up so many new cases, all of them at once; whether the host lived through it."""
        with self.running(host, count) as working:
            return {each.result(120) for each in working} == {True}

    @contextlib.contextmanager
    def running(self, host: Host, count: int = 10_000) -> Iterator[list["Future[bool]"]]:
        """Within it people are busy. It ends when each has taken up so many cases or there is no host any more."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            seeds = [self._rng.randrange(2**32) for _ in range(CLIENTS)]
            working = [pool.submit(self._work, host, count, seed) for seed in seeds]
            yield working
            for each in working:
                each.result(120)

    def _work(self, host: Host, count: int, seed: int) -> bool:
        chance = random.Random(seed)
        with contextlib.suppress(HostGone):
            for _ in range(count):
                self.start_run(host, chance.choice(self._workflows))
            return True
        return False

    def start_run(self, host: Host, workflow: str, steps: int | None = None) -> ScriptedRun:
        """A new case, as far as its script goes or for so many steps. Raises Gone."""
        name = f"{workflow}-{next(self._numbers)}"
        case = ScriptedRun(workflow, name, TrackedRequest("/v1/runs", {"workflowId": workflow, "tags": [name]}, name))
        self.runs.append(case)
        for step in self._scripts[workflow][:steps]:
            step(host, case)
        return case

    def finish_scripts(self, host: Host) -> None:
        """Ask again for what nobody was told of, and bring every case to the end of its script."""
        for case in self.runs:
            for step in self._scripts[case.workflow]:
                step(host, case)


def send_tracked(host: Host, wish: TrackedRequest) -> Answer:
    """Send a wish, for the first time or again under the same key: those who know hear the same."""
    answer = send(host, wish)
    assert answer.status in (200, 201, 202), f"{wish.key} is refused now: {answer.body!r}"
    replayed = answer.headers.get("openwop-idempotent-replay") == "true"
    assert replayed or wish.answer is None, f"{wish.key} was acknowledged and is lost"
    assert wish.answer in (None, answer.body), f"{wish.key} is answered in other words"
    wish.answer = answer.body
    return answer


def create(host: Host, case: ScriptedRun) -> None:
    case.run_id = send_tracked(host, case.create_request).document["runId"]


def create_link(person: str | None = None) -> ScriptStep:
    def step(host: Host, case: ScriptedRun) -> None:
        if not case.links:
            body = {"for": person} if person else {}
            answer = call(host, "POST", f"/v1/host/weftwork/runs/{case.run_id}/interrupts/gate/links", body)
            assert answer.status == 201, f"the run was acknowledged and is lost: {answer.body!r}"
            case.links.append(answer.document["token"])

    return step


def tracked_step(number: int, make: Callable[[ScriptedRun], TrackedRequest]) -> ScriptStep:
    """The wish of this number: made once, and sent again and again under the same key."""

    def step(host: Host, case: ScriptedRun) -> None:
        if len(case.requests) == number:
            case.requests.append(make(case))
        send_tracked(host, case.requests[number])

    return step


def asked(host: Host, run_id: str) -> int:
    """How many questions a run has asked. Raises Gone."""
    log = call(host, "GET", f"/v1/runs/{run_id}/events").document["events"]
    return sum(event["type"] == "interrupt.requested" for event in log)


def answer_next(number: int, value: str) -> ScriptStep:
    """Answer the question that is asked after so many answers: a busy host stores it in a commit of its own, after the
    response to the answer before."""
    answer = tracked_step(number, lambda case: answer_by_run(case, value, value))

    def step(host: Host, case: ScriptedRun) -> None:
        until(lambda: asked(host, case.run_id) > number, f"question {number + 1} of {case.name}")
        answer(host, case)

    return step


def answer_by_link(case: ScriptedRun, value: Any, mark: str) -> TrackedRequest:
    key = f"{case.name}-{len(case.requests)}"
    return TrackedRequest(f"/v1/interrupts/{case.links[0]}", {"resumeValue": value}, key, mark, by_link=True)


def answer_by_run(case: ScriptedRun, value: Any, mark: str) -> TrackedRequest:
    key = f"{case.name}-{len(case.requests)}"
    return TrackedRequest(f"/v1/runs/{case.run_id}/interrupts/gate", {"resumeValue": value}, key, mark)


def cancel(case: ScriptedRun) -> TrackedRequest:
    return TrackedRequest(f"/v1/runs/{case.run_id}/cancel", None, f"{case.name}-{len(case.requests)}")


def vote(number: int, voter: str) -> ScriptStep:
    return tracked_step(number, lambda case: answer_by_run(case, {"action": "accept", "voter": voter}, voter))


def answer_after_cancel(host: Host, case: ScriptedRun) -> None:
    for key, path in ((KEY, f"/v1/runs/{case.run_id}/interrupts/gate"), (None, f"/v1/interrupts/{case.links[0]}")):
        answer = call(host, "POST", path, {"resumeValue": {"action": "accept"}}, key)
        assert (answer.status, answer.document["error"]) == (409, "interrupt_already_resolved"), answer.body


SCRIPTS: dict[str, list[ScriptStep]] = {
    "ask": [create, create_link(), tracked_step(0, lambda case: answer_by_link(case, case.name, case.name))],
    "vote": [
        create,
        create_link(VOTERS[0]),
        tracked_step(0, lambda case: answer_by_link(case, {"action": "accept"}, VOTERS[0])),
        vote(1, VOTERS[1]),
        vote(2, VOTERS[2]),
    ],
    "turns": [
        create,
        create_link(),
        tracked_step(0, lambda case: answer_by_link(case, "first", "first")),
        answer_next(1, "second"),
        answer_next(2, "enough"),
    ],
    "due": [create],
    "late": [create],
    "drop": [create, create_link(), tracked_step(0, cancel), answer_after_cancel],
}
