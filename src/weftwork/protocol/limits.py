"""Limits: the numbers the host advertises, enforced from the same struct. Source: OpenWOP capabilities."""

from typing import Any

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """What discovery shows under `limits`, plus the host's own bounds. 0 means no limit where that is said."""

    max_node_executions: int = 10_000
    max_run_duration_ms: int = 0
    """0: no limit."""
    max_request_body_bytes: int = 1_048_576
    max_parallel_nodes: int = 64
    max_live_runs: int = 10_000
    max_live_children: int = 500
    """Child runs of a tenant that are executed at once; the others wait for their turn."""
    max_live_runs_per_tenant: int = 0
    """0: no limit. Runs of test keys are counted apart from those of live keys."""
    max_streams: int = 10_000
    """Readers that wait for events: streams and long polls."""
    max_connections: int = 12_000
    max_workflows_per_tenant: int = 1000
    """Workflows that a tenant has registered; each version counts."""
    max_nodes_per_tenant: int = 0
    """0: no limit. Nodes of a tenant that do work of their own at once; waiting and mapping are none."""
    max_node_threads: int = 32
    """Plain functions that run at once."""
    max_loop_iterations: int = 100
    """Decisions of supervisors in one run."""
    max_run_depth: int = 16
    """Runs above a run: the child of a child of a run has two."""
    max_descendants: int = 100_000
    """Runs below the one at the top of a tree."""
    clarification_rounds: int = 3
    """Clarifications that one node may ask for."""
    schema_rounds: int = 2
    """Answers of a model that are sent back, and schemas it may ask for, for one envelope."""
    envelopes_per_turn: int = 5
    max_retry_attempts: int = 3
    """Calls of a model for one envelope, the first included."""
    max_inline_media_bytes: int = 262_144
    """Media up to this size may stand in an event; 0: none may."""
    max_bytes_per_part: int = 10_485_760
    """Of one image, sound or document that a model is shown."""
    max_upload_bytes: int = 26_214_400
    max_asset_bytes_per_tenant: int = 10_737_418_240
    """0: no limit. Assets of test keys are counted apart from those of live keys."""
    upload_days: int = 7
    """How long an upload stays that no run refers to."""


def execution_limit(limits: Limits, configurable: dict[str, Any]) -> int:
    """lim-04 (OpenWOP run-options): the least of the host's limit and the run's recursionLimit."""
    return min(limits.max_node_executions, configurable.get("recursionLimit", limits.max_node_executions))


def iteration_limit(limits: Limits, configurable: dict[str, Any]) -> int:
    """lim-14 (RFC 0058): the least of the host's limit and the run's maxLoopIterations."""
    return min(limits.max_loop_iterations, configurable.get("maxLoopIterations", limits.max_loop_iterations))


def time_limit(limits: Limits, timeout_ms: int, configurable: dict[str, Any]) -> int | None:
    """lim-05 (readings, Limits): the least of settings.timeout, runTimeoutMs and the host's, 0 being none."""
    given = (limits.max_run_duration_ms, timeout_ms, configurable.get("runTimeoutMs", 0))
    return min((value for value in given if value > 0), default=None)
