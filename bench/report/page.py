"""The measured parts of docs/performance.md and docs/performance-postgres.md, written between two marks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bench.plan import ON_POSTGRES, SUBJECTS
from bench.report.statistics import STAGE_HEAD, markdown_table, stage_rows
from bench.report.targets import POSTGRES_TARGETS, TARGET_HEAD, TARGETS, Target, target_rows

BEGIN: Final = "<!-- measured: begin -->\n"
END: Final = "<!-- measured: end -->\n"
_LOUD = {"no": "**no**"}

OWN_HEAD: Final = ["figure", "measured"]
OWN: Final = {
    "idle_mib": ("Memory when idle", "MiB"),
    "after_10000_mib": ("Memory after 10,000 runs", "MiB"),
    "startup_ms": ("Start to first response", "ms"),
    "restart_tree_ms": ("Start to first response with a tree of 25,000 unfinished runs", "ms"),
    "restart_long_ms": ("Start to first response with an unfinished run whose log has 900 MiB", "ms"),
    "restart_waiting_ms": ("Start to first response with 100,000 waiting runs", "ms"),
    "restart_first_run_ms": ("Create to end of the first new run after such a start, slowest", "ms"),
    "stream_kib": ("Memory per idle stream", "KiB"),
    "fanout_p99_ms": ("Delivery of one event to 1,000 streams, p99", "ms"),
    "stalled_hold_ms": ("Event loop blocked with 500 stalled readers, longest, CPU time", "ms"),
    "first_event_ms": ("Create to first event on a stream, median", "ms"),
    "cpu_flat": ("CPU time of runs 18,000 to 20,000 compared with runs 500 to 2,500", "×"),
    "event_cost_ratio": ("CPU time per event in a run of 20,000 events compared with runs of 200", "×"),
    "lookback_ms": ("State of a run of 200,000 events after a random one of them, median", "ms"),
    "lookback_p99_ms": ("State of a run of 200,000 events after a random one of them, p99", "ms"),
    "lookback_first_ms": ("The first such look after a start of the host, at the end of the log", "ms"),
    "fork_branch_ms": ("Branch of a run of 10,000 events at its last event, until the answer, median", "ms"),
    "fork_branch_p99_ms": ("Branch of a run of 10,000 events at its last event, until the answer, p99", "ms"),
    "fork_replay_ms": ("Replay of that run, until the answer, median", "ms"),
    "fork_replay_p99_ms": ("Replay of that run, until the answer, p99", "ms"),
    "replay_events_per_s": ("Events per second of that replay, from the answer until its last event is read", ""),
    "replay_writing_events_per_s": ("The same for a loop whose nodes compute and write variables", ""),
    "register_row_ms": ("Registering 1,000 nodes in a chain", "ms"),
    "register_wide_ms": ("Registering 1,000 nodes in parallel", "ms"),
    "register_computing_ms": ("Registering 1,000 nodes in a chain with expressions", "ms"),
    "register_cpu_ms": ("CPU time to register the most expensive of these", "ms"),
    "node_10_us": ("CPU time per node in a chain of 10", "µs"),
    "node_100_us": ("CPU time per node in a chain of 100", "µs"),
    "node_1000_us": ("CPU time per node in a chain of 1,000", "µs"),
    "node_layered_us": ("CPU time per node in layers of 10, 1,000 in total", "µs"),
    "node_computing_us": ("CPU time per node with expressions in a chain of 100", "µs"),
    "round_us": ("CPU time per round of a loop, two nodes", "µs"),
    "map_ms": ("Map over 10,000 items", "ms"),
    "map_item_us": ("CPU time per item of that map", "µs"),
    "map_mib": ("Peak memory of that map, above idle", "MiB"),
    "python_node_us": ("CPU time of an async Python node above core.noop, alone in its run", "µs"),
    "python_node_chain_us": ("CPU time of an async Python node above core.noop, in a chain of 10", "µs"),
    "plain_node_us": ("CPU time of a plain Python node above core.noop, alone in its run", "µs"),
    "plain_node_chain_us": ("CPU time of a plain Python node above core.noop, in a chain of 10", "µs"),
    "lag_p99_ms": ("Event loop delay while 1,000 nodes sleep, p99", "ms"),
    "fetch_ms": ("Request to loopback with the guarded client, median", "ms"),
    "fetch_bare_ms": ("The same request without the guard, on a kept-alive connection", "ms"),
    "inbox_ms": ("One inbox page with 10,000 open interrupts, median", "ms"),
    "inbox_p99_ms": ("One inbox page with 10,000 open interrupts, p99", "ms"),
    "create_idle_ms": ("Creating a run on an idle host, median", "ms"),
    "create_beside_loops_ms": ("The same next to eight looping runs of another tenant, median", "ms"),
    "create_beside_loops_p99_ms": ("The same next to eight looping runs of another tenant, p99", "ms"),
    "modest_share": ("Throughput of nine modest tenants next to a greedy one, compared with alone", "×"),
    "modest_p99_ms": ("Creating a run of a modest tenant next to a greedy one, p99", "ms"),
    "health_beside_greedy_p99_ms": ("/health next to a greedy tenant, p99", "ms"),
    "hostile_hold_ms": ("Event loop blocked by the hostile corpus, longest, CPU time", "ms"),
    "hostile_health_p99_ms": ("/health during the hostile corpus, p99 of the worst case", "ms"),
    "hostile_health_max_ms": ("/health during the hostile corpus, slowest", "ms"),
    "hostile_mib": ("Peak memory of the host and its workers during the hostile corpus, above idle", "MiB"),
    "link_ms": ("Answer by link while 10,000 runs wait, median", "ms"),
    "link_p99_ms": ("Answer by link while 10,000 runs wait, p99", "ms"),
    "idle_cpu_ms_per_s": ("CPU time per second of an idle host", "ms"),
    "waiting_cpu_ms_per_s": ("CPU time per second while 10,000 runs wait for answers", "ms"),
    "waiting_kib": ("Memory growth per waiting run", "KiB"),
    "waiting_startup_ms": ("Start to first response with 10,000 waiting runs", "ms"),
    "children_short_s": ("Map over 1,000 child runs of 1 step", "s"),
    "children_long_s": ("Map over 1,000 child runs of 50 steps", "s"),
    "child_short_us": ("CPU time per child run of 1 step, including its share of the map", "µs"),
    "child_long_us": ("CPU time per child run of 50 steps, including its share of the map", "µs"),
    "child_events": ("Events in the parent's log per child run of a map", ""),
    "child_events_ratio": ("Length of that log with children of 50 steps compared with 1 step", "×"),
    "tree_s": ("Building a tree of 10,165 runs that wait for answers", "s"),
    "tree_cancel_s": ("Cancelling that tree, from the request to the end of the last run", "s"),
    "tree_cancel_us": ("CPU time to cancel one of its runs", "µs"),
    "parent_kib": ("Memory growth per parent that waits for a waiting child, including the child", "KiB"),
    "parents_cpu_ms_per_s": ("CPU time per second while 10,000 such parents wait", "ms"),
    "parents_startup_ms": ("Start to first response with 10,000 such parents", "ms"),
    "child_end_ms": ("End of a child run to the next step of its parent, median", "ms"),
    "child_end_p99_ms": ("End of a child run to the next step of its parent, p99", "ms"),
    "accept_us": ("CPU time to validate a correct envelope of 1.2 KB", "µs"),
    "accept_invalid_us": ("CPU time to validate an incorrect envelope", "µs"),
    "accept_decode_us": ("CPU time to decode an envelope before validation", "µs"),
    "accept_plain_us": ("CPU time of two jsonschema checks of the correct envelope", "µs"),
    "accept_ratio": ("Two jsonschema checks compared with one validation", "×"),
    "chunks_ms": ("CPU time per 20 chunks of a streamed answer, 2,000 chunks without delay", "ms"),
    "chunks_paced_ms": ("CPU time per 20 chunks of a streamed answer, 2,000 chunks 1 ms apart", "ms"),
    "provider_direct_ms": ("Chunk of a model server to a reader without the host, median", "ms"),
    "provider_added_ms": ("Time that the host adds to such a chunk, one each 20 ms, median", "ms"),
    "provider_floor_added_ms": ("The same for a bare relay that only makes each chunk durable, median", "ms"),
    "provider_floor_cpu_ms": ("CPU time of that relay per chunk", "ms"),
    "provider_chunk_cpu_ms": ("CPU time of the host per such chunk", "ms"),
    "provider_burst_cpu_ms": ("CPU time of the host per chunk, 2,000 chunks without delay", "ms"),
    "provider_lag_p99_ms": ("Event loop delay with 200 streams at 20 chunks/s each, p99", "ms"),
    "provider_many_ms": ("Chunk of one of 200 streams to its reader, median", "ms"),
    "provider_many_p99_ms": ("Chunk of one of 200 streams to its reader, p99", "ms"),
    "provider_many_cpu_ms": ("CPU time of the host per chunk of 200 streams", "ms"),
    "gate_ms": ("Recorded answer to recorded envelope, median", "ms"),
    "gate_p99_ms": ("Recorded answer to recorded envelope, p99", "ms"),
    "gate_cpu_ms": ("CPU time from recorded answer to recorded envelope, median", "ms"),
    "surface_record_ms": ("CPU time to check and record a form of 20 components, median", "ms"),
    "surface_action_ms": ("CPU time from an action on it to the stored answer, median", "ms"),
    "surface_ms": ("Both together", "ms"),
    "surface_unloaded_ms": ("The same action if its run has to be read from the store first, median", "ms"),
    "surface_request_ms": ("CPU time from the request of the action to the end of its run", "ms"),
    "surface_page_ms": ("Rendering a surface of 200 components in Chromium, with its layout, median", "ms"),
    "surface_page_first_ms": ("The same for the first surface of a tab, median", "ms"),
    "asset_4_per_s": ("Assets of 1 MiB served per second to 4 clients", ""),
    "asset_bare_4_per_s": ("Files of 1 MiB served per second to 4 clients by a bare FileResponse", ""),
    "asset_4_ratio": ("Rate at 4 clients compared with the bare FileResponse", "×"),
    "asset_16_per_s": ("Assets of 1 MiB served per second to 16 clients", ""),
    "asset_bare_16_per_s": ("Files of 1 MiB served per second to 16 clients by a bare FileResponse", ""),
    "asset_16_ratio": ("Rate at 16 clients compared with the bare FileResponse", "×"),
    "asset_range_per_s": ("Ranges of 64 KiB of such an asset served per second to 16 clients", ""),
    "asset_head_per_s": ("HEAD requests for such an asset answered per second, 16 clients", ""),
    "upload_4_per_s": ("Uploads of 1 MiB per second, 4 clients", ""),
    "image_ms": ("Image of 200 KiB from a node, from the bytes to the commit", "ms"),
    "image_cpu_ms": ("CPU time per such image", "ms"),
    "images_log_mb": ("Event payloads of a run that emits 1,000 such images, as stored", "MB"),
    "images_events_mb": ("Events of the same run, as served", "MB"),
}
POSTGRES: Final = {
    "pg_64_per_s": ("Runs of one step per second on PostgreSQL, 64 clients", ""),
    "pg_64_p50_ms": ("Time of one of these runs, median", "ms"),
    "pg_64_p99_ms": ("Time of one of these runs, p99", "ms"),
    "pg_64_cpu_ms": ("CPU time of the host per such run", "ms"),
    "pg_64_server_cpu_ms": ("CPU time of the PostgreSQL server per such run", "ms"),
    "pg_run_bytes": ("Size of such a run in the database, with indexes", "bytes"),
    "pg_run_wal_bytes": ("Write-ahead log of PostgreSQL per such run", "bytes"),
    "pg_connections": ("Connections of that host to PostgreSQL", ""),
    "pg_store_16_per_s": ("Runs per second that the PostgreSQL store alone creates, 16 clients, one process", ""),
    "pg_store_16_cpu_ms": ("CPU time of the process per such run", "ms"),
    "pg_store_16_server_cpu_ms": ("CPU time of the server per such run", "ms"),
    "pg_store_16_four_per_s": ("The same rate with 16 clients in four processes", ""),
    "pg_store_16_ratio": ("Four processes compared with one, 16 clients in all", "×"),
    "pg_store_64_per_s": ("Runs per second that the PostgreSQL store alone creates, 64 clients, one process", ""),
    "pg_store_64_cpu_ms": ("CPU time of the process per run with 64 clients", "ms"),
    "pg_store_64_server_cpu_ms": ("CPU time of the server per run with 64 clients", "ms"),
    "pg_store_64_four_per_s": ("The same rate with 64 clients in four processes", ""),
    "pg_store_64_ratio": ("Four processes compared with one, 64 clients in all", "×"),
}
ALL_OWN: Final = {**OWN, **POSTGRES}
MANY: Final = 1000
"""Figures from here on are shown without decimals."""


def own_rows(document: dict[str, Any], titles: Mapping[str, tuple[str, str]] = ALL_OWN) -> list[list[str]]:
    """Our host's own figures."""
    ours = document.get("weftwork", {})
    return [[title, f"{_shown(ours[name])} {unit}".rstrip()] for name, (title, unit) in titles.items() if name in ours]


