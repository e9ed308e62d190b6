"""The workers of one dispatch: child runs, one after another or side by side.

Theory. A dispatch keeps no state of its own: each call derives what to do from the child runs that exist, whose keys
are the positions of their workers in the decision. The events about a child are written in the commit that starts the
next one or ends the node, so they are written once: a repeated call finds nothing left to write. The node ends when
all of its children have ended, also when it fails.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from weftwork.adapters.nodes.runs.sub_workflow import child_failure, child_summary, hidden_output_failure
from weftwork.ports.node_outcome import (
    AwaitsChildren,
    CancelChild,
    Completed,
    EmitEvent,
    Failed,
    NodeEffect,
    NodeOutcome,
    SetVariable,
    StartChild,
)
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.fold.state import SupervisorDecision
from weftwork.protocol.run.child_runs import DISPATCH, FAILED_WITH_PARENT, JOIN_DECIDED, ChildState
from weftwork.protocol.run.events import Payload
from weftwork.protocol.run.payloads import NodeDispatched, WorkflowChainEvent
from weftwork.protocol.workflow.orchestration import (
    DEFAULT_PARALLEL,
    JoinMode,
    JoinOutcome,
    join_outcome,
    map_worker_variables,
    worker_mapping,
)

CANCELLED_ERROR: Final = {"code": "child_run_cancelled", "message": "The worker was cancelled."}


class DispatchWorkers:
    """What is to be done about the workers of a decision, as things stand."""

    def __init__(self, call: NodeCall, context: NodeContext, decided: SupervisorDecision) -> None:
        self._call = call
        self._context = context
        self._decided = decided
        self._config = call.config
        self._worker_ids: list[str] = decided.decision["nextWorkerIds"]
        self._children = [call.children[str(index)] for index in range(len(call.children))]
        self._indexes = range(len(self._children))

    async def run_sequentially(self) -> NodeOutcome:
        """orch-09 (RFC 0007 D): the next worker begins when the one before has completed, and sees what that gave."""
        begun = len(self._children)
        last = range(max(0, begun - 1), begun)
        for index in last:
            if not self._children[index].has_ended:
                return AwaitsChildren()
            if (failed := self._failure(index)) is not None:
                return self._fail_when_ended(failed, last)
        if begun == len(self._worker_ids):
            return self._complete(last, tuple(last))
        fresh = {name: value for index in last for name, value in self._harvested_values(index).items()}
        started = await self._start(begun, fresh)
        if isinstance(started, Failed):
            return self._fail_when_ended(started, last, last)
        return AwaitsChildren((*self._end_effects(last, last), *started))

    async def run_in_parallel(self) -> NodeOutcome:
        """orch-07 (readings, Fan-out): so many workers at a time, until they have decided; the others are cancelled.

        What comes of it follows from the order in which they ended, however many had ended at a look: each worker is
        due with a certain end, and only an earlier one can make it needless.
        """
        config, begun, total = self._config, len(self._children), len(self._worker_ids)
        mode: JoinMode = config.get("joinMode", "wait-all")
        quorum: int = config.get("quorum", 1)
        if quorum > total:
            message = "The decision names fewer workers than have to complete."
            return Failed("quorum_unreachable", message, {"quorum": quorum, "workers": total}, retryable=False)
        ended = sorted(
            (each.end_sequence, index, each.status) for index, each in enumerate(self._children) if each.has_ended
        )
        ends = [(index, status) for _, index, status in ended]
        room: int = config.get("maxParallel", DEFAULT_PARALLEL)
        effects: list[NodeEffect] = []
        for index in range(begun, min(room + len(ends), total)):
            if join_outcome(mode, quorum, total, ends[: max(0, index - room + 1)]) is not None:
                break
            started = await self._start(index)
            if isinstance(started, Failed):
                return self._fail_when_ended(started, self._indexes)
            effects += started
        verdict = join_outcome(mode, quorum, total, ends)
        return AwaitsChildren(tuple(effects)) if verdict is None else self._apply_verdict(verdict)

    def _apply_verdict(self, verdict: JoinOutcome) -> NodeOutcome:
        if verdict.failed is not None:
            return self._fail_when_ended(
                self._with_worker_id(verdict.failed, child_failure(self._children[verdict.failed])), self._indexes
            )
        if (failed := next(filter(None, map(self._failure, verdict.deciding)), None)) is not None:
            return self._fail_when_ended(failed, self._indexes)
        return self._cancel_open(JOIN_DECIDED) or self._complete(self._indexes, verdict.deciding)

    def _fail_when_ended(self, failed: Failed, ended: Iterable[int], harvested: Iterable[int] = ()) -> NodeOutcome:
        """The node fails, once its children have ended; it tells how these did."""
        if (waits := self._cancel_open(FAILED_WITH_PARENT)) is not None:
            return waits
        return replace(failed, effects=(*self._end_effects(ended, harvested), *failed.effects))

    def _cancel_open(self, reason: str) -> AwaitsChildren | None:
        """Cancel the children that are open, and wait for their end; None if there are none."""
        left = [(str(index), each) for index, each in enumerate(self._children) if not each.has_ended]
        wanted = tuple(CancelChild(key, reason) for key, each in left if each.status != "cancelling")
        return AwaitsChildren(wanted) if left else None

    async def _start(self, index: int, fresh: Mapping[str, Any] | None = None) -> list[NodeEffect] | Failed:
        """What starts a worker, or why it cannot be started. `fresh`: what only the same commit sets."""
        fresh = fresh or {}
        worker = self._worker_ids[index]
        began = self._chain_event("dispatch.began", index)
        inward = worker_mapping(self._config, "Input", worker)
        child = await self._context.prepare_child(
            str(index),
            worker,
            {name: source for name, source in inward.items() if source not in fresh},
            {name: fresh[source] for name, source in inward.items() if source in fresh},
            cause=DISPATCH,
            variables=tuple(dict.fromkeys(worker_mapping(self._config, "Output", worker).values())),
        )
        if isinstance(child, Failed):
            error = {"code": child.code, "message": child.message}
            said = (began, self._chain_event("dispatch.failed", index, error=error))
            return replace(self._with_worker_id(index, child), effects=said)
        return [
            began,
            StartChild(child),
            self._emit(NodeDispatched(child.run_id, worker)),
            self._chain_event("dispatch.succeeded", index, child.run_id),
        ]

    def _complete(self, ended: Iterable[int], deciding: tuple[int, ...]) -> Completed:
        last = self._children[deciding[-1]]
        outputs = {
            "kind": "next-worker",
            "childRunId": last.run_id,
            "childStatus": last.status,
            "results": [
                {"workerId": self._worker_ids[index], "childRunId": each.run_id, "childStatus": each.status}
                for index, each in enumerate(self._children)
            ],
        }
        return Completed(outputs, tuple(self._end_effects(ended, deciding)))

    def _failure(self, index: int) -> Failed | None:
        """Why a child that has ended fails the node, if it does."""
        child = self._children[index]
        if child.status != "completed":
            return self._with_worker_id(index, child_failure(child))
        outward = worker_mapping(self._config, "Output", self._worker_ids[index])
        hidden = [each for each in dict.fromkeys(outward.values()) if each in child.hidden]
        return self._with_worker_id(index, hidden_output_failure(child, hidden)) if hidden else None

    def _with_worker_id(self, index: int, failed: Failed) -> Failed:
        details = {"workerId": self._worker_ids[index], **(failed.details or {})}
        return replace(failed, details=details)

    def _end_effects(self, ended: Iterable[int], harvested: Iterable[int]) -> list[NodeEffect]:
        """orch-04 (RFC 0037): how these workers ended, each followed by what is taken over from it."""
        said: list[NodeEffect] = []
        taken = set(harvested)
        for index in ended:
            said.append(self._end_event(index, self._children[index]))
            if index in taken and worker_mapping(self._config, "Output", self._worker_ids[index]):
                values = self._harvested_values(index)
                said += [SetVariable(name, value) for name, value in values.items()]
                run_id = self._children[index].run_id
                said.append(self._chain_event("output.harvested", index, run_id, harvested_keys=list(values)))
        return said

    def _harvested_values(self, index: int) -> dict[str, Any]:
        """What the run takes over from a worker, by the names of its own variables."""
        outward = worker_mapping(self._config, "Output", self._worker_ids[index])
        return map_worker_variables(outward, self._children[index].variables)

    def _end_event(self, index: int, child: ChildState) -> EmitEvent:
        if child.status == "completed":
            return self._chain_event("child.completed", index, child.run_id)
        error = child_summary(child).get("error", CANCELLED_ERROR)
        return self._chain_event(f"child.{child.status}", index, child.run_id, error)

    def _chain_event(
        self,
        phase: str,
        index: int,
        child_run_id: str | UnsetType = UNSET,
        error: dict[str, Any] | UnsetType = UNSET,
        harvested_keys: list[str] | UnsetType = UNSET,
    ) -> EmitEvent:
        worker = self._worker_ids[index]
        return self._emit(WorkflowChainEvent(phase, worker, self._call.run_id, child_run_id, error, harvested_keys))

    def _emit(self, payload: Payload) -> EmitEvent:
        return EmitEvent.of(payload, self._decided.event_id)
