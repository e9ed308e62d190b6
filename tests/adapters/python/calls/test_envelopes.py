"""Envelopes from Python nodes: the gate, the questions of models, and what a node makes of them."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.python.single_node_workflows import single_node_workflow
from weftwork.protocol.limits import Limits
from weftwork.testing import Crash, FakeModel, crash_everywhere, run_node, run_workflow


class Ticket(msgspec.Struct, forbid_unknown_fields=True):
    title: str


TICKET = weftwork.EnvelopeKind("vendor.acme.ticket", schema=Ticket)
URL = "https://api.example.com/x"
FLOW = single_node_workflow("tickets", "acme.ticket")


def envelope(kind: str, payload: Any) -> str:
    return json.dumps({"type": kind, "payload": payload})


MADE = envelope("vendor.acme.ticket", {"title": "Lamp"})
QUESTION = envelope("clarification.request", {"questions": [{"id": "which", "question": "Which lamp?"}]})

entered: list[str] = []


@weftwork.node("acme.ticket")
async def ticket(ctx: weftwork.Context) -> Any:
    entered.append("outside")
    await ctx.step("count", entered.append, "step")
    return await ctx.generate_envelope(TICKET, "The lamp is broken.", system="You write tickets.")


@weftwork.node("acme.ticket-plain")
def ticket_plain(ctx: weftwork.PlainContext) -> Any:
    return ctx.generate_envelope("vendor.acme.ticket", system="You write tickets.")


@pytest.mark.parametrize("function", [ticket, ticket_plain])
def test_an_envelope_comes_with_all_that_is_known_of_it(function: Any) -> None:
    model = FakeModel([MADE])
    result = run_node(function, model=model, kinds=[TICKET])
    assert result.error is None
    outputs = result.outputs or {}
    assert (outputs["envelopeType"], outputs["payload"]) == ("vendor.acme.ticket", {"title": "Lamp"})
    assert outputs["contentTrust"] == "trusted"
    assert outputs["envelopeId"].startswith("env-")
    assert outputs["usage"]["outputTokens"] > 0
    kinds = [event.type for event in result.events]
    assert kinds.count("weftwork.envelope.recorded") == 1
    assert "output.chunk" not in kinds
    assert model.requests[0].messages[0].content in ("The lamp is broken.", "Begin.")


def test_kinds_of_the_module_of_a_node_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_node(ticket, model=[MADE]).error is None
    # Not what is only imported there: a host that loads the module does not know it either.
    monkeypatch.setattr(TICKET, "module", "elsewhere")
    assert run_node(ticket, model=[MADE]).error is not None


def test_a_kind_that_nobody_knows_is_a_failure() -> None:
    @weftwork.node("acme.unknown-kind")
    async def unknown(ctx: weftwork.Context) -> Any:
        hidden = weftwork.EnvelopeKind("vendor.acme.hidden", schema=Ticket)
        return await ctx.generate_envelope(hidden, "The lamp is broken.")

    model = FakeModel([MADE])
    result = run_node(unknown, model=model)
    assert result.error is not None
    assert (result.error.code, model.requests) == ("unknown_envelope_kind", [])


def test_the_contract_of_the_node_holds() -> None:
    other = weftwork.EnvelopeKind("vendor.acme.other", schema={"type": "object"})
    sent = envelope("vendor.acme.other", {})
    flow = {**FLOW, "nodes": [{**FLOW["nodes"][0], "envelopeContract": {"accepts": ["vendor.acme.ticket"]}}]}
    result = run_workflow(flow, nodes=[ticket], model=[sent, MADE], kinds=[TICKET, other])
    assert result.error is not None
    assert result.error.code == "envelope_contract_violation"


def test_a_model_may_say_that_it_cannot() -> None:
    refused = envelope("error", {"code": "ambiguous_intent", "message": "Which lamp?"})
    result = run_node(ticket, model=[refused], kinds=[TICKET])
    assert result.outputs is not None
    assert (result.outputs["envelopeType"], result.outputs["payload"]["code"]) == ("error", "ambiguous_intent")


def test_what_was_made_of_content_from_outside_is_untrusted() -> None:
    @weftwork.node("acme.reads")
    async def reads(ctx: weftwork.Context) -> str:
        page = (await ctx.fetch(URL)).text
        return (await ctx.generate_envelope(TICKET, ctx.quote(page))).content_trust

    result = run_node(reads, fetch={URL: "a page"}, model=[MADE], kinds=[TICKET])
    assert result.outputs == {"output": "untrusted"}


def test_a_question_of_a_model_is_asked_of_a_person() -> None:
    entered.clear()
    model = FakeModel([QUESTION, MADE])
    answers = {"clarification": {"answers": {"which": "the green one"}}}
    result = run_node(ticket, model=model, kinds=[TICKET], answers=answers)
    assert result.error is None
    assert (result.outputs or {})["payload"] == {"title": "Lamp"}
    # Entered twice; what was recorded came back, and no model was asked for it again.
    assert entered == ["outside", "step", "outside"]
    assert len(model.requests) == 2
    assert "the green one" in model.requests[1].messages[-1].content
    kinds = [event.type for event in result.events]
    assert (kinds.count("clarification.requested"), kinds.count("interrupt.requested")) == (1, 1)


@pytest.mark.rule("ai-06", "env-26")
def test_a_crash_anywhere_asks_no_person_twice_and_handles_each_envelope_once() -> None:
    models: list[FakeModel] = []

    def fresh() -> FakeModel:
        models.append(FakeModel(lambda request: MADE if len(request.messages) > 1 else QUESTION))
        return models[-1]

    answers = {"clarification": {"answers": {"which": "the green one"}}}
    runs = 0
    for result in crash_everywhere(FLOW, nodes=[ticket], answers=answers, model=fresh, kinds=[TICKET]):
        runs += 1
        assert result.outputs["n"]["payload"] == {"title": "Lamp"}
        assert result.kinds.count("clarification.requested") == 1
        assert result.kinds.count("weftwork.envelope.recorded") == 2
        assert result.kinds.count("weftwork.model.answered") == 2
        # Only a call that was under way when the process died is made again.
        assert len(models[-1].requests) <= 3
    assert runs > 10


def test_an_answer_that_is_recorded_is_not_asked_for_again() -> None:
    model = FakeModel([MADE])
    crash = Crash(event="weftwork.envelope.recorded")
    result = run_node(ticket, model=model, kinds=[TICKET], faults=[crash])
    assert (result.outputs or {})["payload"] == {"title": "Lamp"}
    assert len(model.requests) == 1


def test_attempts_that_are_used_up_are_told_before_the_node_fails() -> None:
    result = run_workflow(FLOW, nodes=[ticket], model=lambda _: "{}", kinds=[TICKET], limits=Limits(schema_rounds=2))
    assert result.error is not None
    assert result.error.code == "envelope_invalid"
    kinds = result.nodes["n"].events
    assert [each.type for each in kinds][-3:] == ["envelope.retry.exhausted", "cap.breached", "node.failed"]


def test_two_models_that_ask_at_once_are_answered_one_after_the_other() -> None:
    @weftwork.node("acme.ticket")
    async def both(ctx: weftwork.Context) -> list[str]:
        made = [ctx.generate_envelope(TICKET, name) for name in ("one", "two")]
        return [each.payload["title"] for each in await asyncio.gather(*made)]

    def reply(request: Any) -> str:
        name = request.messages[0].content
        if len(request.messages) > 1:
            return envelope("vendor.acme.ticket", {"title": f"{name}: {request.messages[-1].content[-12:]}"})
        return envelope("clarification.request", {"questions": [{"id": name, "question": f"Which {name}?"}]})

    def answer(question: Any) -> Any:
        (asked,) = question.data["questions"]
        return {"answers": {asked["id"]: f"A{asked['id']}"}}

    model = FakeModel(reply)
    result = run_workflow(FLOW, nodes=[both], model=model, answers={"clarification": answer}, kinds=[TICKET])
    assert result.error is None, result.error
    assert [title[:3] for title in result.outputs["n"]["output"]] == ["one", "two"]
    assert "Aone" in result.outputs["n"]["output"][0]
    assert "Atwo" in result.outputs["n"]["output"][1]
    assert result.kinds.count("interrupt.requested") == 2
