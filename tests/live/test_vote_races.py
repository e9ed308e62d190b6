"""Many vote at the same moment, with a key or by a link: every vote that was acknowledged counts, and counts once."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness.definitions import FULL
from tests.live import Host
from tests.live.racers import (
    ALREADY_RESOLVED,
    RACERS,
    Log,
    RaceClients,
    by_link,
    by_run,
    check_refusals,
    events_of_type,
    race_host,
    race_in_process,
)
from tests.live.steering import events
from tests.live.tokens import approval_workflow, created_link
from weftwork.engine.decide import interrupts, transitions
from weftwork.engine.decide.decision import Decision

pytestmark = pytest.mark.slow

ROUNDS = 200 if FULL else 10
VOTERS = [f"voter-{number}" for number in range(10)]
NEEDED = 6
VOTES = approval_workflow("race-votes", requiredApprovals=NEEDED, approversList=VOTERS)
MAJORITY = approval_workflow(
    "race-majority", requiredApprovals=NEEDED, approversList=VOTERS, rejectionPolicy="majority"
)
VOTED = {"approval.granted": "accept", "approval.rejected": "reject"}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with race_host(tmp_path_factory.mktemp("votes"), VOTES, MAJORITY) as running:
        yield running


@pytest.fixture(scope="module")
def racers(host: Host) -> Iterator[RaceClients]:
    with RaceClients(host.port, RACERS, seed=4) as made:
        yield made


def ballots(host: Host, run_id: str, votes: list[tuple[str, str]]) -> list[bytes]:
    """Half of them by somebody who may speak for all, half of them by the voter's own link."""
    links = {voter: created_link(host, run_id, {"for": voter})["token"] for voter in VOTERS}
    return [
        by_run(run_id, "gate", {"action": action, "voter": voter})
        if at % 2
        else by_link(links[voter], {"action": action})
        for at, (voter, action) in enumerate(votes)
    ]


def outcome(log: Log) -> str | None:
    """What the votes of a log have decided; there are none after that."""
    votes: dict[str, str] = {}
    decided: str | None = None
    for event in log:
        if event["type"] in VOTED:
            assert decided is None, "somebody voted after the decision"
            votes[event["payload"]["principal"]] = VOTED[event["type"]]
            count = Counter(votes.values())
            if count["accept"] >= NEEDED:
                decided = "accept"
            elif count["reject"] > NEEDED // 2 or len(votes) == len(VOTERS):
                decided = "reject"
    return decided


def check_votes(host: Host, racers: RaceClients, workflow_id: str, votes: list[tuple[str, str]]) -> str | None:
    """Every vote that was acknowledged is in the log, none that was refused, and they decide as they should."""
    run_id = host.create(workflow_id)
    told = racers.run(ballots(host, run_id, votes))
    log = events(host, run_id)
    taken = {vote for vote, answer in zip(votes, told, strict=True) if answer.status == 200}
    kept = [(event["payload"]["principal"], VOTED[event["type"]]) for event in log if event["type"] in VOTED]
    assert set(kept) == taken, "the log has other votes than those that were acknowledged"
    for voter in VOTERS:
        mine = [action for name, action in kept if name == voter]
        assert all(one != other for one, other in itertools.pairwise(mine)), f"a vote of {voter} counts twice"
    decided = outcome(log)
    resolved = [event["payload"]["resumeValue"]["action"] for event in events_of_type(log, "interrupt.resolved")]
    assert resolved == ([decided] if decided else [])
    check_refusals(told, ALREADY_RESOLVED)
    assert decided or {answer.status for answer in told} == {200}
    return decided


@pytest.mark.rule("appr-04", "appr-09", "appr-10")
def test_every_vote_that_was_acknowledged_counts_once(host: Host, racers: RaceClients) -> None:
    chance = random.Random(9)
    for _ in range(ROUNDS):
        votes = [(chance.choice(VOTERS), "accept") for _ in range(RACERS)]
        assert check_votes(host, racers, VOTES["id"], votes) == "accept"


@pytest.mark.rule("appr-04", "appr-09")
def test_voters_who_change_their_mind_are_counted_as_they_were_told(host: Host, racers: RaceClients) -> None:
    chance = random.Random(10)
    ended: Counter[str | None] = Counter()
    for _ in range(ROUNDS):
        votes = [(chance.choice(VOTERS), chance.choice(("accept", "accept", "reject"))) for _ in range(RACERS)]
        ended[check_votes(host, racers, MAJORITY["id"], votes)] += 1
    assert {"accept", "reject"} <= ended.keys(), f"the votes were always of one mind: {ended}"


def unheard(state: Any, given: Any) -> Any:
    """Votes are acknowledged, and only the first is written down."""
    decision = interrupts.answer_interrupt(state, given)
    return Decision() if decision.refusal is None and state.interrupts["gate.1"].votes else decision


def test_a_vote_that_is_lost_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(host: Host, racers: RaceClients) -> None:
        check_votes(host, racers, VOTES["id"], [(voter, "accept") for voter in VOTERS])

    race_in_process(check, VOTES)
    monkeypatch.setattr(transitions, "answer_interrupt", unheard)
    with pytest.raises(AssertionError, match="other votes than those that were acknowledged"):
        race_in_process(check, VOTES)
