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

PEOPLE = 4
VOTERS = ("ann", "bob", "cid")
ANSWERED = ("ask", "vote", "turns")
"""Workflows that end when they are answered."""


@dataclass
class Wish:
    """One request that changes something, with a key of its own. `answer` is None while nobody was told how it went."""

    path: str
    body: Any
    key: str
    mark: str = ""
    """What is looked for in the log: the value of an answer, or who votes."""
    by_link: bool = False
    answer: bytes | None = None


@dataclass
class Case:
    """One run and what was asked of it, in order."""

    workflow: str
    name: str
    create: Wish
    run_id: str = ""
    links: list[str] = field(default_factory=list)
    """Tokens that were shown to somebody."""
    wishes: list[Wish] = field(default_factory=list)

    @property
    def cancelled(self) -> bool:
        return any(wish.path.endswith("/cancel") for wish in self.wishes)


Step = Callable[[Host, Case], None]


def call(host: Host, method: str, path: str, body: Any = None, key: str | None = KEY, **headers: str) -> Answer:
    """Asks again for as long as the host has to ask its store again. Raises Gone if there is no host any more."""

    def ask() -> Answer | None:
        try:
            answer = host.call(method, path, body, key=key, headers=headers)
        except CONNECTION_ERRORS as error:
            host.process.wait(10)
            raise HostGone from error
        return answer if answer.status != 503 else None

    return until(ask, f"an answer to {path}")


def send(host: Host, wish: Wish) -> Answer:
    key = None if wish.by_link else KEY
    return call(host, "POST", wish.path, wish.body, key, **{"Idempotency-Key": wish.key})


class Desk:
    """Cases, over any number of lives of a host."""

    def __init__(
        self,
        seed: int,
        workflows: tuple[str, ...] = ("ask", "vote", "turns", "due", "drop"),
        scripts: Mapping[str, list[Step]] | None = None,
    ) -> None:
        self.cases: list[Case] = []
        self._scripts = SCRIPTS if scripts is None else scripts
        self._rng = random.Random(seed)
        self._workflows = workflows
        self._numbers = itertools.count()

    def work(self, host: Host, count: int) -> bool:
        """Every person takes up so many new cases, all of them at once; whether the host lived through it."""
        with self.at_work(host, count) as working:
            return {each.result(120) for each in working} == {True}

    @contextlib.contextmanager
    def at_work(self, host: Host, count: int = 10_000) -> Iterator[list["Future[bool]"]]:
        """Within it people are busy. It ends when each has taken up so many cases or there is no host any more."""
        with ThreadPoolExecutor(PEOPLE) as pool:
            seeds = [self._rng.randrange(2**32) for _ in range(PEOPLE)]
            working = [pool.submit(self._work, host, count, seed) for seed in seeds]
            yield working
            for each in working:
                each.result(120)

    def _work(self, host: Host, count: int, seed: int) -> bool:
        chance = random.Random(seed)
        with contextlib.suppress(HostGone):
            for _ in range(count):
                self.take_up(host, chance.choice(self._workflows))
            return True
        return False

    def take_up(self, host: Host, workflow: str, steps: int | None = None) -> Case:
        """A new case, as far as its script goes or for so many steps. Raises Gone."""
        name = f"{workflow}-{next(self._numbers)}"
        case = Case(workflow, name, Wish("/v1/runs", {"workflowId": workflow, "tags": [name]}, name))
        self.cases.append(case)
        for step in self._scripts[workflow][:steps]:
            step(host, case)
        return case

    def go_on(self, host: Host) -> None:
        """Ask again for what nobody was told of, and bring every case to the end of its script."""
        for case in self.cases:
            for step in self._scripts[case.workflow]:
                step(host, case)


def create(host: Host, case: Case) -> None:
    wish = case.create
    for _ in range(1 if wish.answer is None else 2):
        answer = send(host, wish)
        assert answer.status == 201, answer.body
        replayed = answer.headers.get("openwop-idempotent-replay") == "true"
        assert replayed or wish.answer is None, f"{case.name} was acknowledged and is lost"
        assert wish.answer in (None, answer.body), f"{case.name} is answered in other words"
        wish.answer, case.run_id = answer.body, answer.document["runId"]


def link(person: str | None = None) -> Step:
    def step(host: Host, case: Case) -> None:
        if not case.links:
            body = {"for": person} if person else {}
            answer = call(host, "POST", f"/v1/host/weftwork/runs/{case.run_id}/interrupts/gate/links", body)
            assert answer.status == 201, answer.body
            case.links.append(answer.document["token"])

    return step


def wishing(number: int, make: Callable[[Case], Wish]) -> Step:
    """The wish of this number: made once, and sent again and again under the same key."""

    def step(host: Host, case: Case) -> None:
        if len(case.wishes) == number:
            case.wishes.append(make(case))
        wish = case.wishes[number]
        # Once more to those who know, because they must hear the same.
        for _ in range(1 if wish.answer is None else 2):
            answer = send(host, wish)
            assert answer.status == 200, f"{wish.key} is refused now: {answer.body!r}"
            replayed = answer.headers.get("openwop-idempotent-replay") == "true"
            assert replayed or wish.answer is None, f"{wish.key} was acknowledged and is lost"
            assert wish.answer in (None, answer.body), f"{wish.key} is answered in other words"
            wish.answer = answer.body

    return step


def by_link(case: Case, value: Any, mark: str) -> Wish:
    key = f"{case.name}-{len(case.wishes)}"
    return Wish(f"/v1/interrupts/{case.links[0]}", {"resumeValue": value}, key, mark, by_link=True)


def by_run(case: Case, value: Any, mark: str) -> Wish:
    key = f"{case.name}-{len(case.wishes)}"
    return Wish(f"/v1/runs/{case.run_id}/interrupts/gate", {"resumeValue": value}, key, mark)


def cancel(case: Case) -> Wish:
    return Wish(f"/v1/runs/{case.run_id}/cancel", None, f"{case.name}-{len(case.wishes)}")


def vote(number: int, voter: str) -> Step:
    return wishing(number, lambda case: by_run(case, {"action": "accept", "voter": voter}, voter))


def late(host: Host, case: Case) -> None:
    """An answer after the cancel."""
    for key, path in ((KEY, f"/v1/runs/{case.run_id}/interrupts/gate"), (None, f"/v1/interrupts/{case.links[0]}")):
        answer = call(host, "POST", path, {"resumeValue": {"action": "accept"}}, key)
        assert (answer.status, answer.document["error"]) == (410, "interrupt_gone"), answer.body


SCRIPTS: dict[str, list[Step]] = {
    "ask": [create, link(), wishing(0, lambda case: by_link(case, case.name, case.name))],
    "vote": [
        create,
        link(VOTERS[0]),
        wishing(0, lambda case: by_link(case, {"action": "accept"}, VOTERS[0])),
        vote(1, VOTERS[1]),
        vote(2, VOTERS[2]),
    ],
    "turns": [
        create,
        link(),
        wishing(0, lambda case: by_link(case, "first", "first")),
        wishing(1, lambda case: by_run(case, "second", "second")),
        wishing(2, lambda case: by_run(case, "enough", "enough")),
    ],
    "due": [create],
    "late": [create],
    "drop": [create, link(), wishing(0, cancel), late],
}
