"""Random workflows whose values tell where they come from.

Every value is a list of words, and a node gives all the words that it was given, wherever it read them. What is from
outside has the word OUT. So whether a value is made of something from outside can be seen in the value itself, and no
rule of the host is needed to say so.
"""

import random
from typing import Any

from tests.harness.definitions import TYPES, edge, node, variable, workflow
from weftwork.ports.node_outcome import (
    AppendLog,
    Completed,
    EmitArtifact,
    Failed,
    NodeOutcome,
    SetVariable,
    Suspended,
    WriteChannel,
)
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import TRIGGER_RULES, Plan, plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow

UNTRUSTED_WORD = "OUT"
NAMES = ("a", "b", "c")
CORRELATION = {"order": "7"}
_CONFIG = {
    "type": "object",
    "properties": {
        "read": {"type": "string"},
        "sets": {"type": "string"},
        "gets": {"type": "string"},
        "channel": {"type": "string"},
        "fails": {"type": "boolean"},
        "kind": {"type": "string"},
    },
}


def words_in(value: Any) -> set[str]:
    """All words in a value, whatever is around them."""
    if isinstance(value, str):
        return {value} if value == UNTRUSTED_WORD else set()
    if isinstance(value, dict):
        return {word for each in value.values() for word in words_in(each)}
    return {word for each in value for word in words_in(each)} if isinstance(value, list) else set()


def _input_words(call: NodeCall) -> list[str]:
    config = call.config
    found = words_in(list(call.inputs.values())) | words_in([each.value for each in call.arrivals])
    if "read" in config:
        found |= words_in(call.scope.evaluate(config["read"], {"ports": call.inputs}))
    if "gets" in config:
        found |= words_in(call.scope.variable(config["gets"]))
    return sorted(found)


def _outcome_of(call: NodeCall, found: list[str]) -> NodeOutcome:
    config = call.config
    if config.get("fails"):
        return Failed("boom", "It fails.", {"found": found}, retryable=False)
    effects: list[Any] = [AppendLog("info", "mixed", {"found": found})]
    if "sets" in config:
        effects.append(SetVariable(config["sets"], found))
    if "channel" in config:
        effects.append(WriteChannel(config["channel"], found, "append"))
    effects.append(EmitArtifact(f"{call.node_id}-{call.visit}", "words", found))
    return Completed({"output": found, "round": call.iteration}, tuple(effects))


def _run_mix(call: NodeCall) -> NodeOutcome:
    return _outcome_of(call, _input_words(call))


def _run_untrusted(call: NodeCall) -> NodeOutcome:
    return _outcome_of(call, [UNTRUSTED_WORD])


def _run_ask(call: NodeCall) -> NodeOutcome:
    kind = call.config["kind"]
    found = _input_words(call)
    key = f"{call.node_id}:{call.visit}"
    if key not in call.answers:
        data: dict[str, Any] = {"customKind": "test.words", "payload": {"found": found}}
        if kind == "external-event":
            data = {"eventType": "test.happened", "correlation": CORRELATION}
        return Suspended(Interrupt(kind, key, data))
    return _outcome_of(call, sorted(set(found) | words_in(call.answers[key].value)))


def _declaration(name: str, **more: Any) -> NodeDeclaration:
    return NodeDeclaration(
        name,
        "For tests.",
        config=_CONFIG,
        expressions={"/read": ()},
        **more,
    )


MIXING_TYPES = (
    InstantNode(_declaration("test.mix"), _run_mix),
    InstantNode(_declaration("test.set", sets_variable="sets"), _run_mix),
    InstantNode(_declaration("test.get", reads_variable="gets"), _run_mix),
    InstantNode(_declaration("test.write", writes_channel="channel"), _run_mix),
    InstantNode(_declaration("test.gather", gathers_edges=True), _run_mix),
    InstantNode(_declaration("test.outside", external_content=True), _run_untrusted),
    InstantNode(_declaration("test.ask"), _run_ask),
)
DECLARATIONS = {**TYPES, **{each.declaration.type_id: each.declaration for each in MIXING_TYPES}}
_KINDS = ("mix", "mix", "mix", "set", "set", "get", "write", "gather", "outside", "ask")


