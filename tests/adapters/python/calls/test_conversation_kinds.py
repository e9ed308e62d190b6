"""Conversations of Python nodes on hosts with and without the capability, and the agents that a host advertises."""

from typing import Any

import pytest

import weftwork
from tests.adapters.python.calls.asking_nodes import DATA
from tests.adapters.python.fake_node_host import single_node_workflow
from tests.harness.cases import fails_without
from tests.harness.definitions import node, workflow
from tests.live import open_in_process
from weftwork.protocol.workflow import registration

KINDS = ("conversation.start", "conversation.exchange", "conversation.close")


@weftwork.node("acme.talks")
async def talks(ctx: weftwork.Context, kind: str) -> str:
    await ctx.interrupt("k", DATA[kind], kind=kind, **({"timeout": 0.001, "default": 1} if "exchange" in kind else {}))
    return "asked"


@weftwork.node("acme.talks-plainly")
def talks_plainly(ctx: weftwork.PlainContext, kind: str) -> str:
    ctx.interrupt("k", DATA[kind], kind=kind, **({"timeout": 0.001, "default": 1} if "exchange" in kind else {}))
    return "asked"


def flows() -> dict[str, dict[str, Any]]:
    """The workflows by the kind that they ask for and the node type."""
    single = {
        f"{kind} {type_id}": (kind, type_id) for kind in KINDS for type_id in ("acme.talks", "acme.talks-plainly")
    }
    found = {
        name: single_node_workflow(f"talk-{at}", type_id, {"kind": kind})
        for at, (name, (kind, type_id)) in enumerate(single.items())
    }
    body = {"typeId": "acme.talks", "inputs": {"kind": {"type": "expression", "expression": "item"}}}
    mapped = node("n", "core.flow.map", config={"items": ["conversation.close"], "body": body})
    return {**found, "conversation.close mapped": workflow([mapped], id="mapped", name="mapped")}


async def outcomes(conversation: bool) -> dict[str, Any]:
    """How each workflow ends: its error, or the outputs of its node."""
    async with open_in_process(*flows().values(), nodes=(__name__,), conversation=conversation) as host:
        ends = {name: (await host.run_log(flow["id"]))[-1]["payload"] for name, flow in flows().items()}
    return {name: end.get("error") or end["outputs"]["n"] for name, end in ends.items()}


@pytest.mark.rule("wf-09")
async def test_a_host_with_conversations_takes_their_kinds() -> None:
    ends = await outcomes(True)
    assert {name: end for name, end in ends.items() if "capability" in str(end)} == {}
    assert ends["conversation.start acme.talks"] == ends["conversation.start acme.talks-plainly"] == {"output": "asked"}


@pytest.mark.rule("wf-09")
@fails_without(registration, "GATED_INTERRUPT_KINDS", {}, match="asked")
async def test_a_host_without_conversations_refuses_their_kinds() -> None:
    ends = await outcomes(False)
    item = ends.pop("conversation.close mapped")
    for name, error in ends.items():
        kind = name.split()[0]
        assert error.get("code") == "capability_required", (name, error)
        assert error["details"].items() >= {"requiredCapability": "conversationPrimitive", "kind": kind}.items()
        assert f"the kind {kind} needs the capability conversationPrimitive" in error["message"]
    assert item["details"]["code"] == "capability_required"


@pytest.mark.rule("disc-07")
async def test_agents_are_advertised_where_a_node_type_emits_their_events() -> None:
    for conformance in (False, True):
        async with open_in_process(conformance=conformance) as host:
            document = (await host.call("GET", "/.well-known/openwop")).document
        assert document["agents"]["supported"] is conformance
        assert document["agents"]["dispatch"] is True
