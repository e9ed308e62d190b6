"""What the figures should be, and whether they are."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

Document = dict[str, Any]


class Target(NamedTuple):
    """A figure made from the results, and the range it should lie in."""

    title: str
    unit: str
    value: Callable[[Document], float]
    least: float | None
    most: float | None

    def bound(self) -> str:
        if self.least is None:
            return f"≤ {self.most:g} {self.unit}".rstrip()
        if self.most is None:
            return f"≥ {self.least:g} {self.unit}".rstrip()
        return f"{self.least:.2f} to {self.most:.2f}"

    def met(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def _stage(document: Document, subject: str, figure: str) -> float:
    return document[subject]["clients16"]["one_step"][figure]


def _host_figure(name: str) -> Callable[[Document], float]:
    return lambda document: document["weftwork"][name]


def _ratio(figure: str, other: str) -> Callable[[Document], float]:
    return lambda document: _stage(document, "weftwork", figure) / _stage(document, other, figure)


def _on_postgres(figure: str, other: str) -> Callable[[Document], float]:
    """Of our host on PostgreSQL, compared with another subject."""
    return lambda document: _stage(document, "weftwork_postgres", figure) / _stage(document, other, figure)


def _cpu_on_postgres(document: Document) -> float:
    """CPU time of the subject and the server, compared with DBOS."""
    ours, theirs = (
        sum(_stage(document, name, figure) for figure in ("cpu_ms_per_run", "server_cpu_ms_per_run"))
        for name in ("weftwork_postgres", "dbos_postgres")
    )
    return ours / theirs


def _growth(document: Document) -> float:
    return document["weftwork"]["after_10000_mib"] - document["weftwork"]["idle_mib"]


def _most(*names: str) -> Callable[[Document], float]:
    """The greatest of several figures of ours."""
    return lambda document: max(document["weftwork"][name] for name in names)


def _least(*names: str) -> Callable[[Document], float]:
    """The smallest of several figures of ours."""
    return lambda document: min(document["weftwork"][name] for name in names)


def _beside_loops(document: Document) -> float:
    return document["weftwork"]["create_beside_loops_ms"] / document["weftwork"]["create_idle_ms"]


def _large_graph(document: Document) -> float:
    return _most("node_1000_us", "node_layered_us")(document) / document["weftwork"]["node_10_us"]


def _guard(document: Document) -> float:
    return document["weftwork"]["fetch_ms"] - document["weftwork"]["fetch_bare_ms"]


_CHAINS: Final = ("node_10_us", "node_100_us", "node_1000_us")
_PYTHON: Final = ("python_node_us", "python_node_chain_us")
_ASSETS: Final = ("asset_4_ratio", "asset_16_ratio")
_IMAGES: Final = ("images_log_mb", "images_events_mb")
_RESTARTS: Final = ("restart_tree_ms", "restart_long_ms", "restart_waiting_ms")
_PARENTS_CPU: Final = _host_figure("parents_cpu_ms_per_s")
_REGISTERED: Final = ("register_row_ms", "register_wide_ms", "register_computing_ms")

TARGETS: Final = (
    Target("CPU time of the host per run", "ms", lambda d: _stage(d, "weftwork", "cpu_ms_per_run"), None, 0.45),
    Target("Rate compared with the bare in-memory server", "×", _ratio("runs_per_s", "bare_memory"), 0.38, None),
    Target("Rate compared with LangGraph", "×", _ratio("runs_per_s", "langgraph"), 7.0, None),
    Target("Rate compared with DBOS", "×", _ratio("runs_per_s", "dbos"), 8.0, None),
    Target("p99 latency compared with the bare in-memory server", "×", _ratio("p99_ms", "bare_memory"), None, 4.0),
    Target(
        "CPU time of runs 18,000 to 20,000 compared with runs 500 to 2,500", "", _host_figure("cpu_flat"), 0.90, 1.10
    ),
    Target(
        "CPU time per event in a run of 20,000 events compared with runs of 200",
        "×",
        _host_figure("event_cost_ratio"),
        None,
        1.5,
    ),
    Target(
        "State of a run of 200,000 events after any of them, p99 of random ones",
        "ms",
        _host_figure("lookback_p99_ms"),
        None,
        200.0,
    ),
    Target(
        "Forking a run of 10,000 events, p99, maximum of a branch at its last event and a replay",
        "ms",
        _most("fork_branch_p99_ms", "fork_replay_p99_ms"),
        None,
        300.0,
    ),
    Target(
        "Events per second of a replay of 10,000 events of nodes that do nothing",
        "",
        _host_figure("replay_events_per_s"),
        20_000.0,
        None,
    ),
    Target("Memory growth over 10,000 runs", "MiB", _growth, None, 40.0),
    Target("Memory when idle", "MiB", _host_figure("idle_mib"), None, 80.0),
    Target("Start to first response", "ms", _host_figure("startup_ms"), None, 800.0),
    Target(
        "Start to first response with a large store, maximum of 25,000 unfinished runs, a log of 900 MiB, and 100,000 "
        "waiting runs",
        "ms",
        _most(*_RESTARTS),
        None,
        2000.0,
    ),
    Target("Memory per idle stream", "KiB", _host_figure("stream_kib"), None, 32.0),
    Target("Delivery of one event to 1,000 streams, p99", "ms", _host_figure("fanout_p99_ms"), None, 300.0),
    Target("Event loop blocked with 500 stalled readers, longest", "ms", _host_figure("stalled_hold_ms"), None, 100.0),
    Target("Registering 1,000 nodes, slowest graph shape", "ms", _most(*_REGISTERED), None, 1000.0),
    Target("CPU time per node in a chain, maximum of 10, 100 and 1,000 nodes", "µs", _most(*_CHAINS), None, 300.0),
    Target("CPU time per node in a graph of 1,000 compared with a chain of 10", "×", _large_graph, None, 3.0),
    Target("Additional latency of a guarded outbound request", "ms", _guard, None, 2.0),
    Target("Peak memory growth of a map over 10,000 items", "MiB", _host_figure("map_mib"), None, 60.0),
    Target("CPU time of an async Python node above core.noop, alone or in a chain", "µs", _most(*_PYTHON), None, 150.0),
    Target("Event loop delay while 1,000 nodes sleep, p99", "ms", _host_figure("lag_p99_ms"), None, 20.0),
    Target("One inbox page with 10,000 open interrupts, p99", "ms", _host_figure("inbox_p99_ms"), None, 50.0),
    Target(
        "CPU time per second while 10,000 runs wait for answers", "ms", _host_figure("waiting_cpu_ms_per_s"), None, 5.0
    ),
    Target("Creating a run next to eight looping runs of another tenant, median", "×", _beside_loops, None, 2.0),
    Target("Throughput of nine modest tenants next to a greedy one", "×", _host_figure("modest_share"), 0.8, None),
    Target("/health next to a greedy tenant, p99", "ms", _host_figure("health_beside_greedy_p99_ms"), None, 50.0),
    Target("Event loop blocked by the hostile corpus, longest", "ms", _host_figure("hostile_hold_ms"), None, 100.0),
    Target(
        "/health during the hostile corpus, p99 of the worst case",
        "ms",
        _host_figure("hostile_health_p99_ms"),
        None,
        50.0,
    ),
    Target("Cancelling a tree of 10,000 runs", "s", _host_figure("tree_cancel_s"), None, 10.0),
    Target("Events in the parent's log per child run of a map", "", _host_figure("child_events"), None, 2.1),
    Target(
        "Length of that log with children of 50 steps compared with 1 step",
        "",
        _host_figure("child_events_ratio"),
        1.0,
        1.0,
    ),
    Target("CPU time per second while 10,000 parents wait for waiting children", "ms", _PARENTS_CPU, None, 5.0),
    Target("Memory per parent that waits for a waiting child", "KiB", _host_figure("parent_kib"), None, 3.0),
    Target(
        "End of a child run to the next step of its parent, p99",
        "ms",
        _host_figure("child_end_p99_ms"),
        None,
        50.0,
    ),
    Target("CPU time to validate a correct envelope of 1.2 KB", "µs", _host_figure("accept_us"), None, 40.0),
    Target("CPU time to validate an incorrect envelope", "µs", _host_figure("accept_invalid_us"), None, 80.0),
    Target("Two jsonschema checks compared with one validation", "×", _host_figure("accept_ratio"), 20.0, None),
    Target("CPU time per 20 chunks of a streamed answer to one reader", "ms", _host_figure("chunks_ms"), None, 1.0),
    Target(
        "CPU time to check, record and answer a form of 20 components, all together",
        "ms",
        _host_figure("surface_ms"),
        None,
        2.0,
    ),
    Target(
        "Time that the host adds to a chunk of a model server, one each 20 ms, median",
        "ms",
        _host_figure("provider_added_ms"),
        None,
        1.0,
    ),
    Target("CPU time per such chunk", "ms", _host_figure("provider_chunk_cpu_ms"), None, 0.5),
    Target("CPU time per chunk of a model server in a burst", "ms", _host_figure("provider_burst_cpu_ms"), None, 0.1),
    Target(
        "Event loop delay with 200 streams of a model server at 20 chunks/s each, p99",
        "ms",
        _host_figure("provider_lag_p99_ms"),
        None,
        50.0,
    ),
    Target("Time that the gate and its commit add to a model turn, median", "ms", _host_figure("gate_ms"), None, 1.0),
    Target(
        "Rendering a surface of 200 components in Chromium, the first of a tab",
        "ms",
        _host_figure("surface_page_first_ms"),
        None,
        50.0,
    ),
    Target(
        "Rate of serving 1 MiB compared with a bare FileResponse, minimum of 4 and 16 clients",
        "×",
        _least(*_ASSETS),
        0.6,
        None,
    ),
    Target(
        "Log size of a run that emits 1,000 images of 200 KiB, maximum of stored and served",
        "MB",
        _most(*_IMAGES),
        None,
        2.0,
    ),
)
"""Targets that name no number of clients are measured with 16 clients and one step."""

POSTGRES_TARGETS: Final = (
    Target(
        "CPU time of the host per run on PostgreSQL compared with SQLite",
        "×",
        _on_postgres("cpu_ms_per_run", "weftwork"),
        None,
        1.25,
    ),
    Target(
        "CPU time of the PostgreSQL server per run",
        "ms",
        lambda d: _stage(d, "weftwork_postgres", "server_cpu_ms_per_run"),
        None,
        0.15,
    ),
    Target(
        "Rate on PostgreSQL compared with DBOS on the same server",
        "×",
        _on_postgres("runs_per_s", "dbos_postgres"),
        5.0,
        None,
    ),
    Target(
        "CPU time per run on PostgreSQL, with that of the server, compared with DBOS on the same server",
        "×",
        _cpu_on_postgres,
        None,
        0.125,
    ),
    Target(
        "Runs per second of the PostgreSQL store with 64 clients in four processes compared with one process",
        "×",
        _host_figure("pg_store_64_ratio"),
        0.8,
        None,
    ),
)

ALL_TARGETS: Final = (*TARGETS, *POSTGRES_TARGETS)

TARGET_HEAD: Final = ["target", "required", "measured", "met"]


def target_results(document: Document, targets: Sequence[Target] = ALL_TARGETS) -> list[dict[str, Any]]:
    """Each target with its value and verdict; both are None when a subject it needs was left out."""
    found: list[dict[str, Any]] = []
    for target in targets:
        try:
            value = round(target.value(document), 3)
        except KeyError:
            value = None
        met = None if value is None else target.met(value)
        found.append({"target": target.title, "bound": target.bound(), "value": value, "met": met})
    return found


def _rounded(value: float) -> str:
    """Three decimals where a bound has two, so that what just misses it does not look as if it were met."""
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def target_rows(document: Document, targets: Sequence[Target] = ALL_TARGETS) -> list[list[str]]:
    verdicts = {True: "yes", False: "no", None: "not measured"}
    return [
        [
            row["target"],
            row["bound"],
            "-" if row["value"] is None else f"{_rounded(row['value'])} {target.unit}".rstrip(),
            verdicts[row["met"]],
        ]
        for target, row in zip(targets, target_results(document, targets), strict=True)
    ]
