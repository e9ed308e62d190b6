"""Random trees of workflows that start each other, and nodes that keep children in ways of their own."""

import asyncio
import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tests.harness.definitions import edge, node, variable, workflow
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    CancelChild,
    Completed,
    EmitEvent,
    Failed,
    NodeEffect,
    NodeOutcome,
    SetVariable,
    StartChild,
)
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration

CHILDREN_STARTED = "test.began"
CHILDREN_CANCELLED = "test.dropped"
ADD = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
PARENT_TYPE = "test.family"
REPEATED_PARENT_TYPE = "test.clan"
"""As a family, but executed again after a crash, and so early."""
PARENT_TYPES = (PARENT_TYPE, REPEATED_PARENT_TYPE)
CHILD_STARTING_TYPES = ("core.subWorkflow", "core.flow.map", *PARENT_TYPES)
"""Types that wait for children."""


class ChildPlan:
    """A node with several children. What it wants next is a function of those it has."""

    def __init__(self, config: Mapping[str, Any], children: Mapping[str, ChildState]) -> None:
        self._wanted: list[dict[str, Any]] = config["children"]
        self._width: int = config["width"]
        self._need: int = config["need"]
        self._leave_open: bool = config["leave"]
        self._children = children

    @property
    def is_satisfied(self) -> bool:
        """Whether no more are wanted: enough have ended well, or all have ended."""
        well = sum(child.status == "completed" for child in self._children.values())
        return well >= self._need or (not self.children_to_start and not self.open_children)

    @property
    def open_children(self) -> list[str]:
        return [key for key, child in self._children.items() if child.awaited and not child.has_ended]

    @property
    def children_to_start(self) -> list[dict[str, Any]]:
        room = self._width - len(self.open_children)
        found: list[dict[str, Any]] = []
        for each in self._wanted:
            if each["key"] not in self._children:
                if each["awaited"] and room <= 0:
                    break
                room -= each["awaited"]
                found.append(each)
        return found

    @property
    def children_to_cancel(self) -> list[str]:
        """Those that are open though there are enough."""
        return (
            [key for key in self.open_children if self._children[key].status != "cancelling"]
            if self.is_satisfied
            else []
        )

    @property
    def is_done(self) -> bool:
        return self.is_satisfied and (self._leave_open or not self.open_children)

    @property
    def needs_wakeup(self) -> bool:
        """Whether a look at them would change something."""
        return self.is_done or bool(self.children_to_cancel if self.is_satisfied else self.children_to_start)


