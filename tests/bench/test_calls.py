"""Calls and instructions per run stay within bounds; the measured graphs have the shapes that the page says."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import msgspec
import pytest
from bench.callgrind import by_thread, check_interpreter, missing, require, run
from bench.calls import KINDS, TABLE, measure, quartile, read_table, version, violations
from bench.cost import NAMES, rows, summary
from bench.costs.graph_cost import check_results
from bench.costs.graphs import ROW, chain, computing, items, layered, looping, mapped, wide
from bench.meter import forget_peak, peak_mib, rss_mib
from bench.plan import FULL, BenchError
from bench.scenarios import SCENARIOS

from bench import calls, slow_host
from tests.harness.cases import each_case
from tests.harness.definitions import plan_of
from weftwork.adapters.system import loop_watchdog
from weftwork.engine.run import next_commit
from weftwork.protocol.json.decoder import MAX_DOCUMENT_VALUES
from weftwork.protocol.limits import Limits
from weftwork.protocol.workflow.plan import Plan

ROOT = Path(__file__).parents[2]
COUNTS = {"one_step": {"python": 400, "c": 1_000}}


@pytest.mark.slow
def test_no_run_makes_more_calls_than_the_table_allows() -> None:
    said = violations(read_table(), measure(list(SCENARIOS)), version())
    assert not said, "\n".join(said)


@pytest.mark.slow
def test_a_host_that_makes_more_calls_is_seen() -> None:
    found = measure(["one_step"], "tests.bench.wasteful_host", runs=12, warm=8)
    said = violations(read_table(), found, version())
    assert [line.partition(" calls per run")[0].split()[-1] for line in said] == list(KINDS), (found, said)
    assert all("bench.calls --write" in line for line in said)


def test_the_table_has_every_scenario_and_both_kinds() -> None:
    table = read_table()
    assert "3.11" in table
    for row in table.values():
        assert list(row) == list(SCENARIOS)
        assert all(tuple(kinds) == KINDS and min(kinds.values()) > 0 for kinds in row.values())
    assert TABLE.read_text("utf-8") == json.dumps(table, indent=2) + "\n"


@each_case(
    "python, c, above",
    (400, 1_000, []),
    (412, 1_030, []),
    (300, 500, []),
    (413, 1_030, ["python"]),
    (412, 1_031, ["c"]),
)
def test_three_percent_more_are_allowed(python: int, c: int, above: list[str]) -> None:
    said = violations({"3.11": COUNTS}, {"one_step": {"python": python, "c": c}}, "3.11")
    assert [line.split()[2] for line in said] == above


def test_a_python_without_a_row_is_a_violation() -> None:
    (said,) = violations({"3.11": COUNTS}, COUNTS, "3.99")
    assert said.startswith("calls.json has no row for Python 3.99: write one with `")
    (said,) = violations({"3.99": {}}, {"one_step": {"c": 1}}, "3.99")
    assert said.startswith("one_step: the row for Python 3.99 has no c calls: write it with `")


def test_timers_in_a_few_runs_do_not_count() -> None:
    assert quartile([422] * 25 + [430] * 10 + [900] * 5) == 422
    assert quartile([430] * 40) == 430


def test_writing_keeps_the_rows_of_other_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TABLE", tmp_path / "calls.json")
    monkeypatch.setattr(calls, "measure", lambda _names: COUNTS)
    assert calls.main([]) == 1
    calls.write_table({"3.99": COUNTS})
    assert calls.main(["--write"]) == 0
    assert calls.read_table() == {version(): COUNTS, "3.99": COUNTS}
    assert calls.main(["--json"]) == 0


def test_the_counter_counts_calls_by_thread() -> None:
    code = """
import json, sys, threading
from bench import counted_host as counted
def work():
    for _ in range(100):
        len("")
        sorted([])
        (lambda: None)()
threading.setprofile(counted._install)
for name in ("a", "b"):
    thread = threading.Thread(target=work, name=name)
    thread.start()
    thread.join()
