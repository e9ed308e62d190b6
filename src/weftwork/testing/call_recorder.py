"""Nodes as the kit sees them: what they really did, over all the processes that a run lives through."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, cast

import msgspec

from weftwork.adapters.python.errors import NodeExited
from weftwork.ports.node_outcome import Completed, Failed, InterruptPending, NodeOutcome, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.workflow.node_types import Effect


class Performed(msgspec.Struct):
    """A call of a node, or of the function of a step, that really happened."""

    node_id: str
    step: str
    """Empty for the node itself."""
    key: str
    """Its idempotency key."""
    life: int
    """Which process it happened in; 1 is the first."""
    came_to: Literal["under way", "done", "failed", "not done"] = "under way"
    output: Any = None
    raised: BaseException | None = None


class PerformedCalls:
    """Everything that was performed, in order; `life` is the process that runs now."""

    def __init__(self) -> None:
        self.performed: list[Performed] = []
        self.process_number = 0

    def latest(self, key: str) -> Performed | None:
        found = [each for each in self.performed if each.key == key]
        return found[-1] if found else None


class ProcessGuard:
    """A process under test. Once it is over, nothing in it gets anywhere."""

    def __init__(self, seen: PerformedCalls) -> None:
        self.calls = seen
        self.is_dead = False

    def check_alive(self) -> None:
        if self.is_dead:
            raise asyncio.CancelledError

    def record_call(self, node_id: str, step: str, key: str) -> Performed:
        self.check_alive()
        begun = Performed(node_id, step, key, self.calls.process_number)
        self.calls.performed.append(begun)
        return begun


def record_calls(node: NodeType, living: ProcessGuard, first_attempt: int = 1) -> NodeType:
    """The same node type, with what it does written down. Attempts before the first one fail by themselves."""
    if not isinstance(node, WaitingNode):
        return node
    work = node.run

    async def run(call: NodeCall, host: NodeContext) -> NodeOutcome:
        if call.attempt < first_attempt:
            return Failed("earlier_attempt", "The test begins with a later attempt.")
        begun = living.record_call(call.node_id, "", host.effect_key())
        try:
            outcome = await work(call, cast("NodeContext", _RecordingContext(call, host, living)))
        except asyncio.CancelledError:
            if not living.is_dead:
                raise
            # Nobody hears of it any more, and to whoever looks at the log it is no error of the node.
            return Failed("process_over", "The process of the node has ended.")
        except InterruptPending:
            raise
        except BaseException as error:
            begun.came_to, begun.raised = "failed", _author_error(error)
            raise
        if isinstance(outcome, Completed):
            begun.came_to, begun.output = "done", outcome.outputs
        elif isinstance(outcome, Failed):
            begun.came_to = "failed"
        return outcome

    return WaitingNode(node.declaration, run)


def _author_error(error: BaseException) -> BaseException:
    """What the author's code raised, where something else stands for it."""
    return error.__cause__ or error if isinstance(error, StepFailed | NodeExited) else error


_HARMLESS: Final = ("effect_key", "envelope_kind", "check_envelope", "new_event_id")
"""Methods of a context that change nothing outside of it."""


class _RecordingContext:
    """Implements ports.nodes.NodeContext around that of the host: for a process that is over, no call does anything."""

    def __init__(self, call: NodeCall, host: NodeContext, living: ProcessGuard) -> None:
        self._call = call
        self._host = host
        self._process = living

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._host, name)
        if name in _HARMLESS or not callable(found):
            return found

        def checked(*arguments: Any, **named: Any) -> Any:
            self._process.check_alive()
            return found(*arguments, **named)

        async def checked_when_awaited(*arguments: Any, **named: Any) -> Any:
            return await checked(*arguments, **named)

        return checked_when_awaited if inspect.iscoroutinefunction(found) else checked

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        self._process.check_alive()

        async def performed() -> Any:
            begun = self._process.record_call(self._call.node_id, name, self._host.effect_key(name))
            try:
                begun.output = await run()
            except NotDone:
                begun.came_to = "not done"
                raise
            except (asyncio.CancelledError, InterruptPending):
                raise
            except BaseException as error:
                begun.came_to, begun.raised = "failed", _author_error(error)
                raise
            begun.came_to = "done"
            return begun.output

        return await self._host.step(name, effect, performed, plain)
