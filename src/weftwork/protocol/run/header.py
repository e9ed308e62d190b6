"""The run: its statuses, the state machine as a table, the immutable header, and pinned versions.

Theory of operation. A run is an immutable header (owner, definition, inputs, options) and an append-only log of events.
Its status is a fold of the log, by the table below. Exactly one terminal event ends the log; no event follows it. The
protocol has no event for `cancelling`, so a request to cancel is an event of this host
(`weftwork.run.cancel-requested`). An acknowledged cancel request therefore survives a crash.

Sources: OpenWOP rest-endpoints (status model), RFC 0094 B (cancelling), OpenWOP version-negotiation (getVersion).
"""

from typing import Any, Final, Literal, get_args

import msgspec

from weftwork.protocol.json.decoder import MAX_INTEGER
from weftwork.protocol.limits import ExpressionLimits

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
ForkMode = Literal["replay", "branch"]
FORK_MODES: Final[tuple[ForkMode, ...]] = get_args(ForkMode)
"""fork-01 (OpenWOP replay): a replay reuses every recorded outcome; a branch acts on its own from the fork point on."""

TERMINAL_STATUSES: Final[frozenset[str]] = frozenset({"completed", "failed", "cancelled"})

DRAIN_POLICIES: Final[tuple[str, ...]] = ("immediate", "drain-current-node")
"""run-12 (OpenWOP rest-endpoints): the policies for pausing a run. The last one is the default."""

WAITING_STATUSES: Final[tuple[Status, ...]] = ("waiting-approval", "waiting-input", "waiting-external")

CANCELLING: Final[Status] = "cancelling"
"""The status of a run that is to be cancelled and still has running nodes."""
PARKABLE_STATUSES: Final[frozenset[str]] = frozenset({"running", "paused", *WAITING_STATUSES})
"""The statuses in which a run may have nothing to do, so that it need not be in memory."""

ENGINE_VERSION: Final = 1
EVENT_LOG_SCHEMA_VERSION: Final = 2
EVENT_SCHEMA_VERSION: Final = 1
MAX_CHANGE_ID: Final = 256
DEFAULT_VERSION: Final = -1
"""The version that stands for the code before a change."""

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
"""run-01: (status, event type) -> next status. Other events do not change the status. `waiting-*` is not in the table:
a running run has it while it waits for open interrupts."""


def next_status(status: Status, event_type: str) -> Status:
    """run-01 (OpenWOP rest-endpoints): the status after an event. Terminal statuses never change."""
    return TRANSITIONS.get((status, event_type), status)


def version_error(change_id: str, least: Any, most: Any, pinned: int | None) -> tuple[str, str] | None:
    """ver-02 (OpenWOP version-negotiation): error code and message if the range is invalid or excludes the pinned
    version.

    The first request of a run for a change pins the greatest version; before that there is no `pinned` version.
    """
    if not change_id or len(change_id) > MAX_CHANGE_ID:
        return "validation_error", f"The id of a change must have 1 to {MAX_CHANGE_ID} characters."
    if not (_is_version(least) and _is_version(most) and least <= most):
        text = (
            f"The version range of a change must be two integers of at least {DEFAULT_VERSION}, the smaller one first."
        )
        return "validation_error", text
    if pinned is not None and not least <= pinned <= most:
        text = f"The run has pinned version {pinned} of {change_id}, but the node supports only {least} to {most}."
        return "version_out_of_range", text
    return None


def _is_version(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and DEFAULT_VERSION <= value <= MAX_INTEGER


class RunKey(msgspec.Struct, frozen=True):
    """Identifies a run. The partition is always derived from the caller's API key."""

    partition: str
    run_id: str

    @property
    def log_fields(self) -> dict[str, str]:
        """The fields of a log line about the run. Log lines do not contain partitions."""
        return {"runId": self.run_id}


class Owner(msgspec.Struct, frozen=True):
    """The owner of a run (RFC 0048)."""

    tenant: str
    principal: str


class Parent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a child's header that describes its parent."""

    run_id: str
    node_id: str
    key: str
    """Distinguishes the children that one execution of the parent's node started."""
    cause: str
    """kin-09 (RFC 0040 C): how the child was started, as the ancestry document names it."""
    root: str
    """The id of the run at the root of the tree."""
    depth: int = 1
    awaited: bool = True
    """Whether the parent waits for the child's end and receives its status."""
    cascade: bool = True
    """Whether the child is cancelled with its parent."""
    variables: tuple[str, ...] = ()
    """The variables that the completed child returns to its parent."""
    outputs: bool = False
    """Whether the completed child returns its outputs to its parent."""
    untrusted: tuple[str, ...] = ()
    """The inputs that contain, or were derived from, external content."""


class Fork(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a fork's header that describes its source."""

    run_id: str
    """The source."""
    from_seq: int
    """The first sequence that the fork does not share with its source."""
    mode: ForkMode
    until: int = -1
    """In a replay, the last sequence of the record: that of the source when the fork was created."""
    acts_as: str = ""
    """In a replay, the run id that nodes see. It is the id of the run that was executed, also in a replay of a replay,
    so that all that a node derives from it is the same."""
    retry: str | None = None
    """The failed node that this branch runs again."""
    past_inputs: dict[str, Any] | None = None
    """In a branch that replaces inputs, those of its prefix; the header has those of the branch."""
    unapplied: tuple[int, ...] = ()
    """In a branch, events of the prefix that change nothing: the outcome of a node whose end is not in the prefix. The
    node runs again and has its outcome then."""
    trace_id: str = ""
    """The trace of the source, to which the span of the fork links."""
    untrusted: tuple[str, ...] = ()
    """The inputs that are untrusted because the source, or the source of that, was a child run that got them from
    untrusted content."""


class Import(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a header that says where an imported run comes from. Forks of an imported run have it too.

    Everything in it is the claim of the bundle, and so is the log of the run."""

    run_id: str
    """The id of the run at the host that exported it."""
    host: str
    host_version: str
    exported_at: int
    """When the bundle was created, according to its host."""
    status: Status
    """The status of the run at that time. A run that had not ended is cancelled here, because nothing continues it."""
    ended_at: int | None = None
    """When the run ended at its host. None: it had not ended."""
    definition_version: str = ""
    """The version of the workflow; empty if the bundle does not say it."""


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
    """The sha256 of each asset that the inputs refer to. The run keeps these assets alive from its creation on."""
    fork: Fork | None = None
    imported: Import | None = None
    expression_limits: ExpressionLimits | None = None
    """None for runs of versions that limited each expression separately. These runs keep those limits."""

    @property
    def first_inputs(self) -> dict[str, Any]:
        """The inputs with which the log begins."""
        if self.fork is not None and self.fork.past_inputs is not None:
            return self.fork.past_inputs
        return self.inputs

    @property
    def key(self) -> RunKey:
        return RunKey(self.partition, self.run_id)

    @property
    def is_replay(self) -> bool:
        """Whether the run replays the log of another run, and so has no effects of its own."""
        return self.fork is not None and self.fork.mode == "replay"
