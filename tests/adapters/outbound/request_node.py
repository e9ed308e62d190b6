"""The request node on its own: a call, and a host that remembers its steps."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.adapters.nodes.fake_context import EvaluatingScope, FakeScope
from weftwork.adapters.nodes.net.http_request import http_nodes
from weftwork.ports.node_outcome import NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, WaitingNode
from weftwork.ports.outbound import Outbound


class FakeStepContext:
    """Records steps as the host does: what was done or failed comes back, what was not done is forgotten."""

    def __init__(self) -> None:
        self.steps: dict[str, Any] = {}
        self.effects: list[str] = []
        self.ran = 0

    def effect_key(self, step: str = "") -> str:
        return f"key-of-{step}"

    async def step(self, name: str, effect: str, run: Callable[[], Awaitable[Any]]) -> Any:
        self.effects.append(effect)
        if name not in self.steps:
            self.ran += 1
            try:
                self.steps[name] = await run()
            except NotDone:
                raise
            except StepFailed as failed:
                self.steps[name] = failed
        found = self.steps[name]
        if isinstance(found, StepFailed):
            raise found
        return found


def request_node(client: Outbound | None) -> Any:
    (node,) = http_nodes(client)
    assert isinstance(node, WaitingNode)
    return node


def call(
    config: dict[str, Any], inputs: dict[str, Any] | None = None, variables: dict[str, Any] | None = None
) -> NodeCall:
    scope: FakeScope = EvaluatingScope(variables=variables)
    return NodeCall("run", "node", inputs or {}, config, scope)
