"""The event types that node code may emit, on a whole host: async and plain functions, and items of a map."""

from typing import Any

import pytest

import weftwork
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import fails_without
from tests.harness.definitions import node, workflow
from tests.live import open_in_process
from weftwork.protocol.run import events as events_module
from weftwork.protocol.run.events import CATALOGUE, RESERVED_FAMILIES

OWN = "acme.scored"
REFUSED = sorted([*CATALOGUE, *(f"{family}.other" for family in RESERVED_FAMILIES), "ai.message.chunk", "plain"])
PORTS = {"types": {"type": "static", "value": [*REFUSED, OWN]}}


def emit_each(ctx: Any, types: list[str]) -> dict[str, str]:
    """Emit an event of each type; the errors by type."""
    errors: dict[str, str] = {}
    for name in types:
        try:
            ctx.emit(name, {"by": "node code"})
        except ValueError as error:
            errors[name] = str(error)
    return errors


@weftwork.node("acme.emits")
async def emits(ctx: weftwork.Context, types: list[str]) -> dict[str, str]:
    return emit_each(ctx, types)


@weftwork.node("acme.emits-plainly")
def emits_plainly(ctx: weftwork.PlainContext, types: list[str]) -> dict[str, str]:
    return emit_each(ctx, types)


def mapped(type_id: str) -> dict[str, Any]:
    body = {"typeId": type_id, "inputs": PORTS}
    return workflow([node("n", "core.flow.map", config={"items": [1], "body": body})], id="mapped", name="mapped")


@pytest.mark.rule("evt-06")
@fails_without(events_module, "RESERVED_FAMILIES", frozenset(), match=r"agent\.other")
async def test_node_code_emits_no_event_of_the_protocol_or_of_the_host() -> None:
    flows = [
        single_node_workflow("async", "acme.emits", {"types": [*REFUSED, OWN]}),
        single_node_workflow("plain", "acme.emits-plainly", {"types": [*REFUSED, OWN]}),
        mapped("acme.emits"),
    ]
    async with open_in_process(*flows, nodes=(__name__,)) as host:
        for flow in flows:
            events = await host.run_log(flow["id"])
            outputs = events[-1]["payload"]["outputs"]["n"]
            errors = outputs["results"][0] if flow["id"] == "mapped" else outputs
            emitted = [event["type"] for event in events if event["payload"] == {"by": "node code"}]
            assert (emitted, sorted(errors)) == ([OWN], REFUSED), flow["id"]
            assert errors["agent.other"] == (
                "'agent.other' is not a valid custom event type: event types that begin with agent. are reserved for "
                "the protocol and the host. Use your own prefix, such as acme.scored."
            )
            assert "joined by dots" in errors["plain"]
