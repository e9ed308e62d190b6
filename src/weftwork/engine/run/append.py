"""The one append path: numbers, redacts, folds and encodes events, and makes the batch that commits them.

Theory. The engine decides several things before it commits once: with pure nodes a whole run is one append. Each
decided event is folded at once, so that the next decision sees it; no reader sees any of it until the batch is
durable. If the commit fails, the state that ran ahead is thrown away and folded again from the log.

Sensitive values are replaced by masks before an event is encoded. They go into the same batch as hidden values, from
which the fold gets them back. `make_redactor` knows the values of a run; `hide_inputs` masks those of a new run.
"""

from typing import Any, Final, cast

import msgspec

from weftwork.ports.ids import Ids
from weftwork.ports.node_outcome import NewChild
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.data_flow import carries_untrusted, is_child_result_untrusted
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState, is_parked, next_wake_at
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.media.asset_references import ASSET_WORD, referenced_assets
from weftwork.protocol.privacy.redaction import Redactor, visible_channel, visible_variable
from weftwork.protocol.run.batch import (
    Batch,
    CancelRequest,
    CascadeCancel,
    ChildCreate,
    ChildResult,
    HiddenValue,
    IdempotencyRecord,
)
from weftwork.protocol.run.child_runs import FAILED_WITH_PARENT, cascade_of, status_for_parent
from weftwork.protocol.run.events import CATALOGUE, UNTRUSTED, Draft, Event, Fact, is_event_type
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.payloads import TIMESTAMP_MEMBERS, TURN_MEMBERS
from weftwork.protocol.run.projection import InterruptListing, Projection, StateRow
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.plan import Plan

_MEDIA_KINDS: Final = frozenset(MEDIA_KINDS)


