"""A host that one node at a time can be called on: what it records is kept from entry to entry."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from tests.harness import definitions
from tests.harness.definitions import workflow
from weftwork.adapters.python.calls.invocation import NodeServices
from weftwork.adapters.python.declaration.decorator import node_of
from weftwork.adapters.python.node_runner import to_node_type
from weftwork.adapters.python.threads import ThreadPool
from weftwork.ports import node_outcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.ports.outbound import Outbound
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt, Resolution

NO_OUTCOME: Any = object()


class FakeNodeHost:
    """Implements ports.nodes.NodeContext over a few dicts."""

    def __init__(self, threads: ThreadPool | None = None, outbound: Outbound | None = None) -> None:
        self.tools = NodeServices(threads or ThreadPool(4, 4), outbound)
        self.recorded: dict[str, Any] = {}
        self.distrusts = 0
        self.effects: dict[str, str] = {}
        self.answers: dict[str, Any] = {}
        """By key: the answer, or the Resolution that there is."""
        self.passing_interrupts: list[Interrupt] = []
        self.refused_kinds: set[str] = set()
        """Kinds that the host refuses."""
        self.emitted: list[node_outcome.AppendLog | node_outcome.EmitEvent] = []
        self.versions: dict[str, int] = {}
        self.rejects_output = False
        self.now = 1_000
        self.started_at = 1_000
        self.recorded_items: Mapping[int, Any] = {}
        self.has_retries_left = False
        self.renders_surfaces = True
        self.attempt = 0

    async def enter(
        self, function: Any, *, node_id: str = "n", visit: int = 0, **given: Any
    ) -> node_outcome.NodeOutcome:
        """One entry of the node; `config` is its config, everything else an input."""
        node = node_of(function)
        assert node is not None
        self.attempt += 1
        scope: Any = None
        config = given.pop("config", {})
        call = NodeCall("run-1", node_id, given, config, scope, visit=visit, attempt=self.attempt)
        try:
            return await to_node_type(node, self.tools).run(call, cast("NodeContext", self))
        except node_outcome.InterruptPending as asking:
            return node_outcome.Suspended(asking.interrupt)

    def run(self, function: Any, **given: Any) -> node_outcome.NodeOutcome:
        """One entry in a loop of its own."""
        return asyncio.run(self.enter(function, **given))

    async def sleep_until(self, when: int) -> None:
        await asyncio.sleep(0)

    def effect_key(self, step: str = "") -> str:
        return f"key:{step}"

    async def step(self, name: str, effect: Any, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        self.effects[name] = effect
        if name not in self.recorded:
            try:
                self.recorded[name] = await run()
            except node_outcome.StepFailed as error:
                self.recorded[name] = error.failure
                raise
            self.now += 1_000
        if isinstance(self.recorded[name], node_outcome.Failed):
            raise node_outcome.StepFailed(self.recorded[name])
        return self.recorded[name]

    async def ask(self, interrupt: Interrupt, instead: Any = None) -> Resolution:
        if interrupt.kind in self.refused_kinds:
            raise node_outcome.StepFailed(node_outcome.Failed("node_misused", "Not here.", retryable=False))
        if interrupt.kind in NON_BLOCKING_KINDS:
            self.passing_interrupts.append(interrupt)
            return Resolution()
        if interrupt.key not in self.answers:
            raise node_outcome.InterruptPending(interrupt)
        found = self.answers[interrupt.key]
        return found if isinstance(found, Resolution) else Resolution(found)

    def emit_event(self, effect: node_outcome.AppendLog | node_outcome.EmitEvent) -> None:
        if self.rejects_output:
            raise node_outcome.StepFailed(node_outcome.Failed("node_output_too_large", "Too much.", retryable=False))
        self.emitted.append(effect)

    async def pin_version(self, change_id: str, version: int, least: int = 0) -> int:
        return self.versions.setdefault(change_id, version)

    async def prepare_child(self, *given: Any, **more: Any) -> node_outcome.NewChild | node_outcome.Failed:
        raise AssertionError("no children here")

    @property
    def untrusted(self) -> bool:
        return self.distrusts > 0

    def check_may_request(self) -> None:
        """It is no replay, so requests may be sent."""

    def mark_untrusted(self) -> None:
        self.distrusts += 1

    def new_event_id(self) -> str:
        raise AssertionError("no events point at each other here")

    async def record_item(self, index: int, output: Any) -> None:
        raise AssertionError("no map runs here")

    async def run_part(
        self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str
    ) -> node_outcome.NodeOutcome:
        raise AssertionError("no map runs here")


def single_node_workflow(
    workflow_id: str, type_id: str, inputs: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A workflow whose one node, `n`, is of that type and has these inputs."""
    ports = {name: {"type": "static", "value": value} for name, value in (inputs or {}).items()}
    return workflow([definitions.node("n", type_id, inputs=ports, **more)], id=workflow_id, name=workflow_id)
