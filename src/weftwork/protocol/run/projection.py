"""The cached projection of a run, and the documents built from it: snapshot, list entry, and result of a bulk cancel.

Every member of the projection is a fold of the log.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.errors import NO_SUCH_RUN, invalid
from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.run.header import RunHeader, Status
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


def has_children(run: StoredRun) -> bool:
    return any(row.kind == "kin" for row in run.rows)


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
    if header.parent is not None:
        document |= {"parentRunId": header.parent.run_id, "parentNodeId": header.parent.node_id}
    if projection.started_at is not None:
        document["startedAt"] = iso(projection.started_at)
    if projection.completed_at is not None:
        document["completedAt"] = iso(projection.completed_at)
    if projection.current_node is not None:
        document["currentNodeId"] = projection.current_node
    if projection.error is not None:
        document["error"] = msgspec.Raw(projection.error)
    return document


def run_snapshot(run: StoredRun, children: Sequence[StoredRun] = ()) -> dict[str, Any]:
    """run-06 (OpenWOP run-snapshot): the RunSnapshot, including the tags, metadata and configurable of the request.

    `children` holds up to MAX_CHILDREN + 1 child runs; the extra one shows that the list is truncated.
    """
    header = run.header
    kinds = ("variable", "channel", "node", "artifact", "agent", "kin")
    rows: dict[str, dict[str, msgspec.Raw]] = {kind: {} for kind in kinds}
    interrupts: list[StateRow] = []
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
    if children:
        document |= _child_members(children)
    if run.projection.status.startswith("waiting-"):
        document |= _interrupt_members(interrupts, run.projection.current_node)
    return document


def _child_members(children: Sequence[StoredRun]) -> dict[str, Any]:
    """kin-10 (OpenWOP rest-endpoints): the child runs in the order in which they were started, with their status."""
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
