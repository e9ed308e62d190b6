"""Validates and prepares child runs before they start.

Everything that can be wrong with a child is found here: its workflow, its inputs, what it would show that the parent
hides, how deep it is, and how many runs its tree may have. What is prepared is only stored later, in the commit of
the parent's event that starts the child.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.run.append import hide_inputs, make_redactor
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.node_outcome import ChildRequest, Failed, NewChild
from weftwork.ports.nodes import NodeCall
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import RunState, UntrustedValues
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import Limits
from weftwork.protocol.media.asset_references import referenced_assets
from weftwork.protocol.review.spans import format_traceparent, span_id, trace_of
from weftwork.protocol.run.header import Parent, RunHeader, RunKey
from weftwork.protocol.workflow import run_options
from weftwork.protocol.workflow.plan import Plan

MAX_CACHED_TREES: Final = 1024
"""Trees whose number of runs is kept in memory."""
PENDING_MS: Final = 60_000
"""After that, a child that is not in the store has come to nothing."""
FULL_RECHECK_MS: Final = 1_000
"""After that, a tree that was full is counted again: those who would make it fuller may be many."""
PER_RUN_OPTIONS: Final = frozenset({"recursionLimit", "runTimeoutMs", "maxLoopIterations"})
"""kin-01: options that are of one run; all others are those of its children, too."""

MAX_SHOWN_ID: Final = 100
"""Characters of an id that a message shows."""


class TreeSize(msgspec.Struct):
    """How many runs there are below a root."""

    count: int | None = None
    """At most: those that came to nothing are counted, too."""
    pending: dict[str, int] = {}
    """Those among them that the store may not have yet, and since when."""
    full_at: int = -1_000_000
    """When it was last found to be full."""


class ChildStarter(msgspec.Struct, eq=False):
    """Prepares child runs. Nothing is stored here: the child is created in the commit of the event that starts it."""

    _child_runs: ChildRuns
    _clock: Clock
    _ids: Ids
    _limits: Limits
    _catalog: WorkflowCatalog
    _tree_sizes: OrderedDict[RunKey, TreeSize] = msgspec.field(default_factory=OrderedDict[RunKey, TreeSize])
    """By the run at the top."""

    async def prepare(self, state: RunState, call: NodeCall, wanted: ChildRequest) -> NewChild | Failed:
        """kin-01 (OpenWOP node-packs, core.subWorkflow): the child of a node, or why there can be none.

        Same tenant, same owner, the definition as it is now. Raises StoreUnavailable.
        """
        header = state.header
        parent = _parent_of_child(header, call.node_id, wanted)
        if parent.depth > self._limits.max_run_depth:
            text = f"Child runs go at most {self._limits.max_run_depth} deep."
            return Failed("child_depth_exceeded", text, {"limit": self._limits.max_run_depth}, retryable=False)
        try:
            plan = await self._catalog.find_plan(header.owner.tenant, wanted.workflow_id)
        except ClientFault as fault:
            name = wanted.workflow_id[:MAX_SHOWN_ID]
            return _unknown_workflow(
                wanted.workflow_id, f"The workflow {name} cannot be run in a child: {fault.message}"
            )
        if plan is None:
            return _unknown_workflow(wanted.workflow_id, f"There is no workflow {wanted.workflow_id[:MAX_SHOWN_ID]}.")
        inputs = dict(wanted.inputs)
        for name, source in wanted.mapping.items():
            if call.scope.has_variable(source):
                inputs[name] = call.scope.variable(source)
        if (wrong := _check_inputs(state, call.node_id, plan, wanted, inputs)) is not None:
            return wrong
        now = self._clock.now()
        run_id = self._ids.run_id(now)
        if not await self._has_room(_root_key(header), run_id, now):
            text = f"A tree of runs takes {self._limits.max_descendants:,} or fewer runs below its root."
            return Failed("child_limit_exceeded", text, {"limit": self._limits.max_descendants}, retryable=False)
        shown, hidden = hide_inputs(plan, inputs)
        encoded = encode_stored(inputs)
        span = span_id(header.run_id, call.node_id, call.attempt, call.entry_sequence)
        made = RunHeader(
            run_id=run_id,
            partition=header.partition,
            owner=header.owner,
            workflow_id=plan.workflow.id,
            definition=plan.workflow.digest,
            created_at=now,
            inputs=shown,
            configurable={name: value for name, value in header.configurable.items() if name not in PER_RUN_OPTIONS},
            traceparent=format_traceparent(trace_of(header).trace_id, span),
            parent=msgspec.structs.replace(parent, untrusted=_untrusted_inputs(state, call.node_id, wanted, inputs)),
            assets=tuple(sorted(referenced_assets(encoded, header.partition))),
        )
        return NewChild(wanted.key, made, plan, inputs, hidden, len(encoded))

    def on_started(self, new: NewChild) -> None:
        """The child is stored now, and counted there."""
        if (tree := self._tree_sizes.get(_root_key(new.header))) is not None:
            tree.pending.pop(new.run_id, None)

    async def _has_room(self, root: RunKey, run_id: str, now: int) -> bool:
        """lim-15 (host): whether the tree takes one run more, which is counted at once: others may be asking."""
        most = self._limits.max_descendants
        tree = self._tree_sizes.setdefault(root, TreeSize())
        self._tree_sizes.move_to_end(root)
        if len(self._tree_sizes) > MAX_CACHED_TREES:
            self._tree_sizes.popitem(last=False)
        if tree.full_at + FULL_RECHECK_MS > now:
            return False
        if tree.count is None or tree.count >= most:
            # Some that were counted may not have come into being.
            stored = await self._child_runs.count_descendants(root)
            tree.pending = {each: at for each, at in tree.pending.items() if at > now - PENDING_MS}
            tree.count = stored + len(tree.pending)
        if tree.count >= most:
            tree.full_at = now
            return False
        tree.count += 1
        tree.pending[run_id] = now
        return True


def _root_key(header: RunHeader) -> RunKey:
    return RunKey(header.partition, header.parent.root if header.parent is not None else header.run_id)


def _parent_of_child(header: RunHeader, node_id: str, wanted: ChildRequest) -> Parent:
    above = header.parent
    return Parent(
        run_id=header.run_id,
        node_id=node_id,
        key=wanted.key,
        cause=wanted.cause,
        root=above.root if above is not None else header.run_id,
        depth=above.depth + 1 if above is not None else 1,
        awaited=wanted.awaited,
        cascade=wanted.cascade,
        variables=wanted.variables,
        outputs=wanted.outputs,
    )


def _untrusted_inputs(state: RunState, node_id: str, wanted: ChildRequest, inputs: dict[str, Any]) -> tuple[str, ...]:
    """trust-05: what is mapped is as it is here; whatever else an untrusted node gives is untrusted."""
    if not wanted.untrusted and state.untrusted is None:
        return ()
    known, view = state.untrusted or UntrustedValues(), state.nodes[node_id].view
    return tuple(
        name
        for name in inputs
        if (known.is_untrusted_variable(view, wanted.mapping[name]) if name in wanted.mapping else wanted.untrusted)
    )


def _unknown_workflow(workflow_id: str, text: str) -> Failed:
    return Failed("unknown_child_workflow", text, {"workflowId": workflow_id}, retryable=False)


def _redaction_of(state: RunState) -> Callable[[Any], Any]:
    """A value as the log of this run shows it: also by accident, nothing that it hides."""
    redactor = make_redactor(state)
    return redactor.visible_value if redactor is not None else lambda value: value


def _check_inputs(
    state: RunState, node_id: str, plan: Plan, wanted: ChildRequest, inputs: dict[str, Any]
) -> Failed | None:
    try:
        run_options.check_inputs(plan.workflow.variables, inputs, plan.workflow.channels)
    except ClientFault as fault:
        text = f"The inputs of the child run do not fit its workflow: {fault.message}"
        return Failed("child_inputs_invalid", text, fault.details, retryable=False)
    # hide-05: what this run hides, the child must hide as well. Of what is mapped it is known, of the rest it is not.
    hides = state.plan.nodes[node_id].hides_outputs
    shown = _redaction_of(state)
    for name, value in inputs.items():
        hidden = wanted.mapping[name] in state.plan.sensitive_variables if name in wanted.mapping else hides
        if (hidden or shown(value) != value) and name not in plan.sensitive_variables:
            text = f"The child's variable {name} would show what this run hides; declare it as sensitive there."
            return Failed("child_input_hidden", text, {"variable": name}, retryable=False)
    if secret := [name for name in wanted.variables if name in plan.sensitive_variables]:
        text = f"The child hides its variable {secret[0]}, so nothing can be made of it here."
        return Failed("child_output_hidden", text, {"variable": secret[0]}, retryable=False)
    return None
