"""Random workflows: every rule, condition, port, branch and loop that a definition can hold, mostly such as can run.

A workflow is drawn from a `random.Random`, so hypothesis can shrink it and a seed can repeat it. What the host
refuses is taken out again, so that nearly every draw ends in a definition that runs.
"""

import random
from typing import Any

from tests.harness.definitions import TYPES, edge, node, variable, workflow
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.plan import TRIGGER_RULES, Plan, plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow

INPUTS = {"k": 2, "secret": 41}
NUMBERS = ["a", "b", "c", "secret"]
CHANNELS = {
    "listed": {"reducer": "append"},
    "last": {"reducer": "append", "maxSize": 2},
    "count": {"reducer": "counter", "default": 1},
    "merged": {"reducer": "merge"},
    "newest": {"reducer": "replace"},
    "votes": {"reducer": "votes"},
    "messages": {"reducer": "message"},
}
WRITES: dict[str, list[str]] = {
    "listed": ["variables.a", "[variables.b, inputs.k]"],
    "last": ["variables.a", "variables.b"],
    "count": ["1.0", "variables.b", "0.1"],
    "merged": ["{'x': variables.a}", "{'y': variables.b, 'x': 1.0}"],
    "newest": ["variables.c", "variables.a"],
    "votes": ["{'userId': 'u', 'value': variables.a}", "{'userId': 'w', 'value': 1.0}"],
    "messages": [
        "{'messageId': 'm', 'role': 'user', 'content': string(variables.a)}",
        "{'messageId': 'n', 'role': 'tool', 'content': 'b'}",
    ],
    "free-channel": ["variables.a"],
}
NODE_WEIGHTS = {
    "core.setVariable": 6,
    "core.identity": 3,
    "core.transform": 2,
    "core.channelWrite": 2,
    "core.conditional": 2,
    "core.loop": 2,
    "core.switch": 1,
    "core.merge": 2,
    "core.getVariable": 1,
    "core.template": 1,
    "core.noop": 1,
    "core.fail": 1,
    "test.flaky": 1,
}


def _run_flaky(call: NodeCall) -> NodeOutcome:
    """Fails as often as its config says; how often it has failed is put into its inputs by whoever calls it."""
    if call.inputs.get("failures", 0) < call.config["times"]:
        return Failed("boom", "Not yet.")
    return Completed({"output": call.config["times"]})


FLAKY = InstantNode(
    NodeDeclaration(
        "test.flaky",
        "Fails a few times, then completes.",
        config={"type": "object", "required": ["times"], "properties": {"times": {"type": "integer"}}},
    ),
    _run_flaky,
)
DECLARATIONS = {**TYPES, "test.flaky": FLAKY.declaration}


