"""A world outside the host that is looked at closely, nodes that touch it in every way, and random graphs of them."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.external_system import effect_node_type
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, NotDone
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.run.effects import effect_key
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import Effect

Identity = tuple[str, int, str]
"""Node, with its item in a map; how often loops have come round to it; step."""


class GatedExternalSystem:
    """Outlives every process. A touch is sent, arrives and is answered, each when the test lets it."""

    def __init__(self) -> None:
        self.received_keys: list[str] = []
        self.gates: dict[str, asyncio.Future[None]] = {}
        self.violations: list[str] = []
        """What nodes found that must not be."""
        self._refused: Counter[str] = Counter()
        self._pinned: dict[str, int] = {}
        self._calls = 0

    async def call(self, key: str, inputs: dict[str, Any]) -> Any:
        """A touch whose sender dies before it arrives never arrives. The answer repeats what was sent."""
        self._calls += 1
        name = f"touch {self._calls}"
        await self.wait(f"{name} arrives")
        self.received_keys.append(key)
        await self.wait(f"{name} is answered")
        return {"receipt": name, **inputs}

    def is_refused(self, key: str, times: int) -> bool:
        """Whether nothing can be done yet; so many times, whoever asks."""
        self._refused[key] += 1
        return self._refused[key] <= times

    async def wait(self, name: str) -> None:
        """Until the test lets it happen."""
        gate = self.gates[name] = asyncio.get_running_loop().create_future()
        try:
            await gate
        finally:
            if self.gates.get(name) is gate:
                del self.gates[name]

    def types(self, concurrency: int = 0) -> list[WaitingNode]:
        """Node types of all effect classes, of which so many run at once."""
        more: dict[str, Any] = {"config": {"type": "object"}, "concurrency": concurrency}
        return [
            effect_node_type("test.once", self._run_whole, "once", **more),
            effect_node_type("test.idempotent", self._run_whole, "idempotent", **more),
            effect_node_type("test.steps", self._run_steps, "pure", **more),
        ]

    async def _run_whole(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        key = context.effect_key()
        if self.is_refused(key, call.config.get("busy", 0)):
            return Failed("busy", "Nothing has happened.")
        return Completed({"round": call.visit, **await self.call(key, call.inputs)})

    async def _run_steps(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        config = call.config
        if config.get("asks") == "before":
            await context.ask(_interrupt_for(call))
        if config.get("pins"):
            await self._pin(call, context)
        running = [partial(self._step, call, context, name, effect) for name, effect in config["steps"].items()]
        if config.get("together"):
            # Whoever does several things at once waits for all of them, whatever becomes of one.
            for found in await asyncio.gather(*(run() for run in running), return_exceptions=True):
                if isinstance(found, BaseException):
                    raise found
        else:
            for run in running:
                await run()
        if config.get("asks") == "after":
            await context.ask(_interrupt_for(call))
        if self.is_refused(f"{context.effect_key()} late", config.get("busy", 0)):
            return Failed("busy", "Too late.")
        return Completed({"round": call.visit})

    async def _pin(self, call: NodeCall, context: NodeContext) -> None:
        """Each entry would pin another version; all of them must be told the same one."""
        change = f"{call.node_id}:{call.visit}"
        version = await context.pin_version(change, self._calls + call.attempt)
        if self._pinned.setdefault(change, version) != version:
            self.violations.append(f"{change} was pinned at {self._pinned[change]} and is {version} now")

    async def _step(self, call: NodeCall, context: NodeContext, name: str, effect: Effect) -> None:
        key = context.effect_key(name)

        async def run() -> Any:
            if self.is_refused(key, call.config.get("undone", 0)):
                raise NotDone
            return await self.call(key, call.inputs)

        found = await context.step(name, effect, run)
        if found not in ({**call.inputs, "receipt": found["receipt"]}, RECEIPT):
            self.violations.append(f"the step {name} came back with {found}")


def _interrupt_for(call: NodeCall) -> Interrupt:
    return Interrupt("custom", f"{call.node_id}:{call.visit}", {"customKind": "test.ask"})


SECRET = "secret-text"
RECEIPT = {"receipt": "seen"}
"""What somebody gives as the output of a step that they know to have happened."""
RETRIES = {"maxRetries": 90, "retryDelayMs": 1}
REPEAT_ONCE = "nodes.{}.outputs.round < 1.0"


def random_node(dice: random.Random, name: str, limited: bool, whole: float = 0.4) -> dict[str, Any]:
    """A node that touches the world. `whole` says how many of them do so outside of steps."""
    settings = {**RETRIES, "timeoutMs": 50} if limited else RETRIES
    if dice.random() < 0.3:
        items = list(range(dice.randint(1, 4)))
        body = {**_effect_nodes(dice, whole, asks=False), "inputs": {}}
        config = {"items": items, "body": body, "concurrency": dice.randint(1, 3)}
        return node(name, "core.flow.map", config=config, settings=settings)
    touching = _effect_nodes(dice, whole, asks=True)
    return node(name, touching["typeId"], config=touching["config"], settings=settings)


def _effect_nodes(dice: random.Random, whole: float, asks: bool) -> dict[str, Any]:
    busy = dice.choice([0, 0, 0, 1])
    if dice.random() < whole:
        return {"typeId": dice.choice(["test.once", "test.once", "test.idempotent"]), "config": {"busy": busy}}
    names = "xyz"[: dice.randint(1, 3)]
    config = {
        "steps": {name: dice.choice(["once", "once", "idempotent"]) for name in names},
        "pins": dice.random() < 0.3,
        "together": dice.random() < 0.4,
        "asks": dice.choice(["no", "no", "before", "after"]) if asks else "no",
        "busy": busy,
        "undone": dice.choice([0, 0, 0, 1]),
    }
    return {"typeId": "test.steps", "config": config}


def random_workflow(
    dice: random.Random, whole: float = 0.4, limits: float = 0.15, loops: float = 0.25
) -> dict[str, Any]:
    """A small graph; so many of its nodes touch the world outside of steps, have a time limit, go round once more."""
    names = [f"n{index}" for index in range(dice.randint(1, 3))]
    nodes = [random_node(dice, name, dice.random() < limits, whole) for name in names]
    edges = [edge(a, b) for a, b in pairwise(names) if dice.random() < 0.6]
    for each in nodes:
        if each["typeId"] != "core.flow.map" and dice.random() < loops:
            again = {"type": "expression", "expression": REPEAT_ONCE.format(each["id"])}
            edges.append(edge(each["id"], each["id"], condition=again))
    if dice.random() < 0.3:
        for each in nodes:
            if each["typeId"] != "core.flow.map":
                each["inputs"]["hidden"] = {"type": "variable", "variableName": "hidden"}
    return workflow(nodes, edges, [variable("hidden", "string", sensitive=True)])


def expected_effects(document: dict[str, Any]) -> dict[Identity, Effect]:
    """Every effect of a run that completes."""
    looping = {each["sourceNodeId"] for each in document["edges"] if each["sourceNodeId"] == each["targetNodeId"]}
    found: dict[Identity, Effect] = {}
    for each in document["nodes"]:
        name, config = each["id"], each["config"]
        mapped = each["typeId"] == "core.flow.map"
        touching = config["body"] if mapped else {"typeId": each["typeId"], "config": config}
        places = [f"{name}[{item}]" for item in config["items"]] if mapped else [name]
        for place in places:
            for visit in range(2 if name in looping else 1):
                found.update(((place, visit, step), effect) for step, effect in _effects_of(touching))
    return found


def _effects_of(touching: dict[str, Any]) -> list[tuple[str, Effect]]:
    if touching["typeId"] == "test.steps":
        return list(touching["config"]["steps"].items())
    return [("", "once" if touching["typeId"] == "test.once" else "idempotent")]


def key_maker(tenant: str, run_id: str) -> Callable[[Identity], str]:
    """How effects of a run are known outside."""

    def make(identity: Identity) -> str:
        node_id, visit, step = identity
        return effect_key(tenant, run_id, node_id, visit, f"step:{step}" if step else "node")

    return make
