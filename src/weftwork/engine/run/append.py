"""The only append path: numbers, redacts, folds and encodes events, and builds the batch that commits them.

Theory. The engine takes several decisions before it commits once: a run of pure nodes is one append. Each event is
folded as soon as it is decided, so that the next decision sees it; readers see no event until the batch is durable. If
the commit fails, the state is discarded and folded again from the log.

Sensitive values are replaced by masks before an event is encoded. The values go into the same batch as hidden values,
from which the fold restores them. `make_redactor` builds the redactor of a run; `hide_inputs` masks the inputs of a new
run. A run without sensitive values gets its redactor with the first event that contains a credential.
"""

from typing import Any, Final, cast

import msgspec

from weftwork.engine.run.state_rows import changed_rows, projection_of
from weftwork.ports.ids import Ids
from weftwork.ports.node_outcome import NewChild
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.errors import HostFault
from weftwork.protocol.fold.data_flow import carries_untrusted, is_child_result_untrusted
from weftwork.protocol.fold.fold import apply
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_recorded, encode_stored
from weftwork.protocol.media.asset_references import ASSET_WORD, referenced_assets
from weftwork.protocol.privacy.credential_patterns import may_hold_credential
from weftwork.protocol.privacy.redaction import Redactor, hidden_urls
from weftwork.protocol.privacy.value_paths import SENT_KINDS
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
from weftwork.protocol.run.events import CATALOGUE, DOCUMENT_OVERHEAD, UNTRUSTED, Draft, Event, Fact, is_event_type
from weftwork.protocol.run.header import Status
from weftwork.protocol.run.payloads import TIMESTAMP_MEMBERS, TURN_MEMBERS
from weftwork.protocol.run.projection import StateRow
from weftwork.protocol.timestamps import iso
from weftwork.protocol.workflow.plan import Plan

MAX_BATCH_EVENTS: Final = 256
"""Events after which a batch is closed. A long chain of pure nodes commits and yields after this many."""
MAX_BATCH_BYTES: Final = 4 * 2**20
"""Size of the events after which a batch is closed, so that large outcomes are not all held encoded."""
UNLIMITED: Final = 2**62
_MEDIA_KINDS: Final = frozenset(MEDIA_KINDS)


