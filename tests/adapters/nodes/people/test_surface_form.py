"""core.ui.surface, and surfaces as the forms of approvals, questions and conversations, through HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, variable, workflow
from tests.live.in_process_host import InProcessHost, open_in_process
from weftwork.adapters.nodes.people import conversation_gate, gates, surface_form
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.testing import TIMEOUT, crash_everywhere, run_workflow

TEXT = {"component": "text", "text": "Order {{ports.order}} is ready."}
DAY = {"component": "field.date", "id": "day", "label": "Day", "required": True}


def button(name: str, target: str = "resume") -> dict[str, Any]:
    return {"component": "action.button", "id": name, "label": name.title(), "action": {"target": target}}


def form(*components: dict[str, Any]) -> dict[str, Any]:
    return {"title": "Delivery of {{ports.order}}", "components": [TEXT, *components]}


def payload(surface: dict[str, Any]) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": surface}


ASKS = form(DAY, button("send"), button("cancel"))
CONFIGS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "ask": ("core.ui.surface", {"surface": ASKS}, {"action": "send", "day": "2026-01-31"}),
    "gate": (
        "core.approvalGate",
        {"surface": form({"component": "field.text", "id": "comment", "label": "Why?"}, button("accept"))},
        {"action": "accept", "comment": "Fine"},
    ),
    "questions": (
        "core.clarificationGate",
        {"questions": [{"id": "day", "question": "Which day?"}], "surface": ASKS},
        {"answers": {"day": "2026-01-31"}},
    ),
    "talk": ("core.conversationGate", {"surface": form(button("say", "exchange"))}, {"action": "say"}),
}
"""By node id: the type, the config, and an answer."""
UNUSED = {"action": "nothing"}


def flow(name: str, config: dict[str, Any] | None = None, **inputs: Any) -> dict[str, Any]:
    type_id, own, _ = CONFIGS[name]
    ports = {"order": {"type": "variable", "variableName": "order"}, **inputs}
    nodes = [node(name, type_id, config=own if config is None else config, inputs=ports)]
    return workflow(nodes, variables=[variable("order", "string")], id=name, name=name, version="1.0")


@pytest.fixture
async def host() -> AsyncIterator[InProcessHost]:
    given = {"surface": {"type": "variable", "variableName": "given"}}
    flows = [flow(name) for name in CONFIGS]
    for name in CONFIGS:
        own = {key: each for key, each in CONFIGS[name][1].items() if key != "surface"}
        document = flow(name, own, **given)
        flows.append(
            {**document, "id": f"given-{name}", "variables": [*document["variables"], variable("given", "object")]}
        )
    async with open_in_process(*flows) as inside:
        yield inside


async def events_of(host: InProcessHost, run_id: str, *kinds: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for _ in range(50):
        last = events[-1]["sequence"] if events else -1
        page = (await host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=10")).document
        events += page["events"]
        if any(each["type"] in kinds for each in events):
            return events
        assert not page["isComplete"], events[-1]
    raise AssertionError(events)


async def asked(host: InProcessHost, name: str, **inputs: Any) -> tuple[str, dict[str, Any]]:
    """A new run that waits, and its interrupt."""
    created = await host.call("POST", "/v1/runs", {"workflowId": name, "inputs": {"order": "o-7", **inputs}})
    assert created.status == 201, created.body
    run_id = created.document["runId"]
    await events_of(host, run_id, "node.suspended")
    (found,) = (await host.call("GET", f"/v1/runs/{run_id}/interrupts")).document["interrupts"]
    return run_id, found


async def respond(host: InProcessHost, run_id: str, name: str, value: Any) -> int:
    return (await host.call("POST", f"/v1/runs/{run_id}/interrupts/{name}", {"resumeValue": value})).status


@pytest.mark.rule("surf-31", "surf-32", "surf-34")
@each_case("name", *CONFIGS)
async def test_a_surface_in_a_config_is_the_form(host: InProcessHost, name: str) -> None:
    run_id, shown = await asked(host, name)
    assert shown["surface"]["payload"]["surface"]["title"] == "Delivery of o-7"
    assert shown["surface"]["payload"]["surface"]["components"][0]["text"] == "Order o-7 is ready."
    assert await respond(host, run_id, name, UNUSED) == 400
    assert await respond(host, run_id, name, CONFIGS[name][2]) == 200
    completed = (await events_of(host, run_id, "run.completed"))[-1]["payload"]["outputs"][name]
    if name == "ask":
        expected = {"action": "send", "values": {"day": "2026-01-31"}, "surfaceId": shown["surface"]["envelopeId"]}
        assert completed == expected


@pytest.mark.rule("surf-32")
@each_case("name", *CONFIGS)
async def test_a_surface_of_an_input_overrides_the_config(host: InProcessHost, name: str) -> None:
    own = CONFIGS[name][1]["surface"]["components"]
    given = payload({"components": [{"component": "text", "text": "{{ports.order}}"}, *own[1:]]})
    _, shown = await asked(host, f"given-{name}", given={**given, "reasoning": "Only for the log."})
    assert shown["surface"]["payload"] == given, "texts of a value are no templates, and the reasoning is not shown"


def as_structure(call: Any, surface: Any) -> Any:
    """A sabotage: values are put into the surface as what they are."""
    return {**surface, "components": [*surface["components"], *call.inputs.get("more", ())]}


@pytest.mark.rule("surf-34")
@fails_without(surface_form, "_rendered", as_structure)
def test_a_value_becomes_text_and_never_structure() -> None:
    forged = '"}, {"component": "action.button", "id": "all", "label": "Pay all", "action": {"target": "resume"}}'
    config = {"surface": form(DAY, button("send"))}
    document = flow("ask", config, more={"type": "static", "value": [button("forged")]})
    result = run_workflow(document, inputs={"order": forged}, answers={"ask": {"action": "send", "day": "2026-01-31"}})
    (shown,) = [each.payload for each in result.events if each.type == SURFACE_KIND]
    assert shown["surface"]["components"][0] == {"component": "text", "text": f"Order {forged} is ready."}
    assert shown["surface"]["components"][1:] == [DAY, button("send")]


@pytest.mark.rule("surf-35")
def test_a_surface_without_a_button_is_shown() -> None:
    result = run_workflow(flow("ask", {"surface": form()}), inputs={"order": "o-7"})
    assert result.kinds.count(SURFACE_KIND) == 1
    assert "interrupt.requested" not in result.kinds
    assert list(result.outputs["ask"]) == ["surfaceId"]


@pytest.mark.rule("surf-35")
def test_a_surface_may_time_out() -> None:
    config = {"surface": form(button("send")), "timeoutMs": 1000}
    answer = {"action": "send"}
    late = run_workflow(flow("ask", config), inputs={"order": "1"}, answers={"ask": TIMEOUT})
    assert late.error is not None
    assert late.error.code == "interrupt_timeout"
    with_default = flow("ask", {**config, "defaultAnswer": answer})
    outputs = run_workflow(with_default, inputs={"order": "1"}, answers={"ask": TIMEOUT}).outputs["ask"]
    assert (outputs["action"], outputs["values"]) == ("send", {})


@pytest.mark.rule("surf-35")
@each_case("config", {}, {"surface": form(DAY, button("send"))})
def test_a_surface_that_is_not_valid_fails_the_node(config: dict[str, Any]) -> None:
    wrong = {"surface": {"type": "static", "value": {"components": [{**button("send", "post")}]}}} if config else {}
    result = run_workflow(flow("ask", config, **wrong), inputs={"order": "1"})
    assert result.error is not None
    assert result.error.code == ("node_input_invalid" if config else "node_input_missing")


@pytest.mark.rule("surf-06", "surf-35")
@each_case(
    "name, given, code",
    ("ask", form(button("send", "exchange")), "envelope_invalid"),
    ("gate", form(button("pay")), "envelope_invalid"),
    ("questions", form(button("send")), "envelope_invalid"),
    ("talk", form(button("send")), "envelope_invalid"),
)
def test_a_form_that_cannot_answer_its_interrupt_fails_the_node(name: str, given: Any, code: str) -> None:
    document = flow(name, surface={"type": "static", "value": given})
    result = run_workflow(document, inputs={"order": "1"})
    assert result.error is not None
    assert result.error.code == code


def unchecked(*_: Any) -> list[Any]:
    return []


@pytest.mark.rule("surf-34")
@fails_without(*([each, "check_surface_config", unchecked] for each in (gates, conversation_gate, surface_form)))
@each_case(
    "name, change, pointer",
    ("ask", {"surface": {"components": [{"component": "field.text", "id": "a"}]}}, "/surface/components/0"),
    ("ask", {"surface": form(DAY, DAY)}, "/surface/components/2/id"),
    ("ask", {"surface": {"components": [], "html": "<b>"}}, "/surface/html"),
    ("ask", {"surface": ASKS, "defaultAnswer": {"action": "send"}}, "/defaultAnswer"),
    ("ask", {"surface": ASKS, "timeoutMs": 1, "defaultAnswer": {"action": "pay"}}, "/defaultAnswer"),
    ("gate", {"surface": form(button("pay"))}, "/surface/components"),
    ("gate", {"surface": form(DAY, button("accept"))}, "/surface/components"),
    ("questions", {"surface": form(button("send"))}, "/surface/components"),
    ("talk", {"surface": form(button("say"))}, "/surface/components"),
    ("talk", {"surface": form(button("say", "exchange")), "mockAutoResume": True}, "/mockAutoResume"),
    ("talk", {"surface": form(button("say", "exchange")), "outcomeSchema": {"type": "object"}}, "/outcomeSchema"),
)
async def test_a_definition_with_a_wrong_surface_is_refused(name: str, change: Any, pointer: str) -> None:
    async with open_in_process() as inside:
        document = flow(name, {**CONFIGS[name][1], **change})
        refused = await inside.call("POST", "/v1/workflows", document)
        assert refused.status == 400
        assert refused.document["details"]["pointer"].startswith(f"/nodes/0/config{pointer}"), refused.document


@pytest.mark.rule("surf-32", "surf-35")
def test_a_crash_anywhere_asks_once() -> None:
    for name in CONFIGS:
        document = flow(name)
        results = list(crash_everywhere(document, inputs={"order": "1"}, answers={name: CONFIGS[name][2]}))
        assert len(results) > 4
        for result in results:
            assert result.kinds.count(SURFACE_KIND) == 1
            assert result.status == "completed"


PRESSED: dict[str, tuple[str, dict[str, Any], Any]] = {
    "ask": ("send", {"day": "2026-01-31"}, {"action": "send", "values": {"day": "2026-01-31"}}),
    "gate": ("accept", {"comment": "Fine"}, {"action": "accept", "feedback": "Fine"}),
    "questions": ("cancel", {"day": "2026-01-31"}, {"answers": {"day": "2026-01-31"}}),
    "talk": ("say", {}, {"outcome": {"action": "say"}}),
}
"""By node id: a button, the values of the fields, and outputs of the node."""


@pytest.mark.rule("surf-31", "surf-04")
@each_case("name", *PRESSED)
async def test_a_button_of_the_form_answers_and_one_with_another_target_does_not(
    host: InProcessHost, name: str
) -> None:
    action, values, expected = PRESSED[name]
    other = "resume" if name == "talk" else "exchange"
    given = form(*CONFIGS[name][1]["surface"]["components"][1:], {**button("other"), "action": {"target": other}})
    run_id, found = await asked(host, f"given-{name}", given=payload(given))
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{found['surface']['envelopeId']}/actions"
    inert = await host.call("POST", f"{path}/other", {"values": values})
    assert inert.status == 400, inert.body
    pressed = await host.call("POST", f"{path}/{action}", {"values": values})
    assert pressed.status == 200, pressed.body
    completed = (await events_of(host, run_id, "run.completed"))[-1]["payload"]["outputs"][name]
    assert {member: completed[member] for member in expected} == expected


def test_the_items_of_a_map_show_surfaces_and_ask_nothing() -> None:
    shown = {"component": "text", "text": "Parcel {{ports.input}}"}
    for components, status in (([shown], "completed"), ([shown, button("send")], "failed")):
        body = {"typeId": "core.ui.surface", "config": {"surface": {"components": components}}}
        each = {"input": {"type": "expression", "expression": "item"}}
        mapped = node("map", "core.flow.map", config={"items": [1, 2], "body": {**body, "inputs": each}})
        result = run_workflow(workflow([mapped]))
        assert result.status == status, result.error
        texts = [
            event.payload["surface"]["components"][0]["text"] for event in result.events if event.type == SURFACE_KIND
        ]
        assert sorted(texts) == (["Parcel 1", "Parcel 2"] if status == "completed" else [])
