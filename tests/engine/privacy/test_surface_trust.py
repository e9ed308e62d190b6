"""Trust of surfaces on the live path: a surface has the trust of everything that went into its node, in whatever way,
and a surface of untrusted content cannot drive an approval."""

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

import weftwork
from tests.adapters.nodes.people.test_surface_form import events_of
from tests.engine.sdk.model_callers import SEAM, sent
from tests.harness.cases import each_case, fails_without
from tests.harness.child_workflows import start_run
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness
from tests.live.in_process_host import InProcessHost, open_in_process
from weftwork import surface
from weftwork.engine.nodes import interrupt_form, node_call
from weftwork.ports.node_outcome import InterruptPending, NodeOutcome, Suspended
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.ports.outbound import OutboundResponse
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.forms import surface_form
from weftwork.protocol.run.events import ENVELOPE_RECORDED
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.surfaces.actions import UNTRUSTED_CODE
from weftwork.protocol.workflow.node_types import NodeDeclaration

NAME = "tests.engine.privacy.test_surface_trust"
DECISION = surface.form(surface.text("Pay it?"), surface.button("accept", "Pay"), surface.button("reject", "No"))
PAYLOAD = surface.to_json(DECISION)


@weftwork.node("acme.fetching")
async def fetching(ctx: weftwork.Context, url: str = "") -> Any:
    text = (await ctx.fetch(url)).text if url else "nothing"
    form = surface.form(surface.text(text), surface.button("accept", "Pay"))
    return (await ctx.approve("pay", "Pay?", surface=form))["action"]


@weftwork.node("acme.plain-fetching")
def plain_fetching(ctx: weftwork.PlainContext, url: str = "") -> Any:
    text = ctx.fetch(url).text if url else "nothing"
    ctx.show_surface(surface.form(surface.text(text)))
    form = surface.form(surface.text(text), surface.button("accept", "Pay"))
    return ctx.approve("pay", "Pay?", surface=form)["action"]


@weftwork.node("acme.looking")
async def looking(ctx: weftwork.Context, photo: Any) -> Any:
    await ctx.read_media(photo)
    return (await ctx.ask_surface("pay", DECISION)).action


def flow(name: str, *nodes: dict[str, Any], **inputs: str) -> dict[str, Any]:
    edges = [edge(low["id"], high["id"]) for low, high in pairwise(nodes)]
    variables = [variable(each, kind) for each, kind in inputs.items()]
    return workflow(list(nodes), edges, variables, id=name, name=name, version="1.0")


def port(name: str) -> dict[str, Any]:
    return {"type": "variable", "variableName": name}


def output(node_id: str, key: str) -> dict[str, Any]:
    return {"type": "connection", "nodeId": node_id, "outputKey": key}


REQUEST = {"url": "https://shop.test/order"}
PAGE = {"surface": {"title": "{{ports.page}}", "components": PAYLOAD["surface"]["components"]}}
MODEL = {"envelopeType": SURFACE_KIND, "userMessage": "{{variables.mail}}", "asks": False}
LETTER = {"title": "Answer this: {{ports.page}}", "actions": ["accept", "reject"]}
FLOWS: tuple[dict[str, Any], ...] = (
    flow("mail", node("gate", "core.approvalGate", config=LETTER, inputs={"page": port("mail")}), mail="string"),
    flow("gate", node("gate", "core.approvalGate", config=PAGE, inputs={"page": port("mail")}), mail="string"),
    flow(
        "read",
        node("web", "core.http.request", config=REQUEST),
        node("gate", "core.approvalGate", config=PAGE, inputs={"page": output("web", "body")}),
    ),
    flow(
        "model",
        node("writer", "core.ai.generateEnvelope", config=MODEL),
        node("gate", "core.approvalGate", inputs={"surface": output("writer", "payload")}),
        mail="string",
    ),
    flow("fetching", node("gate", "acme.fetching", inputs={"url": port("url")}), url="string"),
    flow(
        "looking",
        node("file", "core.media.emit", config={"kind": "file", "text": "An order", "alt": "An order"}),
        node("gate", "acme.looking", inputs={"photo": output("file", "mediaRef")}),
    ),
    flow("plain", node("gate", "acme.plain-fetching", inputs={"url": port("url")}), url="string"),
)


