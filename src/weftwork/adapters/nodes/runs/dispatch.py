"""The node type core.dispatch: carries out what a supervisor has decided.

Theory. Workers are child runs, one after another or side by side. A dispatch keeps no state of its own: each call
derives what to do from the child runs that exist, whose keys are the positions of their workers in the decision. The
events about a child are written in the commit that starts the next one or ends the node, so they are written once: a
repeated call finds nothing left to write. The node ends when all of its children have ended, also when it fails.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.adapters.nodes.runs.sub_workflow import child_failure, child_summary, hidden_output_failure
from weftwork.adapters.nodes.runs.supervisor import (
    MAX_QUESTION_BYTES,
    PROCEED,
    STOP,
    confirm_low_confidence,
    is_below_floor,
)
from weftwork.adapters.nodes.schemas import Schema
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
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.fold.state import SupervisorDecision
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.child_runs import DISPATCH, FAILED_WITH_PARENT, JOIN_DECIDED, ChildState
from weftwork.protocol.run.events import Payload
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.run.payloads import NodeDispatched, WorkflowChainEvent
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.orchestration import (
    ASK_USER_ROUTINGS,
    CONFIDENCE_FLOOR,
    DEFAULT_PARALLEL,
    DISPATCH_MODELS,
    FAN_OUT_POLICIES,
    JOIN_MODES,
    MAX_PARALLEL,
    JoinMode,
    JoinOutcome,
    join_outcome,
    map_worker_variables,
    worker_mapping,
)

CONVERSATION_CAPABILITY: Final = "conversationPrimitive"
MAX_ITERATIONS: Final = 1_000_000
PARALLEL_MEMBERS: Final = ("joinMode", "quorum", "maxParallel")
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


async def _dispatch(call: NodeCall, context: NodeContext, conversation: bool) -> NodeOutcome:
    decided, config = call.decision, call.config
    if decided is None:
        message = "There is no decision of a supervisor to carry out."
        return Failed("no_pending_decision", message, retryable=False)
    decision = decided.decision
    if decision["kind"] == "ask-user":
        return await _ask_user(call, context, decided, conversation)
    if decision["kind"] == "terminate":
        return Completed({"kind": "terminate"})
    fan_out = config.get("fanOutPolicy", "sequential")
    if fan_out == "reject" and len(decision["nextWorkerIds"]) > 1:
        message = "The decision names several workers, and this node takes one."
        return Failed("fan_out_unsupported", message, retryable=False)
    if is_below_floor(decision):
        refused = await confirm_low_confidence(call, context, decision, decided.event_id)
        if refused is not None:
            return refused
    workers = DispatchWorkers(call, context, decided)
    return await (workers.run_in_parallel() if fan_out == "parallel" else workers.run_sequentially())


async def _ask_user(
    call: NodeCall, context: NodeContext, decided: SupervisorDecision, conversation: bool
) -> NodeOutcome:
    """orch-10 (RFC 0007 D): a question of the supervisor goes to a person, as the config says and the host can."""
    key, text = default_interrupt_key(call), truncate_utf8(decided.decision["prompt"], MAX_QUESTION_BYTES)
    routing = call.config.get("askUserRouting", "auto")
    if routing == "clarification" or not conversation:
        question = {"id": "answer", "question": text}
        answered = await context.ask(Interrupt("clarification", f"{key}:answer", {"questions": [question]}))
        return Completed({"kind": "ask-user", "answer": answered.value["answers"]["answer"]})
    known = {"conversationId": f"{call.run_id}:{call.node_id}:{call.visit}"}
    opening = {**known, "title": "Question", "initialPrompt": text}
    await context.ask(Interrupt("conversation.start", f"{key}:start", opening, speaker=decided.agent_id))
    turn = {**known, "prompt": text, "turnIndex": 1}
    answered = await context.ask(Interrupt("conversation.exchange", f"{key}:1", turn))
    await context.ask(Interrupt("conversation.close", f"{key}:close", {**known, "reason": "answered"}))
    return Completed({"kind": "ask-user", "answer": answered.value})


def _check(config: dict[str, Any], conversation: bool) -> list[Violation]:
    violations: list[Violation] = []
    if config.get("askUserRouting") == "conversation" and not conversation:
        text = f"needs the capability {CONVERSATION_CAPABILITY}, which this host does not offer"
        violations.append(Violation("/askUserRouting", "capability", text, CONVERSATION_CAPABILITY))
    if config.get("fanOutPolicy") != "parallel":
        text = "is only for the fanOutPolicy parallel"
        violations += [Violation(f"/{member}", "not", text) for member in PARALLEL_MEMBERS if member in config]
    elif ("quorum" in config) is not (config.get("joinMode") == "quorum"):
        violations.append(Violation("/quorum", "required", "the joinMode quorum needs a quorum, no other takes one"))
    return violations


def _mapping_schemas(to: str, of: str) -> tuple[Schema, Schema]:
    """A mapping for every worker, and those for single ones."""
    each = schemas.variable_mapping(to, of)
    return (
        schemas.variable_mapping(to, of, " The mapping applies to every worker."),
        schemas.keyed_object(each, f"Worker -> its own: {each['description']}", least=0),
    )


_NOTES: Final = f"""
Takes the decision of the [core.orchestrator.supervisor](core.orchestrator.supervisor.md) before it, or else the newest
of the run. Without one it fails with `no_pending_decision`. An edge back to the supervisor makes the next tick.

