"""Fakes for nodes that start other runs."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from tests.adapters.nodes.fake_context import TYPES, FakeContext, FakeScope, new_child, node_call, outcome_of
from tests.harness.child_workflows import check_chain
from tests.harness.engine_harness import run
from weftwork.adapters.nodes.runs.dispatch import dispatch_nodes
from weftwork.ports import node_outcome
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NewChild, NodeOutcome, StartChild
from weftwork.ports.nodes import NodeCall, WaitingNode
from weftwork.protocol.fold.state import SupervisorDecision
from weftwork.protocol.json import schema
from weftwork.protocol.run.child_runs import ChildState
from weftwork.protocol.run.interrupts import Resolution
from weftwork.protocol.run.payloads import ConfidenceEscalated, NodeDispatched, OrchestratorDecided, WorkflowChainEvent

UNKNOWN = "unknown"
"""A worker that nobody has."""


class DispatchContext(FakeContext):
    """Keeps what is said until the call commits."""

    def __init__(self, scope: FakeScope, numbers: Iterator[int] | None = None) -> None:
        super().__init__(scope)
        self.said: list[node_outcome.NodeEffect] = []
        self._numbers = numbers or itertools.count()

    def emit_event(self, effect: node_outcome.AppendLog | node_outcome.EmitEvent) -> None:
        self.said.append(effect)

    def new_event_id(self) -> str:
        return f"event-{next(self._numbers)}"

    async def prepare_child(
        self, key: str, workflow_id: str, mapping: Mapping[str, str], inputs: Any = None, **more: Any
    ) -> node_outcome.NewChild | node_outcome.Failed:
        if workflow_id == UNKNOWN:
            return node_outcome.Failed("unknown_child_workflow", "There is no such workflow.", retryable=False)
        return await super().prepare_child(key, workflow_id, mapping, inputs, **more)


class DispatchCall:
    """One entry of the node. `events` is its log: what was emitted, set, started and cancelled, in order."""

    def __init__(
        self, decision: dict[str, Any] | None, config: dict[str, Any] | None = None, conversation: bool = True
    ) -> None:
        (found,) = dispatch_nodes(conversation)
        assert isinstance(found, WaitingNode)
        self.type = found
        self.decided = SupervisorDecision("decision", decision, "host:lead") if decision is not None else None
        self.config = config or {}
        self.variables: dict[str, Any] = {}
        self.children: dict[str, ChildState] = {}
        self.answers: dict[str, Resolution] = {}
        self.events: list[node_outcome.NodeEffect] = []
        self.outcome: node_outcome.NodeOutcome | None = None
        self.visit = 0
        self.reasons: set[str] = set()
        """Why children were cancelled."""
        self._event_numbers = itertools.count()
        decided = {"eventId": "decision", "type": OrchestratorDecided.event_type, "payload": {"decision": decision}}
        self._documents: list[dict[str, Any]] = [decided]
        """What was emitted, as the log would have it."""

    def peek(self) -> tuple[node_outcome.NodeOutcome, list[node_outcome.NodeEffect]]:
        """What the node answers as things stand, and what it says by the way. Nothing of it is committed."""
        scope = FakeScope({}, dict(self.variables))
        host = DispatchContext(scope, self._event_numbers)
        host.resolved = self.answers
        call = NodeCall(
            "run",
            "node",
            {},
            self.config,
            scope,
            answers=self.answers,
            visit=self.visit,
            children=dict(self.children),
            open_children=len(self.open),
            decision=self.decided,
        )

        async def work() -> node_outcome.NodeOutcome:
            try:
                return await outcome_of(self.type, call, host)
            except node_outcome.InterruptPending as asking:
                return node_outcome.Suspended(asking.interrupt)

        return run(work), host.said

    def call(self) -> node_outcome.NodeOutcome:
        return self.commit(*self.peek())

    def commit(
        self, outcome: node_outcome.NodeOutcome, said: list[node_outcome.NodeEffect], late: bool = False
    ) -> node_outcome.NodeOutcome:
        """`late`: there was word of a child since the look, which leads to another one instead."""
        self._add(said)
        match outcome:
            case node_outcome.AwaitsChildren(effects) if not late:
                started = [each.child.key for each in effects if isinstance(each, node_outcome.StartChild)]
                assert not any(key in self.children for key in started), "a child was started twice"
                assert started or self.open, "it would wait for ever"
                assert started or all(isinstance(each, node_outcome.CancelChild) for each in effects), (
                    "this could be done twice"
                )
                self._add(effects)
            case node_outcome.Completed(_, effects):
                assert not self.open, "it left children behind"
                self._add(effects)
                self.outcome = outcome
            case node_outcome.Failed():
                assert not self.open, "it left children behind"
                self._add(outcome.effects)
                self.outcome = outcome
            case node_outcome.Suspended(_, effects):
                self._add(effects)
            case _:
                pass
        return outcome

    def _add(self, effects: Any) -> None:
        self._apply(effects)
        check_chain(self._documents)

    def _apply(self, effects: Any) -> None:
        for each in effects:
            self.events.append(each)
            match each:
                case node_outcome.StartChild(child):
                    self.children[child.key] = ChildState(child.run_id, child.header.workflow_id)
                case node_outcome.CancelChild(key, reason):
                    self.reasons.add(reason)
                    if not self.children[key].has_ended:
                        self.children[key] = replace(self.children[key], status="cancelling")
                case node_outcome.SetVariable(name, value):
                    self.variables[name] = value
                case node_outcome.EmitEvent(kind, payload, cause):
                    assert kind in (
                        WorkflowChainEvent.event_type,
                        NodeDispatched.event_type,
                        ConfidenceEscalated.event_type,
                    )
                    assert schema.check_payload(kind, payload) == []
                    assert cause is not None
                    event = {"eventId": each.event_id or "", "type": kind, "payload": payload, "causationId": cause}
                    self._documents.append(event)
                    if payload.get("phase") == "dispatch.succeeded":
                        key = next(reversed(self.children))
                        self.children[key] = replace(self.children[key], dispatch_event=event["eventId"])
                case _:
                    raise AssertionError(each)

    @property
    def ended_workers(self) -> list[tuple[int, str]]:
        """Who has ended, and how, the first one first."""
        ended = [(each.end_sequence, int(key), each.status) for key, each in self.children.items() if each.has_ended]
        return [(index, status) for _, index, status in sorted(ended)]

    @property
    def open(self) -> list[str]:
        return [key for key, each in self.children.items() if not each.has_ended]

    def end(self, index: int, status: str = "completed", **variables: Any) -> None:
        child = self.children[str(index)]
        assert not child.has_ended
        error = {"code": "busy", "message": "It was busy."} if status == "failed" else None
        given = variables if status == "completed" else {}
        place = 1 + max(each.end_sequence for each in self.children.values())
        self.children[str(index)] = replace(child, status=status, variables=given, error=error, end_sequence=place)

    def event_steps(self) -> list[str]:
        """Chain events as `phase worker`, and all else by what it is."""
        told: list[str] = []
        for each in self.events:
            match each:
                case node_outcome.EmitEvent(kind, payload) if kind == WorkflowChainEvent.event_type:
                    told.append(f"{payload['phase']} {payload['workerId']}")
                case node_outcome.EmitEvent(kind, payload):
                    told.append(f"{kind} {payload.get('childWorkflowId', '')}".strip())
                case node_outcome.SetVariable(name, value):
                    told.append(f"{name} = {value}")
                case node_outcome.StartChild(child):
                    told.append(f"start {child.key}")
                case node_outcome.CancelChild(key):
                    told.append(f"cancel {key}")
                case _:
                    raise AssertionError(each)
        return told

    def inputs_of(self, index: int) -> dict[str, Any]:
        (found,) = [
            each.child
            for each in self.events
            if isinstance(each, node_outcome.StartChild) and each.child.key == str(index)
        ]
        return found.inputs


def workers(*ids: str, **members: Any) -> dict[str, Any]:
    return {"kind": "next-worker", "nextWorkerIds": list(ids), **members}


__all__ = ["UNKNOWN", "DispatchCall", "new_child", "workers"]


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
