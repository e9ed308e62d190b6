"""Surfaces for clients of A2UI over HTTP: messages to show one, and actions that answer it."""

import json
from typing import Any

import pytest

from tests.adapters.http.interrupts.waiting_forms import UNTRUSTED, WHO, Form, derived_form_of, form_of, store
from tests.adapters.http.interrupts.waiting_forms import host as host
from tests.engine.sdk.model_callers import CallerHost, of, open_callers
from tests.engine.sdk.test_surfaces import ANSWER, button, field, payload
from tests.harness.cases import fails_without
from tests.live.host import Answer
from weftwork.protocol.forms import surface_form

A2UI = "application/a2ui+json"


def clicked(surface_id: str, button_id: str = "book", **values: Any) -> dict[str, Any]:
    context = {"actionId": button_id, "values": values}
    names = {"name": "openwop.resume", "surfaceId": surface_id, "sourceComponentId": "c1"}
    return {"version": "v0.9.1", "action": {**names, "timestamp": "2026-11-19T16:00:00Z", "context": context}}


def unchecked(surface: Any, action: Any, *, surface_id: str) -> Any:
    context = action["action"]["context"]
    return context["actionId"], {"who": context["values"].get("who", "Ada")}


@pytest.mark.rule("surf-27")
async def test_a_client_of_a2ui_reads_and_answers_a_form(host: CallerHost) -> None:
    form = await form_of(host)
    shown = await form.read(headers={"accept": f"{A2UI}, application/json;q=0.9"})
    assert shown.headers["content-type"] == A2UI
    assert [next(iter(each.keys() - {"version"})) for each in shown.document] == [
        "createSurface",
        "updateComponents",
        "updateDataModel",
    ]
    assert {each[name]["surfaceId"] for each in shown.document for name in each.keys() - {"version"}} == {
        form.surface_id
    }
    assert (await form.read(headers={"accept": "*/*"})).headers["content-type"] == "application/json"
    body = clicked(form.surface_id, who="Ada", action="sell", more=1)
    pressed = await press_a2ui(host, form, body)
    assert pressed.status == 200, pressed.body
    (resolved,) = of(await host.log(form.run_id), "interrupt.resolved")
    assert resolved["resumeValue"] == ANSWER
    closed = json.dumps((await form.read(headers={"accept": A2UI})).document)
    assert "no longer be answered" in closed


async def press_a2ui(host: CallerHost, form: Form, body: Any, action: str = "book") -> Answer:
    return await host.inside.call("POST", f"{form.path}/actions/{action}", body, headers={"content-type": A2UI})


@pytest.mark.rule("surf-27")
@fails_without(surface_form, "fold_action", unchecked)
async def test_an_action_of_a2ui_names_its_surface_and_its_button() -> None:
    async with open_callers() as host:
        form = await form_of(host, document=payload(field(), button("book"), button("sell")))
        wrong = [clicked("env-other", who="Ada"), clicked(form.surface_id, "sell", who="Ada"), clicked(form.surface_id)]
        for body in (*wrong, {}, [], {"action": "book"}, {"values": WHO}):
            refused = await press_a2ui(host, form, body)
            assert (refused.status, refused.document.get("error")) == (400, "validation_error"), body
        assert (await form.read()).document["status"] == "open"


@pytest.mark.rule("surf-27", "surf-05")
async def test_a_blocked_form_is_disabled_in_a2ui_too(host: CallerHost, monkeypatch: pytest.MonkeyPatch) -> None:
    form = await derived_form_of(host, "gate")
    store(monkeypatch, UNTRUSTED)
    bound = Form(host, form.run_id, "env-1")
    shown = await host.inside.call("GET", bound.path, headers={"accept": A2UI})
    assert "untrusted source" in json.dumps(shown.document)
    pressed = await press_a2ui(host, bound, clicked("env-1", "accept"), "accept")
    assert (pressed.status, pressed.document["error"]) == (403, "untrusted_content_blocks_approval")
