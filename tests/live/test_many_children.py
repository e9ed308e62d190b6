"""Many children of one run are answered, cancelled and end at the same moment: each counts once, and all agree."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.crash.child_runs.child_run_oracle import check_no_messages, check_tree
from tests.harness.cases import fails_without
from tests.harness.definitions import FULL, edge, node, variable
from tests.live import Host, until
from tests.live.child_workflows import tree_of
from tests.live.racers import (
    ALREADY_RESOLVED,
    RACERS,
    Log,
    RaceClients,
    by_run,
    check_refusals,
    events_of_type,
    race_host,
    race_in_process,
    request,
)
from tests.live.steering import flow, interrupt_node, payloads
from weftwork.engine.decide import transitions
from weftwork.engine.decide.child_runs import receive_results
from weftwork.engine.host.child_messages import ChildMessages
from weftwork.protocol.run.events import CHILD_ENDED, CHILD_STARTED, CHILD_STATUS

pytestmark = pytest.mark.slow

MANY = 900 if FULL else 100
SOME = 40
"""Children of one parent in the races that are run again and again."""
ROUNDS = 100 if FULL else 3
PATIENCE_SECONDS = 120.0

ASKED = flow(
    "crowd-asked",
    [interrupt_node("gate"), node("last", "core.identity")],
    [edge("gate", "last", targetInput="given")],
    [variable("item", "number")],
)
EACH = flow(
    "crowd-each",
    [
        node(
            "each",
            "core.flow.map",
            config={"body": {"workflowId": ASKED["id"]}, "concurrency": 1000},
            inputs={"items": {"type": "variable", "variableName": "items"}},
        )
    ],
    [],
    [variable("items", "array", required=True)],
)
WORKFLOWS = (ASKED, EACH)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with race_host(tmp_path_factory.mktemp("crowd"), *WORKFLOWS) as running:
        yield running
        check_no_messages(running.data)


@pytest.fixture(scope="module")
def racers(host: Host) -> Iterator[RaceClients]:
    with RaceClients(host.port, RACERS, seed=5) as made:
        yield made


def gathered(host: Host, count: int) -> tuple[str, list[str]]:
    """A parent, and its children in the order of the items, all of whom wait."""
    run_id = host.create(EACH["id"], inputs={"items": list(range(count))})

    def look() -> list[str] | None:
        rows = tree_of(host, run_id, limit=1000)["runs"][1:]
        waiting = [row["runId"] for row in rows if row["status"] == "waiting-input"]
        return waiting if len(waiting) == count else None

    return run_id, until(look, f"{count} children to wait")


def ended(host: Host, run_id: str) -> dict[str, Log]:
    """The logs of the whole family, which agree with each other."""
    return check_tree(host, run_id, PATIENCE_SECONDS)


def check_heard(host: Host, run_id: str, children: list[str]) -> None:
    """The parent hears how each of them ended, once, whether it can go on or not."""

    def look() -> Counter[str] | None:
        found = Counter(each["childRunId"] for each in payloads(host, run_id, CHILD_ENDED))
        return found if len(found) == len(children) else None

    heard = until(look, "the parent to hear of all")
    assert heard == Counter(children), "the parent has heard the end of a child twice"


def check_answered(host: Host, racers: RaceClients, count: int) -> None:
    """Two answers to each child, in any order, many at a time: one counts, and the parent has the one that did."""
    run_id, children = gathered(host, count)
    sent = [(child, f"{turn}-{child}") for child in children for turn in ("a", "b")]
    random.Random(count).shuffle(sent)
    won: dict[str, str] = {}
    for start in range(0, len(sent), RACERS):
        wave = sent[start : start + RACERS]
        told = racers.run([by_run(child, "gate", value) for child, value in wave])
        check_refusals(told, ALREADY_RESOLVED)
        for (child, value), answer in zip(wave, told, strict=True):
            if answer.status == 200:
                assert child not in won, "two answers were acknowledged"
                won[child] = value
    check_heard(host, run_id, children)
    log = ended(host, run_id)[run_id]
    assert won.keys() == set(children)
    assert host.snapshot(run_id)["status"] == "completed"
    wanted = [{"last": {"given": won[child]}} for child in children]
    assert host.snapshot(run_id)["outputs"]["each"] == {"results": wanted, "count": count}
    assert len(events_of_type(log, CHILD_STARTED)) == len(events_of_type(log, CHILD_ENDED)) == count
    told_of = Counter(event["payload"]["childRunId"] for event in events_of_type(log, CHILD_STATUS))
    assert max(told_of.values()) <= 2, "a parent hears more of a child than it has to"


def check_cancelled(host: Host, racers: RaceClients, chance: random.Random) -> None:
    """The parent is cancelled while its children are answered."""
    run_id, children = gathered(host, SOME)
    answered = chance.sample(children, chance.choice((SOME // 4, SOME // 2, SOME)))
    cancels = chance.choice((1, 8, RACERS - SOME))
    wave = [by_run(child, "gate", child) for child in answered]
    told = racers.run([*wave, *[request(f"/v1/runs/{run_id}/cancel")] * cancels])
    given, stopped = told[: len(wave)], told[len(wave) :]
    assert {answer.status for answer in stopped} == {200}
    check_refusals(given, ALREADY_RESOLVED)
    family = ended(host, run_id)
    ends = {child: family[child][-1]["type"] for child in children}
    taken = {child for child, answer in zip(answered, given, strict=True) if answer.status == 200}
    assert {child for child in children if was_answered(family[child])} == taken, "an answer is lost, or came late"
    # The cancel may come between an answer and the end that follows from it.
    assert {child for child, end in ends.items() if end == "run.completed"} <= taken, "a child ended without an answer"
    assert set(ends.values()) <= {"run.completed", "run.cancelled"}
    end = family[run_id][-1]["type"]
    assert end == "run.cancelled" or taken == set(children), f"{end} with {len(taken)} of {len(children)}"
    assert {answer.document["status"] for answer in stopped} <= {end.removeprefix("run."), "cancelling"}


def was_answered(log: Log) -> bool:
    resolved = events_of_type(log, "interrupt.resolved")
    assert len(resolved) <= 1, "two answers to one question"
    return bool(resolved)


def check_dropped(host: Host, racers: RaceClients, chance: random.Random) -> None:
    """Some children are cancelled by themselves while the others are answered, which fails the parent."""
    run_id, children = gathered(host, SOME)
    dropped = set(chance.sample(children, chance.choice((1, 5, 20))))
    wave = [request(f"/v1/runs/{each}/cancel") if each in dropped else by_run(each, "gate", 1) for each in children]
    told = racers.run(wave)
    check_refusals(told, ALREADY_RESOLVED)
    family = ended(host, run_id)
    (failed,) = events_of_type(family[run_id], "run.failed")
    assert failed["payload"]["error"]["code"] == "map_item_failed"
    assert failed["payload"]["error"]["details"]["childRunId"] in dropped
    for child, answer in zip(children, told, strict=True):
        taken = answer.status == 200 and child not in dropped
        assert was_answered(family[child]) is taken, "an answer is lost, or came late"
        # The failure of the parent may come between an answer and the end that follows from it.
        assert taken or family[child][-1]["type"] == "run.cancelled", "a child ended without an answer"


@pytest.mark.rule("kin-04", "kin-13")
def test_many_children_that_are_answered_at_once_count_once_each(host: Host, racers: RaceClients) -> None:
    check_answered(host, racers, MANY)


@pytest.mark.rule("kin-06")
def test_a_cancel_of_the_parent_and_answers_to_its_children_agree(host: Host, racers: RaceClients) -> None:
    chance = random.Random(51)
    for _ in range(ROUNDS):
        check_cancelled(host, racers, chance)


@pytest.mark.rule("kin-04", "kin-08")
def test_children_that_are_cancelled_and_answered_at_once_agree_with_their_parent(
    host: Host, racers: RaceClients
) -> None:
    chance = random.Random(52)
    for _ in range(ROUNDS):
        check_dropped(host, racers, chance)


@fails_without(
    ["tests.live.test_many_children.PATIENCE_SECONDS", 8.0],  # what does not go on is not waited for long
    [ChildMessages, "queue_cancels", lambda self: None],
    match="did not go on",
)
def test_orders_that_nobody_follows_are_seen() -> None:
    def few_cancels(host: Host, racers: RaceClients) -> None:
        for number in range(6):
            check_cancelled(host, racers, random.Random(number))

    race_in_process(few_cancels, *WORKFLOWS)


@fails_without(
    transitions,
    "receive_results",
    lambda state, given: receive_results(state, replace(given, results=given.results * 2)),
    match="heard the end of a child twice",
)
def test_word_that_counts_twice_is_seen() -> None:
    race_in_process(lambda host, racers: check_answered(host, racers, 20), *WORKFLOWS)
