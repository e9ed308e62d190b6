"""The limits of the host. Discovery advertises them from the same struct that enforces them.

Source: OpenWOP capabilities.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.fair_share import DEFAULT_RESERVED_PERCENT

STATE_TOO_LARGE: Final = "run_state_too_large"
LOG_TOO_LARGE: Final = "run_log_too_large"
QUOTA_EXCEEDED: Final = "tenant_quota_exceeded"
MAX_ENTRY_WORK: Final = 20_000_000
"""The greatest work budget of a node entry, in units of `expressions/cost`: up to half a second."""
LOOP_SLICE_UNITS: Final = 500_000
"""Work that may occupy the event loop without a yield, in units of `expressions/cost`: about 7 ms."""


class ExpressionLimits(msgspec.Struct, frozen=True, array_like=True):
    """expr-14 (host): the limits of a run on the work of its expressions. The header pins them when the run is created,
    so a later change of a setting does not change how the log of the run is folded."""

    entry_work: int = MAX_ENTRY_WORK
    """What all expressions of one entry of a node may cost together."""
    condition_work: int = LOOP_SLICE_UNITS
    """What all conditions behind one node may cost together."""


class Limits(msgspec.Struct, frozen=True):
    """The `limits` of discovery and further limits of the host. 0 means no limit only where the docstring says so."""

    max_node_executions: int = 10_000
    max_run_duration_ms: int = 0
    """0: no limit."""
    max_run_state_bytes: int = 67_108_864
    """Size of the values that a run holds, as `fold.live_size` counts it."""
    max_run_log_bytes: int = 268_435_456
    """Size of the event log of a run."""
    max_log_bytes_per_tenant: int = 0
    """0: no limit. Logs of runs of test keys and of live keys are counted separately."""
    max_request_body_bytes: int = 1_048_576
    max_body_bytes_in_memory: int = 67_108_864
    """Bytes of request bodies that are being received or processed."""
    max_body_bytes_in_memory_per_key: int = 16_777_216
    reserved_share_percent: int = DEFAULT_RESERVED_PERCENT
    """Part of the limits on live runs, streams and bodies that only tenants below their share may use."""
    max_parallel_nodes: int = 64
    max_live_runs: int = 10_000
    max_live_children: int = 500
    """Child runs of a tenant that execute concurrently; further ones are queued."""
    max_live_runs_per_tenant: int = 0
    """0: no limit. Runs of test keys and of live keys are counted separately."""
    max_streams: int = 10_000
    """Open streams and long polls."""
    max_connections: int = 12_000
    max_workflows_per_tenant: int = 1000
    """Registered workflows of a tenant; each version counts."""
    max_nodes_per_tenant: int = 0
    """0: no limit. Nodes of a tenant that do work concurrently; nodes that only wait or map values do not count."""
    max_node_threads: int = 32
    """Synchronous node functions that run concurrently."""
    max_loop_iterations: int = 100
    """Supervisor decisions in one run."""
    max_run_depth: int = 16
    """Ancestors of a run: the child of a child has two."""
    max_descendants: int = 100_000
    """Runs below the root of a run tree."""
    max_children_per_second: int = 1000
    """0: no limit. Child runs that a tenant creates; as many again can be created at once."""
    clarification_rounds: int = 3
    """Clarification requests per node."""
    schema_rounds: int = 2
    """For one envelope: corrections that the host requests from the model, and schemas that the model may request."""
    envelopes_per_turn: int = 5
    max_retry_attempts: int = 3
    """Model calls for one envelope, including the first."""
    max_inline_media_bytes: int = 262_144
    """Largest media file that an event may contain inline; 0: no inline media."""
    max_bytes_per_part: int = 10_485_760
    """Largest image, audio file or document in a message to a model."""
    max_upload_bytes: int = 26_214_400
    max_asset_bytes_per_tenant: int = 10_737_418_240
    """0: no limit. Assets of test keys and of live keys are counted separately."""
    upload_days: int = 7
    """Days after which an upload that no run refers to is deleted."""
    expressions: ExpressionLimits = ExpressionLimits()
    """For new runs."""
    shutdown_grace_seconds: float = 30.0
    """How long a closing host waits for effects in progress that must not happen twice. If there are none, it does not
    wait."""


def execution_limit(limits: Limits, configurable: dict[str, Any]) -> int:
    """lim-04 (OpenWOP run-options): the smaller of the host's limit and the run's recursionLimit."""
    limit, asked = limits.max_node_executions, configurable.get("recursionLimit")
    return limit if asked is None else min(limit, asked)


def iteration_limit(limits: Limits, configurable: dict[str, Any]) -> int:
    """lim-14 (RFC 0058): the smaller of the host's limit and the run's maxLoopIterations."""
    limit, asked = limits.max_loop_iterations, configurable.get("maxLoopIterations")
    return limit if asked is None else min(limit, asked)


def time_limit(limits: Limits, timeout_ms: int, configurable: dict[str, Any]) -> int | None:
    """lim-05 (readings, Limits): the smallest of the host's limit, settings.timeout and runTimeoutMs.

    A value of 0 is no limit. None if there is no limit at all.
    """
    smallest: int | None = None
    for value in (limits.max_run_duration_ms, timeout_ms, configurable.get("runTimeoutMs", 0)):
        if value > 0 and (smallest is None or value < smallest):
            smallest = value
    return smallest
