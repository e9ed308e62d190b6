"""Runs with content from outside, and how a test tells what is made of it."""

from itertools import pairwise
from typing import Any

from tests.harness.child_workflows import start_run
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness
from tests.simulation.trust_workflows import MIXING_TYPES
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import RunKey

VARIABLES = [variable(name, "array", defaultValue=[]) for name in "abc"]
GATE_TYPE = "test.gate"
STATIC = {"type": "static", "value": []}


def port(kind: str, name: str) -> dict[str, Any]:
    return (
        {"type": "variable", "variableName": name}
        if kind == "variable"
        else {
            "type": "connection",
            "nodeId": name,
            "outputKey": "output",
        }
    )


def mixing_node(name: str, *variables: str, **config: Any) -> dict[str, Any]:
    kind = "test.set" if "sets" in config else "test.mix"
    return node(name, kind, config=config, inputs={each: port("variable", each) for each in variables})


def untrusted_node(name: str, sets: str | None = None) -> dict[str, Any]:
    return node(name, "test.outside", config={"sets": sets} if sets else {})


def sequence(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One after another; nothing is brought along, since each port that would take it has a value of its own."""
    linked = [{**each, "inputs": {"input": STATIC, **each["inputs"]}} for each in nodes]
    names = [each["id"] for each in nodes]
    edges = [edge(low, high) for low, high in pairwise(names)]
    return workflow(linked, edges, VARIABLES, **more)


def untrusted_nodes(events: list[Event], kind: str = "node.completed") -> dict[str, bool]:
    """Node -> whether its newest event of that type is untrusted."""
    return {each.node_id or "": each.content_trust == "untrusted" for each in events if each.type == kind}


async def run_untrusted(
    document: dict[str, Any], *others: dict[str, Any], bench: EngineHarness | None = None
) -> tuple[EngineHarness, RunKey]:
    return await start_run(document, *others, bench=bench or EngineHarness(*MIXING_TYPES))