`next-worker`: each worker is a child run of the workflow of that id. The event `node.dispatched` names it, and
`core.workflowChain.event` tells each step of the handover; both point at the decision. A worker that is named twice
runs twice. Its variables start as with [core.subWorkflow](core.subWorkflow.md), by `inputMapping`, and when it has
completed `outputMapping` is applied; a mapping for one worker replaces the one for all.

- `sequential`: one after another. What a worker has given is there for the next one. The first that fails or is
  cancelled fails the node with `child_run_failed` or `child_run_cancelled`, whose details hold `workerId`,
  `childRunId`, `childStatus` and `error`.
- `reject`: a decision with several workers fails the node with `fan_out_unsupported`.
- `parallel`: side by side, at most `maxParallel` at a time, until the `joinMode` is met. `wait-all`: all have ended,
  and the first in their order that failed fails the node. `quorum`: as many as `quorum` says have completed. `first`:
  one has completed. `race`: one has ended, and if it failed so does the node. Those that ended first count, by the log
  of this run. When it can no longer be met the node fails as above, and with `quorum_unreachable` if there are too few
  workers to begin with. Workers that are not needed any more are cancelled, and the node ends when they have ended.
  Mappings are applied then, for those that counted, in the order of the decision.

An unknown worker fails the node with `unknown_child_workflow`, and a mapped variable that is sensitive in the worker
with `child_output_hidden`. Workers that still run then are cancelled, and the node fails when they have ended.

With `maxRetries` in its settings, the node carries out the whole decision again, also with workers that have completed.
If its time is up, its workers are cancelled, and the next attempt does not wait for their end.

A decision whose own `confidence` is below {CONFIDENCE_FLOOR:g} is not carried out at once: the run waits for a
person, who answers the question `proceed` with `{PROCEED}` or `{STOP}`. `{STOP}` fails the node with
`interrupt_rejected`.

`ask-user`: a person is asked, by a conversation of one turn, which the agent of the supervisor opens with the question,
or by a clarification with one question, whose id is `answer`. The output `answer` has what the person said. An edge
with `sourceOutput` and `targetInput` `answer` brings it to a port of the supervisor, whose expression asks for it with
`has(ports.answer)`: [A supervisor of your own](../../how-to/write-a-supervisor.md).

More starts of dispatch nodes than `iterationCap` says fail the run with `loop_limit_exceeded`.
"""


def dispatch_nodes(conversation: bool) -> tuple[NodeType, ...]:
    """The type, for a host that has conversations or not."""
    inward, inward_of = _mapping_schemas("the worker", "this run")
    outward, outward_of = _mapping_schemas("this run", "the worker")
    declaration = NodeDeclaration(
        DISPATCH,
        "Carries out what a supervisor has decided: runs workers, or asks a person.",
        instant=False,
        role="dispatch",
        input_mappings=("/inputMapping", "/perWorkerInputMappings/*"),
        output_mappings=("/outputMapping", "/perWorkerOutputMappings/*"),
        untainted_outputs=("kind", "childRunId", "childStatus", "results"),
        outputs=schemas.fixed_ports(
            kind=schemas.typed("string", "The kind of the decision."),
            childRunId=schemas.typed("string", "The run of the last worker that decided."),
            childStatus=schemas.typed("string", "How that one ended."),
            results=schemas.typed("array", "Each worker, as {workerId, childRunId, childStatus}."),
            answer=schemas.any_value("What a person answered."),
        ),
        config=schemas.closed_object(
            askUserRouting=schemas.one_of(
                ASK_USER_ROUTINGS,
                "How a person is asked; `auto` is a conversation if the host has them.",
                default="auto",
            ),
            workerDispatchModel=schemas.one_of(
                DISPATCH_MODELS, "What a worker is: a run of the workflow of that id.", default=DISPATCH_MODELS[0]
            ),
            fanOutPolicy=schemas.one_of(FAN_OUT_POLICIES, "What is done about several workers.", default="sequential"),
            joinMode=schemas.one_of(JOIN_MODES, "When parallel workers have done enough.", default="wait-all"),
            quorum=schemas.integer(1, 10_000, "With the join mode `quorum`: how many have to complete."),
            maxParallel=schemas.integer(
                1, MAX_PARALLEL, "So many parallel workers at a time.", default=DEFAULT_PARALLEL
            ),
            iterationCap=schemas.integer(1, MAX_ITERATIONS, "How often dispatch nodes may start in a run."),
            inputMapping=inward,
            outputMapping=outward,
            perWorkerInputMappings=inward_of,
            perWorkerOutputMappings=outward_of,
        ),
        check_config=partial(_check, conversation=conversation),
        notes=_NOTES,
        example_config={"fanOutPolicy": "parallel", "joinMode": "first", "outputMapping": {"found": "answer"}},
    )
    return (WaitingNode(declaration, partial(_dispatch, conversation=conversation)),)
