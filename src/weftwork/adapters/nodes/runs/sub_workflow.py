"""The node type core.subWorkflow: runs another workflow as a child run."""

from typing import Any, Final

from weftwork.adapters.nodes import schemas
from weftwork.adapters.nodes.schemas import waiting_node
from weftwork.ports.node_outcome import AwaitsChildren, Completed, Failed, NodeOutcome, SetVariable, StartChild
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.run.child_runs import SUB_WORKFLOW, ChildState
from weftwork.protocol.workflow.registration import ATTESTATION_CAPABILITY, check_gated_config

CHILD_KEY: Final = "child"
"""The key of the only child."""


def _check(config: dict[str, Any]) -> list[Violation]:
    if gated := check_gated_config(SUB_WORKFLOW, config, (ATTESTATION_CAPABILITY,)):
        return gated
    if config.get("outputMapping") and not config.get("waitForCompletion", True):
        text = "needs a node that waits for its child: remove outputMapping, or set waitForCompletion to true"
        return [Violation("/outputMapping", "not", text)]
    return []


@waiting_node(
    SUB_WORKFLOW,
    "Runs another workflow as a child run and waits until it ends.",
    input_mappings=("/inputMapping",),
    output_mappings=("/outputMapping",),
    untainted_outputs=("childRunId", "childStatus"),
    outputs=schemas.fixed_ports(
        childRunId=schemas.typed("string", "The id of the child run."),
        childStatus=schemas.one_of(
            ("completed", "failed", "cancelled", "running"),
            "The final status of the child run, or `running` if the node did not wait.",
        ),
        outputs=schemas.typed("object", "The outputs of a completed child run, by node id."),
        error=schemas.typed(
            "object", "The `code` and `message` of a failed child run, with `onChildFailure` `absorb`."
        ),
    ),
    config=schemas.closed_object(
        "workflowId",
        workflowId=schemas.path_id_string(
            "The workflow to run. The node uses the version that is current when it starts the child run."
        ),
        waitForCompletion=schemas.typed(
            "boolean",
            "Whether the node waits until the child run has ended. If false, it completes when the child run starts.",
            default=True,
        ),
        onChildFailure=schemas.one_of(
            ("fail-parent", "absorb"),
            "What happens if the child run fails or is cancelled. With `absorb`, the node completes with the error.",
            default="fail-parent",
        ),
        inputMapping=schemas.variable_mapping("the child run", "this run"),
        outputMapping=schemas.variable_mapping("this run", "the child run"),
        propagateCancellation=schemas.typed(
            "boolean", "Whether cancelling this run cancels the child run.", default=True
        ),
        outputAttestation=schemas.any_value("Refused: this host does not support attested outputs."),
    ),
    check_config=_check,
    notes="""
The child run belongs to the same tenant and has its own id and log. Its variables start with the defaults of its
definition, overridden by the values of `inputMapping` at the start of the node. A variable of this run that is not set
is not passed, so the child run keeps its default. Later changes of variables in this run do not affect the child run.

While the child run works, the parent run uses no memory. While the child run waits for people, the parent run has the
same status (`waiting-approval`, `waiting-input` or `waiting-external`), and this node is its current node. `childRuns`
of the parent run lists the child run; `parentRunId` and `parentNodeId` of the child run refer to the parent run.

When the child run has completed, the node sets the variables of `outputMapping`. A variable that the child run does not
have is skipped. If a mapped variable is sensitive in the child run, the node fails with `child_output_hidden`.

If the child run fails or is cancelled, no variables are set, and the node fails with `child_run_failed` or
`child_run_cancelled`. The details contain `childRunId`, `childStatus` and the `error` of the child run. With
`onChildFailure` `absorb` the node completes instead, with the same members as outputs. A retry of the node after
`child_run_failed` starts a new child run; `child_run_cancelled` is not retried.

If `waitForCompletion` is false, the node completes as soon as the child run is started, with the `childStatus`
`running`. If this run is cancelled while it is open, the child run is cancelled too, unless `propagateCancellation` is
false.

If the child run cannot be started, the node fails with `unknown_child_workflow`, `child_inputs_invalid`,
`child_input_hidden`, `child_depth_exceeded` or `child_limit_exceeded`. If the node ends before its child run, because
of a timeout or because the run fails, the child run is cancelled.
""",
    example_config={
        "workflowId": "check-order",
        "inputMapping": {"order": "order"},
        "outputMapping": {"state": "verdict"},
    },
)
async def sub_workflow(call: NodeCall, context: NodeContext) -> NodeOutcome:
    """kin-01 (OpenWOP node-packs, core.subWorkflow): one child run, whose status decides the outcome of the node."""
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
    """The outputs of a node that does not wait for its child run."""
    return {"childRunId": run_id, "childStatus": "running"}


def _complete(child: ChildState, outward: dict[str, str]) -> NodeOutcome:
    """kin-14 (OpenWOP node-packs, core.subWorkflow): only a completed child run sets variables of its parent."""
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
    """A child run that has ended, for outputs and for the details of a failure; without the details of its error."""
    summary: dict[str, Any] = {"childRunId": child.run_id, "childStatus": child.status}
    if child.error is not None:
        summary["error"] = {each: child.error[each] for each in ("code", "message") if each in child.error}
    return summary


def child_failure(child: ChildState) -> Failed:
    """The failure of a node whose child run has failed, or was cancelled, which is not retryable."""
    if child.status == "cancelled":
        message = f"The child run {child.run_id} was cancelled."
        return Failed("child_run_cancelled", message, child_summary(child), retryable=False)
    code = (child.error or {}).get("code", "an unknown error")
    return Failed("child_run_failed", f"The child run {child.run_id} failed with {code}.", child_summary(child))


def hidden_output_failure(child: ChildState, names: list[str]) -> Failed:
    """hide-03: a parent run cannot read the sensitive values of its child runs, so it cannot map them either."""
    message = f"These values are sensitive in the child run {child.run_id} and cannot be mapped: {', '.join(names)}."
    return Failed("child_output_hidden", message, child_summary(child), retryable=False)
