"""The node type core.dispatch: carries out the decision of a supervisor.

Workers are child runs, sequential or parallel. A dispatch has no state of its own: each call derives what to do from
the existing child runs, whose keys are the positions of their workers in the decision. The events about a child are
written in the commit that starts the next child or ends the node, so they are written exactly once, even if a call is
repeated. The node ends, also with a failure, only when all of its children have ended.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.call_inputs import truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import conversation_id, default_interrupt_key
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
from weftwork.protocol.workflow.registration import CONVERSATION_CAPABILITY, check_gated_config

MAX_ITERATIONS: Final = 1_000_000
PARALLEL_MEMBERS: Final = ("joinMode", "quorum", "maxParallel")
CANCELLED_ERROR: Final = {"code": "child_run_cancelled", "message": "The worker was cancelled."}


class DispatchWorkers:
    """Decides the next step for the workers of a decision, from the current state of their child runs."""

    def __init__(self, call: NodeCall, context: NodeContext, decided: SupervisorDecision) -> None:
        self._call = call
        self._context = context
        self._decided = decided
        self._config = call.config
        self._worker_ids: list[str] = decided.decision["nextWorkerIds"]
        self._children = [call.children[str(index)] for index in range(len(call.children))]
        self._indexes = range(len(self._children))

    async def run_sequentially(self) -> NodeOutcome:
        """orch-09 (RFC 0007 D): a worker starts when the previous one has completed, with the variables that it set."""
        next_index = len(self._children)
        last = range(max(0, next_index - 1), next_index)
        for index in last:
            if not self._children[index].has_ended:
                return AwaitsChildren()
            if (failed := self._failure(index)) is not None:
                return self._fail_when_ended(failed, last)
        if next_index == len(self._worker_ids):
            return self._complete(last, tuple(last))
        harvested = {name: value for index in last for name, value in self._harvested_values(index).items()}
        started = await self._start(next_index, harvested)
        if isinstance(started, Failed):
            return self._fail_when_ended(started, last, last)
        return AwaitsChildren((*self._end_effects(last, last), *started))

    async def run_in_parallel(self) -> NodeOutcome:
        """orch-07 (readings, Fan-out): up to `maxParallel` workers until the join mode is met; the rest are cancelled.

        The outcome depends only on the order in which the workers ended, not on how many of them had ended by the time
        of a call: worker `index` starts only if the ends before the one that makes room for it have not met the join.
        """
        config, next_index, total = self._config, len(self._children), len(self._worker_ids)
        mode: JoinMode = config.get("joinMode", "wait-all")
        quorum: int = config.get("quorum", 1)
        if quorum > total:
            message = f"The decision has {total} workers, but config quorum requires {quorum} of them to complete."
            return Failed("quorum_unreachable", message, {"quorum": quorum, "workers": total}, retryable=False)
        ended = sorted(
            (each.end_sequence, index, each.status) for index, each in enumerate(self._children) if each.has_ended
        )
        ends = [(index, status) for _, index, status in ended]
        room: int = config.get("maxParallel", DEFAULT_PARALLEL)
        effects: list[NodeEffect] = []
        for index in range(next_index, min(room + len(ends), total)):
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
        """Fail with the events about the children, once all of them have ended; until then, cancel them and wait."""
        if (waits := self._cancel_open(FAILED_WITH_PARENT)) is not None:
            return waits
        return replace(failed, effects=(*self._end_effects(ended, harvested), *failed.effects))

    def _cancel_open(self, reason: str) -> AwaitsChildren | None:
        """Cancel the open children and wait for their end; None if no child is open."""
        open_children = [(str(index), each) for index, each in enumerate(self._children) if not each.has_ended]
        cancels = tuple(CancelChild(key, reason) for key, each in open_children if each.status != "cancelling")
        return AwaitsChildren(cancels) if open_children else None

    async def _start(self, index: int, harvested: Mapping[str, Any] | None = None) -> list[NodeEffect] | Failed:
        """The effects that start a worker, or why it cannot be started.

        `harvested`: variables that the same commit sets, so the run does not have their values yet.
        """
        harvested = harvested or {}
        worker = self._worker_ids[index]
        began = self._context.new_event_id()
        began_event = self._chain_event("dispatch.began", index, self._decided.event_id, began)
        inward = worker_mapping(self._config, "Input", worker)
        child = await self._context.prepare_child(
            str(index),
            worker,
            {name: source for name, source in inward.items() if source not in harvested},
            {name: harvested[source] for name, source in inward.items() if source in harvested},
            cause=DISPATCH,
            variables=tuple(dict.fromkeys(worker_mapping(self._config, "Output", worker).values())),
        )
        if isinstance(child, Failed):
            error = {"code": child.code, "message": child.message}
            events = (began_event, self._chain_event("dispatch.failed", index, began, error=error))
            return replace(self._with_worker_id(index, child), effects=events)
        return [
            began_event,
            StartChild(child),
            EmitEvent.of(NodeDispatched(child.run_id, worker), self._decided.event_id),
            # The fold keeps this id as `ChildState.dispatch_event`: the end of the worker refers to it.
            self._chain_event("dispatch.succeeded", index, began, self._context.new_event_id(), child.run_id),
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
        """The failure of the node because of a child that has ended, or None."""
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
        """orch-04 (RFC 0037; readings, Chain of a dispatch): the end events of these workers, each followed by the
        variables harvested from it. The cause of each event is the previous event about its worker."""
        effects: list[NodeEffect] = []
        mapped = set(harvested)
        for index in ended:
            end = self._context.new_event_id()
            effects.append(self._end_event(index, self._children[index], end))
            if index in mapped and worker_mapping(self._config, "Output", self._worker_ids[index]):
                values = self._harvested_values(index)
                effects += [SetVariable(name, value) for name, value in values.items()]
                run_id = self._children[index].run_id
                keys = list(values)
                effects.append(self._chain_event("output.harvested", index, end, None, run_id, harvested_keys=keys))
        return effects

    def _harvested_values(self, index: int) -> dict[str, Any]:
        """The values of `outputMapping` for a worker, by variable of this run."""
        outward = worker_mapping(self._config, "Output", self._worker_ids[index])
        return map_worker_variables(outward, self._children[index].variables)

    def _end_event(self, index: int, child: ChildState, event_id: str) -> EmitEvent:
        error = UNSET if child.status == "completed" else child_summary(child).get("error", CANCELLED_ERROR)
        cause = child.dispatch_event
        return self._chain_event(f"child.{child.status}", index, cause, event_id, child.run_id, error)

    def _chain_event(
        self,
        phase: str,
        index: int,
        cause: str,
        event_id: str | None = None,
        child_run_id: str | UnsetType = UNSET,
        error: dict[str, Any] | UnsetType = UNSET,
        harvested_keys: list[str] | UnsetType = UNSET,
    ) -> EmitEvent:
        """The event of one step. `event_id` is set if a later step refers to this one."""
        worker = self._worker_ids[index]
        payload = WorkflowChainEvent(phase, worker, self._call.run_id, child_run_id, error, harvested_keys)
        return EmitEvent.of(payload, cause, event_id)


async def _dispatch(call: NodeCall, context: NodeContext, conversation: bool) -> NodeOutcome:
    decided, config = call.decision, call.config
    if decided is None:
        message = "There is no decision to carry out: a core.orchestrator.supervisor must run before this node."
        return Failed("no_pending_decision", message, retryable=False)
    decision = decided.decision
    if decision["kind"] == "ask-user":
        return await _ask_user(call, context, decided, conversation)
    if decision["kind"] == "terminate":
        return Completed({"kind": "terminate"})
    fan_out = config.get("fanOutPolicy", "sequential")
    if fan_out == "reject" and len(decision["nextWorkerIds"]) > 1:
        message = "The decision has several workers, but config fanOutPolicy is reject."
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
    """orch-10 (RFC 0007 D): ask a person the question of the supervisor, by conversation or by clarification.

    `conversation`: whether the host offers conversations.
    """
    key, text = default_interrupt_key(call), truncate_utf8(decided.decision["prompt"], MAX_QUESTION_BYTES)
    routing = call.config.get("askUserRouting", "auto")
    if routing == "clarification" or not conversation:
        question = {"id": "answer", "question": text}
        answered = await context.ask(Interrupt("clarification", f"{key}:answer", {"questions": [question]}))
        return Completed({"kind": "ask-user", "answer": answered.value["answers"]["answer"]})
    known = {"conversationId": conversation_id(call)}
    opening = {**known, "title": "Question", "initialPrompt": text}
    await context.ask(Interrupt("conversation.start", f"{key}:start", opening, speaker=decided.agent_id))
    turn = {**known, "prompt": text, "turnIndex": 1}
    answered = await context.ask(Interrupt("conversation.exchange", f"{key}:1", turn))
    await context.ask(Interrupt("conversation.close", f"{key}:close", {**known, "reason": "answered"}))
    return Completed({"kind": "ask-user", "answer": answered.value})


def _check(config: dict[str, Any], conversation: bool) -> list[Violation]:
    violations = check_gated_config(DISPATCH, config, () if conversation else (CONVERSATION_CAPABILITY,))
    if config.get("fanOutPolicy") != "parallel":
        text = "is allowed only with the fanOutPolicy parallel"
        violations += [Violation(f"/{member}", "not", text) for member in PARALLEL_MEMBERS if member in config]
    elif ("quorum" in config) is not (config.get("joinMode") == "quorum"):
        violations.append(
            Violation("/quorum", "required", "is required with the joinMode quorum, and not allowed with any other")
        )
    return violations


def _mapping_schemas(to: str, of: str) -> tuple[Schema, Schema]:
    """The schema of the mapping for all workers, and of the mappings for single workers."""
    each = schemas.variable_mapping(to, of)
    return (
        schemas.variable_mapping(to, of, " The mapping applies to every worker."),
        schemas.keyed_object(
            each,
            "Mappings for single workers, by worker id. Each replaces the mapping for all workers.",
            least=0,
        ),
    )


_NOTES: Final = f"""
The node carries out the decision of the [core.orchestrator.supervisor](core.orchestrator.supervisor.md) before it, or
else the newest decision of the run. Without a decision it fails with `no_pending_decision`. An edge back to the
supervisor begins the next round.