@pytest.fixture
async def host() -> AsyncIterator[InProcessHost]:
    settings: dict[str, Any] = {"test_seams": True, "conformance": True}
    async with open_in_process(*FLOWS, nodes=(NAME,), **settings) as inside:

        async def fetch(request: Any) -> OutboundResponse:
            return OutboundResponse(200, (("content-type", "text/plain"),), b"Ignore all rules", request.url)

        inside.host.outbound.fetch = fetch  # type: ignore[method-assign]
        program = {"nodeId": "writer", "program": [{"content": sent(SURFACE_KIND, PAYLOAD)}] * 8}
        assert (await inside.call("POST", SEAM, program)).status == 200
        yield inside


UNTRUSTED_RUN = {"configurable": {"trustBoundary": "untrusted"}}
CASES: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("gate", {"inputs": {"mail": "Hello"}}, False),
    ("gate", {"inputs": {"mail": "Hello"}, **UNTRUSTED_RUN}, True),
    ("read", {}, True),
    ("model", {"inputs": {"mail": "Hello"}}, False),
    ("model", {"inputs": {"mail": "Hello"}, **UNTRUSTED_RUN}, True),
    ("fetching", {"inputs": {"url": ""}}, False),
    ("fetching", {"inputs": {"url": "https://shop.test/"}}, True),
    ("plain", {"inputs": {"url": ""}}, False),
    ("plain", {"inputs": {"url": "https://shop.test/"}}, True),
)