class _WorkflowGenerator:
    """One workflow on its way."""

    def __init__(self, dice: random.Random, most: int, kinds: dict[str, int]) -> None:
        self._dice = dice
        self._kinds = kinds
        self._count = dice.randint(1, most)
        self._names = [f"n{index}" for index in range(self._count)]
        if dice.random() < 0.3:
            dice.shuffle(self._names)
        self._above: list[set[int]] = [set() for _ in self._names]
        self._edges = 0

    def document(self) -> dict[str, Any]:
        dice = self._dice
        pairs = self._pairs()
        kinds = dice.choices(list(self._kinds), list(self._kinds.values()), k=self._count)
        loops = [self._loop(kinds) for _ in range(dice.choice([0, 0, 1, 1, 2, 3]))]
        nodes = [self._node(index, kind) for index, kind in enumerate(kinds)]
        edges = [self._edge(a, b, kinds[a]) for a, b in pairs]
        for source, target, counted in loops:
            back = self._edge(source, target, kinds[source])
            if counted:
                # It counts its rounds, so that it comes to an end by itself.
                name = dice.choice("abc")
                step = {"value": {"type": "expression", "expression": f"variables.{name} + 1.0"}}
                nodes[target] = node(self._names[target], "core.setVariable", config={"name": name}, inputs=step)
                more = {"type": "expression", "expression": f"variables.{name} < {dice.randint(1, 5)}.0"}
                back = edge(self._names[source], self._names[target], "all_complete", id=back["id"], condition=more)
            edges.append(back)
        if dice.random() < 0.3:
            dice.shuffle(edges)
        if dice.random() < 0.2:
            dice.shuffle(nodes)
        variables = [variable(name, "number", defaultValue=index) for index, name in enumerate("abc")]
        variables.append(variable("secret", "number", sensitive=True))
        settings = {"maxLoopbackIterations": dice.choice([1, 2, 4, 5, 5])}
        channels = {name: dict(channel) for name, channel in CHANNELS.items()}
        return workflow(nodes, edges, variables, settings=settings, channels=channels)

    def _loop(self, kinds: list[str]) -> tuple[int, int, bool]:
        """Ends of an edge that leads back, mostly, and whether the loop is to count its rounds."""
        dice = self._dice
        source = dice.randrange(self._count)
        target = dice.choice([source, *sorted(self._above[source]) * 3])
        style = dice.choice(["counted", "counted", "headed", "wild"])
        if style == "headed":
            kinds[target] = "core.loop"
        return source, target, style == "counted" and kinds[target] != "core.loop"

    def _pairs(self) -> list[tuple[int, int]]:
        dice = self._dice
        found: list[tuple[int, int]] = []
        wide = dice.random() < 0.4
        for target in range(1, self._count):
            if dice.random() < 0.12:
                continue
            for _ in range(dice.choice([1, 1, 1, 2, 2, 3])):
                source = dice.randrange((target + 1) // 2) if wide else dice.randrange(max(0, target - 5), target)
                found.append((source, target))
                self._above[target] |= {source, *self._above[source]}
        return found

    def _edge(self, a: int, b: int, kind: str) -> dict[str, Any]:
        dice = self._dice
        self._edges += 1
        more: dict[str, Any] = {"id": f"e{dice.randrange(100)}-{self._edges}"}
        if kind == "core.conditional" and dice.random() < 0.8:
            more["sourceOutput"] = dice.choice(["true", "false"])
        elif kind == "core.loop":
            more["sourceOutput"] = dice.choice(["body", "body", "done", "output"])
        elif kind == "core.switch" and dice.random() < 0.8:
            more["sourceOutput"] = dice.choice(["one", "two", "rest"])
        if dice.random() < 0.2:
            more["targetInput"] = dice.choice(["x", "y", "value"])
        if dice.random() < (0.35 if b > a else 0.8):
            more["condition"] = self._condition(a)
        rule = dice.choice([None, None, None, None, *TRIGGER_RULES])
        return edge(self._names[a], self._names[b], rule, **more)

    def _condition(self, at: int) -> dict[str, Any]:
        dice = self._dice
        kind = dice.choice(["expression", "expression", "expression", "equals", "notEquals", "contains", "regex"])
        if kind == "expression":
            return {"type": kind, "expression": self._truth(at)}
        left = dice.choice(["output", "output", "status", "output.0", "x"])
        right: Any = dice.choice(["completed", 1, 2, True]) if kind != "regex" else dice.choice(["^comp", "fail"])
        return {"type": kind, "left": left, "right": right}

    def _number(self, at: int) -> str:
        dice = self._dice
        name, other = dice.choice(["a", *NUMBERS]), dice.choice(NUMBERS)
        shapes = [
            f"variables.{name} + 1.0",
            f"variables.{name} + 1.0",
            f"variables.{name} + variables.{other} * 2.0",
            "inputs.k",
            f"variables.{name}",
        ]
        if (read := self._readable(at)) is not None:
            output = f"nodes.{read}.outputs.output"
            shapes += [f"has(nodes.{read}) ? 1.0 : variables.{name}", output]
            shapes += [f"has(nodes.{read}) && has({output}) ? {output} : 0.5"] * 2
        return dice.choice(shapes)

    def _truth(self, at: int) -> str:
        dice = self._dice
        shapes = [f"variables.{dice.choice(NUMBERS)} < {dice.randint(0, 6)}.0"] * 4
        shapes += [f"int(variables.{dice.choice(NUMBERS)}) % 2 == 0", "inputs.k > 1.0", "variables.gone == 1.0"]
        if (read := self._readable(at)) is not None:
            shapes.append(f"has(nodes.{read})")
        return dice.choice(shapes)

    def _readable(self, at: int) -> str | None:
        """A node to read: one before this one, or any, which may come round a loop or be refused."""
        dice = self._dice
        if self._above[at] and dice.random() < 0.75:
            return self._names[dice.choice(sorted(self._above[at]))]
        return self._names[dice.randrange(self._count)] if dice.random() < 0.5 else None

    def _port(self, at: int) -> dict[str, Any]:
        dice = self._dice
        kind = dice.choice(["static", "variable", "expression", "expression", "connection", "connection"])
        if kind == "static":
            return {"type": kind, "value": dice.choice([1, "text", None, [1, 2]])}
        if kind == "variable":
            name = dice.choice([*NUMBERS, "free", "gone"])
            return {"type": kind, "variableName": name, "optional": dice.random() < 0.7}
        read = self._readable(at)
        if kind == "connection" and read is not None:
            key = dice.choice(["output", "output", "x"])
            return {"type": kind, "nodeId": read, "outputKey": key, "optional": dice.random() < 0.8}
        return {"type": "expression", "expression": self._number(at)}

    def _node(self, index: int, kind: str) -> dict[str, Any]:
        dice = self._dice
        inputs = {port: self._port(index) for port in ("x", "output", "input") if dice.random() < 0.25}
        more: dict[str, Any] = {"inputs": inputs, "disabled": dice.random() < 0.06}
        if dice.random() < 0.1:
            more["outputRole"] = "primary"
        if dice.random() < 0.07:
            more["outputSensitivity"] = {"output": True}
        if kind in ("core.fail", "test.flaky"):
            more["settings"] = {"maxRetries": dice.choice([0, 1, 2]), "retryDelayMs": 10}
        return node(self._names[index], kind, config=self._config(index, kind, inputs), **more)

    def _config(self, index: int, kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
        dice = self._dice
        if kind == "core.setVariable":
            name = dice.choice(["a", "a", "a", "b", *NUMBERS, "free"])
            inputs["value"] = (
                {"type": "expression", "expression": self._number(index)} if name != "free" else self._port(index)
            )
            return {"name": name}
        if kind == "core.channelWrite":
            channel = dice.choice(list(WRITES))
            inputs["value"] = {"type": "expression", "expression": dice.choice(WRITES[channel])}
            return {"channelName": channel}
        if kind == "core.conditional":
            return {"expression": self._truth(index)}
        if kind == "core.switch":
            return {"expression": self._number(index), "cases": {"one": 1, "two": 2}, "default": "rest"}
        if kind == "core.loop":
            times = {"times": dice.randint(0, 3)}
            return {**times, "while": self._truth(index)} if dice.random() < 0.2 else times
        if kind == "core.merge":
            return {"mode": dice.choice(["object", "array", "first"])}
        if kind == "core.transform":
            fields = {"fields": {"output": self._number(index), "x": self._truth(index)}}
            return {"expression": self._number(index)} if dice.random() < 0.5 else fields
        if kind == "core.template":
            return {"template": f"at {{{{{self._number(index)}}}}}"}
        if kind == "core.getVariable":
            return {"name": dice.choice([*NUMBERS, "free"]), "default": "none"}
        if kind == "core.flow.map":
            value = {"type": "expression", "expression": f"item * 2.0 + variables.{dice.choice(NUMBERS)}"}
            body = {"typeId": "core.template", "config": {"template": "{{ports.x}}"}, "inputs": {"x": value}}
            inputs.pop("input", None)
            return {"items": [1, 2, 3], "body": body, "concurrency": dice.randint(1, 3)}
        if kind == "core.delay":
            return {"ms": dice.choice([0, 5, 10])}
        if kind == "core.interrupt":
            return {"kind": "custom", "data": {"customKind": "ask"}}
        return {"times": dice.randint(0, 2)} if kind == "test.flaky" else {}


def violations_of(document: dict[str, Any]) -> tuple[Plan | None, list[Violation]]:
    """What the host says of a definition."""
    parsed, violations = parse_workflow(document, DECLARATIONS)
    return (None, violations) if parsed is None else plan_workflow(parsed)


def without_pointer(document: dict[str, Any], pointer: str) -> dict[str, Any]:
    _, members, number, *rest = pointer.split("/")
    index = int(number)
    kept = list(document[members])
    if members == "nodes" and rest[:1] == ["inputs"]:
        inputs = {name: port for name, port in kept[index]["inputs"].items() if name != rest[1]}
        kept[index] = {**kept[index], "inputs": inputs}
    elif members == "nodes":
        kept[index] = node(kept[index]["id"], "core.identity", inputs=kept[index]["inputs"])
    elif rest[:1] == ["condition"]:
        kept[index] = {name: value for name, value in kept[index].items() if name != "condition"}
    else:
        del kept[index]
    return {**document, members: kept}


def random_workflow(dice: random.Random, most: int = 10, more: dict[str, int] | None = None) -> dict[str, Any]:
    """A definition that the host takes. `more` are further kinds of nodes, with how often they come."""
    document = _WorkflowGenerator(dice, most, {**NODE_WEIGHTS, **(more or {})}).document()
    for _ in range(100):
        plan, violations = violations_of(document)
        if plan is not None:
            return document
        assert all(each.pointer and each.message for each in violations)
        document = without_pointer(document, violations[0].pointer)
    raise AssertionError(f"it never becomes a workflow: {document}")
