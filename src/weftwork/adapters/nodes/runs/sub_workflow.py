"""The node type core.subWorkflow: starts another workflow as a child run, and waits for its end."""

from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome, SetVariable, StartChild
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.child_runs import SUB_WORKFLOW, ChildState

CHILD_KEY: Final = "child"
"""The key of the only child."""
ATTESTATION_CAPABILITY: Final = "agents.subRunAttestation"


def _check(config: dict[str, Any]) -> list[Violation]:
    if "outputAttestation" in config:
        text = f"is not offered: this host does not advertise {ATTESTATION_CAPABILITY}"
        return [Violation("/outputAttestation", "capability", text, ATTESTATION_CAPABILITY)]
    if config.get("outputMapping") and not config.get("waitForCompletion", True):
        text = "takes nothing from a child that the node does not wait for: leave it out, or waitForCompletion"
        return [Violation("/outputMapping", "not", text)]
    return []


@waiting_node(
    SUB_WORKFLOW,
    "Starts another workflow as a child run, and waits for its end.",
    input_mappings=("/inputMapping",),
    output_mappings=("/outputMapping",),
    untainted_outputs=("childRunId", "childStatus"),
    outputs=schemas.fixed_ports(
        childRunId=schemas.typed("string", "The id of the child run."),
        childStatus=schemas.one_of(
            ("completed", "failed", "cancelled", "running"),
            "How it ended; `running` if the node did not wait for that.",
        ),
        outputs=schemas.typed("object", "The outputs of a completed child, by node id."),
        error=schemas.typed("object", "Code and message of a failure that was absorbed."),
    ),
    config=schemas.closed_object(
        "workflowId",
        workflowId=schemas.path_id_string("The workflow to run, as it is when the node starts it."),
        waitForCompletion=schemas.typed(
            "boolean",
            "Whether the node ends when the child has ended, or as soon as it is started.",
            default=True,
        ),
        onChildFailure=schemas.one_of(
            ("fail-parent", "absorb"),
            "What a child that fails or is cancelled does to the node.",
            default="fail-parent",
        ),
        inputMapping=schemas.variable_mapping("the child", "this run"),
        outputMapping=schemas.variable_mapping("this run", "the child"),
        propagateCancellation=schemas.typed(
            "boolean", "Whether the child is cancelled when this run is.", default=True
        ),
        outputAttestation=schemas.any_value("Refused: attested outputs are not offered."),
    ),
    check_config=_check,
    notes="""
The child is a run of its own, with its own log, of the same tenant. Its variables start as the defaults of its
definition; above them come the values of `inputMapping`, as they are when the node starts. A variable of this run that
has no value is left out, so the default of the child stays. What this run changes later does not reach the child.

While the child works, nothing of the parent is in memory. While it waits for people, the parent has the same status
`waiting-approval`, `waiting-input` or `waiting-external`, and this node is its current one. `childRuns` of the parent
names the child, `parentRunId` and `parentNodeId` of the child name the parent.

When the child has completed, each variable of `outputMapping` takes its value; one that the child does not have is
skipped. If the child keeps one of them hidden, because it is sensitive there, the node fails with
`child_output_hidden`. After a failed or cancelled child nothing is mapped, and the node fails with `child_run_failed`
or `child_run_cancelled`; the details hold `childRunId`, `childStatus` and the `error` of the child. With `absorb` it
completes instead, with the same as outputs. A retry after a failed child starts another one; a child that was cancelled
is not tried again.

Without `waitForCompletion` the node completes as soon as the child is started, with the `childStatus` `running`. The
child goes its own way; it is still cancelled with this run, if that is open by then, unless `propagateCancellation` is
false.

An unknown workflow fails the node with `unknown_child_workflow`. Others that keep a child from being started are
`child_inputs_invalid`, `child_input_hidden`, `child_depth_exceeded` and `child_limit_exceeded`. If the node ends before
its child, because its time is up or the run fails, the child is cancelled.
""",
    example_config={
        "workflowId": "check-order",
        "inputMapping": {"order": "order"},
        "outputMapping": {"state": "verdict"},
    },
)
async def sub_workflow(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """kin-01 (OpenWOP node-packs, core.subWorkflow): one child, whose end decides how the node ends."""
    child = call.children.get(CHILD_KEY)
    if child is None:
        return await _start(call, context)
    if not child.awaited:
        return Completed(_detached_outputs(child.run_id))
    if not child.has_ended:
        return AwaitsChildren()
    if child.status == "completed":
        return _complete(child, call.config.get("outputMapping", {}))
    if call.config.get("onChildFailure") == "absorb":
        return Completed(child_summary(child))
    return child_failure(child)


async def _start(call: NodeCall, context: NodeContext) -> NodeOutcome:
    config = call.config
    waits = config.get("waitForCompletion", True)
    child = await context.prepare_child(
        CHILD_KEY,
        config["workflowId"],
        config.get("inputMapping", {}),
        variables=tuple(dict.fromkeys(config.get("outputMapping", {}).values())),
        outputs=waits,
        awaited=waits,
        cascade=config.get("propagateCancellation", True),
    )
    if isinstance(child, Failed):
        return child
    start = (StartChild(child),)
    return AwaitsChildren(start) if waits else Completed(_detached_outputs(child.run_id), start)


def _detached_outputs(run_id: str) -> dict[str, Any]:
    """The outputs of a node that goes its own way."""
    return {"childRunId": run_id, "childStatus": "running"}


def _complete(child: ChildState, outward: dict[str, str]) -> NodeOutcome:
    """kin-14 (OpenWOP node-packs, core.subWorkflow): what a completed child has goes to its parent, and only that."""
    if hidden := [of for of in dict.fromkeys(outward.values()) if of in child.hidden]:
        return hidden_output_failure(child, hidden)
    outputs = child_summary(child)
    if child.outputs is not None:
        outputs["outputs"] = child.outputs
    return Completed(
        outputs,
        tuple(SetVariable(name, child.variables[of]) for name, of in outward.items() if of in child.variables),
    )


def child_summary(child: ChildState) -> dict[str, Any]:
    """A child that has ended, for outputs and for the details of a failure. Its own details stay with it."""
    told: dict[str, Any] = {"childRunId": child.run_id, "childStatus": child.status}
    if child.error is not None:
        told["error"] = {each: child.error[each] for each in ("code", "message") if each in child.error}
    return told


def child_failure(child: ChildState) -> Failed:
    """What becomes of a node whose child has failed, or was cancelled, which another attempt would not change."""
    if child.status == "cancelled":
        message = f"The child run {child.run_id} was cancelled."
        return Failed("child_run_cancelled", message, child_summary(child), retryable=False)
    code = (child.error or {}).get("code", "an unknown error")
    return Failed("child_run_failed", f"The child run {child.run_id} failed with {code}.", child_summary(child))


def hidden_output_failure(child: ChildState, names: list[str]) -> Failed:
    """hide-03: what is sensitive in the child is not shown to its parent, so it cannot be taken over either."""
    message = f"The child run {child.run_id} does not give away what is sensitive in it: {', '.join(names)}."
    return Failed("child_output_hidden", message, child_summary(child), retryable=False)
