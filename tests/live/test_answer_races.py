"""Many answer at the same moment, with a key or by a link: one counts, each is told the truth, and the log agrees."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import FULL, edge, node
from tests.live import Host, until
from tests.live.racers import (
    ALREADY_RESOLVED,
    RACERS,
    RaceClients,
    by_link,
    by_run,
    check_refusals,
    events_of_type,
    race_host,
    race_in_process,
    request,
)
from tests.live.steering import events, flow, interrupt_node
from tests.live.tokens import answer_by_token, approval_workflow, create_link, created_link, token_of
from weftwork.engine.decide import interrupts, transitions
from weftwork.protocol.run.events import CANCEL_REQUESTED

pytestmark = pytest.mark.slow

ROUNDS = 1000 if FULL else 20
OTHER_ROUNDS = 200 if FULL else 5
"""Of the races that are not between answers alone."""
SHORT_MS = 150

ENDS = flow(
    "race-ends", [interrupt_node("gate"), node("last", "core.identity")], [edge("gate", "last", targetInput="given")]
)
GOES_ON = flow("race-goes-on", [interrupt_node("gate"), node("slow", "core.delay", config={"ms": 600_000})])
DUE = approval_workflow("race-due", timeoutMs=SHORT_MS)
GATES = [f"gate-{number}" for number in range(16)]
SEVERAL = flow(
    "race-several",
    [*map(interrupt_node, GATES), node("last", "core.identity")],
    [edge(name, "last", targetInput=name) for name in GATES],
)
WORKFLOWS = (ENDS, GOES_ON, SEVERAL, DUE)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with race_host(tmp_path_factory.mktemp("races"), *WORKFLOWS) as running:
        yield running


@pytest.fixture(scope="module")
def racers(host: Host) -> Iterator[RaceClients]:
    with RaceClients(host.port, RACERS, seed=3) as made:
        yield made


def tokens(host: Host, run_id: str) -> list[str]:
    """Links and what a read gives."""
    return [created_link(host, run_id)["token"], created_link(host, run_id)["token"], token_of(host, run_id)]


def answers(host: Host, run_id: str, count: int) -> list[bytes]:
    """Each with a value of its own, half of them with a key and half of them by a link."""
    mine = itertools.cycle(tokens(host, run_id))
    return [by_run(run_id, "gate", at) if at % 2 else by_link(next(mine), at) for at in range(count)]


ENDINGS = {"run.completed": "completed", "run.failed": "failed", "run.cancelled": "cancelled"}


def check_one_counts(host: Host, racers: RaceClients, workflow_id: str) -> None:
    run_id = host.create(workflow_id)
    told = racers.run(answers(host, run_id, RACERS))
    log = host.log(run_id) if workflow_id == ENDS["id"] else events(host, run_id)
    winners = [value for value, answer in enumerate(told) if answer.status == 200]
    assert len(winners) == 1, f"{len(winners)} answers were acknowledged"
    assert [event["payload"]["resumeValue"] for event in events_of_type(log, "interrupt.resolved")] == winners
    check_refusals(told, ALREADY_RESOLVED)
    if workflow_id == ENDS["id"]:
        assert log[-1]["type"] == "run.completed"
        assert host.snapshot(run_id)["outputs"] == {"last": {"given": winners[0]}}
    else:
        assert host.call("POST", f"/v1/runs/{run_id}/cancel").status == 200


@pytest.mark.rule("int-06")
def test_of_many_answers_one_counts(host: Host, racers: RaceClients) -> None:
    for number in range(ROUNDS):
        check_one_counts(host, racers, (ENDS, GOES_ON)[number % 2]["id"])


@pytest.mark.rule("int-06")
def test_of_many_answers_to_many_questions_of_a_run_one_each_counts(host: Host, racers: RaceClients) -> None:
    for _ in range(OTHER_ROUNDS):
        run_id = host.create(SEVERAL["id"])
        token = {row["nodeId"]: row["interruptToken"] for row in host.snapshot(run_id)["interrupts"]}
        sent = [(GATES[at % len(GATES)], at) for at in range(RACERS)]
        wave = [by_run(run_id, name, at) if at % 3 else by_link(token[name], at) for name, at in sent]
        told = racers.run(wave)
        won = {name: at for (name, at), answer in zip(sent, told, strict=True) if answer.status == 200}
        assert won.keys() == set(GATES)
        assert sum(answer.status == 200 for answer in told) == len(GATES)
        check_refusals(told, ALREADY_RESOLVED)
        log = host.log(run_id)
        kept = {event["nodeId"]: event["payload"]["resumeValue"] for event in events_of_type(log, "interrupt.resolved")}
        assert kept == won
        assert [event["nodeId"] for event in events_of_type(log, "node.completed")].count("last") == 1
        assert host.snapshot(run_id)["outputs"] == {"last": won}


@pytest.mark.rule("idem-03", "tok-04")
def test_an_answer_by_a_link_that_is_sent_many_times_with_its_key_is_one(host: Host, racers: RaceClients) -> None:
    for _ in range(OTHER_ROUNDS):
        run_id = host.create(ENDS["id"])
        told = racers.run([by_link(token_of(host, run_id), "yes", **{"Idempotency-Key": "mine"})] * RACERS)
        assert {(answer.status, answer.body) for answer in told} == {(200, told[0].body)}
        assert sum("openwop-idempotent-replay" not in answer.headers for answer in told) == 1
        assert len(events_of_type(events(host, run_id), "interrupt.resolved")) == 1


def check_cancel(host: Host, racers: RaceClients, workflow_id: str, chance: random.Random) -> None:
    run_id = host.create(workflow_id)
    cancels = chance.choice((1, 8, 32))
    stops = [request(f"/v1/runs/{run_id}/cancel") for _ in range(cancels)]
    link = created_link(host, run_id)["token"]
    told = racers.run([*answers(host, run_id, RACERS - cancels), *stops])
    given, stopped = told[:-cancels], told[-cancels:]
    assert {answer.status for answer in stopped} == {200}
    until(lambda: host.snapshot(run_id)["status"] in ("cancelled", "completed"), "the run to end")
    log = events(host, run_id)
    won = [value for value, answer in enumerate(given) if answer.status == 200]
    assert [event["payload"]["resumeValue"] for event in events_of_type(log, "interrupt.resolved")] == won, (
        "the log disagrees"
    )
    assert len(won) <= 1
    order = [event["type"] for event in log]
    assert not won or CANCEL_REQUESTED not in order[: order.index("interrupt.resolved")], "a cancelled run was answered"
    ends = [event["type"] for event in log if event["type"] in ENDINGS]
    assert ends == [log[-1]["type"]], "there is one end, and nothing after it"
    assert {answer.document["status"] for answer in stopped} <= {ENDINGS[ends[0]], "cancelling"}
    # Whoever comes now is told the same as those who came too late before.
    late = [answer_by_token(host, link, "late"), *racers.run([by_run(run_id, "gate", "late")])]
    check_refusals([*given, *late], ALREADY_RESOLVED)
    assert {answer.document["details"]["runStatus"] for answer in late} == {ENDINGS[ends[0]]}
    assert won or ends == ["run.cancelled"]


@pytest.mark.rule("int-06", "run-03")
def test_a_cancel_and_answers_agree_on_which_was_first(host: Host, racers: RaceClients) -> None:
    chance = random.Random(8)
    for number in range(OTHER_ROUNDS):
        check_cancel(host, racers, (ENDS, GOES_ON)[number % 2]["id"], chance)


def about_to_end(host: Host) -> tuple[str, dict[str, Any], str] | None:
    """A run, what it asks and a link to it; None if the machine was too slow for its deadline."""
    run_id = host.create(DUE["id"])
    waiting = host.snapshot(run_id).get("interrupt")
    made = create_link(host, run_id)
    return (run_id, waiting, made.document["token"]) if waiting and made.status == 201 else None


def check_deadline(host: Host, racers: RaceClients, around: float | None) -> str:
    """Answers that come within some milliseconds of the deadline, or when it has taken effect; what was faster."""
    run_id, waiting, link = until(lambda: about_to_end(host), "a link that is made before the time is up")
    mine = itertools.cycle([waiting["interruptToken"], link])
    sent = [{"action": "accept", "comment": str(at)} for at in range(RACERS)]
    wave = [by_run(run_id, "gate", said) if at % 2 else by_link(next(mine), said) for at, said in enumerate(sent)]
    if around is None:
        until(lambda: host.snapshot(run_id)["status"] == "failed", "the deadline to take effect")
    else:
        moment = datetime.fromisoformat(waiting["dueAt"]).timestamp() + around
        until(lambda: time.time() >= moment, "the deadline")
    told = racers.run(wave)
    log = host.log(run_id)
    won = [sent[at]["comment"] for at, answer in enumerate(told) if answer.status == 200]
    (resolved,) = events_of_type(log, "interrupt.resolved")
    (received,) = events_of_type(log, "approval.received")
    check_refusals(told, ALREADY_RESOLVED)
    if not won:
        assert resolved["payload"]["reason"] == "timeout"
        assert received["payload"]["action"] == "timeout"
        assert log[-1]["type"] == "run.failed"
        return "deadline"
    assert [received["payload"]["comment"]] == won, "the log has another answer"
    assert resolved["payload"]["outcome"] == "accepted"
    assert log[-1]["type"] == "run.completed"
    return "answer"


@pytest.mark.rule("int-16", "int-17")
def test_an_answer_and_the_deadline_agree_on_which_was_first(host: Host, racers: RaceClients) -> None:
    chance = random.Random(11)
    faster = Counter(check_deadline(host, racers, chance.uniform(-0.02, 0.01)) for _ in range(OTHER_ROUNDS))
    # One that certainly comes too late, should all have been in time.
    faster[check_deadline(host, racers, None)] += 1
    assert faster["deadline"], faster


def twice(state: Any, given: Any) -> Any:
    """An answer that does not look whether there is one."""
    for name, each in list(state.interrupts.items()):
        state.interrupts[name] = state.open_interrupts[name] = msgspec.structs.replace(each, status="open")
    return interrupts.answer_interrupt(state, given)


def unstoppable(state: Any, given: Any) -> Any:
    """An answer that does not look whether the run is being cancelled."""
    stop, state.stop = state.stop, None
    try:
        return interrupts.answer_interrupt(state, given)
    finally:
        state.stop = stop


@fails_without(transitions, "answer_interrupt", twice, match="answers were acknowledged")
def test_two_answers_that_count_are_seen() -> None:
    race_in_process(lambda host, racers: check_one_counts(host, racers, GOES_ON["id"]), *WORKFLOWS)


@fails_without(transitions, "answer_interrupt", unstoppable, match="a cancelled run was answered")
def test_an_answer_after_the_end_is_seen() -> None:
    def keep_cancelling(host: Host, racers: RaceClients) -> None:
        for number in range(20):
            check_cancel(host, racers, GOES_ON["id"], random.Random(number))

    race_in_process(keep_cancelling, *WORKFLOWS)