**`next-worker`.** Each worker is a child run of the workflow with that id; a worker that the decision names twice runs
twice. Variables are mapped as by [core.subWorkflow](core.subWorkflow.md): `inputMapping` when the worker starts,
`outputMapping` when it has completed. A mapping for a single worker replaces the mapping for all workers. The event
`node.dispatched` contains the child run and has the decision as its cause. `core.workflowChain.event` records each step
of a worker. The cause (`causationId`) of `dispatch.began` is the decision; the cause of each later step is the step
before it.

`fanOutPolicy` controls several workers:

- `sequential`: the workers run one after another, each with the variables that the previous one set. If a worker fails
  or is cancelled, the node fails with `child_run_failed` or `child_run_cancelled`. The details contain `workerId`,
  `childRunId`, `childStatus` and `error`.
- `parallel`: up to `maxParallel` workers run concurrently, until the `joinMode` is met.
- `reject`: a decision with several workers fails the node with `fan_out_unsupported`.

`joinMode` controls when parallel workers are done:

- `wait-all`: when all workers have ended. If some failed, the node fails with the error of the first one in the order
  of the decision.
- `quorum`: when `quorum` workers have completed.
- `first`: when one worker has completed.
- `race`: when one worker has ended. If it failed, the node fails.

The log of this run decides which workers ended first. When the join mode is met, the node cancels the remaining
workers, waits until they have ended, and applies the mappings of the workers that counted, in the order of the
decision. If the join mode can no longer be met, the node fails in the same way as with `sequential`. If the decision
has fewer workers than `quorum`, it fails with `quorum_unreachable`.

