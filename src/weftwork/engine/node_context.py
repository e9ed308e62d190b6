"""The host as a waiting node sees it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from typing import Any, Final

import msgspec
from msgspec import UNSET

from weftwork.engine.call import RAISED, TOO_LARGE, effect_drafts, unaskable, wrong_inputs
from weftwork.engine.effects import Effects
from weftwork.engine.inputs import Input, InterruptPassed, NodeRecorded, NodeSaid, VersionAsked
from weftwork.engine.nursery import Wanted
from weftwork.engine.patience import AWAY_MS
from weftwork.engine.runtime import Runtime
from weftwork.engine.turns import thread_turn, turn_of
from weftwork.ports.eventlog import StoreUnavailable
from weftwork.ports.nodes import (
    ANOTHER_QUESTION,
    AppendLog,
    Asking,
    Completed,
    EmitEvent,
    Failed,
    InstantNode,
    NewChild,
    NodeCall,
    NotDone,
    Outcome,
    StepFailed,
    Suspended,
    WaitingNode,
)
from weftwork.protocol.canonical import encode_stored
from weftwork.protocol.child import SUB_WORKFLOW
from weftwork.protocol.events import Draft
from weftwork.protocol.interrupt import PASSING, Interrupt, Resolution, is_answer_to
from weftwork.protocol.node_type import Effect
from weftwork.protocol.state import NodeState, RunState
from weftwork.protocol.weight import is_too_large

log = logging.getLogger("weftwork.node")

MOST_ITEMS: Final = 128
"""Items of a node that go into one append."""
MOST_SAID: Final = 10_000
MOST_SAID_BYTES: Final = 4 * 2**20
"""What one entry of a node may say to those who follow the run."""
UNSENT: Final = Failed("step_not_done", "A step of the node could not be done; nothing has happened.")


class Context:
    """Implements ports.nodes.NodeContext for one entry of one node, or as a part of it of one item of a map."""

    __slots__ = (
        "_bytes",
        "_call",
        "_durable",
        "_effects",
        "_items",
        "_node",
        "_node_id",
        "_report",
        "_runtime",
        "_said",
        "_saying",
        "_state",
        "started_at",
    )

    def __init__(
        self,
        runtime: Runtime,
        report: Callable[[Input], None],
        state: RunState,
        call: NodeCall,
        part: tuple[str, str] | None = None,
    ) -> None:
        node_id, item = part or (call.node_id, "")
        node = state.nodes[node_id]
        self._node_id = node_id
        self._runtime = runtime
        self._report = report
        self._state = state
        self._call = call
        self._node: NodeState = node if part is None else NodeState("running", started_at=runtime.clock.now())
        self._effects = Effects(runtime, report, call, node, state.header.owner.tenant, node_id, item)
        self._items: list[tuple[int, Any]] = []
        self._durable: asyncio.Future[None] | None = None
        self._said: list[Draft] = []
        self._saying = 0
        self._bytes = 0
        self.started_at = self._node.started_at

    @property
    def now(self) -> int:
        return self._effects.now

    async def sleep_until(self, when: int) -> None:
        await self._runtime.clock.sleep_until(when)

    @property
    def items(self) -> Mapping[int, Any]:
        return self._node.items

    async def record(self, index: int, output: Any) -> None:
        if self._durable is None:
            loop = asyncio.get_running_loop()
            self._durable = loop.create_future()
            loop.call_soon(self._flush, self._durable)
        durable = self._durable
        self._items.append((index, output))
        if len(self._items) >= MOST_ITEMS:
            self._flush(durable)
        # Shielded: others wait for the same commit.
        await asyncio.shield(durable)

    def _flush(self, durable: asyncio.Future[None]) -> None:
        if self._durable is durable:
            items, self._items, self._durable = tuple(self._items), [], None
            self._report(NodeRecorded(self._call.node_id, items, durable, self._call.entered))

    async def perform(self, type_id: str, inputs: dict[str, Any], config: dict[str, Any], item: str) -> Outcome:
        node_type = self._runtime.types[type_id]
        wrong = wrong_inputs(node_type.declaration.inputs, inputs)
        if wrong is not None:
            return wrong
        mine = self._call
        node_id = f"{mine.node_id}[{item}]"
        call = NodeCall(
            mine.run_id,
            node_id,
            inputs,
            config,
            mine.scope,
            iteration=mine.iteration,
            answers=mine.answers,
            visit=mine.visit,
            attempt=mine.attempt,
            entered=mine.entered,
        )
        if isinstance(node_type, InstantNode):
            outcome = node_type.run(call)
        else:
            part = Context(self._runtime, self._report, self._state, call, (mine.node_id, item))
            outcome = await part.take_part(node_type, self._state.header.partition)
        return TOO_LARGE if isinstance(outcome, Completed) and is_too_large(outcome.outputs) else outcome

    async def take_part(self, node_type: WaitingNode, partition: str) -> Outcome:
        """Run as an item of a map, whose end the map records."""
        turn = turn_of(node_type.declaration, partition, self._runtime.limits)
        await self._runtime.turns.take(turn)
        once = node_type.declaration.effect == "once"
        try:
            outcome = await self.run(node_type)
        except asyncio.CancelledError:
            raise
        except BaseException:
            log.exception("node raised", extra={"runId": self._call.run_id, "nodeId": self._call.node_id})
            outcome = Failed("node_failed", RAISED, retryable=not once)
        finally:
            self._runtime.turns.give_back(turn)
        if once:
            await self._effects.ended(outcome)
        return outcome

    async def run(self, node_type: WaitingNode) -> Outcome:
        """The outcome of the node, which has its turn. A node that must not happen twice is claimed first."""
        try:
            once = node_type.declaration.effect == "once" or self._effects.was_begun
            if once and (known := await self._effects.begin(node_type.declaration.outputs)) is not None:
                return known
            return await node_type.run(self._call, self)
        except Asking as asking:
            return Suspended(asking.interrupt)
        except StepFailed as failed:
            return failed.failure
        except NotDone:
            return UNSENT
        except (KeyboardInterrupt, SystemExit) as error:
            # A task would hand it on to the event loop, and that would end the host.
            raise RuntimeError("the node tried to end the process") from error
        finally:
            self.close()

    def close(self) -> None:
        """The entry is over: what is still to be said about it is said now."""
        self._flush_said()
        self._effects.close()

    def effect_key(self, step: str = "") -> str:
        return self._effects.key(step)

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        # What was said before it stands before it.
        self._flush_said()
        if not plain:
            return await self._effects.step(name, effect, run)
        turn = thread_turn(self._runtime.limits)
        await self._runtime.turns.take(turn)
        try:
            return await self._effects.step(name, effect, run)
        finally:
            self._runtime.turns.give_back(turn)

    async def ask(self, interrupt: Interrupt, instead: Any = UNSET) -> Resolution:
        known = self._call.answers.get(interrupt.key)
        if known is None:
            if (wrong := unaskable(interrupt)) is not None:
                raise StepFailed(wrong)
            if interrupt.kind not in PASSING and instead is UNSET:
                raise Asking(interrupt)
            known = await self._pass(interrupt, None if instead is UNSET else instead)
        elif not is_answer_to(known, self._call.node_id, interrupt):
            raise StepFailed(ANOTHER_QUESTION)
        self._effects.now = max(self._effects.now, known.at)
        # A copy: what the node does with it must not reach the state of the run.
        return msgspec.structs.replace(known, value=deepcopy(known.value), data=None)

    async def _pass(self, interrupt: Interrupt, value: Any) -> Resolution:
        self._flush_said()
        passed: asyncio.Future[Resolution | None] = asyncio.get_running_loop().create_future()
        self._report(InterruptPassed(self._node_id, interrupt, value, passed, self._call.entered))
        if (found := await passed) is None:
            raise StepFailed(Failed("node_misused", "This cannot be asked now.", retryable=False))
        return found

    async def child(
        self,
        key: str,
        workflow_id: str,
        mapping: Mapping[str, str],
        inputs: Mapping[str, Any] | None = None,
        *,
        cause: str = SUB_WORKFLOW,
        variables: tuple[str, ...] = (),
        outputs: bool = False,
        awaited: bool = True,
        cascade: bool = True,
    ) -> NewChild | Failed:
        if self._runtime.nursery is None or self._call.node_id not in self._state.nodes:
            return Failed("node_misused", "A part of a node cannot start child runs.", retryable=False)
        wanted = Wanted(
            key, workflow_id, mapping, inputs or {}, cause, variables, outputs, awaited=awaited, cascade=cascade
        )
        while True:
            try:
                return await self._runtime.nursery.child(self._state, self._call, wanted)
            except StoreUnavailable:
                # No fault of the node: it waits, as its run does.
                await self.sleep_until(self._runtime.clock.now() + AWAY_MS)

    def event_id(self) -> str:
        return self._runtime.ids.event_ids(1)[0]

    def say(self, effect: AppendLog | EmitEvent) -> None:
        drafts = effect_drafts(self._state, self._node_id, effect)
        if isinstance(drafts, Failed):
            raise StepFailed(drafts)
        self._saying += len(drafts)
        self._bytes += sum(len(encode_stored(draft.payload)) for draft in drafts)
        if self._saying > MOST_SAID or self._bytes > MOST_SAID_BYTES:
            message = f"A node says at most {MOST_SAID:,} things of {MOST_SAID_BYTES:,} bytes in all."
            raise StepFailed(Failed("node_output_too_large", message, retryable=False))
        if drafts and not self._said:
            asyncio.get_running_loop().call_soon(self._flush_said)
        self._said += drafts

    def _flush_said(self) -> None:
        if self._said:
            said, self._said = tuple(self._said), []
            self._report(NodeSaid(self._node_id, said, self._call.entered))

    async def pin_version(self, change_id: str, version: int) -> int:
        self._flush_said()
        pinned: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._report(VersionAsked(self._node_id, change_id, version, pinned, self._call.entered))
        return await pinned
