"""Child runs: what a parent's log says about them, when they are cancelled, and the documents of a tree of runs.

Theory. A run and its children have separate logs. The parent's log says that a child was started and how it ended, in
one event each; a child that waits for people is one more event, so that the parent shows the same status. Nothing else
is exchanged.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.run.header import TERMINAL_STATUSES, WAITING_STATUSES, RunHeader
from weftwork.protocol.run.projection import StoredRun, run_summary

CANCELLED_WITH_PARENT: Final = "parent-cancelled"
"""kin-06 (interrupt-profiles, cascade): the reason of a child that was cancelled because its parent was."""
FAILED_WITH_PARENT: Final = "parent-failed"
"""kin-06: the same, of a parent or a node of it that failed while it waited for the child."""
SUB_WORKFLOW: Final = "core.subWorkflow"
DISPATCH: Final = "core.dispatch"
"""kin-09 (RFC 0040 C): the two ways in which a run starts another one on the same host."""
JOIN_DECIDED: Final = "join-decided"
"""kin-07 (readings, Fan-out): the reason of a child whose siblings were enough."""
MAX_TREE_RUNS: Final = 1_000
"""The most runs of a tree that are told at once."""
DEFAULT_TREE_RUNS: Final = 200


class ChildState(msgspec.Struct, frozen=True):
    """One child, as far as its parent has heard."""

    run_id: str
    workflow_id: str
    status: str = "running"
    """`running`, `waiting-*`, `cancelling` once the parent wants it cancelled, or how it ended."""
    awaited: bool = True
    error: dict[str, Any] | None = None
    variables: dict[str, Any] = {}
    outputs: dict[str, Any] | None = None
    hidden: tuple[str, ...] = ()
    """Variables that the parent wanted and that it may not see."""
    end_sequence: int = -1
    """The place of its end in the log of the parent: one that ended later has a higher one."""

    @property
    def has_ended(self) -> bool:
        return self.status in TERMINAL_STATUSES


def cascade_of(status: str) -> tuple[str, bool] | None:
    """kin-06 (interrupt-profiles, cascade; readings, Child runs): why children of a run that ends are cancelled, and
    whether only those that it waits for; None where they go on."""
    if status == "cancelled":
        return CANCELLED_WITH_PARENT, False
    return (FAILED_WITH_PARENT, True) if status == "failed" else None


def status_for_parent(status: str) -> str:
    """kin-03 (OpenWOP rest-endpoints, status model): a child as its parent sees it; a pause is the child's own."""
    return status if status in TERMINAL_STATUSES or status in WAITING_STATUSES else "running"


def host_id(public_url: str) -> str:
    """The name of this host for others. Discovery (crossHostCausation.hostId) and every ancestry say the same one."""
    return public_url or "weftwork"


def ancestry(header: RunHeader, host: str) -> dict[str, Any]:
    """kin-09 (RFC 0040 C): the run that started this one, and how, or null. Both are on this host."""
    parent = header.parent
    above = None if parent is None else {"runId": parent.run_id, "hostId": host, "cause": parent.cause}
    return {"runId": header.run_id, "hostId": host, "parent": above}


def tree_entry(run: StoredRun, depth: int) -> dict[str, Any]:
    """kin-12: a run as it stands in a tree; absent fields are left out, never null."""
    document = run_summary(run)
    del document["tags"]
    return {**document, "depth": depth}
