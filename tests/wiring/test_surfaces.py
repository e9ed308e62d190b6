"""Surfaces are advertised only if the host shows them. A host that does not records them, and no run waits or fails."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

import weftwork
from tests.adapters.nodes.people.test_surface_form import asked
from tests.engine.sdk.model_callers import MODULE, SURFACE_CONFIG, VALUE, CallerHost, caller_workflows, of, sent
from tests.engine.sdk.test_surfaces import FORM, NOTE, payload
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node
from tests.live.in_process_host import open_in_process
from tests.live.workflows import chain
from weftwork import surface
from weftwork.engine.sdk import model_turn
from weftwork.protocol.envelopes.kinds import DISPLAY_KINDS, MEDIA_KINDS, SURFACE_KIND, UNIVERSAL_KINDS
from weftwork.settings import Settings
from weftwork.wiring import envelope_kinds
from weftwork.wiring.envelope_kinds import displayed_kinds

NAME = "tests.wiring.test_surfaces"
BUILT = surface.form(surface.text_field("who", "Who?"), surface.button("go", "Go"))


@weftwork.node("acme.asks")
async def asks(ctx: weftwork.Context) -> Any:
    shown = await ctx.show_surface(surface.form(surface.text("Hello")))
    try:
        await ctx.ask_surface("who", BUILT)
    except weftwork.NodeError as error:
        return [shown, error.code, str(error)]


def flows() -> list[dict[str, Any]]:
    shown = node("shown", "core.ui.surface", config={"surface": surface.to_json(BUILT)["surface"]})
    gate_form = surface.to_json(surface.form(surface.button("accept", "Pay")))["surface"]
    gate = node("gate", "core.approvalGate", config={"surface": gate_form})
    asking = node("asks", "acme.asks")
    return [chain(each["id"], [each]) for each in (shown, gate, asking)]


@pytest.fixture
async def silent() -> AsyncIterator[CallerHost]:
    """A host that shows no surfaces."""
    settings: dict[str, Any] = {"test_seams": True, "conformance": True, "surfaces": False}
    async with open_in_process(*caller_workflows(), *flows(), nodes=(MODULE, NAME), **settings) as inside:
        yield CallerHost(inside)


async def discovery(**settings: Any) -> Any:
    async with open_in_process(**settings) as inside:
        return (await inside.call("GET", "/.well-known/openwop")).document


@pytest.mark.rule("surf-36")
@fails_without(envelope_kinds, "SURFACE_KIND", "ui.other")
async def test_discovery_lists_the_kind_if_the_host_shows_it() -> None:
    assert displayed_kinds(Settings()) == DISPLAY_KINDS
    found = await discovery()
    assert found["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *DISPLAY_KINDS]
    assert found["schemaVersions"][SURFACE_KIND] == 1
    silent = await discovery(surfaces=False)
    assert silent["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *MEDIA_KINDS]
    assert SURFACE_KIND not in silent["schemaVersions"]
    assert SURFACE_KIND not in json.dumps(silent)


@pytest.mark.rule("surf-36")
async def test_a_host_without_a_catalogue_advertises_no_surfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope_kinds, "CATALOG_VERSIONS", ())
    assert displayed_kinds(Settings()) == MEDIA_KINDS


def stored(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The surfaces that were recorded without being shown. Nothing of them may be emitted or asked."""
    assert of(events, SURFACE_KIND) == of(events, "interrupt.requested") == []
    records = of(events, "weftwork.envelope.recorded")
    found = [each for each in records if each["type"] == SURFACE_KIND]
    assert {(each["status"], each["code"]) for each in found} == {("gated", "unknown_envelope_kind")}
    return [each["payload"] for each in found]


@pytest.mark.rule("surf-37")
@each_case("name", "prompt", "py-text")
async def test_a_surface_in_the_text_of_a_model_is_recorded_and_not_shown(silent: CallerHost, name: str) -> None:
    events = await silent.run(name, sent(SURFACE_KIND, FORM), VALUE)
    assert stored(events) == [FORM]
    assert events[-1]["type"] == "run.completed"


def unshown(*_: Any) -> None:
    return None


@pytest.mark.rule("surf-37")
@fails_without(model_turn, "_unshown", unshown, errors=(AttributeError,))
async def test_a_surface_that_a_node_asked_for_is_its_output_and_asks_nobody(silent: CallerHost) -> None:
    events = await silent.run("surface", sent(SURFACE_KIND, FORM))
    assert stored(events) == [FORM]
    assert events[-1]["type"] == "run.completed", events[-1]
    outputs = events[-1]["payload"]["outputs"]["surface"]
    assert (outputs["envelopeType"], outputs["payload"]) == (SURFACE_KIND, FORM)
    assert outputs["envelopeId"].startswith("env-")
    assert "answer" not in outputs


@pytest.mark.rule("surf-37")
async def test_a_surface_that_is_not_shown_is_still_corrected(silent: CallerHost) -> None:
    wrong = payload({"component": "script", "text": "alert(1)"})
    events = await silent.run("surface", sent(SURFACE_KIND, wrong), sent(SURFACE_KIND, NOTE))
    assert stored(events) == [NOTE]
    assert len(of(events, "envelope.retry.attempted")) == 1


@pytest.mark.rule("surf-37", "surf-33")
async def test_a_surface_of_a_node_is_recorded_and_the_run_does_not_wait(silent: CallerHost) -> None:
    events = await silent.log(await silent.start("shown"))
    assert stored(events) == [surface.to_json(BUILT)]
    outputs = events[-1]["payload"]["outputs"]["shown"]
    run_id = events[0]["runId"]
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{outputs['surfaceId']}"
    assert (await silent.inside.call("GET", path)).status == 200, "the id is that of the record"
    events = await silent.log(await silent.start("asks"))
    assert len(stored(events)) == 2
    shown, code, message = events[-1]["payload"]["outputs"]["asks"]["output"]
    assert shown.startswith("env-")
    assert (code, message) == ("host_capability_missing", "This host does not support surfaces.")


@pytest.mark.rule("surf-32", "surf-37")
async def test_an_approval_asks_without_its_form(silent: CallerHost) -> None:
    _, found = await asked(silent.inside, "gate")
    assert found["kind"] == "approval"
    assert "surface" not in found


@pytest.mark.rule("surf-01")
async def test_a_surface_of_another_catalogue_is_refused() -> None:
    refused = {**payload({"component": "text", "text": "Hello"}), "catalogVersion": "1.0"}
    async with open_in_process(*caller_workflows(), nodes=(MODULE,), test_seams=True, conformance=True) as inside:
        host = CallerHost(inside)
        events = await host.run("surface", sent(SURFACE_KIND, refused), sent(SURFACE_KIND, NOTE))
        (retried,) = of(events, "envelope.retry.attempted")
        assert "catalogVersion" in json.dumps(retried)
        assert of(events, SURFACE_KIND) == [NOTE]
        document = {"envelope": {"type": SURFACE_KIND, "payload": refused, "envelopeId": "e", "correlationId": "c"}}
        document["envelope"]["meta"] = {"source": "ai-generation", "ts": "2026-01-31T08:05:09Z"}
        judged = (await inside.call("POST", "/v1/host/sample/envelope/accept", document)).document
        assert judged["status"] == "invalid"
        assert judged["reason"].startswith("unknown_schema_version")
    assert SURFACE_CONFIG["envelopeType"] == SURFACE_KIND
