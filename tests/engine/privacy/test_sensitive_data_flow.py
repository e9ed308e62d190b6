"""Random graphs with secrets of every type: no reader sees one, and every node is given what it needs."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.privacy.test_sensitive_values import everything_shown
from tests.harness.definitions import edge, for_all, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, run_ready_tasks
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.json import schema
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.header import TERMINAL_STATUSES
from weftwork.protocol.workflow.node_types import NodeDeclaration

RULES = ["all_success", "all_success", "any_success", "all_complete", "any_failed"]
KINDS = ["test.keep", "test.keep", "core.identity", "core.noop", "test.mint", "test.tell", "test.gate"]
JSON_TYPES = {str: "string", int: "number", float: "number", dict: "object", list: "array"}
Given = dict[str, dict[str, Any]]


class Canaries:
    """Values that occur nowhere else, and the words by which each is recognised."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.words: list[str] = []

    def value(self) -> Any:
        digits = str(self._dice.randrange(10**14, 10**15 - 1) | 1)
        self.words.append(digits)
        number = int(digits)
        shapes: list[Any] = [f"text {digits}", number, float(f"0.{digits}"), {f"name-{digits}": True}, [[number]]]
        return self._dice.choice([*shapes, {"a": [None, {"b": f"{digits}" * 9}]}])


def a_graph(dice: random.Random, canaries: Canaries) -> tuple[dict[str, Any], dict[str, Any]]:
    """A definition and the inputs of a run of it."""
    secrets = {f"secret{index}": canaries.value() for index in range(dice.randint(0, 2))}
    variables = [variable(name, JSON_TYPES[type(value)], sensitive=True) for name, value in secrets.items()]
    names = [f"n{index}" for index in range(dice.randint(2, 8))]
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        above = [each for each in names[:index] if dice.random() < 0.4]
        edges += [edge(each, name, dice.choice(RULES), **carried(dice)) for each in above]
        ports: dict[str, Any] = {}
        for port in ("input", "x", "y"):
            chosen = dice.choice(["nothing", "nothing", "variable", "connection"])
            if chosen == "variable":
                ports[port] = {"type": chosen, "variableName": dice.choice([*secrets, "plain"]), "optional": True}
            elif chosen == "connection" and above:
                key = dice.choice(["output", "out", "x"])
                ports[port] = {"type": chosen, "nodeId": dice.choice(above), "outputKey": key, "optional": True}
        kind = dice.choice(KINDS)
        more = {"outputSensitivity": {"output": True}} if kind == "test.mint" else {}
        nodes.append(node(name, kind, inputs=ports, **more))
    return workflow(nodes, edges, [*variables, variable("plain")]), {**secrets, "plain": "in the open"}


def carried(dice: random.Random) -> dict[str, Any]:
    return {} if dice.random() < 0.5 else {"sourceOutput": dice.choice(["out", "x"]), "targetInput": dice.choice("xz")}


def bare(document: dict[str, Any]) -> dict[str, Any]:
    """The same definition with nothing to hide."""
    nodes = [{name: value for name, value in each.items() if name != "outputSensitivity"} for each in document["nodes"]]
    return {**document, "nodes": nodes, "variables": [{**each, "sensitive": False} for each in document["variables"]]}


def types(minted: dict[str, Any], seen: Given) -> list[InstantNode]:
    def keep(call: NodeCall) -> NodeOutcome:
        seen[call.node_id] = call.inputs
        return Completed({"output": call.inputs, "out": list(call.inputs.values()), "x": len(call.inputs)})

    def tell(call: NodeCall) -> NodeOutcome:
        seen[call.node_id] = call.inputs
        return Failed("told", "It ends here.", {"given": call.inputs})

    def mint(call: NodeCall) -> NodeOutcome:
        return Completed({"output": minted[call.node_id], "out": "in the open"})

    made = {"test.keep": keep, "test.tell": tell, "test.mint": mint}
    return [InstantNode(NodeDeclaration(name, "For one test."), code) for name, code in made.items()]


async def lived(
    document: dict[str, Any], inputs: dict[str, Any], minted: dict[str, Any], crashes: int
) -> tuple[Given, str]:
    """What the nodes were given, and all that was ever shown, of one run with that many restarts at its gates."""
    seen: Given = {}
    shown = ""
    bench, key = await EngineHarness(*types(minted, seen)).with_settled_run(document, inputs=inputs)
    while await bench.status(key) not in TERMINAL_STATUSES:
        shown += await everything_shown(bench, key)
        if crashes:
            crashes -= 1
            bench = await bench.restart()
            await run_ready_tasks()
        for call in bench.gate_node.calls:
            if call.node_id in bench.gate_node.waiting:
                seen[call.node_id] = call.inputs
                bench.gate_node.release(call.node_id, Completed({"output": call.inputs, "x": 7}))
        await run_ready_tasks()
    for event in await bench.events(key):
        assert schema.check("run-event", msgspec.json.decode(event.document)) == []
        assert schema.check_payload(event.type, msgspec.json.decode(event.payload)) == []
    shown += await everything_shown(bench, key)
    await bench.crash()
    return seen, shown


async def leaks(seed: int) -> list[str]:
    """Words of secrets that some reader saw, in a run with or without restarts."""
    dice = random.Random(seed)
    canaries = Canaries(dice)
    document, inputs = a_graph(dice, canaries)
    minted = {each["id"]: canaries.value() for each in document["nodes"] if each["typeId"] == "test.mint"}
    wanted, _ = await lived(bare(document), inputs, minted, 0)
    found: list[str] = []
    for crashes in (0, 2):
        seen, shown = await lived(document, inputs, minted, crashes)
        assert seen == wanted
        found += [word for word in canaries.words if word in shown]
    return found


async def all_leaks(seeds: range) -> list[str]:
    return [word for seed in seeds for word in await leaks(seed)]


@pytest.mark.rule("hide-02", "hide-03", "hide-04")
@for_all(60, st.integers(0, 2**48))
async def test_no_reader_sees_a_secret_and_every_node_gets_its_value(seed: int) -> None:
    assert (await leaks(seed)) == []


async def test_without_the_flow_a_secret_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.protocol.workflow.taint._DataFlowIndex.is_source", lambda flow, node: False)
    assert await all_leaks(range(30))


async def test_without_the_hidden_values_a_node_would_get_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Redactor.hide_payload
    monkeypatch.setattr(Redactor, "hide_payload", lambda *arguments: (real(*arguments)[0], []))
    with pytest.raises(AssertionError):
        await all_leaks(range(30))