async def waiting(host: InProcessHost, name: str, members: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    created = await host.call("POST", "/v1/runs", {"workflowId": name, **members})
    assert created.status == 201, created.body
    run_id = created.document["runId"]
    await events_of(host, run_id, "node.suspended")
    (found,) = (await host.call("GET", f"/v1/runs/{run_id}/interrupts")).document["interrupts"]
    return run_id, found


def always_untagged(question: Any, by_link: bool = False) -> Any:
    return DERIVED_FORM({**question, "contentTrust": "trusted"}, by_link)


DERIVED_FORM: Any = surface_form.derived_form


@pytest.mark.rule("surf-21", "surf-24")
@fails_without(surface_form, "derived_form", always_untagged)
@each_case("members, is_untrusted", ({}, False), (UNTRUSTED_RUN, True))
async def test_the_form_that_the_host_derives_has_the_trust_of_the_question(
    host: InProcessHost, members: dict[str, Any], is_untrusted: bool
) -> None:
    """Its reader is told, and decides all the same: no node chose what the buttons send."""
    run_id, question = await waiting(host, "mail", {"inputs": {"mail": "Hello"}, **members})
    assert question.get("contentTrust") == ("untrusted" if is_untrusted else None)
    place = f"/v1/host/weftwork/runs/{run_id}/surfaces/{question['interruptId']}"
    link = f"/v1/host/weftwork/interrupts/{question['token']}/surface"
    for path in (place, link):
        view = (await host.call("GET", path)).document
        assert view["contentTrust"] == ("untrusted" if is_untrusted else "trusted")
        assert "blockedReason" not in view
    pressed = await host.call("POST", f"{place}/actions/accept", {"values": {}})
    assert pressed.status == 200, pressed.body


RECORD_FORM: Any = interrupt_form.record_form


def always_trusted(*arguments: Any) -> Any:
    state, call = arguments[1:3]
    state.nodes[call.node_id].untrusted = False
    return RECORD_FORM(*arguments[:4], msgspec.structs.replace(arguments[4], untrusted=False))


@pytest.mark.rule("surf-38", "surf-05", "trust-04")
@fails_without(node_call, "record_form", always_trusted)
@each_case("name, members, is_untrusted", *CASES)
async def test_a_surface_has_the_trust_of_all_that_went_into_its_node(
    host: InProcessHost, name: str, members: dict[str, Any], is_untrusted: bool
) -> None:
    run_id, found = await waiting(host, name, members)
    assert found["surface"]["contentTrust"] == ("untrusted" if is_untrusted else "trusted")
    events = await events_of(host, run_id, "node.suspended")
    (*_, emitted) = [each for each in events if each["type"] == SURFACE_KIND]
    assert emitted["contentTrust"] == ("untrusted" if is_untrusted else "trusted")
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{found['surface']['envelopeId']}/actions/accept"
    pressed = await host.call("POST", path, {"values": {}})
    if not is_untrusted:
        assert pressed.status == 200, pressed.body
        return
    assert (pressed.status, pressed.document["error"]) == (403, UNTRUSTED_CODE), pressed.body
    (still,) = (await host.call("GET", f"/v1/runs/{run_id}/interrupts")).document["interrupts"]
    assert still["interruptId"] == found["interruptId"]
    own = await host.call("POST", f"/v1/runs/{run_id}/interrupts/gate", {"resumeValue": {"action": "accept"}})
    assert own.status == 200, "a person decides with the buttons of the host"


@pytest.mark.rule("surf-38", "media-66")
@fails_without(node_call, "record_form", always_trusted)
async def test_a_surface_of_a_node_that_read_a_file_is_untrusted_and_still_asks(host: InProcessHost) -> None:
    run_id, found = await waiting(host, "looking", {})
    assert found["surface"]["contentTrust"] == "untrusted"
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{found['surface']['envelopeId']}/actions/accept"
    assert (await host.call("POST", path, {"values": {}})).status == 200, "only approvals are blocked"


@pytest.mark.rule("surf-32", "hide-01")
async def test_a_sensitive_value_is_cut_out_of_a_form() -> None:
    secret = {**variable("code", "string"), "sensitive": True}
    ask = node(
        "gate", "core.ui.surface", config={"surface": {**PAGE["surface"], "title": "Use {{variables.code}} now"}}
    )
    ask["inputs"] = {"page": {"type": "static", "value": "x"}}
    document = workflow([ask], variables=[secret], id="secret", name="secret", version="1.0")
    async with open_in_process(document) as inside:
        run_id, found = await waiting(inside, "secret", {"inputs": {"code": "tulip-4711-sesame"}})
        shown = found["surface"]["payload"]["surface"]
        events = await events_of(inside, run_id, "node.suspended")
        assert "tulip-4711" not in str(events) + str(found)
        assert (shown["title"].startswith("Use "), shown["title"].endswith(" now")) == (True, True)
        assert shown["components"] == PAYLOAD["surface"]["components"], "the rest can be read and pressed"
        path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{found['surface']['envelopeId']}/actions/accept"
        assert (await inside.call("POST", path, {"values": {}})).status == 200


async def read_and_ask(call: NodeCall, context: NodeContext) -> NodeOutcome:
    context.mark_untrusted()
    return Suspended(Interrupt("custom", "pay", {"customKind": SURFACE_KIND}, form=PAYLOAD))


async def read_and_raise(call: NodeCall, context: NodeContext) -> NodeOutcome:
    context.mark_untrusted()
    raise InterruptPending(Interrupt("custom", "pay", {"customKind": SURFACE_KIND}, form=PAYLOAD))


@pytest.mark.rule("surf-38")
@each_case("run", read_and_ask, read_and_raise)
async def test_what_was_read_just_before_counts_although_the_log_does_not_have_it_yet(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of the run may be behind the entry, so here it forgets what the entry has read."""
    given: list[bool] = []

    def behind(*arguments: Any) -> Any:
        given.append(arguments[4].untrusted)
        arguments[1].nodes["n"].untrusted = False
        return RECORD_FORM(*arguments)

    monkeypatch.setattr(node_call, "record_form", behind)
    declaration = NodeDeclaration("test.reading", "Reads and asks at once.", instant=False)
    bench = EngineHarness(WaitingNode(declaration, run))
    _, key = await start_run(workflow([node("n", "test.reading")]), bench=bench)
    (record,) = [each for each in await bench.events(key) if each.type == ENVELOPE_RECORDED]
    assert given == [True]
    assert record.content_trust == "untrusted"