print(json.dumps(counted._COUNTS))
"""
    line = [sys.executable, "-c", code]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    counts = json.loads(ended.stdout)
    assert list(counts) == ["a", "b"]
    for python, c in counts.values():
        assert 101 <= python < 110
        assert 200 <= c < 210


BOUND = 300
STORE = "ob=(7) site-packages/apsw/__init__.so\n"


def dump(total: int, more: str = "") -> str:
    return f"version: 1\nevents: Ir\n{more}totals: {total}\n"


class Machine:
    """`works` says after how many commands of apt valgrind is there."""

    def __init__(self, works: int = 99) -> None:
        self.works = works
        self.asked: list[str] = []

    def find(self, name: str) -> str | None:
        return name if len(self.asked) >= self.works else None

    def run(self, command: list[str]) -> int:
        self.asked.append(command[1])
        return 0 if len(self.asked) >= self.works or command[1] == "update" else 100


@pytest.mark.parametrize(("works", "asked"), [(0, []), (1, ["install"]), (3, ["install", "update", "install"])])
def test_root_gets_valgrind_installed(works: int, asked: list[str]) -> None:
    machine = Machine(works)
    require(machine.find, True, machine.run)
    assert machine.asked == asked


@each_case("root, why", (True, "apt-get could not install it"), (False, "only root can install it with apt-get"))
def test_without_valgrind_it_is_said_what_is_missing(root: bool, why: str) -> None:
    machine = Machine()
    with pytest.raises(BenchError, match=f"valgrind and vgdb not found, and {why}: install the package valgrind"):
        require(machine.find, root, machine.run)
    assert bool(machine.asked) is root


def test_a_program_that_is_not_there_has_a_status() -> None:
    assert run(["weftwork-no-such-program"]) == 127


def test_a_script_is_no_interpreter(tmp_path: Path) -> None:
    check_interpreter(Path(sys.executable))
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\n")
    with pytest.raises(BenchError, match="is not a binary"):
        check_interpreter(script)


def test_instructions_are_summed_by_thread() -> None:
    dumps = {1: dump(1000, STORE), 2: dump(150, STORE), 3: dump(20, STORE), 4: dump(200), 5: dump(0)}
    assert by_thread(dumps) == {"loop": 1000, "writer": 150, "others": 220}


@each_case("dumps", {}, {1: dump(1000)}, {2: dump(5, STORE)}, {1: "desc: no figures\n", 2: dump(5, STORE)})
def test_a_dump_that_lacks_something_is_refused(dumps: dict[int, str]) -> None:
    with pytest.raises(BenchError, match="dump"):
        by_thread(dumps)


def test_a_scenario_is_the_median_of_its_windows() -> None:
    windows = [{"loop": loop * 10, "writer": 1000, "others": 0} for loop in (900, 910, 1000)]
    found = summary(windows, 10)
    assert found == {"loop": 910, "writer": 100, "others": 0, "total": 1010, "spread_percent": 10.0}
    assert rows({"instructions_per_run": {"one_step": {**found, "loop": 1_234_567}}}) == [
        ["one step (core.noop)", "1,234.6", "0.1", "0.0", "1.0", "10.00 %"]
    ]


def test_limits_of_wall_time_are_longer_under_valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sys.getswitchinterval()
    monkeypatch.setattr(next_commit, "MAX_BATCH_MS", next_commit.MAX_BATCH_MS)
    monkeypatch.setattr(next_commit, "SHARED_BATCH_MS", next_commit.SHARED_BATCH_MS)
    limit = next_commit.MAX_BATCH_MS
    watchdog = ("BEAT_SECONDS", "SAMPLE_SECONDS", "BLOCKED_SECONDS", "REPORT_SECONDS")
    for name in watchdog:
        monkeypatch.setattr(loop_watchdog, name, getattr(loop_watchdog, name))
    seconds = {name: getattr(loop_watchdog, name) for name in watchdog}
    try:
        slow_host.stretch()
        for name in watchdog:
            assert getattr(loop_watchdog, name) == seconds[name] * slow_host.SLOWDOWN
        assert limit * slow_host.SLOWDOWN == next_commit.MAX_BATCH_MS
        assert sys.getswitchinterval() == pytest.approx(before * slow_host.SLOWDOWN)
    finally:
        sys.setswitchinterval(before)


def test_without_valgrind_the_command_fails(tmp_path: Path) -> None:
    alone = {**os.environ, "PATH": str(tmp_path)}
    line = [sys.executable, "-m", "bench.cost", "--quick"]
    ended = subprocess.run(line, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("cost: valgrind and vgdb not found")
    assert ended.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(bool(missing(shutil.which)), reason="valgrind is not installed; `make cost` installs it")
def test_a_small_count_from_end_to_end(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    out = tmp_path / "cost.json"
    line = [sys.executable, "-m", "bench.cost", "--quick", "--only", "one_step", "--json", "--out", str(out)]
    ended = subprocess.run(
        line,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document == json.loads(out.read_text("utf-8"))
    found = document["instructions_per_run"]["one_step"]
    assert found["loop"] > found["writer"] > 0
    assert found["total"] == found["loop"] + found["writer"] + found["others"]
    assert "window 1/1" in ended.stderr
    assert list(scratch.iterdir()) == []


def test_the_figures_in_the_tree_are_of_all_scenarios() -> None:
    document = json.loads((ROOT / "bench" / "cost.json").read_text("utf-8"))
    assert tuple(document["instructions_per_run"]) == NAMES
    assert {"commit", "python"} <= set(document["meta"])


MANY = FULL.graph
HELD = 64


def levels(plan: Plan) -> list[int]:
    """How many nodes stand at each distance from the first."""
    level: dict[str, int] = {}
    for node_id in plan.order:
        level[node_id] = max((level[edge.source] + 1 for edge in plan.nodes[node_id].incoming), default=0)
    return [list(level.values()).count(number) for number in range(max(level.values()) + 1)]


def test_a_chain_is_a_chain() -> None:
    assert levels(plan_of(chain("chain", MANY))) == [1] * MANY


def test_a_wide_graph_opens_and_closes() -> None:
    plan = plan_of(wide("wide", MANY))
    assert levels(plan) == [1, MANY - 2, 1]
    assert len(plan.nodes[plan.order[-1]].incoming) == MANY - 2


def test_a_layered_graph_has_full_layers_that_depend_on_each_other() -> None:
    plan = plan_of(layered("layered", MANY))
    assert levels(plan) == [ROW] * (MANY // ROW)
    assert {len(place.incoming) for place in plan.nodes.values()} == {0, 2}


def test_a_computing_chain_reads_by_connection_and_expression_in_every_node_but_the_first() -> None:
    plan = plan_of(computing("computing", MANY))
    assert levels(plan) == [1] * MANY
    for node_id in plan.order[1:]:
        node = plan.nodes[node_id].node
        assert {port.type for port in node.ports.values()} == {"connection", "expression"}
        assert node.config_expressions


def test_a_loop_goes_round_as_often_as_it_is_measured() -> None:
    plan = plan_of(looping("looping", FULL.loop))
    assert [loop.body for loop in plan.loops] == [{"n0", "n1"}]
    assert plan.workflow.max_loopbacks == FULL.loop


def test_the_items_of_the_map_fit_into_one_request() -> None:
    body = msgspec.json.encode({"workflowId": "mapped", "inputs": {"items": items(FULL.items)}})
    assert len(body) <= Limits().max_request_body_bytes
    assert 3 * FULL.items < MAX_DOCUMENT_VALUES
    assert plan_of(mapped("mapped")).sinks == ("n0",)


def results(count: int) -> list[Any]:
    return [{"label": f"item {number}", "next": number + 1} for number in range(count)]


def test_complete_results_in_order_pass() -> None:
    check_results({"count": 4, "results": results(4)}, 4)


@each_case(
    "outputs",
    {"count": 4, "results": results(3)},
    {"count": 3, "results": results(4)},
    {"count": 4, "results": results(4)[::-1]},
    {"count": 4, "results": [*results(3), None]},
)
def test_results_that_are_not_what_they_should_be_are_seen(outputs: dict[str, Any]) -> None:
    with pytest.raises(BenchError, match="other results"):
        check_results(outputs, 4)


HOLDS_MEMORY = f"""
import sys
for line in sys.stdin:
    held = b"x" * ({HELD} * 2**20) if line == "hold\\n" else b""
    print(flush=True)
"""


def test_the_peak_of_memory_is_kept_until_it_is_forgotten() -> None:
    """Of a process that does nothing else: in ours, other tests give memory back meanwhile."""
    with subprocess.Popen([sys.executable, "-c", HOLDS_MEMORY], stdin=PIPE, stdout=PIPE, text=True) as process:

        def does(what: str) -> float:
            assert process.stdin is not None
            assert process.stdout is not None
            print(what, file=process.stdin, flush=True)
            process.stdout.readline()
            return rss_mib(process.pid)

        before = does("start")
        grown = does("hold") - before
        does("let go")
        assert peak_mib(process.pid) - before > HELD * 0.9
        assert grown > HELD * 0.9
        forget_peak(process.pid)
        assert peak_mib(process.pid) - before < HELD * 0.9
