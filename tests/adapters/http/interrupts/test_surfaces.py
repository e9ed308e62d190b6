"""Surfaces over HTTP: what readers get, and the one answer that a button becomes."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.adapters.http.interrupts.waiting_forms import (
    ACCEPT,
    UNTRUSTED,
    WHO,
    Form,
    by_link,
    derived_form_of,
    form_of,
    interrupt_of,
    store,
    token_of,
)
from tests.adapters.http.interrupts.waiting_forms import host as host
from tests.engine.sdk.model_callers import VALUE, CallerHost, of, open_callers, sent
from tests.engine.sdk.test_surfaces import ANSWER, FORM, NOTE, QUESTION, button, field, payload
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge
from tests.live.host import OTHER_KEY, Answer
from tests.live.steering import QUESTION as CUSTOM
from tests.live.steering import flow, interrupt_node
from tests.live.tokens import approval_workflow
from weftwork.engine.api import surfaces
from weftwork.engine.api.interrupts import Interrupts
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.forms import surface_form
from weftwork.protocol.forms.surface_form import SurfaceForm
from weftwork.protocol.json import schema
from weftwork.protocol.people import approvals
from weftwork.protocol.surfaces import actions, question_form
from weftwork.protocol.surfaces.actions import BoundSurface
from weftwork.protocol.surfaces.stored import CheckedSurface
from weftwork.protocol.surfaces.surface import parse_surface


@pytest.mark.rule("surf-24", "surf-25")
async def test_a_button_becomes_the_answer_of_its_form(host: CallerHost) -> None:
    form = await form_of(host)
    shown = (await form.read()).document
    assert shown["status"] == "open"
    assert shown["payload"] == {name: each for name, each in FORM.items() if name != "reasoning"}
    assert shown["actions"] == [{"id": "book", "label": "Book", "target": "resume"}]
    assert (shown["render"], shown["contentTrust"], shown["nodeId"]) == (True, "trusted", "surface")
    assert shown["interruptId"].startswith("surface.")
    pressed = await form.press("book", WHO)
    assert (pressed.status, pressed.document["runId"], pressed.document["nodeId"]) == (200, form.run_id, "surface")
    events = await host.log(form.run_id)
    (resolved,) = of(events, "interrupt.resolved")
    assert resolved["resumeValue"] == ANSWER
    assert events[-1]["payload"]["outputs"]["surface"]["answer"] == ANSWER
    after = (await form.read()).document
    assert (after["status"], after["actions"], after["render"]) == ("answered", [], True)
    assert after["payload"] == shown["payload"]


def anything(*_: Any) -> None:
    return None


def every_field(surface: Any, values: Any, drop_unknown: bool = False) -> None:
    return None


def first_button(surface: Any, action_id: str) -> Any:
    return surface.buttons[0]


def as_sent(fields: Any, values: Any) -> dict[str, Any]:
    return dict(values)


@pytest.mark.rule("surf-07", "surf-25")
@fails_without(actions, "refuse_unknown_fields", every_field)
@fails_without(actions, "find_button", first_button)
@fails_without(actions, "_read_values", as_sent)
@fails_without(surfaces.schema, "require", anything)
@each_case(
    "action, body, pointer",
    ("sell", {"values": WHO}, "/actionId"),
    ("who", {"values": WHO}, "/actionId"),
    ("book", {"values": {}}, "/values/who"),
    ("book", {"values": {"who": " "}}, "/values/who"),
    ("book", {"values": {"who": None}}, "/values/who"),
    ("book", {"values": {"who": True}}, "/values/who"),
    ("book", {"values": {"who": ["Ada"]}}, "/values/who"),
    ("book", {"values": {**WHO, "action": "sell"}}, "/values/action"),
    ("book", {"values": {**WHO, "__proto__": "x"}}, "/values/__proto__"),
    ("book", {"values": {**WHO, "constructor": "x"}}, "/values/constructor"),
    ("book", {"values": {**WHO, "book": "x"}}, "/values/book"),
    ("book", {"values": {"who": "x" * 65_537}}, "/values/who"),
    ("book", {"values": WHO, "action": "sell"}, "/action"),
    ("book", {"values": WHO, "resumeValue": ANSWER}, "/resumeValue"),
    ("book", {"values": [WHO]}, "/values"),
    ("book", {}, ""),
    ("book", WHO, "/who"),
    ("book", [], ""),
)
async def test_only_the_stored_surface_decides_what_is_sent(
    host: CallerHost, action: str, body: Any, pointer: str
) -> None:
    form = await form_of(host)
    answer = await host.inside.call("POST", f"{form.path}/actions/{action}", body)
    assert (answer.status, answer.document.get("error")) == (400, "validation_error"), answer.body
    pointers = [answer.document["details"]["pointer"]]
    pointers += [each["pointer"] for each in answer.document["details"].get("violations", ())]
    assert pointer in pointers, answer.body
    assert (await form.read()).document["status"] == "open"


@pytest.mark.rule("surf-25")
async def test_the_answer_is_a_button_of_this_form_and_of_no_other(host: CallerHost) -> None:
    first = await form_of(host)
    other = await form_of(host, document=payload(field("name"), button("sell")))
    assert (await first.press("sell", {"name": "Ada"})).status == 400
    strange = Form(host, first.run_id, other.surface_id)
    assert [(await strange.read()).status, (await strange.press("sell", {"name": "Ada"})).status] == [404, 404]
    for form in (first, other):
        assert (await form.read()).document["status"] == "open"


@pytest.mark.rule("surf-25")
async def test_a_forged_or_foreign_surface_is_not_there(host: CallerHost) -> None:
    form = await form_of(host)
    foreign = [await form.read(key=OTHER_KEY), await form.press("book", WHO, key=OTHER_KEY)]
    nowhere = Form(host, "01zzzzzzzzzzzzzzzzzzzzzzzz", form.surface_id)
    unknown = [await nowhere.read(), await nowhere.press("book", WHO)]
    assert [each.body for each in foreign] == [each.body for each in unknown]
    assert {each.status for each in foreign} == {404}
    for name in ("env-forged", "surface.2", "plain.1", "a:b", "%2e%2e"):
        forged = Form(host, form.run_id, name)
        assert (await forged.read()).status == 404, name
        pressed = await forged.press("book", WHO)
        assert (pressed.status, pressed.document["error"]) == (404, "interrupt_not_found"), name
        assert pressed.document["message"] == "The run has no surface with this id that waits for an answer."


async def ordinary(host: CallerHost, form: Form, name: str) -> Answer:
    path = f"/v1/runs/{form.run_id}/interrupts/{name}"
    return await host.inside.call("POST", path, {"resumeValue": ANSWER})


@pytest.mark.rule("surf-26")
@each_case("name", "answered", "cancelled", "shown")
async def test_a_surface_is_refused_as_its_interrupt_is(host: CallerHost, name: str) -> None:
    if name == "shown":
        run_id = await host.start("surface", sent(SURFACE_KIND, NOTE))
        record = next(each for each in await host.log(run_id) if each["type"] == "weftwork.envelope.recorded")
        form = Form(host, run_id, record["payload"]["envelopeId"])
    else:
        form = await form_of(host)
        if name == "answered":
            assert (await form.press("book", WHO)).status == 200
            await host.log(form.run_id)
        else:
            assert (await host.inside.call("POST", f"/v1/runs/{form.run_id}/cancel")).status == 200
    expected = await ordinary(host, form, "surface")
    pressed = await form.press("book", WHO)
    assert (pressed.status, pressed.document["error"]) == (expected.status, expected.document["error"])
    if name == "shown":
        assert pressed.status == 404
        assert pressed.document["message"] == "The run has no surface with this id that waits for an answer."
    else:
        assert pressed.status == 409
        assert pressed.document == expected.document
    shown = (await form.read()).document
    assert (shown["status"], shown["actions"], shown["render"]) == (name, [], True)


@pytest.mark.rule("surf-25", "idem-01")
async def test_a_repeated_action_is_the_same_action(host: CallerHost) -> None:
    form = await form_of(host)
    key = {"idempotency-key": "press-1"}
    first = await form.press("book", WHO, headers=key)
    again = await form.press("book", WHO, headers=key)
    assert (first.status, again.status, again.document) == (200, 200, first.document)
    assert again.headers["openwop-idempotent-replay"] == "true"
    other = await form.press("book", {"who": "Bob"}, headers=key)
    assert (other.status, other.document["error"]) == (409, "idempotency_key_mismatch")
    late = await form.press("book", WHO)
    assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")
    assert len(of(await host.log(form.run_id), "interrupt.resolved")) == 1


@pytest.mark.rule("surf-25")
async def test_of_two_racing_actions_exactly_one_is_the_answer(host: CallerHost) -> None:
    form = await form_of(host, document=payload(field(), button("book"), button("sell")))
    racers = [form.press("book", WHO), form.press("sell", {"who": "Bob"}), form.press("book", {"who": "Cleo"})]
    statuses = sorted([each.status for each in await asyncio.gather(*racers)])
    assert statuses == [200, 409, 409]
    assert len(of(await host.log(form.run_id), "interrupt.resolved")) == 1


def any_interrupt(form: SurfaceForm) -> tuple[str, str]:
    return form.question["nodeId"], ""


@pytest.mark.rule("surf-25", "int-06")
@fails_without(SurfaceForm, "place", property(any_interrupt))
async def test_an_action_never_answers_the_next_question_of_its_node() -> None:
    """The form is answered by another route between the look at it and the action, and its node asks again."""
    again = {"type": "expression", "expression": "nodes.turns.outputs.output != 'enough'"}
    turns = flow("turns", [interrupt_node("turns")], [edge("turns", "turns", condition=again)])
    async with open_callers() as host:
        assert (await host.inside.call("POST", "/v1/workflows", turns)).status == 201
        form = await derived_form_of(host, "turns")
        real = Interrupts.answer

        async def late(self: Any, *arguments: Any) -> Any:
            patch.undo()
            answered = await host.inside.call("POST", f"/v1/runs/{form.run_id}/interrupts/turns", {"resumeValue": "1"})
            assert answered.status == 200
            for _ in range(100):
                if (await interrupt_of(host, form.run_id))["interruptId"] != form.surface_id:
                    break
            return await real(self, *arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Interrupts, "answer", late)
            pressed = await form.press("send", {"answer": "2"})
        assert (pressed.status, pressed.document.get("error")) == (409, "interrupt_already_resolved")


@pytest.mark.rule("surf-25", "surf-11")
async def test_the_form_of_a_clarification_answers_its_questions(host: CallerHost) -> None:
    envelopes = [{"type": SURFACE_KIND, "payload": FORM}, {"type": "clarification.request", "payload": QUESTION}]
    run_id = await host.start("form", json.dumps(envelopes), VALUE)
    form = Form(host, run_id, (await interrupt_of(host, run_id))["surface"]["envelopeId"])
    assert (await form.press("book", WHO)).status == 200
    (resolved,) = of(await host.log(run_id), "interrupt.resolved")
    assert resolved["resumeValue"] == {"answers": WHO}


@pytest.mark.rule("surf-21", "surf-22")
async def test_an_interrupt_without_a_surface_has_a_form(host: CallerHost) -> None:
    form = await derived_form_of(host, "gate")
    shown = (await form.read()).document
    assert [each["id"] for each in shown["actions"]] == ["accept", "reject"]
    assert (await form.press("refine", {})).status == 400
    assert (await form.press("accept", {"comment": "Go."})).status == 200
    (resolved,) = of(await host.log(form.run_id), "interrupt.resolved")
    assert (resolved["resumeValue"]["action"], resolved["resumeValue"]["comment"]) == ("accept", "Go.")
    after = (await form.read()).document
    assert (after["status"], after["payload"], after["render"]) == ("answered", None, False)


def as_answered(fault: Any, form: Any) -> Any:
    return fault


@pytest.mark.rule("surf-25")
@fails_without(surfaces, "at_values", as_answered)
async def test_what_is_wrong_in_the_answer_is_told_at_the_field_of_the_form() -> None:
    """The rules of the interrupt judge the answer, in which the values have other places than in the form."""
    edited = {"type": "object", "properties": {"sum": {"maxLength": 3}}}
    resumed = {"type": "object", "properties": {"editedArtifactData": edited}}
    buttons = [button(each) for each in ("refine", "edit-accept")]
    surface = {"components": [field("feedback"), {**field("sum"), "required": False}, *buttons]}
    config = {"actions": ["refine", "edit-accept"], "surface": surface, "resumeSchema": resumed}
    async with open_callers() as host:
        assert (await host.inside.call("POST", "/v1/workflows", approval_workflow("gate", **config))).status == 201
        derived = await derived_form_of(host, "gate")
        form = Form(host, derived.run_id, (await interrupt_of(host, derived.run_id))["surface"]["envelopeId"])
        wrong = (("refine", {"feedback": "x" * 10_001}), ("edit-accept", {"feedback": "x", "sum": "8000"}))
        for (action, values), pointer in zip(wrong, ("/values/feedback", "/values/sum"), strict=True):
            refused = await form.press(action, values)
            assert (refused.status, refused.document["details"]["pointer"]) == (400, pointer), refused.body
        assert (await form.press("edit-accept", {"feedback": "x", "sum": "800"})).status == 200


@pytest.mark.rule("surf-21")
async def test_a_form_of_the_host_answers_any_question(host: CallerHost) -> None:
    form = await derived_form_of(host, "plain")
    (question,) = (await form.read()).document["payload"]["surface"]["components"][-2:-1]
    assert (question["component"], question["id"]) == ("field.text", "answer")
    assert (await form.press("send", {"answer": "2"})).status == 200
    assert CUSTOM["kind"] == "custom"


@pytest.mark.rule("surf-25", "tok-04")
async def test_a_link_shows_and_answers_the_form_of_its_interrupt(host: CallerHost) -> None:
    form = await form_of(host)
    token = await token_of(host, form)
    no_key = {"authorization": ""}
    shown = await host.inside.call("GET", by_link(token, "surface"), headers=no_key)
    assert shown.status == 200, shown.body
    assert shown.headers["referrer-policy"] == "no-referrer"
    assert shown.document == (await form.read()).document
    question = await host.inside.call("GET", f"/v1/interrupts/{token}", headers=no_key)
    assert question.document["surface"]["payload"] == shown.document["payload"]
    wrong = await host.inside.call("POST", by_link(token, "actions/book"), {"values": {}}, headers=no_key)
    assert (wrong.status, wrong.document["details"]["pointer"]) == (400, "/values/who")
    pressed = await host.inside.call("POST", by_link(token, "actions/book"), {"values": WHO}, headers=no_key)
    assert pressed.status == 200, pressed.body
    (resolved,) = of(await host.log(form.run_id), "interrupt.resolved")
    assert resolved["resumeValue"] == ANSWER
    assert resolved["resolvedBy"].startswith("link:")
    for method, rest in (("GET", "surface"), ("POST", "actions/book")):
        late = await host.inside.call(method, by_link(token, rest), {"values": WHO}, headers=no_key)
        assert (late.status, late.document["error"]) == (409, "interrupt_already_resolved")


@pytest.mark.rule("tok-04")
async def test_a_link_that_only_shows_has_no_actions(host: CallerHost) -> None:
    form = await form_of(host)
    path = f"/v1/host/weftwork/runs/{form.run_id}/interrupts/surface/links"
    token = (await host.inside.call("POST", path, {"intent": "inspect"})).document["token"]
    shown = (await host.inside.call("GET", by_link(token, "surface"))).document
    assert "only shows" in shown["blockedReason"]
    assert shown["actions"][0]["disabledReason"] == shown["blockedReason"]
    pressed = await host.inside.call("POST", by_link(token, "actions/book"), {"values": WHO})
    assert (pressed.status, pressed.document["error"]) == (403, "forbidden")
    forged = await host.inside.call("POST", by_link(f"{token[:-1]}x", "actions/book"), {})
    assert (forged.status, forged.document["error"]) == (404, "interrupt_not_found")


def always_valid(document: Any) -> CheckedSurface:
    return CheckedSurface(parse_surface({name: document[name] for name in ("catalogVersion", "surface")}))


@pytest.mark.rule("surf-20", "surf-23")
@fails_without(question_form, "check_stored", always_valid)
async def test_a_stored_surface_that_is_not_valid_is_shown_as_such_and_inert() -> None:
    async with open_callers() as host:
        with pytest.MonkeyPatch.context() as patch:
            form = await form_of(host)
            token = await token_of(host, form)
            partial = {**FORM, "partial": True}
            store(patch, {"envelopeId": form.surface_id, "contentTrust": "trusted", "payload": partial})
            shown = (await form.read()).document
            assert (shown["render"], shown["actions"]) == (False, [])
            assert shown["diagnostics"][0]["pointer"] == "/partial"
            pressed = await form.press("book", WHO)
            assert (pressed.status, pressed.document["error"]) == (400, "validation_error")
            assert "not rendered" in pressed.document["message"]
            linked = (await host.inside.call("GET", by_link(token, "surface"))).document
            assert linked["surfaceId"] == shown["interruptId"]
            assert linked["render"]


def complete(stored: Any) -> bool:
    return False


@pytest.mark.rule("surf-23")
@fails_without(question_form, "_is_partial", complete)
async def test_a_surface_that_is_not_complete_accepts_no_action() -> None:
    async with open_callers() as host:
        for partial in (True, {"isPartial": True, "index": 0}):
            form = await form_of(host)
            with pytest.MonkeyPatch.context() as patch:
                stored = {
                    "envelopeId": form.surface_id,
                    "contentTrust": "trusted",
                    "payload": payload(field(), button()),
                }
                store(patch, {**stored, "partial": partial})
                shown = (await form.read()).document
                assert (shown["render"], shown["actions"]) == (False, [])
                pressed = await form.press("book", WHO)
                assert (pressed.status, pressed.document.get("error")) == (400, "validation_error")


@pytest.mark.rule("surf-20", "surf-26")
@each_case(
    "document, is_rendered",
    (payload(field(), button()), True),
    (payload({**field(), "onClick": "alert(1)"}, button()), False),
    ({"catalogVersion": "9.9.9", "surface": {"components": []}}, False),
)
async def test_a_surface_that_the_gate_held_back_is_checked_when_it_is_read_and_has_no_action(
    document: Any, is_rendered: bool
) -> None:
    async with open_callers(surfaces=False) as host:
        run_id = await host.start("prompt", sent(SURFACE_KIND, document), VALUE)
        (record,) = of(await host.log(run_id), "weftwork.envelope.recorded")
        assert (record["status"], record["type"]) == ("gated", SURFACE_KIND)
        form = Form(host, run_id, record["envelopeId"])
        shown = (await form.read()).document
        assert (shown["status"], shown["render"], shown["actions"]) == ("stored", is_rendered, [])
        assert ("diagnostics" in shown) != is_rendered
        pressed = await form.press("book", WHO)
        assert (pressed.status, pressed.document["error"]) == (404, "interrupt_not_found")


def unblocked(self: Any) -> None:
    return None


@pytest.mark.rule("surf-05", "appr-05")
async def test_a_surface_of_untrusted_content_is_blocked_at_an_approval(
    host: CallerHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = await derived_form_of(host, "gate")
    store(monkeypatch, UNTRUSTED)
    bound = Form(host, form.run_id, "env-1")
    shown = (await bound.read()).document
    assert "untrusted" in shown["blockedReason"]
    assert shown["actions"][0]["disabledReason"] == shown["blockedReason"]
    pressed = await bound.press("accept")
    assert (pressed.status, pressed.document["error"]) == (403, "untrusted_content_blocks_approval")
    assert "actions of the approval itself" in pressed.document["message"]
    assert (await form.read()).document["status"] == "open"
    # Only the form of the agent is refused: the buttons of the host work.
    assert (await form.press("accept")).status == 200


def only_blocked(form: Any, text: str) -> Any:
    """In place of the host's own form: a blocked one."""
    return msgspec.structs.replace(form, derived=None)