class ParentNodes:
    """The node types; it outlives every process. With `dice` they take some turns of the loop to say something."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def types(self) -> list[WaitingNode]:
        found = (
            (PARENT_TYPE, self._run_parent, True),
            (REPEATED_PARENT_TYPE, self._run_parent, False),
            ("test.fail", self._fail, False),
        )
        free = {"type": "object"}
        return [
            WaitingNode(
                NodeDeclaration(
                    name, "For a storm.", instant=False, resumes_after_crash=continued, config=free, inputs=free
                ),
                body,
            )
            for name, body, continued in found
        ]

    async def _fail(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        return Failed("no_luck", "It does not work.")

    async def _run_parent(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        config = call.config
        family = ChildPlan(config, call.children)
        for _ in range(self._dice.randrange(6)):
            await asyncio.sleep(0)
        if self._dice.random() < config["slow"]:
            await context.sleep_until(context.started_at + self._dice.choice([1, 150, 2_000]) + len(call.children))
        ended = any(child.has_ended for child in call.children.values())
        if config["asks"] and ended:
            await context.ask(Interrupt("custom", f"{call.node_id}:{call.visit}", {"customKind": "test.ask"}))
        if config["fails"] and ended:
            return Failed("moody", "One has ended.")
        if family.is_done:
            statuses = {key: child.status for key, child in call.children.items() if child.awaited}
            values = [child.variables.get("n") for child in call.children.values() if child.status == "completed"]
            known = sum(value for value in values if value is not None)
            return Completed({"round": call.visit, "statuses": statuses}, (SetVariable("n", known),))
        effects: list[NodeEffect] = []
        if family.is_satisfied:
            for key in family.children_to_cancel:
                effects += [EmitEvent(CHILDREN_CANCELLED, {"childRunId": call.children[key].run_id}), CancelChild(key)]
            return AwaitsChildren(tuple(effects))
        for each in family.children_to_start:
            child = await context.prepare_child(
                each["key"],
                each["workflow"],
                {"n": "n"},
                variables=("n",),
                outputs=True,
                awaited=each["awaited"],
                cascade=each["cascade"],
            )
            if isinstance(child, Failed):
                return child
            effects += [StartChild(child), EmitEvent(CHILDREN_STARTED, {"childRunId": child.run_id})]
        return AwaitsChildren(tuple(effects))


def _leaf_workflow(dice: random.Random, workflow_id: str, exact: bool) -> dict[str, Any]:
    kinds = ["noop", "gate", "gate", "gate", "delay", "delay", "add"]
    if dice.random() < 0.3:
        kinds.append("fail")
    names = [dice.choice(kinds) for _ in range(dice.randint(1, 3))]
    nodes = [_plain_node(dice, f"{kind}{place}", kind) for place, kind in enumerate(names)]
    return _sequence(workflow_id, nodes)


def _plain_node(dice: random.Random, name: str, kind: str) -> dict[str, Any]:
    match kind:
        case "gate":
            return node(name, "core.approvalGate", config={"title": "Go on?"})
        case "delay":
            return node(name, "core.delay", config={"ms": dice.choice([1, 50, 400, 3_000])})
        case "add":
            return node(name, "core.setVariable", config={"name": "n"}, inputs=ADD)
        case "fail":
            return node(
                name,
                "test.fail",
                settings={"maxRetries": dice.choice([0, 1]), "retryDelayMs": dice.choice([10, 5_000])},
            )
        case _:
            return node(name)


def _sequence(workflow_id: str, nodes: list[dict[str, Any]], edges: Any = None, **more: Any) -> dict[str, Any]:
    row = [edge(one["id"], other["id"]) for one, other in pairwise(nodes)] if edges is None else edges
    return workflow(nodes, row, [variable("n", "number", defaultValue=1)], id=workflow_id, **more)


def _child_starting_node(dice: random.Random, name: str, below: list[str], exact: bool) -> dict[str, Any]:
    """A node that starts runs of workflows below."""
    settings: dict[str, Any] = {}
    if not exact and dice.random() < 0.2:
        settings |= {"maxRetries": 1, "retryDelayMs": dice.choice([1, 50, 5_000])}
    if not exact and dice.random() < 0.2:
        settings["timeoutMs"] = dice.choice([1, 200, 60_000])
    kind = dice.choice(CHILD_STARTING_TYPES)
    if kind == "core.subWorkflow":
        waits = dice.random() < 0.85
        config: dict[str, Any] = {
            "workflowId": dice.choice([*below * 30, "nowhere"]),
            "inputMapping": {"n": "n"},
            "waitForCompletion": waits,
            "onChildFailure": dice.choice(["fail-parent", "absorb"]),
            "propagateCancellation": dice.random() < 0.7,
        }
        if waits:
            config["outputMapping"] = {"n": "n"}
        return node(name, kind, config=config, settings=settings)
    if kind == "core.flow.map":
        body = {"workflowId": dice.choice(below), "inputs": {"n": {"type": "expression", "expression": "item"}}}
        config = {
            "items": list(range(dice.choice([0, 1, 2, 3, 4]))),
            "body": body,
            "concurrency": 1 if exact else dice.choice([1, 2, 10]),
        }
        return node(name, kind, config=config, settings=settings)
    count = dice.randint(2, 4)
    children = [
        {
            "key": f"c{place}",
            "workflow": dice.choice(below),
            "awaited": place == 0 or dice.random() < 0.8,
            "cascade": dice.random() < 0.8,
        }
        for place in range(count)
    ]
    awaited = sum(each["awaited"] for each in children)
    config = {
        "children": children,
        "width": dice.randint(1, 4),
        "need": count + 1 if exact else dice.choice([1, awaited, count + 1]),
        "leave": not exact and dice.random() < 0.3,
        "slow": dice.choice([0.0, 0.0, 0.3]),
        "fails": not exact and dice.random() < 0.1,
        "asks": dice.random() < 0.15,
    }
    return node(name, kind, config=config, settings=settings)


def random_tree(dice: random.Random, exact: bool = False) -> list[dict[str, Any]]:
    """Definitions that start each other, the top last. `exact`: how a run of it ends depends on nobody's speed."""
    documents = [_leaf_workflow(dice, f"leaf{place}", exact) for place in range(dice.randint(1, 3))]
    below = [each["id"] for each in documents]
    for level in range(1 if exact else dice.randint(1, 3)):
        made = [_middle_workflow(dice, f"level{level}-{place}", below, exact) for place in range(dice.randint(1, 2))]
        documents += made
        below = [*[each["id"] for each in made] * 2, *below]
    return [*documents, _middle_workflow(dice, "top", below, exact)]


def _middle_workflow(dice: random.Random, workflow_id: str, below: list[str], exact: bool) -> dict[str, Any]:
    nodes = [
        _child_starting_node(dice, f"n{place}", below, exact)
        if place == 0 or dice.random() < 0.6
        else _other_node(dice, f"n{place}")
        for place in range(dice.randint(1, 3))
    ]
    rules = ["all_success", "all_complete", "all_complete", "any_failed"]
    edges = [edge(one["id"], other["id"], dice.choice(rules)) for one, other in pairwise(nodes) if dice.random() < 0.7]
    for each in nodes:
        if each["typeId"] in PARENT_TYPES and dice.random() < 0.25:
            again = {"type": "expression", "expression": f"nodes.{each['id']}.outputs.round < 1.0"}
            edges.append(edge(each["id"], each["id"], condition=again))
    settings = {"timeout": dice.choice([300, 60_000])} if not exact and dice.random() < 0.1 else {}
    return _sequence(workflow_id, nodes, edges, settings=settings)


def _other_node(dice: random.Random, name: str) -> dict[str, Any]:
    return _plain_node(dice, name, dice.choice(["noop", "gate", "delay", "add"]))


def looping_tree(slow: float = 0.0) -> list[dict[str, Any]]:
    """A tree for one purpose: a node that goes round once, has three children, and may be slow to look at them."""
    children = [{"key": f"c{place}", "workflow": "leaf", "awaited": True, "cascade": True} for place in range(3)]
    config = {"children": children, "width": 2, "need": 4, "leave": False, "slow": slow, "fails": False, "asks": False}
    again = {"type": "expression", "expression": "nodes.n0.outputs.round < 1.0"}
    leaf = _sequence("leaf", [node("delay", "core.delay", config={"ms": 50})])
    return [leaf, _sequence("top", [node("n0", PARENT_TYPE, config=config)], [edge("n0", "n0", condition=again)])]
