"""The node type core.dispatch: carries out what a supervisor has decided."""

from typing import Any, Final

from weftwork.adapters.nodes.call_inputs import truncate_utf8
from weftwork.adapters.nodes.people.interrupt_request import default_interrupt_key
from weftwork.adapters.nodes.runs.confidence import (
    MAX_QUESTION_BYTES,
    PROCEED,
    STOP,
    confirm_low_confidence,
    is_below_floor,
)
from weftwork.adapters.nodes.runs.dispatch_workers import DispatchWorkers
from weftwork.adapters.nodes.schemas import (
    Schema,
    any_value,
    closed_object,
    fixed_ports,
    integer,
    keyed_object,
    one_of,
    reference_notes,
    typed,
    variable_mapping,
)
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, NodeType, WaitingNode
from weftwork.protocol.fold.state import SupervisorDecision
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.child_runs import DISPATCH
from weftwork.protocol.run.interrupts import Interrupt
from weftwork.protocol.workflow.node_types import NodeDeclaration
from weftwork.protocol.workflow.orchestration import (
    ASK_USER_ROUTINGS,
    CONFIDENCE_FLOOR,
    DEFAULT_PARALLEL,
    DISPATCH_MODELS,
    FAN_OUT_POLICIES,
    JOIN_MODES,
    MAX_PARALLEL,
)

CONVERSATION_CAPABILITY: Final = "conversationPrimitive"
MAX_ITERATIONS: Final = 1_000_000
PARALLEL_MEMBERS: Final = ("joinMode", "quorum", "maxParallel")


def dispatch_nodes(conversation: bool) -> tuple[NodeType, ...]:
    """The type, for a host that has conversations or not."""

    async def run(call: NodeCall, context: NodeContext) -> NodeOutcome:
        return await _dispatch(call, context, conversation)

    def check(config: dict[str, Any]) -> list[Violation]:
        return _check(config, conversation)

    return (WaitingNode(_declaration(check), run),)


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
    each = variable_mapping(to, of)
    return (
        variable_mapping(to, of, ", for every worker"),
        keyed_object(each, f"Worker -> its own: {each['description']}", least=0),
    )


def _declaration(check: Any) -> NodeDeclaration:
    inward, inward_of = _mapping_schemas("the worker", "this run")
    outward, outward_of = _mapping_schemas("this run", "the worker")
    return NodeDeclaration(
        DISPATCH,
        "Carries out what a supervisor has decided: runs workers, or asks a person.",
        instant=False,
        role="dispatch",
        input_mappings=("/inputMapping", "/perWorkerInputMappings/*"),
        output_mappings=("/outputMapping", "/perWorkerOutputMappings/*"),
        untainted_outputs=("kind", "childRunId", "childStatus", "results"),
        outputs=fixed_ports(
            kind=typed("string", "The kind of the decision."),
            childRunId=typed("string", "The run of the last worker that decided."),
            childStatus=typed("string", "How that one ended."),
            results=typed("array", "Each worker, as {workerId, childRunId, childStatus}."),
            answer=any_value("What a person answered."),
        ),
        config=closed_object(
            askUserRouting=one_of(
                ASK_USER_ROUTINGS,
                "How a person is asked; `auto` is a conversation if the host has them.",
                default="auto",
            ),
            workerDispatchModel=one_of(
                DISPATCH_MODELS, "What a worker is: a run of the workflow of that id.", default=DISPATCH_MODELS[0]
            ),
            fanOutPolicy=one_of(FAN_OUT_POLICIES, "What is done about several workers.", default="sequential"),
            joinMode=one_of(JOIN_MODES, "When parallel workers have done enough.", default="wait-all"),
            quorum=integer(1, 10_000, "With the join mode `quorum`: how many have to complete."),
            maxParallel=integer(1, MAX_PARALLEL, "So many parallel workers at a time.", default=DEFAULT_PARALLEL),
            iterationCap=integer(1, MAX_ITERATIONS, "How often dispatch nodes may start in a run."),
            inputMapping=inward,
            outputMapping=outward,
            perWorkerInputMappings=inward_of,
            perWorkerOutputMappings=outward_of,
        ),
        check_config=check,
        notes=reference_notes(
            _NOTES, DISPATCH, {"fanOutPolicy": "parallel", "joinMode": "first", "outputMapping": {"found": "answer"}}
        ),
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
`has(ports.answer)`: [A supervisor of your own](../../extend/supervisor.md).

More starts of dispatch nodes than `iterationCap` says fail the run with `loop_limit_exceeded`.
"""
