"""Imported runs: what marks them, and what is refused for them.

An imported run is a copy of a run of another host, made from a debug bundle. The bundle may be forged, so nothing in it
counts here as something that happened on this host. The run is read-only: no executor loads it, because the store has
it as ended. It can be read, compared, replayed and deleted.

A fork of an imported run keeps the mark, because its log begins with the same claims: a branch of it would act on
recorded approvals that no person may have given.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import ForkMode, Import, RunHeader
from weftwork.protocol.timestamps import iso

READ_ONLY: Final = "The run was imported from another host, so it is read-only here."


def is_imported(header: RunHeader) -> bool:
    """imp-01: whether the run is an imported copy. False for a fork of such a copy, which this host executes."""
    return header.imported is not None and header.fork is None


def import_mark(imported: Import) -> dict[str, Any]:
    """imp-01: the member `imported` of snapshots and list entries."""
    mark: dict[str, Any] = {
        "runId": imported.run_id,
        "host": {"name": imported.host, "version": imported.host_version},
        "exportedAt": iso(imported.exported_at),
        "status": imported.status,
    }
    if imported.definition_version:
        mark["workflowVersion"] = imported.definition_version
    return mark


def refuse_change(header: RunHeader) -> None:
    """imp-04: raises 409 for a request that would change an imported run, such as an answer to one of its
    interrupts."""
    if is_imported(header):
        raise ClientFault("conflict", READ_ONLY, {"imported": True})


def check_forkable(header: RunHeader, mode: ForkMode) -> None:
    """imp-05: raises 409 for a branch of an imported run, or of a fork of one. A branch acts on the answers in its
    prefix, and those of an imported run are claims of the bundle."""
    if header.imported is not None and mode != "replay":
        message = (
            "The run was imported from another host, or is a replay of such a run, so it can only be replayed. "
            "Use the mode replay, or create a new run of the workflow."
        )
        raise not_replayable(message)


def not_replayable(message: str, **details: str) -> ClientFault:
    """The refusal to fork an imported run."""
    return ClientFault("conflict", message, {"imported": True, **details})


def missing_definition(header: RunHeader, imported: Import) -> ClientFault:
    """imp-05: the refusal to replay a run whose definition the tenant has not registered, with what to register."""
    workflow = f"the workflow {header.workflow_id}"
    if not header.definition:
        message = f"The bundle does not say which definition of {workflow} the run had, so it cannot be replayed."
        return not_replayable(message, workflowId=header.workflow_id)
    version = f" in version {imported.definition_version}" if imported.definition_version else ""
    purpose = "To replay this imported run or see its earlier states"
    message = f"{purpose}, register {workflow}{version} with the definition of its host."
    return not_replayable(message, workflowId=header.workflow_id, digest=header.definition)


class ImportResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The body of the response to an import."""

    run_id: str
    status: str
    source_run_id: str
    event_count: int
    media_count: int
    status_url: str
