"""The cached projection of a run, and the documents built from it: snapshot, list entry, and result of a bulk cancel.

Every member of the projection is a fold of the log.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.errors import NO_SUCH_RUN, ClientFault, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.pieces import Placeholder, Spliced
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import RunHeader, Status
from weftwork.protocol.run.imports import import_mark, is_imported
from weftwork.protocol.timestamps import iso

MAX_CHILDREN: Final = 100
"""Maximum number of child runs in a snapshot."""

RowKind = Literal["variable", "channel", "node", "interrupt", "artifact", "agent", "kin"]
"""Rows of the kind `agent` have the names `agent` and `runOrchestrator`. The only row of the kind `kin` is `children`,
the number of child runs; it is absent while there are none."""


class Projection(msgspec.Struct, frozen=True):
    """The cached part of the fold that lists and snapshots need without reading the log."""

    status: Status
    last_sequence: int = -1
    started_at: int | None = None
    completed_at: int | None = None
    """Set if and only if the status is terminal."""
    current_node: str | None = None
    error: bytes | None = None
    executions: int = 0
    outputs: bytes | None = None
    """The outputs of a completed run; omitted in lists."""
    parked: bool = False
    """Whether the run only waits or is paused, so that no host needs it in memory until a request, a message of a child
    run, or `wake_at`."""
    wake_at: int | None = None
    """When a parked run must be woken: for the end of a delay, a retry, a reminder, a timeout, or its time limit."""


WAITING_STATUSES: Final[frozenset[Status]] = frozenset({"waiting-approval", "waiting-input", "waiting-external"})


class InterruptListing(msgspec.Struct, frozen=True):
    """The members of an open interrupt by which lists across runs filter and sort."""

    kind: str
    node_id: str
    requested_at: int
    due: int | None = None


class StateRow(msgspec.Struct, frozen=True):
    """One cached row of a run's state, such as a variable or a node state, as JSON bytes with hidden values masked."""

    kind: RowKind
    name: str
    value: bytes
    listing: InterruptListing | None = None
    """Set for an open interrupt. The store writes it and does not return it."""


class StoredRun(msgspec.Struct, frozen=True):
    """A run as stored, read in one consistent snapshot of the store."""

    header: RunHeader
    projection: Projection
    rows: tuple[StateRow, ...] = ()


LARGE_STATE_BYTES: Final = 16_384
"""State of a run from which on its snapshots are encoded in pieces, and shared by their readers."""


def has_children(run: StoredRun) -> bool:
    # A loop, because a generator costs a call for each row.
    for row in run.rows:  # noqa: SIM110
        if row.kind == "kin":
            return True
    return False


def is_large(run: StoredRun) -> bool:
    """Whether the state of the run is large. Inputs count as the variables to which they were copied."""
    size = 0 if run.projection.outputs is None else len(run.projection.outputs)
    for row in run.rows:
        size += len(row.value)
    if run.header.configurable:
        size += len(msgspec.json.encode(run.header.configurable))
    return size > LARGE_STATE_BYTES


def run_summary(run: StoredRun) -> dict[str, Any]:
    """run-05, kin-10: the entry of a run in a list. Absent members are omitted, never null."""
    header, projection = run.header, run.projection
    document: dict[str, Any] = {
        "runId": header.run_id,
        "workflowId": header.workflow_id,
        "status": projection.status,
        "createdAt": iso(header.created_at),
        "tags": header.tags,
    }
    if header.imported is not None:
        document["imported"] = import_mark(header.imported)
    if header.parent is not None:
        document |= {"parentRunId": header.parent.run_id, "parentNodeId": header.parent.node_id}
    if (fork := header.fork) is not None:
        document["forkedFrom"] = {"runId": fork.run_id, "fromSeq": fork.from_seq, "mode": fork.mode}
    if projection.started_at is not None:
        document["startedAt"] = iso(projection.started_at)
    # The store has the time of the import as the end of an imported run, so that retention counts from it.
    imported = header.imported if is_imported(header) else None
    completed_at = projection.completed_at if imported is None else imported.ended_at
    if completed_at is not None:
        document["completedAt"] = iso(completed_at)
    if projection.current_node is not None:
        document["currentNodeId"] = projection.current_node
    if projection.error is not None:
        document["error"] = msgspec.Raw(projection.error)
    return document


