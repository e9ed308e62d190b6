"""Faults: crashes, lost answers and outages at a chosen commit, and what an author can prove with them."""

import asyncio
from typing import Any

import pytest

import weftwork
from tests.harness.cases import each_case, fails_without
from tests.testing.definitions import sequence
from weftwork.engine.nodes import effect_ledger
from weftwork.protocol.run.effects import UNKNOWN_OUTCOME_KIND
from weftwork.testing import (
    Crash,
    Fault,
    LostAnswer,
    Outage,
    Question,
    RunResult,
    Unmet,
    Unreached,
    crash_everywhere,
    find_out,
    question,
    run_node,
    run_workflow,
)


class Counter:
    """The world outside. `inside` counts in a step, `outside` beside it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.inside = self.outside = 0

    def count(self) -> int:
        self.inside += 1
        return self.inside


COUNTER = Counter()
CHARGE = sequence("acme.charge", "core.noop")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    COUNTER.clear()


@weftwork.node("acme.charge")
async def charge(ctx: weftwork.Context) -> int:
    COUNTER.outside += 1
    return await ctx.step("charge", COUNTER.count)


@weftwork.node("acme.charge")
def charge_plain(ctx: weftwork.PlainContext) -> int:
    COUNTER.outside += 1
    return ctx.step("charge", COUNTER.count)


@weftwork.node("acme.charge", effect="once")
async def charge_whole(ctx: weftwork.Context) -> int:
    return COUNTER.count()


@weftwork.node("acme.charge", effect="idempotent")
async def charge_again(ctx: weftwork.Context) -> int:
    return await ctx.step("charge", COUNTER.count)


def everywhere(function: Any, **more: Any) -> list[tuple[RunResult, int, int]]:
    runs = crash_everywhere(CHARGE, nodes=[function], fresh=COUNTER.clear, **more)
    return [(result, COUNTER.inside, COUNTER.outside) for result in runs]


@pytest.mark.parametrize("function", [charge, charge_plain, charge_whole])
@fails_without(effect_ledger.EffectLedger, "_reported_outcome", lambda self, place, known: {"outcome": "again"})
def test_what_stands_in_a_step_or_a_once_node_counts_once_wherever_it_crashes(function: Any) -> None:
    tried = everywhere(function)
    assert len(tried) >= 1 + 2 * 3
    assert tried[0][0].faults == ()
    for result, inside, _ in tried:
        assert (result.status, inside) == ("completed", 1), result.faults
    assert {result.lives for result, _, _ in tried} == {1, 2}


def test_a_counter_beside_the_step_is_noticed() -> None:
    """The sabotage that authors commit by themselves."""
    assert max(outside for _, _, outside in everywhere(charge)) > 1


def test_an_idempotent_step_may_be_sent_again_and_nobody_is_asked() -> None:
    tried = everywhere(charge_again, answers={UNKNOWN_OUTCOME_KIND: lambda question: pytest.fail("it asks")})
    assert {inside for _, inside, _ in tried} == {1, 2}
    for result, _, _ in tried:
        assert len({each.key for each in result.performed if each.step}) == 1


@pytest.mark.parametrize("function", [charge, charge_plain])
def test_a_crash_in_a_step_leaves_a_question(function: Any) -> None:
    result = run_workflow(CHARGE, nodes=[function], faults=[Crash(step="charge")])
    assert (result.status, result.lives, COUNTER.inside) == ("waiting-input", 2, 1)
    (question,) = result.questions
    assert (question.kind, question.node_id, question.name) == (UNKNOWN_OUTCOME_KIND, "a", "charge")
    assert question.performed is not None
    assert (question.performed.came_to, question.performed.output) == ("done", 1)


@pytest.mark.parametrize(
    ("answer", "status", "count"),
    [
        (find_out, "completed", 1),
        ({"outcome": "again"}, "completed", 2),
        (lambda question: {"outcome": "failed"}, "failed", 1),
    ],
)
def test_the_test_answers_as_a_person_would(answer: Any, status: str, count: int) -> None:
    result = run_workflow(CHARGE, nodes=[charge], faults=[Crash(step="charge")], answers={UNKNOWN_OUTCOME_KIND: answer})
    assert (result.status, COUNTER.inside, result.times("a", "charge")) == (status, count, count)


def test_a_crash_after_the_step_is_recorded_asks_nobody() -> None:
    fault = Crash(step="charge", written=True)
    result = run_node(charge, faults=[fault])
    assert (result.status, COUNTER.inside, COUNTER.outside) == ("completed", 1, 2)
    assert (result.times(), result.times("charge")) == (2, 1)


def test_several_faults_strike_one_after_the_other() -> None:
    faults: list[Fault] = [
        Outage(at=1, times=2),
        Crash(event="weftwork.effect.claimed", written=True),
        Crash(event="node.completed", node="a"),
        LostAnswer(event="run.completed"),
    ]
    result = run_workflow(CHARGE, nodes=[charge], faults=faults, answers={UNKNOWN_OUTCOME_KIND: find_out})
    assert (result.status, COUNTER.inside, result.lives) == ("completed", 1, 3)
    assert result.faults == tuple(faults)


@pytest.mark.parametrize("kind", [LostAnswer, Outage])
def test_a_store_that_is_away_at_any_commit_changes_nothing(kind: type[Fault]) -> None:
    whole = run_workflow(CHARGE, nodes=[charge])
    for at in range(1, whole.commits + 1):
        COUNTER.clear()
        result = run_workflow(CHARGE, nodes=[charge], faults=[kind(at=at)])
        assert (result.status, result.outputs, COUNTER.inside, result.lives) == (whole.status, whole.outputs, 1, 1), at


@each_case(
    "fault",
    Crash(at=99),
    Crash(step="charg"),
    Crash(step="charge", node="b"),
    Outage(event="node.skipped"),
    Crash(at=1, nth=2),
)
def test_a_fault_that_never_happens_is_an_error(fault: Fault) -> None:
    with pytest.raises(Unreached, match="did not happen; the run made"):
        run_workflow(CHARGE, nodes=[charge], faults=[fault])
    with pytest.raises(Unreached):
        run_node(charge, faults=[Crash(step="other")])


@each_case("wrong", {}, {"at": 1, "step": "x"}, {"at": -1}, {"at": 1, "nth": 0})
def test_a_fault_has_one_place(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a fault needs exactly one of"):
        Crash(**wrong)


def test_answers_of_people_survive_crashes() -> None:
    @weftwork.node("acme.ask")
    async def ask(ctx: weftwork.Context) -> str:
        return await ctx.interrupt("name") + await ctx.interrupt("title")

    answers = {"name": "Ada", "title": lambda question: ", " + question.name}
    tried = [*crash_everywhere(sequence("acme.ask"), nodes=[ask], answers=answers)]
    assert {result.nodes["a"].outputs["output"] for result in tried} == {"Ada, title"}


def test_nothing_of_a_dead_process_gets_anywhere() -> None:
    said: list[str] = []

    @weftwork.node("acme.tidy")
    async def tidy(ctx: weftwork.Context) -> None:
        try:
            await ctx.step("work", COUNTER.count)
        finally:
            said.append(f"tidies {ctx.attempt}")
            await ctx.step("tidy", said.append, "tidied")

    assert run_node(tidy, faults=[Crash(step="work", written=True)]).status == "completed"
    assert said.count("tidied") == 1


@fails_without("weftwork.testing.call_recorder.ProcessGuard.check_alive", lambda self: None, match="'completed', 2")
def test_requests_of_a_dead_process_are_not_sent() -> None:
    @weftwork.node("acme.goodbye")
    async def goodbye(ctx: weftwork.Context) -> None:
        try:
            await ctx.step("work", COUNTER.count)
        finally:
            await ctx.fetch("https://api.example.com/bye")

    fetch = {"https://api.example.com/bye": 200}
    result = run_node(goodbye, faults=[Crash(step="work", written=True)], fetch=fetch)
    assert (result.status, len(result.requests)) == ("completed", 1)


def test_what_was_under_way_can_only_be_known_by_the_test() -> None:
    performed = run_node(charge).performed[-1]
    assert performed.step == "charge"
    performed.came_to = "under way"
    with pytest.raises(Unmet, match="only the test can know"):
        find_out(Question("node", "k", "charge", UNKNOWN_OUTCOME_KIND, None, performed))
    with pytest.raises(Unmet, match="of unknown outcome, not k"):
        find_out(Question("node", "k", "k", "colour", None))


def test_a_workflow_with_too_many_commits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.testing.runner.MAX_CRASHES", 1)
    with pytest.raises(Unmet, match="more than 1 commits"):
        everywhere(charge)


@pytest.mark.parametrize("guarded", [True, False])
def test_a_step_whose_name_is_hidden_is_not_guessed_at(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not guarded:
        monkeypatch.setattr(question, "MASK_PREFIX", "no mask begins like this")
    paid: list[str] = []

    @weftwork.node("acme.named")
    async def named(ctx: weftwork.Context, card: str = "") -> None:
        await ctx.step(f"pay {card}", lambda: paid.append(card))

    document = sequence("acme.named")
    document["nodes"][0]["inputs"] = {"card": {"type": "variable", "variableName": "card"}}
    document["variables"] = [{"name": "card", "type": "string", "sensitive": True}]

    def run() -> RunResult:
        return run_workflow(
            document,
            nodes=[named],
            inputs={"card": "4111-sesame"},
            faults=[Crash(at=3)],
            answers={UNKNOWN_OUTCOME_KIND: find_out},
        )

    if guarded:
        with pytest.raises(Unmet, match="whose name is redacted"):
            run()
        assert paid == ["4111-sesame"]
    else:
        assert run().status == "completed"
        assert paid == ["4111-sesame"] * 2


@pytest.mark.parametrize("written", [True, False])
def test_a_crash_is_no_error_of_the_node(written: bool, caplog: pytest.LogCaptureFixture) -> None:
    @weftwork.node("acme.sleeps")
    async def sleeps(ctx: weftwork.Context) -> None:
        await ctx.step("sleep", asyncio.sleep, 60, effect="idempotent")

    result = run_workflow(sequence("acme.sleeps"), nodes=[sleeps], faults=[Crash(at=2, written=written)])
    assert result.status == "completed"
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