def _shown(value: float) -> str:
    return f"{value:.2f}" if value < MANY else f"{value:,.0f}"


def has_host(document: dict[str, Any]) -> bool:
    """Whether everything for docs/performance.md was measured."""
    return document.keys() >= set(SUBJECTS) - set(ON_POSTGRES) and document["weftwork"].keys() >= {"idle_mib"}


def has_postgres(document: dict[str, Any]) -> bool:
    """Whether everything for docs/performance-postgres.md was measured."""
    return document.keys() >= {"weftwork", *ON_POSTGRES} and document["weftwork"].keys() >= POSTGRES.keys()


def block(document: dict[str, Any]) -> str:
    """The machine, the targets and all figures, without those on PostgreSQL."""
    names = [name for name in SUBJECTS if name not in ON_POSTGRES]
    rows = [row[:-1] for row in stage_rows(document, names)]
    return "\n".join(
        [
            *_preface(document, names),
            "### Targets\n",
            markdown_table(TARGET_HEAD, _judged(document, TARGETS)),
            "### All stages\n",
            markdown_table(STAGE_HEAD[:-1], rows),
            "### The host alone\n",
            markdown_table(OWN_HEAD, own_rows(document, OWN)),
        ]
    )


def postgres_block(document: dict[str, Any]) -> str:
    """The machine, and the targets and figures on PostgreSQL."""
    ours = document["weftwork"]
    names = ("pg_64_p50_ms", "pg_64_p99_ms", "pg_64_cpu_ms", "pg_64_server_cpu_ms")
    many = [f"{ours['pg_64_per_s']:,.0f}", *(f"{ours[name]:.2f}" for name in names)]
    compared = ["weftwork", *ON_POSTGRES]
    rows = [*stage_rows(document, compared), ["weftwork_postgres", "64", "1", *many]]
    return "\n".join(
        [
            *_preface(document, compared),
            markdown_table(TARGET_HEAD, _judged(document, POSTGRES_TARGETS)),
            markdown_table(STAGE_HEAD, rows),
            markdown_table(OWN_HEAD, own_rows(document, POSTGRES)),
        ]
    )


def _preface(document: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Two paragraphs on the machine and the versions."""
    meta = document["meta"]
    with_versions = ", ".join(f"{name} {number}" for name, number in meta["versions"].items())
    differ = [factor for name, factor in meta["spread"].items() if name in names]
    machine = (
        f"Measured on {meta['date']} at commit `{meta['commit']}`: {meta['cores']} cores of {meta['cpu']}, "
        f"{meta['system']}, Python {meta['python']}, load average {meta['load']} at the start and {meta['load_after']} "
        f"at the end. Medians of {meta['rounds']} rounds; for each subject, the fastest round had {min(differ)} to "
        f"{max(differ)} times the rate of the slowest."
    )
    return [f"{machine}\n", f"Versions: {with_versions}.\n"]


def _judged(document: dict[str, Any], targets: Sequence[Target]) -> list[list[str]]:
    return [[*row, _LOUD.get(met, met)] for *row, met in target_rows(document, targets)]


def filled(text: str, measured: str) -> str:
    """The page with a new measured part. Raises ValueError if a marker is missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for what was measured")
    return f"{before}{BEGIN}{measured}{END}{after}"
