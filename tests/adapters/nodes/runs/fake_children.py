"""Children on paper: a node that starts runs, driven from call to call by what the test says of its children."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES, FakeContext, FakeScope, node_call, outcome_of
from tests.harness.engine_harness import run
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NewChild, NodeOutcome, StartChild
from weftwork.ports.nodes import WaitingNode
from weftwork.protocol.run.child_runs import ChildState


class ChildRunContext(FakeContext):
    """The host of a node with children: what it starts is kept, with what the node wants of it."""

    def __init__(
        self, type_id: str, config: dict[str, Any], inputs: dict[str, Any] | None = None, scope: FakeScope | None = None
    ) -> None:
        super().__init__(scope)
        node = TYPES[type_id]
        assert isinstance(node, WaitingNode)
        self._node = node
        self._call = node_call(config, inputs, scope)
        self.children: dict[str, ChildState] = {}
        self.started: dict[str, NewChild] = {}
        self.refusals: dict[str, Failed] = {}
        self.max_children = 0
        """Open at once."""
        self.made = 0
        """How many children were made up, started or not."""

    async def prepare_child(
        self, key: str, workflow_id: str, mapping: Mapping[str, str], inputs: Any = None, **more: Any
    ) -> NewChild | Failed:
        self.made += 1
        if key in self.refusals:
            return self.refusals[key]
        return await super().prepare_child(key, workflow_id, mapping, inputs, **more)

    @property
    def open(self) -> list[str]:
        return [key for key, child in self.children.items() if child.awaited and not child.has_ended]

    def call(self) -> NodeOutcome:
        """What the node answers now. What it starts is there from then on."""
        states = self.children.values()
        failed = sum(each.has_ended and each.status != "completed" for each in states)
        given = replace(self._call, children=self.children, open_children=len(self.open), failed_children=failed)
        outcome = run(lambda: outcome_of(self._node, given, self))
        if isinstance(outcome, AwaitsChildren):
            assert outcome.effects or self.open, "it waits for nothing"
        if isinstance(outcome, (AwaitsChildren, Completed)):
            for effect in outcome.effects:
                if isinstance(effect, StartChild):
                    self._begin(effect.child)
        return outcome

    def _begin(self, child: NewChild) -> None:
        assert child.key not in self.children, "it was started twice"
        assert child.header.parent is not None
        self.started[child.key] = child
        awaited = child.header.parent.awaited
        self.children[child.key] = ChildState(child.run_id, child.header.workflow_id, awaited=awaited)
        self.max_children = max(self.max_children, len(self.open))

    def set_status(self, key: str, status: str) -> None:
        self.children[key] = replace(self.children[key], status=status)

    def end(self, key: str, status: str = "completed", **more: Any) -> None:
        """A child ends, with `variables`, `outputs` or an `error`."""
        assert not self.children[key].has_ended
        self.children[key] = replace(self.children[key], status=status, **more)
