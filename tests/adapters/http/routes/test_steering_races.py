"""Many who steer one run at once, and those who ask again: one of them counts, and each is told the truth."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node
from tests.live import Host, delays, in_thread, open_listening, steering
from weftwork.engine.api.idempotency import IdempotencyClaim
from weftwork.engine.decide import transitions
from weftwork.engine.decide.decision import Decision
from weftwork.engine.decide.interrupts import answer_interrupt
from weftwork.protocol.run.events import Draft

LONG = "conformance-cancellable"
NOW = {"drainPolicy": "immediate"}
RACERS = 64

ENDS = steering.flow(
    "race-ends",
    [steering.interrupt_node("ask"), node("last", "core.identity")],
    [edge("ask", "last", targetInput="given")],
)
GOES_ON = steering.flow(
    "race-goes-on", [steering.interrupt_node("ask"), node("slow", "core.delay", config={"ms": 60_000})]
)


@pytest.mark.rule("idem-03", "run-12")
def test_a_pause_can_be_repeated_with_its_key(host: Host) -> None:
    run_id = host.create(LONG)
    key = {"Idempotency-Key": f"pause-{run_id}"}
    first, again = steering.pause(host, run_id, NOW, **key), steering.pause(host, run_id, NOW, **key)
    assert first.status == 202
    steering.assert_replayed(first, again)
    assert steering.error_code(steering.pause(host, run_id, {}, **key)) == (409, "idempotency_key_mismatch")
    assert steering.error_code(steering.pause(host, run_id, NOW, **{"Idempotency-Key": "another"})) == (409, "conflict")
    back = {"Idempotency-Key": f"resume-{run_id}"}
    first, again = steering.resume(host, run_id, **back), steering.resume(host, run_id, **back)
    assert first.status == 202
    steering.assert_replayed(first, again)
    assert steering.pause(host, run_id, NOW, **key).headers["openwop-idempotent-replay"] == "true"
    assert host.snapshot(run_id)["status"] == "running"
    assert steering.event_types(host, run_id)[2:] == ["run.paused", "run.resumed", "node.started"]
    steering.cancel(host, run_id)


@pytest.mark.rule("run-12")
def test_of_many_at_once_one_pauses(host: Host) -> None:
    run_id = host.create(LONG)
    with ThreadPoolExecutor(32) as pool:
        told = list(pool.map(lambda _: steering.pause(host, run_id, NOW).status, range(32)))
    assert sorted(told) == [202] + [409] * 31
    assert steering.event_types(host, run_id).count("run.paused") == 1
    steering.cancel(host, run_id)


@pytest.mark.rule("idem-03", "run-12", "run-13")
def test_many_at_once_with_the_same_key_are_one(host: Host) -> None:
    run_id = host.create(LONG)
    for steer, body, kind in ((steering.pause, NOW, "run.paused"), (steering.resume, {}, "run.resumed")):
        key = {"Idempotency-Key": f"crowd-{run_id}"}
        with ThreadPoolExecutor(16) as pool:
            told = [pool.submit(steer, host, run_id, body, **key) for _ in range(16)]
        answers = [each.result() for each in told]
        assert {(each.status, each.body) for each in answers} == {(202, answers[0].body)}
        assert sum("openwop-idempotent-replay" not in each.headers for each in answers) == 1
        steering.await_status(host, run_id, "paused" if steer is steering.pause else "running")
        assert steering.event_types(host, run_id).count(kind) == 1
    steering.cancel(host, run_id)


@pytest.mark.rule("int-06")
def test_an_answer_while_the_run_is_being_cancelled_comes_too_late(host: Host) -> None:
    """A cancel and an answer at once: either may be first, and the log agrees with what each was told."""
    for _ in range(8):
        run_id = host.create(steering.register(host, GOES_ON))
        with ThreadPoolExecutor(2) as pool:
            stopping = pool.submit(host.call, "POST", f"/v1/runs/{run_id}/cancel")
            answering = pool.submit(steering.answer_over_http, host, run_id, "ask", 1)
        assert stopping.result().status == 200
        steering.await_status(host, run_id, "cancelled")
        told = answering.result().status
        assert told in (200, 409)
        assert steering.event_types(host, run_id).count("interrupt.resolved") == (told == 200)


def race(host: Host, run_id: str) -> tuple[list[int], list[int]]:
    """Answers of many at once: how each was answered, and which of their values are in the log."""
    with ThreadPoolExecutor(RACERS) as pool:
        told = list(
            pool.map(lambda number: steering.answer_over_http(host, run_id, "ask", number).status, range(RACERS))
        )
    return told, [each["resumeValue"] for each in steering.payloads(host, run_id, "interrupt.resolved")]


@pytest.mark.rule("int-06")
@pytest.mark.parametrize("document", [ENDS, GOES_ON], ids=["the run ends", "the run goes on"])
def test_of_many_answers_one_counts(host: Host, document: dict[str, Any]) -> None:
    for _ in range(3):
        run_id = host.create(steering.register(host, document))
        told, counted = race(host, run_id)
        assert sorted(told) == [200] + [409] * (RACERS - 1)
        assert counted == [told.index(200)]
        if document is GOES_ON:
            steering.cancel(host, run_id)
        else:
            assert host.snapshot(run_id)["outputs"] == {"last": {"given": told.index(200)}}


@pytest.mark.rule("idem-03", "int-06")
def test_an_answer_can_be_repeated_with_its_key(host: Host) -> None:
    run_id = host.create(steering.register(host, GOES_ON))
    key = {"Idempotency-Key": f"answer-{run_id}"}
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda _: steering.answer_over_http(host, run_id, "ask", "yes", **key), range(16)))
    assert {(each.status, each.body) for each in told} == {(200, told[0].body)}
    assert sum("openwop-idempotent-replay" not in each.headers for each in told) == 1
    assert len(steering.payloads(host, run_id, "interrupt.resolved")) == 1
    other = steering.answer_over_http(host, run_id, "ask", "no", **key)
    assert steering.error_code(other) == (409, "idempotency_key_mismatch")
    late = steering.answer_over_http(host, run_id, "ask", "yes")
    assert steering.error_code(late) == (409, "interrupt_already_resolved")
    steering.cancel(host, run_id)
    assert steering.answer_over_http(host, run_id, "ask", "yes", **key).body == told[0].body


def careless_pause(state: Any, bounds: Any, policy: str, reason: str | None) -> Decision:
    return Decision((Draft("run.paused", {"drainPolicy": policy}),), interrupt=True)


async def no_outcome(*_: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("headers", "told", "guard"),
    [
        ({}, [202, 409], (transitions, "pause", careless_pause)),
        ({"Idempotency-Key": "k"}, [202, 202], (IdempotencyClaim, "find_outcome", no_outcome)),
    ],
    ids=["how the run stands", "the key"],
)
async def test_a_second_pause_is_answered_by(headers: dict[str, str], told: list[int], guard: Any) -> None:
    async def check() -> None:
        async with open_listening(delays("long", 20_000)) as served:
            run_id, host = await served.create("long"), steering.RemoteHost(served.port)
            twice = await in_thread(lambda: [steering.pause(host, run_id, NOW, **headers).status for _ in range(2)])
        assert twice == told

    await fails_without(*guard)(check)()


def careless_answer(state: Any, given: Any) -> Any:
    for name, each in list(state.interrupts.items()):
        state.interrupts[name] = state.open_interrupts[name] = msgspec.structs.replace(each, status="open")
    return answer_interrupt(state, given)


@fails_without(transitions, "answer_interrupt", careless_answer)
async def test_one_answer_counts() -> None:
    async with open_listening(GOES_ON) as served:
        run_id = await served.create(GOES_ON["id"])
        told, counted = await in_thread(race, steering.RemoteHost(served.port), run_id)
        assert (told.count(200), len(counted)) == (1, 1)
