"""Surfaces in the answers of models, through HTTP: what suspends a run, and which interrupt they are the form of."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.adapters.python.fake_node_host import single_node_workflow
from tests.engine.sdk.model_callers import (
    TEXTS,
    VALUE,
    CallerHost,
    of,
    open_callers,
    outputs,
    recorded,
    sent,
)
from tests.harness.cases import each_case, fails_without
from weftwork.engine.models import envelope_gate
from weftwork.engine.sdk.model_turn import ModelTurn
from weftwork.protocol.envelopes.kinds import CLARIFICATION_KIND, SURFACE_KIND
from weftwork.testing import FakeModel, crash_everywhere


def button(name: str = "book", target: str = "resume") -> dict[str, Any]:
    return {"component": "action.button", "id": name, "label": "Book", "action": {"target": target}}


def field(name: str = "who") -> dict[str, Any]:
    return {"component": "field.text", "id": name, "label": "Who comes?", "required": True}


def payload(*components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"title": "A trip", "components": list(components)}, **more}


FORM = payload({"component": "heading", "text": "Your trip"}, field(), button(), reasoning="The date is missing.")
NOTE = payload({"component": "text", "text": "Booked."})
QUESTION = {"questions": [{"id": "who", "question": "Who comes?"}]}
ANSWER = {"action": "book", "who": "Ada"}


@pytest.fixture
async def host() -> AsyncIterator[CallerHost]:
    async with open_callers() as opened:
        yield opened


async def respond(host: CallerHost, run_id: str, node_id: str, value: dict[str, Any]) -> Any:
    path = f"/v1/runs/{run_id}/interrupts/{node_id}"
    return await host.inside.call("POST", path, {"resumeValue": value})


async def open_interrupt(host: CallerHost, run_id: str) -> dict[str, Any]:
    listed = await host.inside.call("GET", f"/v1/runs/{run_id}/interrupts")
    (found,) = listed.document["interrupts"]
    return found


def together(events: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    """The events of these types, which must follow each other in the log."""
    start = next(index for index, each in enumerate(events) if each["type"] == kinds[0])
    found = events[start : start + len(kinds)]
    assert [each["type"] for each in found] == list(kinds)
    return found


@pytest.mark.rule("surf-10", "surf-09")
@each_case("name", *TEXTS, "surface")
async def test_a_form_suspends_the_run_and_its_answer_continues_it(host: CallerHost, name: str) -> None:
    run_id = await host.start(name, sent(SURFACE_KIND, FORM), VALUE)
    requested = (await host.wait_for_interrupt(run_id))["payload"]
    assert (requested["kind"], requested["data"]["customKind"]) == ("custom", SURFACE_KIND)
    assert requested["resumeSchema"]["properties"]["who"]["title"] == "Who comes?"
    shown = await open_interrupt(host, run_id)
    assert shown["surface"]["payload"] == {name: each for name, each in FORM.items() if name != "reasoning"}
    assert shown["surface"]["contentTrust"] == "trusted"
    assert (await respond(host, run_id, name, {"action": "book"})).status == 400
    assert (await respond(host, run_id, name, {"action": "cancel", "who": "Ada"})).status == 400
    assert (await respond(host, run_id, name, ANSWER)).status == 200
    events = await host.log(run_id)
    kinds = ("weftwork.envelope.recorded", SURFACE_KIND, "interrupt.requested", "node.suspended")
    record, emitted, _, suspended = together(events, *kinds)
    assert emitted["payload"] == FORM
    assert {emitted["causationId"], suspended["causationId"]} == {record["payload"]["correlationId"]}
    assert {each["contentTrust"] for each in (record, emitted)} == {"trusted"}
    assert suspended["payload"]["surface"] == record["payload"]["envelopeId"] == shown["surface"]["envelopeId"]
    if name == "surface":
        assert outputs(events, name)["answer"] == ANSWER
        assert outputs(events, name)["payload"] == FORM
    else:
        assert '"who":"Ada"' in host.requests[1].messages[-1].text
        assert "Lamp" in json.dumps(outputs(events, name))


@pytest.mark.rule("surf-10")
@each_case("name", "prompt", "surface")
async def test_a_surface_without_a_button_is_shown_and_nothing_waits(host: CallerHost, name: str) -> None:
    events = await host.run(name, sent(SURFACE_KIND, NOTE))
    assert of(events, SURFACE_KIND) == [NOTE]
    assert of(events, "interrupt.requested") == []
    assert "answer" not in outputs(events, name)


@pytest.mark.rule("surf-10")
@fails_without("weftwork.protocol.surfaces.surface._with_whole_levels", lambda payload: None)
async def test_a_form_with_a_level_that_has_a_point_asks_too(host: CallerHost) -> None:
    heading = {"component": "heading", "text": "Your trip", "level": 2.0}
    run_id = await host.start("surface", sent(SURFACE_KIND, payload(heading, field(), button())), VALUE)
    assert (await host.wait_for_interrupt(run_id))["payload"]["kind"] == "custom"
    assert (await respond(host, run_id, "surface", ANSWER)).status == 200


@pytest.mark.rule("rel-12", "surf-03")
async def test_a_model_is_told_the_rules_that_the_schema_does_not_express(host: CallerHost) -> None:
    await host.run("surface", sent(SURFACE_KIND, NOTE))
    assert "No field has the id `action`." in host.requests[0].system
    await host.run("typed", VALUE)
    assert "No field has the id" not in host.requests[0].system


@pytest.mark.rule("surf-10")
async def test_a_surface_can_be_an_output_only(host: CallerHost) -> None:
    events = await host.run("surface-output", sent(SURFACE_KIND, FORM))
    assert of(events, "interrupt.requested") == []
    assert outputs(events, "surface-output")["payload"] == FORM


def without_form(turn: ModelTurn) -> None:
    return None


@pytest.mark.rule("surf-11", "surf-09")
@fails_without(ModelTurn, "_form", property(without_form))
@each_case("name, is_form_first", ("prompt", True), ("prompt", False), ("form", True), ("form", False))
async def test_a_form_with_a_question_is_its_form(host: CallerHost, name: str, is_form_first: bool) -> None:
    envelopes = [
        {"type": SURFACE_KIND, "payload": FORM},
        {"type": CLARIFICATION_KIND, "payload": QUESTION},
    ]
    documents = json.dumps(envelopes if is_form_first else envelopes[::-1])
    run_id = await host.start(name, documents, VALUE)
    requested = (await host.wait_for_interrupt(run_id))["payload"]
    assert requested["kind"] == "clarification"
    shown = (await open_interrupt(host, run_id)).get("surface")
    assert shown is not None
    assert shown["payload"]["surface"] == FORM["surface"]
    await host.answer(run_id, name, {"who": "Ada"})
    events = await host.log(run_id)
    assert recorded(events)[:2] == [SURFACE_KIND, CLARIFICATION_KIND]
    assert len(of(events, "interrupt.requested")) == len(of(events, SURFACE_KIND)) == 1
    assert "Ada" in host.requests[1].messages[-1].text


def without_check(*_: Any) -> None:
    return None


@pytest.mark.rule("surf-06")
@fails_without(envelope_gate, "_check_form", without_check)
@each_case(
    "name, wrong",
    ("surface", payload(field(), button(target="exchange"))),
    ("form", [payload(field("other"), button()), QUESTION]),
)
async def test_a_form_with_which_nobody_could_answer_is_corrected(host: CallerHost, name: str, wrong: Any) -> None:
    if isinstance(wrong, list):
        envelopes = [{"type": SURFACE_KIND, "payload": wrong[0]}, {"type": CLARIFICATION_KIND, "payload": wrong[1]}]
        events = await host.run(name, json.dumps(envelopes), VALUE)
    else:
        events = await host.run(name, sent(SURFACE_KIND, wrong), sent(SURFACE_KIND, NOTE))
    assert of(events, "interrupt.requested") == []
    assert len(of(events, "envelope.retry.attempted")) == 1
    assert "components must have" in host.requests[1].system


@pytest.mark.rule("surf-03")
async def test_a_model_gets_the_breach_of_a_limit_as_a_correction(host: CallerHost) -> None:
    twice = payload(field(), field(), button())
    run_id = await host.start("surface", sent(SURFACE_KIND, twice), sent(SURFACE_KIND, NOTE))
    await host.log(run_id)
    assert "must differ from the ids of the other components" in host.requests[1].system


@pytest.mark.rule("surf-10", "env-26")
def test_a_crash_anywhere_asks_no_person_twice() -> None:
    config = {"userMessage": "Well?", "envelopeType": SURFACE_KIND}
    flow = single_node_workflow("one", "core.ai.generateEnvelope", config=config)

    def fresh() -> FakeModel:
        return FakeModel(lambda request: sent(SURFACE_KIND, FORM))

    results = list(crash_everywhere(flow, answers={SURFACE_KIND: ANSWER}, model=fresh))
    assert len(results) > 8
    for result in results:
        assert result.outputs["n"]["answer"] == ANSWER
        assert result.kinds.count(SURFACE_KIND) == result.kinds.count("interrupt.requested") == 1
