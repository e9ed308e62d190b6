"""Records the calls of nodes and steps that really happened, across all simulated processes of a run."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, cast

import msgspec

from weftwork.adapters.python.errors import NodeExited
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome, NodePending, NotDone, StepFailed
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.workflow.node_types import Effect


class Performed(msgspec.Struct):
    """A call of a node or of a step function that really happened."""

    node_id: str
    step: str
    """Name of the step; empty for the node itself."""
    key: str
    """Idempotency key of the call."""
    life: int
    """Number of the process that made the call, starting at 1."""
    came_to: Literal["under way", "done", "failed", "not done"] = "under way"
    output: Any = None
    raised: BaseException | None = None


class PerformedCalls:
    """All recorded calls in order. `process_number` is the number of the current process."""

    def __init__(self) -> None:
        self.performed: list[Performed] = []
        self.process_number = 0
        self.unrecorded: dict[str, str] = {}
        """In a replay: the first thing that each node needed and that has no record, in words."""

    def latest(self, key: str) -> Performed | None:
        calls = [each for each in self.performed if each.key == key]
        return calls[-1] if calls else None


class ProcessGuard:
    """The liveness of one simulated process. After its death, all its calls are cancelled."""

    def __init__(self, calls: PerformedCalls) -> None:
        self.calls = calls
        self.is_dead = False

    def check_alive(self) -> None:
        if self.is_dead:
            raise asyncio.CancelledError

    def record_call(self, node_id: str, step: str, key: str) -> Performed:
        self.check_alive()
        performed = Performed(node_id, step, key, self.calls.process_number)
        self.calls.performed.append(performed)
        return performed


def record_calls(node: NodeType, process: ProcessGuard, first_attempt: int = 1) -> NodeType:
    """Wrap a node type so that its calls are recorded. Attempts before `first_attempt` fail without calling the
    node."""
    if not isinstance(node, WaitingNode):
        return node
    call_node = node.run

    async def run(call: NodeCall, host: NodeContext) -> NodeOutcome:
        if call.attempt < first_attempt:
            return Failed("earlier_attempt", f"The test starts with attempt {first_attempt}.")
        performed = process.record_call(call.node_id, "", host.effect_key())
        try:
            outcome = await call_node(call, cast("NodeContext", _RecordingContext(call, host, process)))
        except asyncio.CancelledError:
            if not process.is_dead:
                raise
            # The dead process cannot record this outcome. Returning it avoids a traceback that looks like an error of
            # the node.
            return Failed("process_over", "The process of the node has ended.")
        except NodePending:
            raise
        except BaseException as error:
            performed.came_to, performed.raised = "failed", _author_error(error)
            raise
        if isinstance(outcome, Completed):
            performed.came_to, performed.output = "done", outcome.outputs
        elif isinstance(outcome, Failed):
            performed.came_to = "failed"
        return outcome

    return WaitingNode(node.declaration, run)


def _author_error(error: BaseException) -> BaseException:
    """The exception that the author's code raised, if the error is a wrapper around it."""
    return error.__cause__ or error if isinstance(error, StepFailed | NodeExited) else error


NO_RECORD: Final = "replay_source_missing"
"""The code of the failure of a node that needs something without a record, in a replay."""
_NEEDS: Final = {
    "generate": "an answer of a model",
    "prepare_child": "a child run",
    "pin_version": "a version from ctx.get_version",
    "check_may_request": "a request to another host",
}
_HARMLESS: Final = ("effect_key", "envelope_kind", "check_envelope", "new_event_id")
"""Methods of a context that have no effect outside of it."""


class _RecordingContext:
    """Implements ports.nodes.NodeContext by delegation to the host's context. In a dead process, every call with an
    effect is cancelled."""

    def __init__(self, call: NodeCall, host: NodeContext, process: ProcessGuard) -> None:
        self._call = call
        self._host = host
        self._process = process

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._host, name)
        if name in _HARMLESS or not callable(member):
            return member

        def checked(*arguments: Any, **named: Any) -> Any:
            self._process.check_alive()
            try:
                return member(*arguments, **named)
            except StepFailed as error:
                self._note_unrecorded(error, _NEEDS.get(name, name))
                raise

        async def checked_when_awaited(*arguments: Any, **named: Any) -> Any:
            try:
                return await checked(*arguments, **named)
            except StepFailed as error:
                self._note_unrecorded(error, _NEEDS.get(name, name))
                raise

        return checked_when_awaited if inspect.iscoroutinefunction(member) else checked

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]], plain: bool = False) -> Any:
        self._process.check_alive()

        async def recorded_run() -> Any:
            performed = self._process.record_call(self._call.node_id, name, self._host.effect_key(name))
            try:
                performed.output = await run()
            except NotDone:
                performed.came_to = "not done"
                raise
            except (asyncio.CancelledError, NodePending):
                raise
            except BaseException as error:
                performed.came_to, performed.raised = "failed", _author_error(error)
                raise
            performed.came_to = "done"
            return performed.output

        try:
            return await self._host.step(name, effect, recorded_run, plain)
        except StepFailed as error:
            self._note_unrecorded(error, f"the result of the step {name!r}")
            raise

    def _note_unrecorded(self, error: StepFailed, what: str) -> None:
        if error.failure.code == NO_RECORD:
            self._process.calls.unrecorded.setdefault(self._call.node_id, what)