def run_snapshot(run: StoredRun, children: Sequence[StoredRun] = ()) -> dict[str, Any]:
    """run-06 (OpenWOP run-snapshot): the RunSnapshot, including the tags, metadata and configurable of the request.

    `children` holds up to MAX_CHILDREN + 1 child runs; the extra one shows that the list is truncated.
    """
    interrupts: list[StateRow] = []
    document = _state_members(run, interrupts)
    if children:
        document |= child_members(children)
    if run.projection.status in WAITING_STATUSES:
        document |= _interrupt_members(interrupts, run.projection.current_node)
    return document


def large_snapshot(run: StoredRun, children: dict[str, Any], opened: Sequence["OpenInterrupt"]) -> dict[str, Any]:
    """The document of `run_snapshot`, from its `child_members` and its open interrupts, which are encoded already."""
    document = _state_members(run, []) | children
    current = [each.document for each in opened if each.node_id == run.projection.current_node]
    if current:
        document |= {"interrupt": current[0], "interrupts": [each.document for each in opened]}
    return document


def _state_members(run: StoredRun, interrupts: list[StateRow]) -> dict[str, Any]:
    """The members of a snapshot before its child runs and interrupts. Adds the rows of interrupts to the list."""
    header = run.header
    rows: dict[str, dict[str, msgspec.Raw]] = {
        "variable": {},
        "channel": {},
        "node": {},
        "artifact": {},
        "agent": {},
        "kin": {},
    }
    for row in run.rows:
        if row.kind == "interrupt":
            interrupts.append(row)
        else:
            rows[row.kind][row.name] = msgspec.Raw(row.value)
    document = run_summary(run)
    document |= {
        "owner": {"tenant": header.owner.tenant, "principal": header.owner.principal},
        "inputs": header.inputs,
        # run-14 (OpenWOP channels): clients look for channels under `variables` as well as under `channels`.
        "variables": {**rows["channel"], **rows["variable"]},
        "nodeStates": rows["node"],
        "metadata": header.metadata,
        "configurable": header.configurable,
        "engineVersion": str(header.engine_version),
        "eventLogSchemaVersion": header.event_log_schema_version,
    }
    if run.projection.outputs is not None:
        document["outputs"] = msgspec.Raw(run.projection.outputs)
    if rows["channel"]:
        document["channels"] = rows["channel"]
    if rows["artifact"]:
        document["artifacts"] = rows["artifact"]
    document |= rows["agent"]
    return document


def child_members(children: Sequence[StoredRun]) -> dict[str, Any]:
    """kin-10 (OpenWOP rest-endpoints): the child runs in the order in which they were started, with their status."""
    if not children:
        return {}
    listed = [
        {
            "runId": each.header.run_id,
            "workflowId": each.header.workflow_id,
            "nodeId": each.header.parent.node_id,
            "status": each.projection.status,
        }
        for each in children[:MAX_CHILDREN]
        if each.header.parent is not None
    ]
    return {"childRuns": listed, "childRunsTruncated": True} if len(children) > MAX_CHILDREN else {"childRuns": listed}


def _interrupt_members(rows: list[StateRow], node_id: str | None) -> dict[str, Any]:
    """int-07 (OpenWOP run-snapshot): the open interrupts of a waiting run, and that of its current node."""
    decoded = [msgspec.json.decode(row.value) for row in rows]
    opened = [{name: each[name] for name in each if name != "status"} for each in decoded if each["status"] == "open"]
    current = [each for each in opened if each["nodeId"] == node_id]
    return {"interrupt": current[0], "interrupts": opened} if current else {}


