"""Rounds that nobody measured, for tests of what is made from them."""

from typing import Any

from bench.plan import CLIENTS, SUBJECTS, WORKFLOWS
from bench.report.statistics import Stages, results

HOST_FIGURES = {
    "idle_mib": 45.0,
    "after_10000_mib": 60.0,
    "startup_ms": 400.0,
    "restart_tree_ms": 600.0,
    "restart_long_ms": 700.0,
    "restart_waiting_ms": 650.0,
    "restart_first_run_ms": 30.0,
    "stream_kib": 17.0,
    "fanout_p99_ms": 80.0,
    "stalled_hold_ms": 20.0,
    "first_event_ms": 2.0,
    "cpu_flat": 1.0,
    "event_cost_ratio": 1.1,
    "lookback_ms": 40.0,
    "lookback_p99_ms": 90.0,
    "lookback_first_ms": 4000.0,
    "fork_branch_ms": 100.0,
    "fork_branch_p99_ms": 200.0,
    "fork_replay_ms": 10.0,
    "fork_replay_p99_ms": 20.0,
    "replay_events_per_s": 25_000.0,
    "replay_writing_events_per_s": 21_000.0,
    "register_row_ms": 30.0,
    "register_wide_ms": 40.0,
    "register_computing_ms": 200.0,
    "register_cpu_ms": 190.0,
    "node_10_us": 80.0,
    "node_100_us": 30.0,
    "node_1000_us": 25.0,
    "node_layered_us": 26.0,
    "node_computing_us": 50.0,
    "round_us": 52.0,
    "map_ms": 600.0,
    "map_item_us": 50.0,
    "map_mib": 18.0,
    "python_node_us": 40.0,
    "python_node_chain_us": 30.0,
    "plain_node_us": 110.0,
    "plain_node_chain_us": 90.0,
    "lag_p99_ms": 5.0,
    "fetch_ms": 1.5,
    "fetch_bare_ms": 0.5,
    "inbox_ms": 4.0,
    "inbox_p99_ms": 8.0,
    "create_idle_ms": 1.5,
    "create_beside_loops_ms": 2.4,
    "create_beside_loops_p99_ms": 8.0,
    "modest_share": 0.98,
    "modest_p99_ms": 30.0,
    "health_beside_greedy_p99_ms": 9.0,
    "hostile_hold_ms": 30.0,
    "hostile_health_p99_ms": 9.0,
    "hostile_health_max_ms": 60.0,
    "hostile_mib": 150.0,
    "link_ms": 1.5,
    "link_p99_ms": 3.0,
    "idle_cpu_ms_per_s": 0.4,
    "waiting_cpu_ms_per_s": 0.5,
    "waiting_kib": 0.3,
    "waiting_startup_ms": 300.0,
    "children_short_s": 0.8,
    "children_long_s": 3.0,
    "child_short_us": 500.0,
    "child_long_us": 1500.0,
    "child_events": 2.004,
    "child_events_ratio": 1.0,
    "tree_s": 8.0,
    "tree_cancel_s": 6.0,
    "tree_cancel_us": 400.0,
    "parent_kib": 1.5,
    "parents_cpu_ms_per_s": 0.6,
    "parents_startup_ms": 310.0,
    "child_end_ms": 4.0,
    "child_end_p99_ms": 9.0,
    "accept_us": 15.0,
    "accept_invalid_us": 50.0,
    "accept_decode_us": 40.0,
    "accept_plain_us": 1500.0,
    "accept_ratio": 100.0,
    "chunks_ms": 0.6,
    "provider_direct_ms": 0.2,
    "provider_floor_added_ms": 0.5,
    "provider_floor_cpu_ms": 0.3,
    "provider_added_ms": 0.8,
    "provider_chunk_cpu_ms": 0.4,
    "provider_burst_cpu_ms": 0.04,
    "provider_lag_p99_ms": 12.0,
    "provider_many_ms": 9.0,
    "provider_many_p99_ms": 110.0,
    "provider_many_cpu_ms": 0.23,
    "chunks_paced_ms": 6.0,
    "gate_ms": 0.7,
    "gate_p99_ms": 3.0,
    "gate_cpu_ms": 0.5,
    "surface_record_ms": 0.5,
    "surface_action_ms": 1.0,
    "surface_ms": 1.5,
    "surface_unloaded_ms": 1.2,
    "surface_request_ms": 2.0,
    "surface_page_ms": 12.0,
    "surface_page_first_ms": 30.0,
    "asset_4_per_s": 500.0,
    "asset_bare_4_per_s": 600.0,
    "asset_4_ratio": 0.83,
    "asset_16_per_s": 520.0,
    "asset_bare_16_per_s": 640.0,
    "asset_16_ratio": 0.81,
    "asset_range_per_s": 2000.0,
    "asset_head_per_s": 3000.0,
    "upload_4_per_s": 90.0,
    "image_ms": 3.0,
    "image_cpu_ms": 2.0,
    "images_log_mb": 1.1,
    "images_events_mb": 1.6,
}
META: dict[str, Any] = {
    "python": "3.11.9",
    "cores": 2,
    "cpu": "Some CPU",
    "system": "Linux 6.1",
    "date": "2031-02-03",
    "commit": "abc1234",
    "rounds": 3,
    "spread": {"weftwork": 1.1, "dbos": 1.3},
    "versions": {"weftwork": "0.1.0", "dbos": "3.0"},
}
RATES = {"weftwork": 1600.0, "bare_memory": 4000.0, "bare_sqlite": 1800.0, "langgraph": 200.0, "dbos": 150.0}


def rounds_of(rate: float, cpu: float = 0.4) -> Stages:
    """Three rounds whose middle has this rate; the rounds before and after it are out of the ordinary."""
    shares = (0.1, 1.0, 1.5)
    return {
        clients: {
            workflow: [
                {"runs_per_s": rate * share, "p50_ms": 1.0, "p99_ms": 10.0 * share, "cpu_ms_per_run": cpu * share}
                for share in shares
            ]
            for workflow in WORKFLOWS
        }
        for clients in CLIENTS
    }


def sample_results(*names: str, **own: float) -> dict[str, Any]:
    """Results of some subjects, or of all; our own figures can be set."""
    rounds = {name: rounds_of(RATES[name]) for name in names or SUBJECTS}
    return results(rounds, {**HOST_FIGURES, **own} if "weftwork" in rounds else {}, META)