class BatchBuilder:
    """Events of one run on their way to one commit."""

    __slots__ = (
        "_assets",
        "_cancel_requests",
        "_duration",
        "_error",
        "_hidden",
        "_now",
        "_outputs",
        "_redactor",
        "_staged",
        "_state",
        "_status_before",
        "_was_stopping",
        "children",
        "expected",
    )

    def __init__(self, state: RunState, redactor: Redactor | None, now: int, duration: int | None = None) -> None:
        self._state = state
        self._duration = duration
        self._redactor = redactor
        self._now = now
        self._staged: list[tuple[Draft, bytes]] = []
        self._hidden: list[HiddenValue] = []
        self._assets: frozenset[str] = frozenset()
        self._error: bytes | None = None
        self._outputs: bytes | None = None
        self._cancel_requests: list[CancelRequest] = []
        self._status_before = state.status
        self._was_stopping = state.stop is not None
        self.children: list[NewChild] = []
        self.expected = state.last_sequence

    def __len__(self) -> int:
        return len(self._staged)

    def add(self, draft: Draft) -> None:
        """Give the event its sequence and fold it; its encoding holds no value that must stay hidden.

        Raises HostFault for a type that the protocol does not allow.
        """
        kind, state = draft.type, self._state
        if kind not in CATALOGUE and not is_event_type(kind):
            raise HostFault(f"no event may have the type {kind}")
        if state.untrusted is not None and draft.content_trust != UNTRUSTED and carries_untrusted(state, draft):
            draft = msgspec.structs.replace(draft, content_trust=UNTRUSTED)
        sequence = self.expected + 1 + len(self._staged)
        payload = draft.payload
        if kind in TIMESTAMP_MEMBERS:
            payload = {**payload, TIMESTAMP_MEMBERS[kind]: iso(self._now)}
        elif kind in TURN_MEMBERS and "ts" not in (turn := payload[TURN_MEMBERS[kind]]):
            payload = {**payload, TURN_MEMBERS[kind]: {**turn, "ts": self._now}}
        shown: Any = payload
        if self._redactor is not None:
            shown, removed = self._redactor.hide_payload(kind, draft.node_id, payload)
            for pointer, value in removed:
                self._hidden.append(HiddenValue(sequence, pointer, encode_stored(value)))
                self._assets |= referenced_assets(self._hidden[-1].value, state.header.partition)
        encoded = encode_stored(shown)
        if ASSET_WORD in encoded or kind in _MEDIA_KINDS:
            # What is hidden from readers is named as well.
            whole = encoded if shown is payload else encode_stored(payload)
            self._assets |= referenced_assets(whole, state.header.partition, kind in _MEDIA_KINDS)
        self._staged.append((draft, encoded))
        if kind == "run.failed":
            self._error = encode_stored(shown["error"])
        elif kind == "run.completed":
            self._outputs = encode_stored(shown["outputs"])
        if draft.child is not None:
            self.children.append(draft.child)
        if draft.cancels:
            reason = str(payload.get("reason", FAILED_WITH_PARENT))
            self._cancel_requests += [CancelRequest(child, reason) for child in draft.cancels]
        event_id = draft.event_id or ""
        apply(state, Fact(sequence, kind, payload, self._now, draft.node_id, event_id, draft.content_trust))

    def build(self, ids: Ids, record: IdempotencyRecord | None) -> Batch:
        """What the store commits. Rows hold only what changed."""
        state = self._state
        run_id, engine_version = state.header.run_id, state.header.engine_version
        events = [
            Event(
                run_id,
                self.expected + 1 + offset,
                draft.event_id or event_id,
                draft.type,
                self._now,
                payload,
                draft.node_id,
                draft.causation_id,
                engine_version=engine_version,
                interrupt_id=draft.interrupt_id,
                content_trust=draft.content_trust,
            )
            for offset, ((draft, payload), event_id) in enumerate(
                zip(self._staged, ids.event_ids(len(self._staged)), strict=True)
            )
        ]
        rows = self._rows()
        tells = self._child_result() if state.header.parent is not None else None
        cascade = self._cascade() if state.children_started else None
        return Batch(
            tuple(events),
            self._projection(),
            rows,
            tuple(self._hidden),
            record,
            tuple([ChildCreate(child.header, child.hidden) for child in self.children]) if self.children else (),
            tells,
            tuple(self._cancel_requests),
            cascade,
            tuple(sorted(self._assets)) if self._assets else (),
        )

    def _cascade(self) -> CascadeCancel | None:
        """kin-06: children are cancelled as soon as the run is to end, and not only once its own nodes have stopped."""
        state = self._state
        status: str = state.status
        if state.stop is not None and not state.is_terminal:
            status = "cancelled" if state.stop.error is None else "failed"
        found = cascade_of(status) if state.is_terminal or (state.stop is not None and not self._was_stopping) else None
        return CascadeCancel(*found) if found is not None else None

    def _child_result(self) -> ChildResult | None:
        """kin-04 (readings, Child runs): word for the parent, when the run stands otherwise than before this batch."""
        state, parent = self._state, self._state.header.parent
        now = cast(Status, status_for_parent(state.status))
        if parent is None or not parent.awaited or now == status_for_parent(self._status_before):
            return None
        outcome: dict[str, Any] = {}
        if self._error is not None:
            outcome["error"] = msgspec.Raw(self._error)
        if now == "completed":
            known = [name for name in parent.variables if name in state.variables]
            sensitive = state.plan.sensitive_variables
            if values := {name: self._row_value("variable", name) for name in known if name not in sensitive}:
                outcome["variables"] = values
            if hidden := [name for name in known if name in sensitive]:
                outcome["hidden"] = hidden
            if parent.outputs and self._outputs is not None:
                outcome["outputs"] = msgspec.Raw(self._outputs)
        if state.untrusted is not None and is_child_result_untrusted(state, outcome):
            outcome["untrusted"] = True
        return ChildResult(
            state.header.run_id, parent.node_id, parent.key, state.last_sequence, now, msgspec.json.encode(outcome)
        )

    def _projection(self) -> Projection:
        state = self._state
        parked = is_parked(state)
        return Projection(
            status=state.status,
            last_sequence=state.last_sequence,
            started_at=state.started_at,
            completed_at=state.completed_at,
            current_node=state.current_node,
            error=self._error,
            executions=state.executions,
            outputs=self._outputs,
            parked=parked,
            wake_at=next_wake_at(state, self._duration) if parked else None,
        )

    def _rows(self) -> tuple[StateRow, ...]:
        state = self._state
        rows = [
            StateRow(kind, name, encode_stored(self._row_value(kind, name)), self._interrupt_listing(kind, name))
            for kind, name in sorted(state.changed_rows)
        ]
        state.changed_rows.clear()
        for row in rows:
            if ASSET_WORD in row.value:
                # The default of a variable stands in no event.
                self._assets |= referenced_assets(row.value, state.header.partition)
        return tuple(rows)

    def _row_value(self, kind: str, name: str) -> Any:
        state = self._state
        if kind == "node":
            return self._node_row(name)
        if kind == "variable":
            value = visible_variable(state.plan, name, state.variables[name])
            return value if name in state.plan.sensitive_variables else self._redact(value)
        if kind == "channel":
            value = visible_channel(state.plan, name, state.channels[name].value)
            return value if name in state.plan.taint.channels else self._redact(value)
        if kind == "artifact":
            made = state.artifacts[name]
            return {
                "artifactType": made.artifact_type,
                "nodeId": made.node_id,
                "version": made.version,
                "sequence": made.sequence,
            }
        if kind == "agent":
            return state.agents[name]
        if kind == "kin":
            return state.children_started
        return self._interrupt_row(name)

    def _interrupt_row(self, name: str) -> dict[str, Any]:
        """An interrupt as readers of a snapshot and of lists see it."""
        asked = self._state.interrupts[name]
        row: dict[str, Any] = {
            "interruptId": name,
            "nodeId": asked.node_id,
            "kind": asked.kind,
            "key": asked.key,
            "status": asked.status,
            "requestedAt": iso(asked.requested_at),
        }
        if asked.status == "open":
            asking: dict[str, Any] = {"data": asked.data}
            if asked.resume_schema is not None:
                asking["resumeSchema"] = asked.resume_schema
            row |= asking if self._redactor is None else self._redactor.visible_interrupt(asked.node_id, asking)
            if asked.due is not None:
                row |= {"timeoutMs": asked.timeout_ms, "dueAt": iso(asked.due)}
            if asked.votes:
                row["votes"] = [{"voter": voter, "action": action} for voter, action in asked.votes.items()]
            if asked.reminders_sent:
                row["remindersSent"] = asked.reminders_sent
        elif asked.status == "resolved" and (found := self._state.resolutions.get(asked.key)) is not None:
            known = {"resolvedBy": found.by, "outcome": found.outcome, "reason": found.reason}
            row |= {"resolvedAt": iso(found.at), **{name: each for name, each in known.items() if each is not None}}
        return row

    def _interrupt_listing(self, kind: str, name: str) -> InterruptListing | None:
        asked = self._state.interrupts[name] if kind == "interrupt" else None
        if asked is None or asked.status != "open":
            return None
        return InterruptListing(asked.kind, asked.node_id, asked.requested_at, asked.due)

    def _node_row(self, node_id: str) -> dict[str, Any]:
        """A node's entry in the snapshot's nodeStates: how it stands, not what it carried."""
        node = self._state.nodes[node_id]
        row: dict[str, Any] = {"status": node.status}
        if node.attempt:
            row["attempt"] = node.attempt
        if node.error is not None:
            row["error"] = node.error if self._redactor is None else self._redactor.visible_error(node_id, node.error)
        return row

    def _redact(self, value: Any) -> Any:
        return value if self._redactor is None else self._redactor.visible_value(value)


def make_redactor(state: RunState) -> Redactor | None:
    """One that knows all that the run has to hide by now; None if there is nothing."""
    if not state.plan.has_sensitive_data:
        return None
    redactor = Redactor(state.plan)
    redactor.learn_inputs(state.inputs)
    redactor.learn_state(state)
    return redactor


def hide_inputs(plan: Plan, inputs: dict[str, Any]) -> tuple[dict[str, Any], tuple[HiddenValue, ...]]:
    """hide-01 (readings, What the log may hide): the inputs with masks, and what is behind them."""
    if not plan.has_sensitive_data:
        return inputs, ()
    redactor = Redactor(plan)
    redactor.learn_inputs(inputs)
    shown, removed = redactor.hide_inputs(inputs)
    return shown, tuple(HiddenValue(-1, pointer, encode_stored(value)) for pointer, value in removed)
