"""The run: its statuses, its state machine as a table, the header that never changes, and the versions it pins.

Theory. A run is an immutable header (who, which definition, which inputs and options) plus an
append-only log of events. Its status is a fold of that log; the table below says which event leads
where. Exactly one terminal event ends the log and nothing may follow it. `cancelling` has no
protocol event, so the request to cancel is itself an event of ours (`weftwork.run.cancel-requested`):
an acknowledged cancel survives a crash like everything else.

Sources: OpenWOP rest-endpoints (status model), RFC 0094 B (cancelling), OpenWOP version-negotiation (getVersion).
"""

from typing import Any, Final, Literal, get_args

import msgspec

from weftwork.protocol.json.decoder import MAX_INTEGER

Status = Literal[
    "pending",
    "running",
    "paused",
    "waiting-approval",
    "waiting-input",
    "waiting-external",
    "cancelling",
    "completed",
    "failed",
    "cancelled",
]

STATUSES: Final[tuple[Status, ...]] = get_args(Status)
TERMINAL_STATUSES: Final[frozenset[str]] = frozenset({"completed", "failed", "cancelled"})

DRAIN_POLICIES: Final[tuple[str, ...]] = ("immediate", "drain-current-node")
"""run-12 (OpenWOP rest-endpoints): how a run can be paused; the last is what happens if nobody says."""

WAITING_STATUSES: Final[tuple[Status, ...]] = ("waiting-approval", "waiting-input", "waiting-external")

ENGINE_VERSION: Final = 1
EVENT_LOG_SCHEMA_VERSION: Final = 2
EVENT_SCHEMA_VERSION: Final = 1
MAX_CHANGE_ID: Final = 256
DEFAULT_VERSION: Final = -1
"""The version of code from before the change."""

TRANSITIONS: Final[dict[tuple[str, str], Status]] = {
    ("pending", "run.started"): "running",
    ("pending", "run.cancelled"): "cancelled",
    ("pending", "run.failed"): "failed",
    ("running", "run.completed"): "completed",
    **{(status, "run.failed"): "failed" for status in ("running", "paused", *WAITING_STATUSES)},
    **{(status, "run.cancelled"): "cancelled" for status in ("running", "paused", *WAITING_STATUSES)},
    **{(status, "run.paused"): "paused" for status in ("running", *WAITING_STATUSES)},
    **{(status, "weftwork.run.cancel-requested"): "cancelling" for status in ("running", *WAITING_STATUSES)},
    ("paused", "run.resumed"): "running",
    ("cancelling", "run.cancelled"): "cancelled",
    ("cancelling", "run.failed"): "failed",
}
"""run-01: (status, event type) -> next status. An event that is not listed leaves the status alone; from `running`
to `waiting-*` and back lead the interrupts that are open."""


def next_status(status: Status, event_type: str) -> Status:
    """run-01 (OpenWOP rest-endpoints): one step of the table; terminal statuses have no way out."""
    return TRANSITIONS.get((status, event_type), status)


def version_error(change_id: str, least: Any, most: Any, pinned: int | None) -> tuple[str, str] | None:
    """ver-02 (OpenWOP version-negotiation): code and message if the range is none, or does not hold what is pinned.

    The first to ask in a run pins the greatest version; `pinned` is None before that.
    """
    if not change_id or len(change_id) > MAX_CHANGE_ID:
        return "validation_error", f"The id of a change takes 1 to {MAX_CHANGE_ID} characters."
    if not (_is_version(least) and _is_version(most) and least <= most):
        text = f"The versions of a change are whole numbers from {DEFAULT_VERSION} on, the lesser one first."
        return "validation_error", text
    if pinned is not None and not least <= pinned <= most:
        text = f"The run has pinned version {pinned} of {change_id}, and the node knows {least} to {most}."
        return "version_out_of_range", text
    return None


def _is_version(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and DEFAULT_VERSION <= value <= MAX_INTEGER


class RunKey(msgspec.Struct, frozen=True):
    """Names a run. The partition comes from the caller's key and from nowhere else."""

    partition: str
    run_id: str


class Owner(msgspec.Struct, frozen=True):
    """Who owns the run (RFC 0048); the subject of the later wire version is derived from it."""

    tenant: str
    principal: str


class Parent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a child run knows of the run that started it."""

    run_id: str
    node_id: str
    key: str
    """Tells the children of one entry of that node apart."""
    cause: str
    """kin-09 (RFC 0040 C): how it was started, in the words of the ancestry document."""
    root: str
    """The run at the top of the tree."""
    depth: int = 1
    awaited: bool = True
    """Whether the parent waits for its end, and is told how it stands."""
    cascade: bool = True
    variables: tuple[str, ...] = ()
    """The child's variables that the parent wants when it has completed."""
    outputs: bool = False
    untrusted: tuple[str, ...] = ()
    """The inputs that hold content from outside, or something made of it."""


class RunHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything about a run that is fixed when it is created."""

    run_id: str
    partition: str
    owner: Owner
    workflow_id: str
    definition: str
    """Digest of the pinned workflow definition."""
    created_at: int
    inputs: dict[str, Any] = {}
    configurable: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    scope_id: str | None = None
    callback_url: str | None = None
    traceparent: str | None = None
    transport: str = "rest"
    engine_version: int = ENGINE_VERSION
    event_log_schema_version: int = EVENT_LOG_SCHEMA_VERSION
    parent: Parent | None = None
    assets: tuple[str, ...] = ()
    """The sha256 of each asset that its inputs name: the run refers to them from the start."""

    @property
    def key(self) -> RunKey:
        return RunKey(self.partition, self.run_id)
