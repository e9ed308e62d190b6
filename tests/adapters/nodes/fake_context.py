"""A node type on its own: called with what the test says, over a run that the test makes up."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from msgspec import UNSET
from msgspec.structs import replace

from tests.harness.definitions import NODE_TYPES as TYPES
from tests.harness.engine_harness import run
from weftwork.engine.run.loop_share import LoopShare
from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import ModelRequest
from weftwork.ports.node_outcome import (
    AppendLog,
    EmitEvent,
    Failed,
    InterruptPending,
    NewChild,
    NodeOutcome,
    StepFailed,
    raised_failure,
)
from weftwork.ports.nodes import Arrival, CheckedEnvelope, Emission, InstantNode, NodeCall, NodeType
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import EnvelopeOutcome, Invalid
from weftwork.protocol.expressions.expression import parse_expression
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.expressions.template import parse_template
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.models.answers import ModelAnswer
from weftwork.protocol.run.child_runs import SUB_WORKFLOW
from weftwork.protocol.run.header import Owner, Parent, RunHeader
from weftwork.protocol.run.interrupts import NON_BLOCKING_KINDS, Interrupt, Resolution
from weftwork.protocol.workflow.node_types import Effect
from weftwork.protocol.workflow.plan import Plan
from weftwork.testing.deterministic import ManualClock

BROKEN_SOURCE = "broken"
"""The source of an expression that cannot be evaluated."""


class FakeScope:
    """Knows the value of each source by a table. `seen` holds the names that each evaluation was given."""

    def __init__(self, values: Mapping[str, Any] | None = None, variables: Mapping[str, Any] | None = None) -> None:
        self.values = values or {}
        self.variables = variables or {}
        self.channels: dict[str, str] = {}
        self.evaluated_names: list[dict[str, Any]] = []

    def variable(self, name: str, default: Any = None) -> Any:
        return self.variables.get(name, default)

    def has_variable(self, name: str) -> bool:
        return name in self.variables

    def reducer(self, channel: str) -> str | None:
        return self.channels.get(channel)

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        names = dict(more or {})
        self.evaluated_names.append(names)
        if source == BROKEN_SOURCE:
            raise ExpressionFault("expression_failed", "It cannot be evaluated.")
        value = self.values[source]
        return value(names) if callable(value) else value

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        return str(self.evaluate(text, more)) if text in self.values or text == BROKEN_SOURCE else text

    untrusted = False

    def is_untrusted(self, source: str, more: Mapping[str, Any] | None = None) -> bool:
        return False


class EvaluatingScope(FakeScope):
    """Evaluates for real, over variables and whatever a node adds."""

    def evaluate(self, source: str, more: Mapping[str, Any] | None = None) -> Any:
        names = dict(more or {})
        return parse_expression(source, tuple(names)).evaluate(self._run() | names)

    def render(self, text: str, more: Mapping[str, Any] | None = None, wrap: Callable[[str], str] | None = None) -> str:
        names = dict(more or {})
        return parse_template(text, tuple(names)).render(self._run() | names)

    def _run(self) -> dict[str, Any]:
        return {"inputs": {}, "variables": self.variables, "nodes": {}, "configurable": {}}


class UnusedContext:
    """What no built-in type asks of its host, but for requests to others, which have tests of their own."""

    now = 0
    limits = Limits()
    prompt_directive = ""
    untrusted = False
    has_retries_left = False
    renders_surfaces = True

    def mark_untrusted(self) -> None:
        raise NotImplementedError

    async def generate(
        self, request: ModelRequest, along: Callable[[ModelAnswer], tuple[EmitEvent | AppendLog, ...]]
    ) -> ModelAnswer:
        raise NotImplementedError

    def check_envelope(self, document: Any, emission: Emission) -> CheckedEnvelope | Invalid:
        raise NotImplementedError

    async def emit_envelope(self, envelope: Any, emission: Emission) -> EnvelopeOutcome:
        raise NotImplementedError

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        raise NotImplementedError

    async def read_media(self, ref: object, most: int) -> MediaBytes:
        raise NotImplementedError

    def effect_key(self, step: str = "") -> str:
        raise NotImplementedError

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        raise NotImplementedError

    def emit_event(self, effect: AppendLog | EmitEvent) -> None:
        raise NotImplementedError

    async def pin_version(self, change_id: str, version: int, least: int = 0) -> int:
        raise NotImplementedError

    def envelope_kind(self, name: str) -> KindDefinition | None:
        return BUILTIN_KINDS.find(name)

    def new_event_id(self) -> str:
        return "event"


def new_child(key: str, workflow_id: str, inputs: dict[str, Any], cause: str = SUB_WORKFLOW, **more: Any) -> NewChild:
    """A child of the run, which nobody looks into."""
    parent = Parent("run", "node", key, cause, "run", **more)
    header = RunHeader(f"run-{key}", "live:acme", Owner("acme", "key_1"), workflow_id, "", 0, inputs, parent=parent)
    return NewChild(key, header, cast(Plan, None), inputs)


class FakeContext(UnusedContext):
    """The host of a waiting node. Records are kept; bodies are run from a table or from the built-in types.

    `asked` holds what the node asked, `resolved` what became of it by key; nobody answers anything else.
    """

    def __init__(self, scope: FakeScope | None = None, **bodies: Callable[[NodeCall], Any]) -> None:
        self.clock = ManualClock()
        self.started_at = self.clock.now()
        self.long_wait_end = 0
        self.recorded_items: dict[int, Any] = {}
        self.scope = scope or FakeScope()
        self.bodies = bodies
        self.body_calls: list[str] = []
        self.asked: list[Interrupt] = []
        self.resolved: dict[str, Resolution] = {}
        self.emitted_media: list[OutgoingMedia] = []
        self.before_record: Callable[[int], None] = lambda index: None
        self._loop_share = LoopShare()

    async def turn(self) -> None:
        await self._loop_share.turn("acme")

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        self.asked.append(interrupt)
        if interrupt.kind in NON_BLOCKING_KINDS:
            return Resolution()
        if instead is not UNSET:
            return Resolution(instead)
        if interrupt.key not in self.resolved:
            raise InterruptPending(interrupt)
        return self.resolved[interrupt.key]

    async def prepare_child(
        self, key: str, workflow_id: str, mapping: Mapping[str, str], inputs: Any = None, **more: Any
    ) -> NewChild | Failed:
        mapped = {name: self.scope.variable(of) for name, of in mapping.items() if self.scope.has_variable(of)}
        return new_child(key, workflow_id, {**(inputs or {}), **mapped}, **more)

    async def emit_media(self, sent: OutgoingMedia, turn: str = "") -> EmittedMedia:
        """All that is sent is taken for what it is said to be; assets have 7 bytes."""
        self.emitted_media.append(sent)
        source = sent.source
        size = len(source) if isinstance(source, bytes) else 7
        ref = media_ref(hashlib.sha256(source).hexdigest()) if isinstance(source, bytes) else source
        told = {"base64": "eA=="} if sent.inline else {"url": f"https://media.test/{len(self.emitted_media)}"}
        payload = {**told, "bytes": size, "mimeType": sent.media_type}
        rendering = {"display": sent.kind, "mimeType": sent.media_type}
        return EmittedMedia(f"env-{len(self.emitted_media)}", ref, payload, rendering)

    async def compute(self, function: Callable[[], Any]) -> Any:
        return function()

    async def sleep_until(self, when: int) -> None:
        await self.clock.sleep_until(when)

    async def record_item(self, index: int, output: Any) -> None:
        self.before_record(index)
        await asyncio.sleep(0)
        self.recorded_items[index] = output

    async def run_part(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> NodeOutcome:
        self.body_calls.append(item)
        call = NodeCall("run", f"body-{item}", inputs, config, self.scope)
        if type_id in self.bodies:
            outcome = self.bodies[type_id](call)
            return await outcome if asyncio.iscoroutine(outcome) else outcome
        return await outcome_of(TYPES[type_id], call, self)


def node_call(
    config: dict[str, Any],
    inputs: dict[str, Any] | None = None,
    scope: FakeScope | None = None,
    *,
    node_id: str = "node",
    iteration: int = 0,
    arrivals: tuple[Arrival, ...] = (),
    answers: Mapping[str, Resolution] | None = None,
) -> NodeCall:
    # Unless somebody else asked, it was this node.
    mine = {key: each if each.node_id else replace(each, node_id=node_id) for key, each in (answers or {}).items()}
    return NodeCall("run", node_id, inputs or {}, config, scope or FakeScope(), iteration, arrivals, mine, iteration)


def run_node(type_id: str, given: NodeCall, context: FakeContext | None = None) -> NodeOutcome:
    """What the node answers."""
    node_type = TYPES[type_id]
    return run(lambda: outcome_of(node_type, given, context or FakeContext()))


async def outcome_of(node_type: NodeType, given: NodeCall, context: Any) -> NodeOutcome:
    """The outcome of a node as a run takes it, also of one that raises a failure."""
    try:
        return node_type.run(given) if isinstance(node_type, InstantNode) else await node_type.run(given, context)
    except (StepFailed, ExpressionFault) as error:
        return raised_failure(error)


def final_failure(found: object) -> tuple[str, Any]:
    """The code and the details of a failure that is not retried."""
    assert isinstance(found, Failed)
    assert not found.retryable
    return found.code, found.details