class OpenInterrupt(msgspec.Struct, frozen=True):
    """An open interrupt of a large snapshot: its document, and the members from which its tokens are made."""

    document: Spliced
    node_id: str
    token_members: dict[str, Any]


def open_interrupt(row: StateRow) -> OpenInterrupt | None:
    """int-07: an interrupt as `run_snapshot` returns it, with a Placeholder for its tokens; None if it is not open.

    Only the members of the row are decoded and not what is in them, because its data may be large.
    """
    members = _decode_members(row.value)
    if _decode_text(members.pop("status")) != "open":
        return None
    names = ("interruptId", "nodeId", "kind", "dueAt")
    shown: dict[str, Any] = {name: _decode_text(members[name]) for name in names if name in members}
    if shown["kind"] == "approval":
        shown["data"] = {"profile": _decode_profile(members["data"]).profile}
    encoded = msgspec.json.encode(members)
    return OpenInterrupt(Spliced((encoded[:-1], Placeholder(shown), b"}")), shown["nodeId"], shown)


class _Profile(msgspec.Struct):
    profile: Any = None


_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_text: Final = msgspec.json.Decoder(str).decode
_decode_profile: Final = msgspec.json.Decoder(_Profile).decode


AT_SEQUENCE: Final = "atSequence"
"""The parameter of getRun that names an event."""


def check_look_back(sequence: int, last_sequence: int) -> None:
    """look-01 (host): raises for an event behind the last one of a run. The error contains the last sequence."""
    if sequence > last_sequence:
        text = (
            f"The last event of the run has the sequence {last_sequence}; {AT_SEQUENCE} must not be larger."
            if last_sequence >= 0
            else f"The run has no events yet. Leave out {AT_SEQUENCE}, or wait for its first event."
        )
        details = {"parameter": AT_SEQUENCE, "lastSequence": last_sequence}
        raise ClientFault("validation_error", text, details, status=422)


def children_after(
    children: Sequence[StoredRun], started: int, at: int, statuses: dict[str, Status]
) -> list[StoredRun]:
    """look-02 (host): those of the current child runs that a run had started by the time `at`, in their order, with the
    statuses by run id that its events had shown by then. A child with none keeps its current status."""
    return [
        msgspec.structs.replace(each, projection=msgspec.structs.replace(each.projection, status=status))
        if (status := statuses.get(each.header.run_id)) is not None
        else each
        for each in children[:started]
        if each.header.created_at <= at
    ]


MAX_BULK_CANCEL: Final = 100
"""run-09: maximum number of run ids in one request. Discovery and the schema of the request body have the same
number."""

_REFUSALS: Final[dict[str, str]] = {
    "not_found": NO_SUCH_RUN,
    "run_terminal": "The run has already ended.",
    "validation_error": "This is not a valid run id.",
}


def check_bulk_cancel(document: Any) -> None:
    """run-09 (OpenWOP rest-endpoints): raises for an invalid body. The error for too many run ids contains the
    limit."""
    if is_object(document):
        run_ids = document.get("runIds")
        if is_array(run_ids) and len(run_ids) > MAX_BULK_CANCEL:
            text = f"A request may contain at most {MAX_BULK_CANCEL} run ids; split it into several requests."
            raise invalid(text, "/runIds", maxRunIds=MAX_BULK_CANCEL)
    schema.require("bulk-cancel", document)


def bulk_cancel_entry(run_id: str, status: str | None, code: str = "not_found") -> dict[str, Any]:
    """run-10 (OpenWOP rest-endpoints): the result for one run. Without a `status` the result is the error `code`.

    A run that was already cancelled counts as success; a run that ended in another way is the error `run_terminal`.
    """
    if status in ("cancelling", "cancelled"):
        return {"runId": run_id, "ok": True, "status": status}
    if status is not None:
        code = "run_terminal"
    return {"runId": run_id, "ok": False, "error": {"code": code, "message": _REFUSALS[code]}}
