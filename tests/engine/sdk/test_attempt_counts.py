"""What is recorded about failed attempts of models, through HTTP: counts, token budgets, and trust."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.engine.sdk.model_callers import (
    BILL,
    CONFIGS,
    ENVELOPES,
    TEXTS,
    TICKET,
    VALUES,
    CallerHost,
    of,
    open_callers,
    sent,
)
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live.workflows import chain
from weftwork.conformance.endpoints import model_programs
from weftwork.protocol.envelopes.completion import DEFAULT_BUDGET
from weftwork.protocol.fold import data_flow

PROSE = "I would rather tell you a story."
INVALID = "[1]"
WANTS = sent("schema.request", {"envelopeType": TICKET})
KNOWS = sent("schema.response", {"envelopeType": TICKET, "ack": True})
WANTS_TWICE = f"[{WANTS}, {WANTS}]"
QUESTION = sent("clarification.request", {"questions": [{"id": "who", "question": "Who?"}]})
BUDGET = "/v1/host/sample/test/mock-ai/last-dispatch-budget?nodeId="
CHECKED = (*VALUES, *ENVELOPES)
SAME_ID = [{"type": kind, "payload": {"title": "Lamp"}, "correlationId": "c"} for kind in (TICKET, BILL)]


@pytest.fixture
async def host() -> AsyncIterator[CallerHost]:
    async with open_callers() as opened:
        yield opened


async def advertised_attempts(host: CallerHost) -> int:
    discovery = (await host.inside.call("GET", "/.well-known/openwop")).document
    return discovery["envelopes"]["reliability"]["maxRetryAttempts"]


def reported(events: list[dict[str, Any]]) -> tuple[int, int]:
    """The attempts that are reported, and the calls of the model."""
    (exhausted,) = of(events, "envelope.retry.exhausted")
    return exhausted["totalAttempts"], len(of(events, "provider.usage"))


@pytest.mark.rule("rel-06")
@each_case("name", *CHECKED, *(f"map-{name}" for name in CHECKED))
async def test_the_attempts_that_are_reported_are_those_that_are_advertised(host: CallerHost, name: str) -> None:
    most = await advertised_attempts(host)
    # One more call converts the prose, which is none of the attempts.
    assert reported(await host.run(name, *[PROSE] * 9)) == (most, most + 1)
    assert reported(await host.run(name, *[INVALID] * 9)) == (most, most)
    # A requested schema takes one call, however many are requested in it.
    assert reported(await host.run(name, WANTS, *[INVALID] * 9)) == (most, most)
    assert reported(await host.run(name, WANTS_TWICE, *[INVALID] * 9)) == (2, 2)
    assert reported(await host.run(name, *[KNOWS] * 9)) == (most, most)


@pytest.mark.rule("rel-06")
@each_case("name", *CHECKED)
async def test_a_question_to_people_is_none_of_the_attempts(host: CallerHost, name: str) -> None:
    run_id = await host.start(name, QUESTION, *[INVALID] * 9)
    await host.wait_for_interrupt(run_id)
    await host.answer(run_id, name, {"who": "Ada"})
    most = await advertised_attempts(host)
    assert reported(await host.log(run_id)) == (most, most + 1)


@pytest.mark.rule("rel-06")
@each_case("name", *TEXTS, *CHECKED)
async def test_rounds_before_the_answer_of_a_person_count_after_it(host: CallerHost, name: str) -> None:
    most = await advertised_attempts(host)
    unusable = json.dumps(SAME_ID) if name in TEXTS else INVALID
    # A question is none of the attempts. A schema that is requested with it takes a round, and no further call.
    for before, attempts in (([unusable, QUESTION], most), ([f"[{QUESTION}, {WANTS}]"], most - 1)):
        run_id = await host.start(name, *before, *[unusable] * 9)
        await host.wait_for_interrupt(run_id)
        await host.answer(run_id, name, {"who": "Ada"})
        assert reported(await host.log(run_id)) == (attempts, attempts + 1), before


@pytest.mark.rule("rel-11")
@fails_without(model_programs, "DEFAULT_BUDGET", None)
@each_case("name", *CHECKED)
async def test_a_call_without_a_limit_has_the_default_budget_which_a_retry_doubles(host: CallerHost, name: str) -> None:
    async def budget() -> Any:
        return (await host.inside.call("GET", f"{BUDGET}{name}")).document["maxTokens"]

    assert await budget() is None, "no call yet"
    await host.run(name, INVALID, '{"title": "Lamp"}')
    assert await budget() == DEFAULT_BUDGET
    program = [{"stopReason": "max_tokens", "content": "{"}, {"content": '{"title": "Lamp"}'}]
    await host.inside.call("POST", "/v1/host/sample/test/mock-ai/program", {"nodeId": name, "program": program})
    await host.inside.run_log(name)
    assert await budget() == 2 * DEFAULT_BUDGET


@pytest.mark.rule("trust-06")
@fails_without(data_flow, "CONTENT_FREE_TYPES", data_flow.CONTENT_FREE_TYPES | {"cap.breached"}, match=r"cap\.breached")
async def test_a_breach_in_an_untrusted_node_is_untrusted() -> None:
    mail = node(
        "wait", "core.interrupt", config={"kind": "external-event", "data": {"eventType": "x", "correlation": {}}}
    )
    ports = {"input": {"type": "connection", "nodeId": "wait", "outputKey": "output"}}
    async with open_callers() as host:
        for name in ("strict", "typed"):
            type_id, config = CONFIGS[name]
            kinds = {"envelopeKinds": {TICKET: {"schema": {"type": "object"}}}}
            reads = node("reads", type_id, config=config, inputs=ports)
            await host.inside.host.register_fixture(chain(f"outside-{name}", [mail, reads], metadata=kinds))
            run_id = await host.start(f"outside-{name}")
            program = {"nodeId": "reads", "program": [{"content": INVALID}] * 9}
            assert (await host.inside.call("POST", "/v1/host/sample/test/mock-ai/program", program)).status == 200
            await host.wait_for_interrupt(run_id)
            given = {"resumeValue": {"text": "Hello."}}
            assert (await host.inside.call("POST", f"/v1/runs/{run_id}/interrupts/wait", given)).status == 200
            events = await host.log(run_id)
            kept = ("envelope.retry.attempted", "envelope.retry.exhausted", "cap.breached", "node.failed")
            trust = {each["type"]: each.get("contentTrust") for each in events if each["type"] in kept}
            assert trust == dict.fromkeys(kept, "untrusted"), trust
            trusted = await host.run(name, *[INVALID] * 9)
            assert [each.get("contentTrust") for each in trusted if each["type"] == "cap.breached"] == [None]