An unknown workflow fails the node with `unknown_child_workflow`, and a mapped variable that is sensitive in the worker
with `child_output_hidden`. The node first cancels the running workers and waits until they have ended.

If the `confidence` of the decision is below {CONFIDENCE_FLOOR:g}, the run first requests a clarification: a person
answers the question `proceed` with `{PROCEED}` or `{STOP}`. With `{STOP}` the node fails with `interrupt_rejected`.

With `maxRetries` in its settings, a retry carries out the whole decision again, including workers that have completed.
After a timeout of the node its workers are cancelled, and the retry does not wait until they have ended.

**`ask-user`.** A person is asked, either in a conversation of one turn, which the agent of the supervisor opens with
the question, or with a clarification whose question has the id `answer`. The output `answer` is the answer of the
person. An edge with the `sourceOutput` `answer` and the `targetInput` `answer` delivers it to the supervisor, whose
expression can test for it with `has(ports.answer)`: see [Write a supervisor](../../how-to/write-a-supervisor.md).

**`terminate`.** The node completes without starting workers.

If the dispatch nodes of a run start more than `iterationCap` times, the run fails with `loop_limit_exceeded`.
"""


def dispatch_nodes(conversation: bool) -> tuple[NodeType, ...]:
    """The node type. `conversation`: whether the host offers conversations."""
    inward, inward_of = _mapping_schemas("the worker", "this run")
    outward, outward_of = _mapping_schemas("this run", "the worker")
    declaration = NodeDeclaration(
        DISPATCH,
        "Carries out the decision of a supervisor: runs workers or asks a person.",
        instant=False,
        role="dispatch",
        input_mappings=("/inputMapping", "/perWorkerInputMappings/*"),
        output_mappings=("/outputMapping", "/perWorkerOutputMappings/*"),
        untainted_outputs=("kind", "childRunId", "childStatus", "results"),
        outputs=schemas.fixed_ports(
            kind=schemas.typed("string", "The kind of the decision."),
            childRunId=schemas.typed(
                "string", "The id of the child run that completed the join: the last worker whose end counted."
            ),
            childStatus=schemas.typed("string", "The final status of that child run."),
            results=schemas.typed("array", "All started workers, each as `{workerId, childRunId, childStatus}`."),
            answer=schemas.any_value("The answer of the person."),
        ),
        config=schemas.closed_object(
            askUserRouting=schemas.one_of(
                ASK_USER_ROUTINGS,
                "How a person is asked. `auto` is a conversation if the host offers them, else a clarification.",
                default="auto",
            ),
            workerDispatchModel=schemas.one_of(
                DISPATCH_MODELS,
                "How workers run: as a child run of the workflow with the id of the worker.",
                default=DISPATCH_MODELS[0],
            ),
            fanOutPolicy=schemas.one_of(
                FAN_OUT_POLICIES, "How several workers of one decision are run.", default="sequential"
            ),
            joinMode=schemas.one_of(
                JOIN_MODES, "When the node stops waiting for parallel workers.", default="wait-all"
            ),
            quorum=schemas.integer(1, 10_000, "The number of workers that must complete, with the join mode `quorum`."),
            maxParallel=schemas.integer(
                1,
                MAX_PARALLEL,
                "The maximum number of workers that run concurrently, with the fan-out policy `parallel`.",
                default=DEFAULT_PARALLEL,
            ),
            iterationCap=schemas.integer(
                1, MAX_ITERATIONS, "The maximum number of times that dispatch nodes start in a run."
            ),
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
