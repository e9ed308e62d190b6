"""The cached projection of a run, and the documents made of it: snapshot, listing, and the entry of a bulk cancel.

Every field is a fold of the log.
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
"""Child runs that a snapshot names."""

RowKind = Literal["variable", "channel", "node", "interrupt", "artifact", "agent", "kin"]
"""Of `agent` there are the names `agent` and `runOrchestrator`. Of `kin` there is `children`: how many runs this one
has started. It is not there while there are none."""


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
    """Of a completed run; left out of listings."""
    parked: bool = False
    """The run does nothing but wait for answers: nobody need have it in memory until one comes, or `wake_at`."""
    wake_at: int | None = None
    """When a parked run has something to do by itself: a reminder, the deadline of an interrupt, its time limit."""


class InterruptListing(msgspec.Struct, frozen=True):
    """An open interrupt as lists over many runs find it."""

    kind: str
    node_id: str
    requested_at: int
    due: int | None = None


class StateRow(msgspec.Struct, frozen=True):
    """One cached variable, channel, node state, interrupt or artifact, already masked, as JSON bytes."""

    kind: RowKind
    name: str
    value: bytes
    listing: InterruptListing | None = None
    """Of an interrupt, while it is open. Written, and not given back."""


class StoredRun(msgspec.Struct, frozen=True):
    """A run as stored, read in one consistent view."""

    header: RunHeader
    projection: Projection
    rows: tuple[StateRow, ...] = ()


def has_children(run: StoredRun) -> bool:
    return any(row.kind == "kin" for row in run.rows)


def run_summary(run: StoredRun) -> dict[str, Any]:
    """run-05, kin-10: a run as it stands in a listing; absent fields are left out, never null."""
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
    """run-06 (OpenWOP run-snapshot): the RunSnapshot, with tags, metadata and configurable echoed.

    `children` are its first ones, and one more than are told if there are more.
    """
    header = run.header
    kinds = ("variable", "channel", "node", "artifact", "agent", "kin")
    rows: dict[str, dict[str, msgspec.Raw]] = {kind: {} for kind in kinds}
    asked: list[StateRow] = []
    for row in run.rows:
        if row.kind == "interrupt":
            asked.append(row)
        else:
            rows[row.kind][row.name] = msgspec.Raw(row.value)
    document = run_summary(run)
    document |= {
        "owner": {"tenant": header.owner.tenant, "principal": header.owner.principal},
        "inputs": header.inputs,
        # run-14 (OpenWOP channels): readers look for channels in both places.
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
        document |= _interrupt_members(asked, run.projection.current_node)
    return document


def _child_members(children: Sequence[StoredRun]) -> dict[str, Any]:
    """kin-10 (OpenWOP rest-endpoints): the runs that a run has started, in that order, as they stand now."""
    told = [
        {
            "runId": each.header.run_id,
            "workflowId": each.header.workflow_id,
            "nodeId": each.header.parent.node_id,
            "status": each.projection.status,
        }
        for each in children[:MAX_CHILDREN]
        if each.header.parent is not None
    ]
    return {"childRuns": told, "childRunsTruncated": True} if len(children) > MAX_CHILDREN else {"childRuns": told}


def _interrupt_members(rows: list[StateRow], node_id: str | None) -> dict[str, Any]:
    """int-07 (OpenWOP run-snapshot): what a waiting run waits for."""
    asked = [msgspec.json.decode(row.value) for row in rows]
    still = [{name: each[name] for name in each if name != "status"} for each in asked if each["status"] == "open"]
    first = [each for each in still if each["nodeId"] == node_id]
    return {"interrupt": first[0], "interrupts": still} if first else {}


MAX_BULK_CANCEL: Final = 100
"""run-09: run ids in one request; the same number is advertised, and the schema of the body says it."""

_REFUSALS: Final[dict[str, str]] = {
    "not_found": NO_SUCH_RUN,
    "run_terminal": "The run has ended already.",
    "validation_error": "No run can have this id.",
}


def check_bulk_cancel(document: Any) -> None:
    """run-09 (OpenWOP rest-endpoints): a list that is too long is refused with the limit."""
    if is_object(document):
        given = document.get("runIds")
        if is_array(given) and len(given) > MAX_BULK_CANCEL:
            raise invalid(f"One request takes at most {MAX_BULK_CANCEL} run ids.", "/runIds", maxRunIds=MAX_BULK_CANCEL)
    schema.require("bulk-cancel", document)


def bulk_cancel_entry(run_id: str, status: str | None, code: str = "not_found") -> dict[str, Any]:
    """run-10 (OpenWOP rest-endpoints): what became of one run; `status` None stands for the refusal `code`.

    A run that is cancelled already is as good as cancelled now; one that ended otherwise is refused.
    """
    if status in ("cancelling", "cancelled"):
        return {"runId": run_id, "ok": True, "status": status}
    if status is not None:
        code = "run_terminal"
    return {"runId": run_id, "ok": False, "error": {"code": code, "message": _REFUSALS[code]}}
