"""The measured part of docs/performance.md, written by a full run between two marks."""

from typing import Any, Final

from bench.report.statistics import STAGE_HEAD, markdown_table, stage_rows
from bench.report.targets import TARGET_HEAD, target_rows

BEGIN: Final = "<!-- measured: begin -->\n"
END: Final = "<!-- measured: end -->\n"
_LOUD = {"no": "**no**"}

OWN_HEAD: Final = ["figure", "is"]
OWN: Final = {
    "idle_mib": ("Memory when idle", "MiB"),
    "after_10000_mib": ("Memory after 10,000 runs", "MiB"),
    "startup_ms": ("Start to first answer", "ms"),
    "stream_kib": ("Memory of an idle stream", "KiB"),
    "fanout_p99_ms": ("One event to 1,000 streams, p99", "ms"),
    "first_event_ms": ("Create to first event on a stream, median", "ms"),
    "cpu_flat": ("CPU of runs 18,000 to 20,000 beside 500 to 2,500", "×"),
    "event_cost_ratio": ("CPU of an event in a run of 20,000 beside one of 200", "×"),
    "register_row_ms": ("Registering 1,000 nodes in a row", "ms"),
    "register_wide_ms": ("Registering 1,000 nodes side by side", "ms"),
    "register_computing_ms": ("Registering 1,000 nodes with expressions", "ms"),
    "register_cpu_ms": ("CPU of registering the dearest of these", "ms"),
    "node_10_us": ("CPU of a node in a chain of 10", "µs"),
    "node_100_us": ("CPU of a node in a chain of 100", "µs"),
    "node_1000_us": ("CPU of a node in a chain of 1,000", "µs"),
    "node_layered_us": ("CPU of a node in layers of 10, 1,000 in all", "µs"),
    "node_computing_us": ("CPU of a node with expressions in a chain of 100", "µs"),
    "round_us": ("CPU of a round of a loop, two nodes", "µs"),
    "map_ms": ("Map over 10,000 items", "ms"),
    "map_item_us": ("CPU of an item of it", "µs"),
    "map_mib": ("Most memory during it, above idle", "MiB"),
    "python_node_us": ("CPU of an async node in Python above core.noop, alone in its run", "µs"),
    "python_node_chain_us": ("CPU of an async node in Python above core.noop, in a chain of 10", "µs"),
    "plain_node_us": ("CPU of a plain function above core.noop, alone in its run", "µs"),
    "plain_node_chain_us": ("CPU of a plain function above core.noop, in a chain of 10", "µs"),
    "lag_p99_ms": ("Lateness of the event loop while 1,000 nodes sleep, p99", "ms"),
    "fetch_ms": ("Request to loopback by the guarded client, median", "ms"),
    "fetch_bare_ms": ("The same unguarded, on a kept connection", "ms"),
    "inbox_ms": ("A page of the inbox with 10,000 open interrupts, median", "ms"),
    "inbox_p99_ms": ("A page of the inbox with 10,000 open interrupts, p99", "ms"),
    "link_ms": ("An answer by a link while 10,000 wait, median", "ms"),
    "link_p99_ms": ("An answer by a link while 10,000 wait, p99", "ms"),
    "idle_cpu_ms_per_s": ("CPU of the host with nothing to do, in a second", "ms"),
    "waiting_cpu_ms_per_s": ("CPU of the host while 10,000 runs wait for people, in a second", "ms"),
    "waiting_kib": ("Memory gained for each run that waits for people", "KiB"),
    "waiting_startup_ms": ("Start to first answer with 10,000 runs that wait for people", "ms"),
    "children_short_s": ("Map over 1,000 child runs of 1 step", "s"),
    "children_long_s": ("Map over 1,000 child runs of 50 steps", "s"),
    "child_short_us": ("CPU of a child run of 1 step, its part of the map included", "µs"),
    "child_long_us": ("CPU of a child run of 50 steps, its part of the map included", "µs"),
    "child_events": ("Events in the log of the map's run for each child", ""),
    "child_events_ratio": ("Length of that log with children of 50 steps beside 1 step", "×"),
    "tree_s": ("Building a tree of 10,165 runs that wait for people", "s"),
    "tree_cancel_s": ("Cancelling it, from the request to the last end", "s"),
    "tree_cancel_us": ("CPU of cancelling one of its runs", "µs"),
    "parent_kib": ("Memory gained for each parent that waits for a child that waits for people, with the child", "KiB"),
    "parents_cpu_ms_per_s": ("CPU of the host while 10,000 such parents wait, in a second", "ms"),
    "parents_startup_ms": ("Start to first answer with 10,000 such parents", "ms"),
    "child_end_ms": ("From the end of a child to the next step of its parent, median", "ms"),
    "child_end_p99_ms": ("From the end of a child to the next step of its parent, p99", "ms"),
    "accept_us": ("CPU of judging a good envelope of 1.2 KB", "µs"),
    "accept_invalid_us": ("CPU of judging one that is not good", "µs"),
    "accept_decode_us": ("CPU of decoding it first", "µs"),
    "accept_plain_us": ("CPU of two checks of it by jsonschema", "µs"),
    "accept_ratio": ("Two checks by jsonschema beside one judgement", "×"),
    "chunks_ms": ("CPU of 20 chunks of a streamed answer, of 2,000 that come at once", "ms"),
    "chunks_paced_ms": ("CPU of 20 chunks of a streamed answer, of 2,000 that come one by one", "ms"),
    "gate_ms": ("From a recorded answer to the recorded envelope, median", "ms"),
    "gate_p99_ms": ("From a recorded answer to the recorded envelope, p99", "ms"),
    "gate_cpu_ms": ("CPU of that, median", "ms"),
    "asset_4_per_s": ("Assets of 1 MiB served to 4 clients, in a second", ""),
    "asset_bare_4_per_s": ("Files of 1 MiB served to 4 clients by a bare FileResponse, in a second", ""),
    "asset_4_ratio": ("The rate at 4 clients beside that of the bare one", "×"),
    "asset_16_per_s": ("Assets of 1 MiB served to 16 clients, in a second", ""),
    "asset_bare_16_per_s": ("Files of 1 MiB served to 16 clients by a bare FileResponse, in a second", ""),
    "asset_16_ratio": ("The rate at 16 clients beside that of the bare one", "×"),
    "asset_range_per_s": ("Stretches of 64 KiB of such an asset served to 16 clients, in a second", ""),
    "asset_head_per_s": ("Heads of such an asset served to 16 clients, in a second", ""),
    "upload_4_per_s": ("Uploads of 1 MiB by 4 clients, in a second", ""),
    "image_ms": ("An image of 200 KiB that a node emits, from the bytes to the commit", "ms"),
    "image_cpu_ms": ("CPU of that", "ms"),
    "images_log_mb": ("Payloads of the events of a run that emits 1,000 of them, as stored", "MB"),
    "images_events_mb": ("The same run's events, as served", "MB"),
}


