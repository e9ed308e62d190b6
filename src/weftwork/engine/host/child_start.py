"""Validates and prepares child runs before they start.

All checks of a child are here: its workflow, its inputs, values that it would show although the parent hides them, its
depth, and the size of its tree. A prepared child is stored later, in the commit of the parent's event that starts it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.host.child_rate import ChildRate
from weftwork.engine.run.append import hide_inputs, make_redactor
from weftwork.engine.tenant_logs import TenantLogs
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.node_outcome import ChildRequest, Failed, NewChild
from weftwork.ports.nodes import NodeCall
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import RunState, UntrustedValues
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import QUOTA_EXCEEDED, Limits
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.review.spans import format_traceparent, span_id, trace_of
from weftwork.protocol.run.header import Parent, RunHeader, RunKey
from weftwork.protocol.run.size_errors import limit_error
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.plan import Plan

MAX_CACHED_TREES: Final = 1024
"""Trees whose number of runs is cached."""
PENDING_MS: Final = 60_000
"""A prepared child that is not in the store after this time was never created, and no longer counts."""
MAX_PREPARED: Final = 1_000
"""Children that a node prepares for one commit: as many as a map can have open."""
FULL_RECHECK_MS: Final = 1_000
"""A tree that was full is counted again at most once in this time, because many nodes may try to start a child."""
PER_RUN_OPTIONS: Final = frozenset({"recursionLimit", "runTimeoutMs", "maxLoopIterations"})
"""kin-01: options that apply to one run; children inherit all others."""

MAX_SHOWN_ID: Final = 100
"""Characters of an id that a message quotes."""


class TreeSize(msgspec.Struct):
    """The number of runs below a root."""

    count: int | None = None
    """An upper bound: it includes prepared children that were never created."""
    pending: dict[str, int] = {}
    """Prepared children that the store may not have yet, with the time of their preparation."""
    full_at: int = -1_000_000
    """When the tree was last found to be full."""


class ChildStarter(msgspec.Struct, eq=False):
    """Prepares child runs. It stores nothing: a child is created in the commit of the event that starts it."""

    _child_runs: ChildRuns
    _clock: Clock
    _ids: Ids
    _limits: Limits
    _catalog: WorkflowCatalog
    _rate: ChildRate
    _tenant_logs: TenantLogs | None = None
    _tree_sizes: OrderedDict[RunKey, TreeSize] = msgspec.field(default_factory=OrderedDict[RunKey, TreeSize])
    """By root run, least recently used first."""

    async def prepare(self, state: RunState, call: NodeCall, request: ChildRequest) -> NewChild | Failed:
        """kin-01 (OpenWOP node-packs, core.subWorkflow): the child of a node, or why it cannot be started.

        The child has the tenant and the owner of its parent, and the current version of the workflow. Raises
        StoreUnavailable.
        """
        header = state.header
        parent = _parent_of_child(header, call.node_id, request)
        if parent.depth > self._limits.max_run_depth:
            text = f"Child runs can be nested at most {self._limits.max_run_depth} deep (`max_run_depth`)."
            return Failed("child_depth_exceeded", text, {"limit": self._limits.max_run_depth}, retryable=False)
        try:
            plan = await self._catalog.find_plan(header.owner.tenant, request.workflow_id)
        except ClientFault as fault:
            name = request.workflow_id[:MAX_SHOWN_ID]
            return _unknown_workflow(
                request.workflow_id, f"The workflow {name} cannot be started as a child run: {fault.message}"
            )
        if plan is None:
            return _unknown_workflow(request.workflow_id, f"There is no workflow {request.workflow_id[:MAX_SHOWN_ID]}.")
        inputs = dict(request.inputs)
        for name, source in request.mapping.items():
            if call.scope.has_variable(source):
                inputs[name] = call.scope.variable(source)
        if (failure := _check_inputs(state, call.node_id, plan, request, inputs)) is not None:
            return failure
        await self._rate.take(header.partition)
        now = self._clock.now()
        run_id = self._ids.run_id(now)
        if not await self._has_room(_root_key(header), run_id, now):
            text = (
                f"The run tree has reached its limit of {self._limits.max_descendants:,} descendants "
                "(`max_descendants`)."
            )
            return Failed("child_limit_exceeded", text, {"limit": self._limits.max_descendants}, retryable=False)
        encoded = encode_stored(inputs)
        visible, hidden = inputs, ()
        if plan.taint.has_sensitive_data or may_hold_credential(encoded):
            visible, hidden = hide_inputs(plan, inputs)
        span = span_id(header.run_id, call.node_id, call.attempt, call.entry_sequence)
        child_header = RunHeader(
            run_id=run_id,
            partition=header.partition,
            owner=header.owner,
            workflow_id=plan.workflow.id,
            definition=plan.workflow.digest,
            created_at=now,
            inputs=visible,
            configurable={name: value for name, value in header.configurable.items() if name not in PER_RUN_OPTIONS},
            traceparent=format_traceparent(trace_of(header).trace_id, span),
            parent=msgspec.structs.replace(parent, untrusted=_untrusted_inputs(state, call.node_id, request, inputs)),
            assets=tuple(sorted(referenced_assets(encoded, header.partition))),
            expression_limits=self._limits.expressions,
        )
        if self._tenant_logs is not None and not self._tenant_logs.reserve_run(child_header, hidden):
            return _quota_exceeded(self._tenant_logs, header.partition)
        return NewChild(request.key, child_header, plan, inputs, hidden, len(encoded))

    def on_started(self, new: NewChild) -> None:
        """The child is stored, so the store counts it from now on."""
        if (tree := self._tree_sizes.get(_root_key(new.header))) is not None:
            tree.pending.pop(new.run_id, None)

    @property
    def _pending_ms(self) -> int:
        """A map prepares its children before it starts the first one, which takes longer at a low rate."""
        rate = self._limits.max_children_per_second
        return PENDING_MS + (MAX_PREPARED * 1000 // rate if rate else 0)

    async def _has_room(self, root: RunKey, run_id: str, now: int) -> bool:
        """lim-15 (host): whether the tree may have one more run. If so, the run is counted at once, because other nodes
        may prepare children concurrently."""
        limit = self._limits.max_descendants
        tree = self._tree_sizes.setdefault(root, TreeSize())
        self._tree_sizes.move_to_end(root)
        if len(self._tree_sizes) > MAX_CACHED_TREES:
            self._tree_sizes.popitem(last=False)
        if tree.full_at + FULL_RECHECK_MS > now:
            return False
        if tree.count is None or tree.count >= limit:
            # Some children that were counted may never have been created.
            stored = await self._child_runs.count_descendants(root)
            since = now - self._pending_ms
            tree.pending = {each: at for each, at in tree.pending.items() if at > since}
            tree.count = stored + len(tree.pending)
        if tree.count >= limit:
            tree.full_at = now
            return False
        tree.count += 1
        tree.pending[run_id] = now
        return True


def _root_key(header: RunHeader) -> RunKey:
    return RunKey(header.partition, header.parent.root if header.parent is not None else header.run_id)


def _parent_of_child(header: RunHeader, node_id: str, request: ChildRequest) -> Parent:
    above = header.parent
    return Parent(
        run_id=header.run_id,
        node_id=node_id,
        key=request.key,
        cause=request.cause,
        root=above.root if above is not None else header.run_id,
        depth=above.depth + 1 if above is not None else 1,
        awaited=request.awaited,
        cascade=request.cascade,
        variables=request.variables,
        outputs=request.outputs,
    )


def _untrusted_inputs(state: RunState, node_id: str, request: ChildRequest, inputs: dict[str, Any]) -> tuple[str, ...]:
    """trust-05: a mapped input is untrusted if its variable is; all other inputs are untrusted if the node is."""
    if not request.untrusted and state.untrusted is None:
        return ()
    untrusted, view = state.untrusted or UntrustedValues(), state.nodes[node_id].view
    return tuple(
        name
        for name in inputs
        if (
            untrusted.is_untrusted_variable(view, request.mapping[name])
            if name in request.mapping
            else request.untrusted
        )
    )


def _unknown_workflow(workflow_id: str, text: str) -> Failed:
    return Failed("unknown_child_workflow", text, {"workflowId": workflow_id}, retryable=False)


def _quota_exceeded(logs: TenantLogs, partition: str) -> Failed:
    error = limit_error(QUOTA_EXCEEDED, logs.quota, logs.used(partition))
    return Failed(error.code, error.message, msgspec.to_builtins(error.details), retryable=False)


def _redaction_of(state: RunState) -> Callable[[Any], Any]:
    """A function that masks sensitive values as the log of this run does, including copies. Credentials are passed on:
    the child recognises them itself."""
    redactor = make_redactor(state, credentials=False) if state.plan.has_sensitive_data else None
    return redactor.visible_value if redactor is not None else lambda value: value


def _check_inputs(
    state: RunState, node_id: str, plan: Plan, request: ChildRequest, inputs: dict[str, Any]
) -> Failed | None:
    try:
        run_options.check_inputs(plan.workflow.variables, inputs, plan.workflow.channels)
    except ClientFault as fault:
        text = f"The inputs of the child run are invalid for its workflow: {fault.message}"
        return Failed("child_inputs_invalid", text, fault.details, retryable=False)
    # hide-05: the child must hide what this run hides. A mapped input is hidden if its variable is sensitive; for other
    # inputs it is unknown which values they came from, so they are hidden if the node hides its outputs.
    hides = state.plan.nodes[node_id].hides_outputs
    mask = _redaction_of(state)
    for name, value in inputs.items():
        hidden = request.mapping[name] in state.plan.sensitive_variables if name in request.mapping else hides
        if (hidden or mask(value) != value) and name not in plan.sensitive_variables:
            text = (
                f"The child's variable {name} would show a value that this run hides. "
                "Declare the variable as sensitive in the child's workflow."
            )
            return Failed("child_input_hidden", text, {"variable": name}, retryable=False)
    if secret := [name for name in request.variables if name in plan.sensitive_variables]:
        text = f"The child's variable {secret[0]} is sensitive, so its value cannot be returned to this run."
        return Failed("child_output_hidden", text, {"variable": secret[0]}, retryable=False)
    return None