@pytest.mark.rule("surf-05", "appr-05")
@fails_without(surface_form, "_with_text", only_blocked)
async def test_a_link_gets_the_form_of_the_host_in_place_of_one_that_is_blocked(
    host: CallerHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = await derived_form_of(host, "gate")
    store(monkeypatch, UNTRUSTED)
    token = await token_of(host, form)
    shown = (await host.inside.call("GET", by_link(token, "surface"))).document
    assert schema.check("surface-view", shown) == []
    first = shown["payload"]["surface"]["components"][0]
    assert "untrusted source" in first["text"]
    assert "Decide here" in first["text"]
    assert "blockedReason" not in shown
    offered = {each["id"]: each.get("disabledReason") for each in shown["actions"]}
    assert offered.items() >= {"accept": None, "reject": None}.items()
    labels = {each["label"] for each in shown["actions"]}
    assert ACCEPT["label"] not in labels
    answered = await host.inside.call("POST", by_link(token, "actions/reject"), {"values": {}})
    assert answered.status == 200, answered.body


@pytest.mark.rule("surf-70")
async def test_a_reader_gets_what_a_button_of_an_approval_decides(
    host: CallerHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = await derived_form_of(host, "gate")
    refuse = {**ACCEPT, "label": "Reject it"}
    store(monkeypatch, {**UNTRUSTED, "contentTrust": "trusted", "payload": payload(refuse)})
    shown = (await Form(host, form.run_id, "env-1").read()).document
    assert shown["actions"] == [{"id": "accept", "label": "Reject it", "target": "resume", "effect": "Approve"}]


@pytest.mark.rule("surf-25", "appr-05")
@fails_without(approvals, "blocks_approval", lambda *_: False)
async def test_the_engine_refuses_an_untrusted_surface_by_itself() -> None:
    async with open_callers() as host:
        await host.inside.call("POST", "/v1/workflows", approval_workflow("gate"))
        with pytest.MonkeyPatch.context() as patch:
            form = await derived_form_of(host, "gate")
            store(patch, UNTRUSTED)
            patch.setattr(BoundSurface, "blocked_reason", property(unblocked))
            pressed = await Form(host, form.run_id, "env-1").press("accept")
            assert (pressed.status, pressed.document.get("error")) == (403, "untrusted_content_blocks_approval")
            assert (await form.read()).document["status"] == "open"
