"""Calls the code of a node again in a replay, with the state after everything that its entry has recorded.

The node gets recorded steps, answers, resolutions and items from the state, as after a crash, so it runs to its outcome
without a wait. What it reports on the way is collected.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.decide import inputs
from weftwork.engine.decide.inputs import Input
from weftwork.engine.nodes.node_call import input_of_exception, input_of_outcome, make_call
from weftwork.engine.nodes.node_context import EntryContext
from weftwork.engine.nodes.node_runner import check_question
from weftwork.engine.nodes.run_clock import RunClock
from weftwork.engine.replay_guard import denied
from weftwork.engine.runtime import Runtime
from weftwork.ports.node_outcome import StepFailed, raised_failure
from weftwork.ports.nodes import InstantNode, NodeCall
from weftwork.protocol.expressions.faults import ExpressionFault
from weftwork.protocol.fold.data_flow import NodeScope
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.privacy.redaction import Redactor
from weftwork.protocol.run.effects import EffectRef
from weftwork.protocol.run.events import Draft
from weftwork.protocol.run.header import DEFAULT_VERSION

MAX_CALL_MS: Final = 60_000
"""How long a node may take that does not wait for anything: requests to the run wait for its replay."""


class RecordedClock(RunClock):
    """The clock of nodes in a replay: the time of the last recorded event. All waits have ended."""

    def now(self) -> int:
        return self._time

    async def sleep_until(self, when: int) -> None:
        await asyncio.sleep(0)


def recorded_clock(runtime: Runtime, state: RunState) -> RecordedClock:
    return RecordedClock(runtime.clock, runtime.clock.monotonic_ns, state.last_event_at, 0)


class NodeRerun(msgspec.Struct):
    """What a node has produced that was called again."""

    outcome: Input
    emitted: list[Draft]
    was_denied: bool
    """Whether the node needed something that has no record."""


class _Probe:
    """A source of records that has none beyond the state, and notices requests for more."""

    was_denied = False

    async def take_effect(self, node_id: str, visit: int, effect: EffectRef) -> bool:
        return False

    async def take_answer(self, node_id: str, visit: int, call: str) -> bool:
        return False

    def on_denied(self) -> None:
        self.was_denied = True


async def rerun_node(runtime: Runtime, state: RunState, node_id: str, redactor: Redactor | None) -> NodeRerun:
    """Call a node whose entry has ended according to the record."""
    probe, emitted = _Probe(), list[Draft]()
    runtime = msgspec.structs.replace(runtime, replay=probe)

    def report(input_: Input) -> None:
        match input_:
            case inputs.NodeEmitted(_, events, _):
                emitted.extend(events)
            case inputs.VersionRequested(change_id=change_id, pinned=pinned) if change_id in state.versions:
                pinned.set_result(state.versions[change_id])
            case inputs.VersionRequested(pinned=pinned, least=least) if least <= DEFAULT_VERSION:
                # ver-03: the recorded code did not ask, so it is the code before the change.
                pinned.set_result(DEFAULT_VERSION)
            case _:
                deny_input(runtime, input_)

    outcome = await call_node(runtime, state, node_id, redactor, report)
    return NodeRerun(outcome, emitted, probe.was_denied)


def deny_input(runtime: Runtime, input_: Input) -> None:
    """Fail the node that waits for the consequences of this input."""
    for name in ("granted", "durable", "recorded", "passed", "pinned"):
        waiting: asyncio.Future[Any] | None = getattr(input_, name, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(denied(runtime))


async def call_node(
    runtime: Runtime, state: RunState, node_id: str, redactor: Redactor | None, report: Callable[[Input], None]
) -> Input:
    """Call a node of any kind and return its outcome. `report` gets its inputs before that."""
    # A task of its own, because a node may cancel the task that it runs in.
    task = asyncio.create_task(_call(runtime, state, node_id, redactor, report))
    limit = min(state.plan.nodes[node_id].node.timeout_ms or MAX_CALL_MS, MAX_CALL_MS)
    try:
        await asyncio.wait((task,), timeout=limit / 1000)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        # What it would have waited for is not in the record.
        task.cancel()
        text = f"The node did not end within {limit} ms."
        return inputs.NodeFailed(node_id, "node_timeout", text, entry_sequence=state.nodes[node_id].entry_sequence)
    if task.cancelled():
        return input_of_exception(runtime, state, _unprepared_call(state, node_id))
    return task.result()


async def _call(
    runtime: Runtime, state: RunState, node_id: str, redactor: Redactor | None, report: Callable[[Input], None]
) -> Input:
    node_type = runtime.types[state.plan.nodes[node_id].node.declaration.type_id]
    evaluator = runtime.make_evaluator(state.header)
    call: NodeCall = _unprepared_call(state, node_id)
    try:
        made = await evaluator.settle(partial(make_call, runtime, state, node_id, evaluator))
        if isinstance(made, inputs.NodeFailed):
            return made
        call = made
        if isinstance(node_type, InstantNode):
            outcome = await evaluator.settle(partial(node_type.run, call))
        else:
            clock = recorded_clock(runtime, state)
            context = EntryContext(runtime, clock, report, state, call, redactor=redactor)
            outcome = await context.run(node_type)
        if redactor is not None:
            outcome = check_question(redactor, node_id, outcome)
        return input_of_outcome(runtime, state, call, outcome, redactor)
    except (StepFailed, ExpressionFault) as error:
        return input_of_outcome(runtime, state, call, raised_failure(error))
    except asyncio.CancelledError:
        raise
    except BaseException:
        return input_of_exception(runtime, state, call)


def _unprepared_call(state: RunState, node_id: str) -> NodeCall:
    """Identifies an entry whose inputs are not known yet."""
    scope = NodeScope(state, node_id, {})
    return NodeCall(state.header.run_id, node_id, {}, {}, scope, entry_sequence=state.nodes[node_id].entry_sequence)
