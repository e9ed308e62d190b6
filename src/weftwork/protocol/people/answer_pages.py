"""What a page behind a link shows besides the question: names, the time, and how a closed question ended."""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.people.approvals import required_approvals
from weftwork.protocol.run.interrupts import TIMEOUT_REASON

QUORUM_PREFIX: Final = "quorum:"
"""Begins the name to which an approval is attributed that several people gave."""


class PageContext(msgspec.Struct, frozen=True):
    """The names that the author of the workflow gave, and the time at which the page is made."""

    workflow_name: str = ""
    node_name: str = ""
    now: int | None = None


class InterruptOutcome(msgspec.Struct, frozen=True):
    """How an interrupt stands: still open after a vote or a remark, or closed."""

    status: Literal["open", "resolved", "cancelled", "closed"]
    run_status: str
    context: PageContext = PageContext()
    kind: str = ""
    outcome: str | None = None
    """The outcome of an approval: accepted, refined or rejected."""
    by: str | None = None
    """To whom the answer is attributed. Several people, if it begins with QUORUM_PREFIX."""
    at: str | None = None
    has_timed_out: bool = False
    is_own: bool = False
    """Whether the answer came by the link of the reader."""
    votes: tuple[tuple[str, str], ...] = ()
    """Pairs of voter and action."""
    required: int = 1
    """Approvals that are needed."""
    person: str | None = None
    """The person for whom the link was created."""
    may_be_own: bool = False
    """Whether the answer came by the link of the reader or from the key that created it. Both have one vote together,
    so the decision of an approval does not say which of them it was."""


def read_outcome(
    row: dict[str, Any],
    run_status: str,
    names: frozenset[str],
    person: str | None,
    context: PageContext,
    key_names: frozenset[str] = frozenset(),
) -> InterruptOutcome:
    """The outcome in the state row of an interrupt. `names` are those under which only the reader can have answered,
    `key_names` those that the reader shares with the key that created the link."""
    listed: list[dict[str, str]] = row.get("votes", [])
    votes = tuple((each["voter"], each["action"]) for each in listed)
    has_timed_out = row.get("reason") == TIMEOUT_REASON
    by = None if has_timed_out else row.get("resolvedBy")
    answered = {by, *(voter for voter, _ in votes)}
    is_own = not names.isdisjoint(answered)
    may_be_own = not is_own and row["kind"] == "approval" and not key_names.isdisjoint(answered)
    return InterruptOutcome(
        row["status"],
        run_status,
        context,
        row["kind"],
        row.get("outcome"),
        by,
        row.get("resolvedAt"),
        has_timed_out,
        is_own,
        votes,
        required_approvals(row.get("data", {})),
        person,
        may_be_own,
    )


def node_name(document: dict[str, Any], node_id: str) -> str:
    """The name of a node in a definition; its id if it has none."""
    nodes: list[dict[str, Any]] = document.get("nodes", [])
    return next((name for each in nodes if each.get("id") == node_id and (name := each.get("name"))), node_id)


def workflow_name(document: dict[str, Any], workflow_id: str) -> str:
    return document.get("name") or workflow_id