def random_workflow(dice: random.Random, most: int = 8) -> dict[str, Any]:
    names = [f"n{index}" for index in range(dice.randint(2, most))]
    nodes = [_node(dice, name, names) for name in names]
    pairs = {(dice.randrange(at), at) for at in range(1, len(names)) if dice.random() < 0.9}
    pairs |= {(low, high) for high in range(len(names)) for low in range(high) if dice.random() < 0.15}
    edges = [_edge(dice, names[low], names[high]) for low, high in sorted(pairs)]
    for _ in range(dice.choice([0, 0, 1, 1, 2])):
        high = dice.randrange(len(names))
        low = dice.randrange(high + 1)
        rounds = {"type": "expression", "expression": f"nodes.{names[high]}.outputs.round < {dice.randint(1, 2)}"}
        back = edge(names[high], names[low], id=f"back-{len(edges)}", condition=rounds)
        edges.append({**back, "targetInput": dice.choice(["x", "y"])} if dice.random() < 0.5 else back)
    variables = [variable(name, "array", defaultValue=[]) for name in NAMES]
    channels = {"said": {"reducer": "append"}, "last": {"reducer": "replace"}}
    document = workflow(nodes, edges, variables, channels=channels)
    while True:
        plan, violations = plan_or_violations(document)
        if plan is not None:
            return document
        document = _without(document, violations[0].pointer)


def plan_or_violations(document: dict[str, Any]) -> tuple[Plan | None, list[Any]]:
    parsed, violations = parse_workflow(document, DECLARATIONS)
    return plan_workflow(parsed) if parsed is not None else (None, violations)


def _without(document: dict[str, Any], pointer: str) -> dict[str, Any]:
    """The same without what is refused there."""
    _, kind, index, *below = pointer.split("/")
    place = document[kind][int(index)]
    if below[0] == "inputs":
        place["inputs"].pop(below[1])
    elif below[0] == "config":
        place["config"].pop(below[1])
    else:
        document[kind].pop(int(index))
    return document


def _node(dice: random.Random, name: str, names: list[str]) -> dict[str, Any]:
    kind = dice.choice(_KINDS)
    config: dict[str, Any] = {}
    if kind == "set":
        config["sets"] = dice.choice(NAMES)
    elif kind == "get":
        config["gets"] = dice.choice(NAMES)
    elif kind == "write":
        config["channel"] = dice.choice(["said", "last"])
    elif kind == "ask":
        config["kind"] = dice.choice(["custom", "external-event"])
    if dice.random() < 0.3:
        config["read"] = dice.choice(_reads(dice, names))
    if dice.random() < 0.05:
        config["fails"] = True
    inputs = {port: _port(dice, names) for port in "xyz" if dice.random() < 0.3}
    return node(name, f"test.{kind}", config=config, inputs=inputs)


def _reads(dice: random.Random, names: list[str]) -> list[str]:
    one, other, third = dice.choice(NAMES), dice.choice(NAMES), dice.choice(names)
    outputs = f"(has(nodes.{third}) ? nodes.{third}.outputs.output : [])"
    return [f"variables.{one}", f"variables.{one} + variables.{other}", f"variables.{one} + {outputs}", outputs]


def _port(dice: random.Random, names: list[str]) -> dict[str, Any]:
    kind = dice.choice(["static", "variable", "connection", "connection", "expression"])
    if kind == "static":
        return {"type": "static", "value": []}
    if kind == "variable":
        return {"type": "variable", "variableName": dice.choice(NAMES)}
    if kind == "expression":
        return {"type": "expression", "expression": dice.choice(_reads(dice, names))}
    return {"type": "connection", "nodeId": dice.choice(names), "outputKey": "output", "optional": True}


def _edge(dice: random.Random, source: str, target: str) -> dict[str, Any]:
    made = edge(source, target, dice.choice(list(TRIGGER_RULES)) if dice.random() < 0.3 else None)
    if dice.random() < 0.2:
        made["condition"] = {"type": "expression", "expression": dice.choice(["true", "size(variables.a) == 0"])}
    if dice.random() < 0.4:
        made["targetInput"] = dice.choice(["x", "y"])
    return made
