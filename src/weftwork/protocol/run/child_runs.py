"""Child runs: their state in the parent, cascading cancellation, and the documents of a run tree.

Theory of operation. A parent and its children have separate logs. The parent's log has one event for the start of a
child and one for its end. When a child starts or stops waiting for people, there is one more event, so that the parent
can show the same status. The logs share no other data.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.run.header import TERMINAL_STATUSES, WAITING_STATUSES, RunHeader
from weftwork.protocol.run.projection import StoredRun, run_summary

CANCELLED_WITH_PARENT: Final = "parent-cancelled"
"""kin-06 (interrupt-profiles, cascade): the cancel reason of a child whose parent was cancelled."""
FAILED_WITH_PARENT: Final = "parent-failed"
"""kin-06: the cancel reason of a child whose parent, or the node that waited for it, failed."""
SUB_WORKFLOW: Final = "core.subWorkflow"
DISPATCH: Final = "core.dispatch"
"""kin-09 (RFC 0040 C): with `core.subWorkflow`, the node types that start child runs on the same host."""
JOIN_DECIDED: Final = "join-decided"
"""kin-07 (readings, Fan-out): the cancel reason of a worker that is no longer needed, because the join is decided."""
MAX_TREE_RUNS: Final = 1_000
"""Maximum number of runs in one response about a run tree."""
DEFAULT_TREE_RUNS: Final = 200


class ChildState(msgspec.Struct, frozen=True):
    """The state of a child run as recorded in its parent's log."""

    run_id: str
    workflow_id: str
    status: str = "running"
    """`running`, `waiting-*`, `cancelling` after the parent has requested its cancellation, or a terminal status."""
    awaited: bool = True
    error: dict[str, Any] | None = None
    variables: dict[str, Any] = {}
    outputs: dict[str, Any] | None = None
    hidden: tuple[str, ...] = ()
    """Variables that the parent requested and must not see."""
    end_sequence: int = -1
    """The sequence of its end in the parent's log, which orders children by when they ended."""
    dispatch_event: str = ""
    """The id of the event that records the handover to this worker; empty for a child that no dispatch started."""

    @property
    def has_ended(self) -> bool:
        return self.status in TERMINAL_STATUSES


def cascade_of(status: str) -> tuple[str, bool] | None:
    """kin-06 (interrupt-profiles, cascade; readings, Child runs): whether the children of a run that ends with `status`
    are cancelled: the reason and whether only awaited children are, or None if they continue."""
    if status == "cancelled":
        return CANCELLED_WITH_PARENT, False
    return (FAILED_WITH_PARENT, True) if status == "failed" else None


def status_for_parent(status: str) -> str:
    """kin-03 (OpenWOP rest-endpoints, status model): a child's status as its parent records it. The parent sees a
    paused or cancelling child as running."""
    return status if status in TERMINAL_STATUSES or status in WAITING_STATUSES else "running"


def host_id(public_url: str) -> str:
    """The id of this host in discovery (crossHostCausation.hostId) and in ancestry documents."""
    return public_url or "weftwork"


def ancestry(header: RunHeader, host: str) -> dict[str, Any]:
    """kin-09 (RFC 0040 C): the ancestry document: the parent of a run and the cause, or null. Both are on this host."""
    parent = header.parent
    origin = None if parent is None else {"runId": parent.run_id, "hostId": host, "cause": parent.cause}
    return {"runId": header.run_id, "hostId": host, "parent": origin}


def tree_entry(run: StoredRun, depth: int) -> dict[str, Any]:
    """kin-12: the entry of a run in the document of a run tree. Absent members are omitted, never null."""
    document = run_summary(run)
    del document["tags"]
    return {**document, "depth": depth}