class BatchBuilder:
    """Builds the batch of one commit of one run."""

    __slots__ = (
        "_assets",
        "_cancel_requests",
        "_duration",
        "_error",
        "_hidden",
        "_now",
        "_outputs",
        "_outputs_for_parent",
        "_staged",
        "_state",
        "_status_before",
        "_was_stopping",
        "children",
        "expected",
        "is_full",
        "max_events",
        "redactor",
        "room",
        "size",
    )

    def __init__(
        self,
        state: RunState,
        redactor: Redactor | None,
        now: int,
        duration: int | None = None,
        room: int = UNLIMITED,
        max_events: int = MAX_BATCH_EVENTS,
    ) -> None:
        self._state = state
        self._duration = duration
        self.redactor = redactor
        """Replaced in a run that has none, once it receives a credential."""
        self._now = now
        self._staged: list[tuple[Draft, bytes, dict[str, Any], dict[str, Any], int]] = []
        """Each event with its encoding, its payload, the payload for readers, and its size with what it hides."""
        self._hidden: list[HiddenValue] = []
        self._assets: frozenset[str] = frozenset()
        self._error: bytes | None = None
        self._outputs: bytes | None = None
        self._outputs_for_parent: bytes | None = None
        self._cancel_requests: list[CancelRequest] = []
        self._status_before = state.status
        self._was_stopping = state.stop is not None
        self.children: list[NewChild] = []
        self.expected = state.last_sequence
        self.room = room
        """Bytes of events that the batch may have."""
        self.size = 0
        """The size of the events so far, as `Event.size` measures it, with hidden values."""
        self.is_full = False
        """Whether the batch has reached `max_events` or MAX_BATCH_BYTES."""
        self.max_events = max_events

    def __len__(self) -> int:
        return len(self._staged)

    def add(self, drafts: tuple[Draft, ...], room: int | None = None) -> bool:
        """Number, redact, encode and fold the events of one decision.

        False, without effect, if the batch would be larger than `room`; the default is the room of the builder. Raises
        HostFault for a type that the protocol does not allow.
        """
        staged, redactor = self._staged, self.redactor
        first, size, hidden = len(staged), self.size, len(self._hidden)
        if room is None:
            room = self.room
        sequence = self.expected + 1 + first
        for draft in drafts:
            kind, payload = draft.type, draft.payload
            if kind not in CATALOGUE and not is_event_type(kind):
                raise HostFault(f"the protocol allows no event of type {kind}")
            if kind in TIMESTAMP_MEMBERS:
                payload = {**payload, TIMESTAMP_MEMBERS[kind]: iso(self._now)}
            elif kind in TURN_MEMBERS and "ts" not in (turn := payload[TURN_MEMBERS[kind]]):
                payload = {**payload, TURN_MEMBERS[kind]: {**turn, "ts": self._now}}
            if redactor is None and kind not in SENT_KINDS:
                visible, encoded = payload, encode_recorded(payload)
                bytes_ = len(encoded)
            else:
                visible, encoded, bytes_ = self._redact_payload(sequence, draft, payload)
                redactor = self.redactor
            size += bytes_ + DOCUMENT_OVERHEAD
            if size > room:
                del staged[first:], self._hidden[hidden:]
                return False
            staged.append((draft, encoded, payload, visible, bytes_))
            sequence += 1
        self.size = size
        if size > MAX_BATCH_BYTES or sequence > self.expected + self.max_events:
            self.is_full = True
        self._fold(first)
        return True

    def _fold(self, at: int) -> None:
        """Fold the staged events from `at` on."""
        state, staged, now = self._state, self._staged, self._now
        for draft, encoded, payload, visible, size in staged[at:]:
            kind = draft.type
            if state.untrusted is not None and draft.content_trust != UNTRUSTED and carries_untrusted(state, draft):
                draft = msgspec.structs.replace(draft, content_trust=UNTRUSTED)
                staged[at] = draft, encoded, payload, visible, size
            if encoded.find(ASSET_WORD) >= 0 or kind in _MEDIA_KINDS:
                # Hidden values refer to assets as well, so the unmasked payload is searched.
                whole = encoded if visible is payload else encode_recorded(payload)
                self._assets |= referenced_assets(whole, state.header.partition, kind in _MEDIA_KINDS)
            if kind == "run.failed":
                self._error = encode_recorded(visible["error"])
            elif kind == "run.completed":
                self._outputs = self._outputs_for_parent = encode_recorded(visible["outputs"])
                if self.redactor is not None and state.header.parent is not None:
                    self._outputs_for_parent = encode_recorded(self._payload_for_parent(kind, payload)["outputs"])
            if draft.child is not None:
                self.children.append(draft.child)
            if draft.cancels:
                reason = str(payload.get("reason", FAILED_WITH_PARENT))
                self._cancel_requests += [CancelRequest(child, reason) for child in draft.cancels]
            sequence, event_id = self.expected + 1 + at, draft.event_id or ""
            apply(state, Fact(sequence, kind, payload, now, draft.node_id, event_id, draft.content_trust, size))
            at += 1

    def _redact_payload(
        self, sequence: int, draft: Draft, payload: dict[str, Any]
    ) -> tuple[dict[str, Any], bytes, int]:
        """The payload for the log, its encoding, and the size of that with the values that it hides. The first
        credential of a run gives it a redactor."""
        first = len(self._hidden)
        visible = payload if self.redactor is None else self._hide(self.redactor, sequence, draft, payload)
        encoded = encode_recorded(visible)
        if draft.type in SENT_KINDS and self.redactor is None and may_hold_credential(encoded):
            redactor = Redactor(self._state.plan)
            if redactor.learn_credentials(draft.type, payload):
                self.redactor = redactor
                visible = self._hide(redactor, sequence, draft, payload)
                encoded = encode_recorded(visible)
        return visible, encoded, len(encoded) + sum([len(each.value) for each in self._hidden[first:]])

    def _hide(self, redactor: Redactor, sequence: int, draft: Draft, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload for the log. The values that it hides go into the batch."""
        visible, removed = redactor.hide_payload(draft.type, draft.node_id, payload)
        for pointer, value in removed:
            self._hidden.append(HiddenValue(sequence, pointer, encode_recorded(value)))
            self._assets |= referenced_assets(self._hidden[-1].value, self._state.header.partition)
        self._state.hidden_media += hidden_urls(draft.type, removed)
        return visible

    def _payload_for_parent(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """hide-09: a payload as the parent run gets it: with credentials, because the parent works with them and masks
        them in its own log, and without sensitive values."""
        redactor = make_redactor(self._state, credentials=False)
        return payload if redactor is None else redactor.hide_payload(kind, None, payload)[0]

    def build(self, ids: Ids, record: IdempotencyRecord | None) -> Batch:
        """Build the batch for the store. Only rows that changed are in it."""
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
            for offset, ((draft, payload, _, _, _), event_id) in enumerate(
                zip(self._staged, ids.event_ids(len(self._staged)), strict=True)
            )
        ]
        rows = self._rows()
        child_result = self._child_result() if state.header.parent is not None else None
        cascade = self._cascade() if state.children_started else None
        return Batch(
            tuple(events),
            projection_of(state, self._duration, self._error, self._outputs),
            rows,
            tuple(self._hidden),
            record,
            tuple([ChildCreate(child.header, child.hidden) for child in self.children]) if self.children else (),
            child_result,
            tuple(self._cancel_requests),
            cascade,
            tuple(sorted(self._assets)) if self._assets else (),
        )

    def _cascade(self) -> CascadeCancel | None:
        """kin-06: children are cancelled as soon as the run begins to end, before its own nodes have stopped."""
        state = self._state
        status: str = state.status
        if state.stop is not None and not state.is_terminal:
            status = "cancelled" if state.stop.error is None else "failed"
        cascade = (
            cascade_of(status) if state.is_terminal or (state.stop is not None and not self._was_stopping) else None
        )
        return CascadeCancel(*cascade) if cascade is not None else None

    def _child_result(self) -> ChildResult | None:
        """kin-04 (readings, Child runs): the message to the parent, if this batch changes the status that it sees."""
        state, parent = self._state, self._state.header.parent
        status = cast(Status, status_for_parent(state.status))
        if parent is None or not parent.awaited or status == status_for_parent(self._status_before):
            return None
        outcome: dict[str, Any] = {}
        if self._error is not None:
            outcome["error"] = msgspec.Raw(self._error)
        if status == "completed":
            names = [name for name in parent.variables if name in state.variables]
            sensitive = state.plan.sensitive_variables
            if values := {name: state.variables[name] for name in names if name not in sensitive}:
                outcome["variables"] = values if self.redactor is None else self._variables_for_parent(values)
            if hidden := [name for name in names if name in sensitive]:
                outcome["hidden"] = hidden
            if parent.outputs and self._outputs_for_parent is not None:
                outcome["outputs"] = msgspec.Raw(self._outputs_for_parent)
        if state.untrusted is not None and is_child_result_untrusted(state, outcome):
            outcome["untrusted"] = True
        return ChildResult(
            state.header.run_id, parent.node_id, parent.key, state.last_sequence, status, msgspec.json.encode(outcome)
        )

    def _variables_for_parent(self, values: dict[str, Any]) -> dict[str, Any]:
        redactor = make_redactor(self._state, credentials=False)
        return values if redactor is None else redactor.visible_value(values)

    def _rows(self) -> tuple[StateRow, ...]:
        state = self._state
        if not state.changed_rows:
            return ()
        rows = changed_rows(state, self.redactor)
        state.changed_rows.clear()
        for row in rows:
            if row.value.find(ASSET_WORD) >= 0:
                # The default value of a variable is in no event, so its row is searched for assets as well.
                self._assets |= referenced_assets(row.value, state.header.partition)
        return rows


def make_redactor(state: RunState, credentials: bool = True) -> Redactor | None:
    """A redactor that has learnt the sensitive values and the credentials of the run so far; None if it has neither.

    Without `credentials`, the redactor hides only sensitive values, and the URLs of media that contain a secret.
    """
    taint, header = state.plan.taint, state.header
    # The inputs of the header are another object if some of them are hidden.
    has_credentials = taint.has_credentials or state.hidden_credentials or state.inputs is not header.inputs
    if header.configurable and not has_credentials:
        has_credentials = may_hold_credential(encode_stored(header.configurable))
    if not (taint.has_sensitive_data or state.hidden_media or (has_credentials and credentials)):
        return None
    redactor = Redactor(state.plan, credentials)
    redactor.learn_inputs(state.inputs)
    redactor.learn_state(state)
    return redactor if taint.has_sensitive_data or state.hidden_media or redactor.matcher.has_texts else None


def hide_inputs(plan: Plan, inputs: dict[str, Any]) -> tuple[dict[str, Any], tuple[HiddenValue, ...]]:
    """hide-01 (readings, What the log may hide): the inputs with masks, and the values that the masks replace. Returns
    `inputs` itself if it hides none of them.

    Needed if the workflow has sensitive data, or if the inputs may hold a credential.
    """
    redactor = Redactor(plan)
    redactor.learn_inputs(inputs)
    visible, removed = redactor.hide_inputs(inputs)
    return visible, tuple(HiddenValue(-1, pointer, encode_recorded(value)) for pointer, value in removed)