def own_rows(document: dict[str, Any]) -> list[list[str]]:
    """Our host's own figures."""
    ours = document.get("weftwork", {})
    return [[title, f"{ours[name]:.2f} {unit}"] for name, (title, unit) in OWN.items() if name in ours]


def block(document: dict[str, Any]) -> str:
    """The machine, the targets and all figures."""
    meta = document["meta"]
    with_versions = ", ".join(f"{name} {number}" for name, number in meta["versions"].items())
    differ = meta["spread"].values()
    machine = (
        f"Measured on {meta['date']} at commit `{meta['commit']}`: {meta['cores']} cores of {meta['cpu']}, "
        f"{meta['system']}, Python {meta['python']}. Medians of {meta['rounds']} rounds; "
        f"by subject, the fastest round had {min(differ)} to {max(differ)} times the rate of the slowest."
    )
    return "\n".join(
        [
            f"{machine}\n",
            f"With {with_versions}.\n",
            "### Targets\n",
            markdown_table(TARGET_HEAD, [[*row, _LOUD.get(met, met)] for *row, met in target_rows(document)]),
            "### Every stage\n",
            markdown_table(STAGE_HEAD, stage_rows(document)),
            "### The host alone\n",
            markdown_table(OWN_HEAD, own_rows(document)),
        ]
    )


def filled(text: str, document: dict[str, Any]) -> str:
    """The page with its measured part made anew; raises ValueError when a mark is missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no place for what was measured")
    return f"{before}{BEGIN}{block(document)}{END}{after}"
