"""What the bench makes of its samples, from rounds that nobody measured."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench.cli import PAGE, POSTGRES_PAGE, main
from bench.machine import cpu_model, file_system
from bench.plan import CLIENTS, ON_POSTGRES, SUBJECTS, WORKFLOWS, Sample
from bench.report.chart import chart
from bench.report.page import BEGIN, END, block, filled, has_host, has_postgres, own_rows, postgres_block
from bench.report.statistics import (
    FIGURES,
    STAGE_HEAD,
    figures,
    markdown_table,
    percentile,
    results,
    spread,
    stage_rows,
    text_table,
)
from bench.report.targets import ALL_TARGETS, target_results, target_rows

from tests.bench.sample_results import HOST_FIGURES, META, RATES, rounds_of, sample_results
from tests.harness.cases import each_case

SVG = "{http://www.w3.org/2000/svg}"


def test_a_sample_becomes_five_figures() -> None:
    sample = Sample(2.0, [float(number) for number in range(200, 0, -1)], 0.5, 0.1)
    assert figures(sample) == {
        "runs_per_s": 100.0,
        "p50_ms": 101.0,
        "p99_ms": 199.0,
        "cpu_ms_per_run": 2.5,
        "server_cpu_ms_per_run": 0.5,
    }
    assert percentile([3.0], 0.99) == 3.0


def test_the_document_has_the_agreed_keys_and_no_others() -> None:
    document = sample_results()
    assert list(document) == [*SUBJECTS, "meta"]
    for name in SUBJECTS:
        own = set(HOST_FIGURES) if name == "weftwork" else set()
        assert set(document[name]) == {"clients1", "clients16"} | own
        for clients in CLIENTS:
            assert set(document[name][clients]) == {"one_step", "three_step"} == set(WORKFLOWS)
            for workflow in WORKFLOWS:
                assert tuple(document[name][clients][workflow]) == FIGURES
    assert json.loads(json.dumps(document)) == document


def test_the_median_of_the_rounds_counts() -> None:
    document = sample_results()
    for name, rate in RATES.items():
        assert document[name]["clients16"]["one_step"]["runs_per_s"] == rate
        assert document[name]["clients1"]["three_step"]["p99_ms"] == 10.0


def test_the_spread_of_the_rounds_is_seen() -> None:
    assert spread({"dbos": rounds_of(150.0)}) == {"dbos": 15.0}


def test_targets_that_are_met() -> None:
    rows = target_results(sample_results())
    assert [row["met"] for row in rows] == [True] * len(ALL_TARGETS)
    assert {row["target"]: row["value"] for row in rows}["Rate compared with LangGraph"] == 8.0
    assert {row["target"]: row["value"] for row in rows}["Memory growth over 10,000 runs"] == 15.0


@each_case(
    "own, title",
    ({"cpu_flat": 1.2}, "CPU time of runs 18,000 to 20,000 compared with runs 500 to 2,500"),
    ({"cpu_flat": 0.8}, "CPU time of runs 18,000 to 20,000 compared with runs 500 to 2,500"),
    ({"event_cost_ratio": 1.6}, "CPU time per event in a run of 20,000 events compared with runs of 200"),
    ({"lookback_p99_ms": 200.1}, "State of a run of 200,000 events after any of them, p99 of random ones"),
    (
        {"fork_branch_p99_ms": 300.1},
        "Forking a run of 10,000 events, p99, maximum of a branch at its last event and a replay",
    ),
    (
        {"fork_replay_p99_ms": 300.1},
        "Forking a run of 10,000 events, p99, maximum of a branch at its last event and a replay",
    ),
    (
        {"replay_events_per_s": 19_999.0},
        "Events per second of a replay of 10,000 events of nodes that do nothing",
    ),
    ({"after_10000_mib": 90.0}, "Memory growth over 10,000 runs"),
    ({"idle_mib": 81.0}, "Memory when idle"),
    ({"startup_ms": 801.0}, "Start to first response"),
    (
        {"restart_tree_ms": 2001.0},
        "Start to first response with a large store, maximum of 25,000 unfinished runs, a log of 900 MiB, and 100,000 "
        "waiting runs",
    ),
    ({"stream_kib": 33.0}, "Memory per idle stream"),
    ({"fanout_p99_ms": 301.0}, "Delivery of one event to 1,000 streams, p99"),
    ({"stalled_hold_ms": 101.0}, "Event loop blocked with 500 stalled readers, longest"),
    ({"register_row_ms": 1001.0}, "Registering 1,000 nodes, slowest graph shape"),
    ({"register_wide_ms": 1001.0}, "Registering 1,000 nodes, slowest graph shape"),
    ({"register_computing_ms": 1001.0}, "Registering 1,000 nodes, slowest graph shape"),
    ({"node_10_us": 301.0}, "CPU time per node in a chain, maximum of 10, 100 and 1,000 nodes"),
    ({"node_100_us": 301.0}, "CPU time per node in a chain, maximum of 10, 100 and 1,000 nodes"),
    ({"node_1000_us": 241.0}, "CPU time per node in a graph of 1,000 compared with a chain of 10"),
    ({"node_layered_us": 241.0}, "CPU time per node in a graph of 1,000 compared with a chain of 10"),
    ({"python_node_us": 151.0}, "CPU time of an async Python node above core.noop, alone or in a chain"),
    ({"python_node_chain_us": 151.0}, "CPU time of an async Python node above core.noop, alone or in a chain"),
    ({"lag_p99_ms": 20.1}, "Event loop delay while 1,000 nodes sleep, p99"),
    ({"fetch_ms": 2.6}, "Additional latency of a guarded outbound request"),
    ({"map_mib": 61.0}, "Peak memory growth of a map over 10,000 items"),
    ({"hostile_hold_ms": 101.0}, "Event loop blocked by the hostile corpus, longest"),
    ({"hostile_health_p99_ms": 50.1}, "/health during the hostile corpus, p99 of the worst case"),
    ({"inbox_p99_ms": 50.1}, "One inbox page with 10,000 open interrupts, p99"),
    ({"waiting_cpu_ms_per_s": 5.1}, "CPU time per second while 10,000 runs wait for answers"),
    ({"tree_cancel_s": 10.1}, "Cancelling a tree of 10,000 runs"),
    ({"child_events": 2.2}, "Events in the parent's log per child run of a map"),
    ({"child_events_ratio": 1.01}, "Length of that log with children of 50 steps compared with 1 step"),
    ({"parents_cpu_ms_per_s": 5.1}, "CPU time per second while 10,000 parents wait for waiting children"),
    ({"parent_kib": 3.1}, "Memory per parent that waits for a waiting child"),
    ({"child_end_p99_ms": 50.1}, "End of a child run to the next step of its parent, p99"),
    ({"accept_us": 40.1}, "CPU time to validate a correct envelope of 1.2 KB"),
    ({"accept_invalid_us": 80.1}, "CPU time to validate an incorrect envelope"),
    ({"accept_ratio": 19.9}, "Two jsonschema checks compared with one validation"),
    ({"provider_added_ms": 1.1}, "Time that the host adds to a chunk of a model server, one each 20 ms, median"),
    ({"provider_chunk_cpu_ms": 0.6}, "CPU time per such chunk"),
    ({"provider_burst_cpu_ms": 0.2}, "CPU time per chunk of a model server in a burst"),
    ({"provider_lag_p99_ms": 51.0}, "Event loop delay with 200 streams of a model server at 20 chunks/s each, p99"),
    ({"chunks_ms": 1.1}, "CPU time per 20 chunks of a streamed answer to one reader"),
    (
        {"surface_page_first_ms": 50.1},
        "Rendering a surface of 200 components in Chromium, the first of a tab",
    ),
    ({"gate_ms": 1.1}, "Time that the gate and its commit add to a model turn, median"),
    (
        {"asset_4_ratio": 0.59},
        "Rate of serving 1 MiB compared with a bare FileResponse, minimum of 4 and 16 clients",
    ),
    (
        {"asset_16_ratio": 0.59},
        "Rate of serving 1 MiB compared with a bare FileResponse, minimum of 4 and 16 clients",
    ),
    ({"images_log_mb": 2.1}, "Log size of a run that emits 1,000 images of 200 KiB, maximum of stored and served"),
    (
        {"images_events_mb": 2.1},
        "Log size of a run that emits 1,000 images of 200 KiB, maximum of stored and served",
    ),
    (
        {"pg_store_64_ratio": 0.79},
        "Runs per second of the PostgreSQL store with 64 clients in four processes compared with one process",
    ),
)
def test_a_target_that_is_missed_is_seen(own: dict[str, float], title: str) -> None:
    assert [row["target"] for row in target_results(sample_results(**own)) if not row["met"]] == [title]


@each_case(
    "subject, figure, value, title",
    ("weftwork", "cpu_ms_per_run", 0.46, "CPU time of the host per run"),
    ("bare_memory", "runs_per_s", 4300.0, "Rate compared with the bare in-memory server"),
    ("langgraph", "runs_per_s", 230.0, "Rate compared with LangGraph"),
    ("dbos", "runs_per_s", 201.0, "Rate compared with DBOS"),
    ("bare_memory", "p99_ms", 2.4, "p99 latency compared with the bare in-memory server"),
    (
        "weftwork_postgres",
        "cpu_ms_per_run",
        0.51,
        "CPU time of the host per run on PostgreSQL compared with SQLite",
    ),
    ("weftwork_postgres", "server_cpu_ms_per_run", 0.16, "CPU time of the PostgreSQL server per run"),
    ("dbos_postgres", "runs_per_s", 301.0, "Rate on PostgreSQL compared with DBOS on the same server"),
    (
        "dbos_postgres",
        "cpu_ms_per_run",
        2.5,
        "CPU time per run on PostgreSQL, with that of the server, compared with DBOS on the same server",
    ),
)
def test_a_comparison_that_is_lost_is_seen(subject: str, figure: str, value: float, title: str) -> None:
    document = sample_results()
    document[subject]["clients16"]["one_step"][figure] = value
    assert [row["target"] for row in target_results(document) if not row["met"]] == [title]
    assert [row[0] for row in target_rows(document) if row[-1] == "no"] == [title]


def test_what_was_left_out_is_not_judged() -> None:
    verdicts = {row["target"]: row["met"] for row in target_results(sample_results("weftwork"))}
    assert verdicts["Rate compared with DBOS"] is None
    assert verdicts["Registering 1,000 nodes, slowest graph shape"] is True
    assert verdicts["Memory when idle"] is True
    assert {verdict for _, _, value, verdict in target_rows(sample_results("dbos")) if value == "-"} == {"not measured"}


def test_figures_without_a_comparison_are_judged_and_shown() -> None:
    document = results({}, {"map_mib": 18.0, "map_ms": 600.0}, META)
    assert document["weftwork"] == {"map_mib": 18.0, "map_ms": 600.0}
    assert [row["target"] for row in target_results(document) if row["met"]] == [
        "Peak memory growth of a map over 10,000 items"
    ]
    assert stage_rows(document) == []
    assert own_rows(document) == [
        ["Map over 10,000 items", "600.00 ms"],
        ["Peak memory of that map, above idle", "18.00 MiB"],
    ]


def test_every_figure_has_a_row_of_its_own() -> None:
    rows = own_rows(sample_results())
    assert len({title for title, _ in rows}) == len(rows) == len(HOST_FIGURES)


def test_tables_line_up() -> None:
    rows = stage_rows(sample_results())
    assert len(rows) == len(SUBJECTS) * len(CLIENTS) * len(WORKFLOWS)
    lines = text_table(STAGE_HEAD, rows).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "4,000" in lines[2]
    page = markdown_table(STAGE_HEAD, rows).splitlines()
    assert {line.count("|") for line in page} == {len(STAGE_HEAD) + 1}


def test_the_chart_is_well_formed_and_says_what_it_shows() -> None:
    tree = ElementTree.fromstring(chart(sample_results()))
    assert tree.tag == f"{SVG}svg"
    named = {identity: tree.find(f"{SVG}{identity}") for identity in ("title", "desc")}
    assert tree.get("aria-labelledby") == " ".join(named)
    said = " ".join(part.text or "" for part in named.values() if part is not None)
    assert "weftwork 1,600" in said
    assert "DBOS 150" in said
    assert "DBOS (PostgreSQL) 5.20" in said
    bars = [bar for bar in tree.iter(f"{SVG}rect") if bar.get("class") in ("own", "bar")]
    assert [bar.get("class") for bar in bars].count("own") == 4
    lengths = [float(bar.get("width", "0")) for bar in bars]
    assert len(bars) == 2 * len(SUBJECTS)
    assert lengths[1] == max(lengths[:5])
    assert lengths[0] == pytest.approx(lengths[1] * 1600 / 4000, abs=0.1)


def test_the_page_is_filled_between_its_marks() -> None:
    text = f"# Page\n\n{BEGIN}old\n{END}\nafter\n"
    measured = block(sample_results(cpu_flat=2.0))
    once = filled(text, measured)
    assert once.startswith(f"# Page\n\n{BEGIN}Measured on 2031-02-03 at commit `abc1234`: 2 cores of Some CPU")
    assert "load average 0.1 at the start and 1.2 at the end" in once
    assert "1.1 to 1.3 times the rate of the slowest." in once
    assert once.endswith(f"{END}\nafter\n")
    assert "old" not in once
    assert "| 0.90 to 1.10 | 2.000 | **no** |" in once
    assert "| Registering 1,000 nodes, slowest graph shape | ≤ 1000 ms | 200.0 ms | yes |" in once
    assert "| CPU time per node in layers of 10, 1,000 in total | 26.00 µs |" in once
    assert "| Peak memory of that map, above idle | 18.00 MiB |" in once
    assert "ostgre" not in once
    assert filled(once, measured) == once
    with pytest.raises(ValueError, match="no place"):
        filled("# Page\n", measured)


def test_the_page_on_postgres_has_its_figures() -> None:
    measured = postgres_block(sample_results("weftwork", *ON_POSTGRES))
    assert "| CPU time of the PostgreSQL server per run | ≤ 0.15 ms | 0.080 ms | yes |" in measured
    assert "| dbos_postgres | 16 | 1 | 160 | 1.00 | 10.00 | 4.00 | 1.20 |" in measured
    assert "| weftwork_postgres | 64 | 1 | 1,500 | 40.00 | 90.00 | 0.40 | 0.08 |" in measured
    assert "| Size of such a run in the database, with indexes | 2,300 bytes |" in measured
    assert "inbox" not in measured


def test_a_page_is_written_if_all_its_figures_were_measured() -> None:
    for names, expected in (
        (SUBJECTS, (True, True)),
        ([name for name in SUBJECTS if name not in ON_POSTGRES], (True, False)),
        (["weftwork", *ON_POSTGRES], (False, True)),
        (["weftwork", "weftwork_postgres"], (False, False)),
    ):
        document = sample_results(*names)
        assert (has_host(document), has_postgres(document)) == expected
    assert not has_host({**sample_results(), "weftwork": {}})


def test_the_pages_of_the_repository_have_their_marks() -> None:
    for path in (PAGE, POSTGRES_PAGE):
        page = path.read_text("utf-8")
        assert page.index(BEGIN) < page.index(END)


def test_the_machine_is_read_from_the_system() -> None:
    assert cpu_model("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n") == "Some CPU @ 2 GHz"
    mounts = "/dev/a / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n/dev/b /run/disk xfs rw 0 0\n"
    assert file_system(Path("/var/x"), mounts) == "ext4"
    assert file_system(Path("/run/x"), mounts) == "tmpfs"
    assert file_system(Path("/running"), mounts) == "ext4"
    assert file_system(Path("/run/disk/x"), mounts) == "xfs"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--only", "weftwork,nobody"],
        ["--figures", "map,nothing"],
        ["--figures", "map", "--only", "weftwork"],
        ["--postgres", "--only", "weftwork"],
        ["--postgres", "--figures", "map"],
        ["--rounds", "0"],
        ["--runs", "many"],
    ],
)
def test_a_wrong_option_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert arguments[0] in capsys.readouterr().err
