"""The calls of a run stay within tests/bench/calls.json, and a host that makes more of them is seen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.calls import KINDS, TABLE, measure, quartile, read_table, version, violations
from bench.scenarios import SCENARIOS

from bench import calls

ROOT = Path(__file__).parents[2]
ROW = {"one_step": {"python": 400, "c": 1_000}}


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


@pytest.mark.parametrize(
    ("python", "c", "above"),
    [(400, 1_000, []), (412, 1_030, []), (300, 500, []), (413, 1_030, ["python"]), (412, 1_031, ["c"])],
)
def test_three_percent_more_are_allowed(python: int, c: int, above: list[str]) -> None:
    said = violations({"3.11": ROW}, {"one_step": {"python": python, "c": c}}, "3.11")
    assert [line.split()[2] for line in said] == above


def test_a_python_without_a_row_is_a_violation() -> None:
    (said,) = violations({"3.11": ROW}, ROW, "3.99")
    assert said.startswith("calls.json has no row for Python 3.99: write one with `")
    (said,) = violations({"3.99": {}}, {"one_step": {"c": 1}}, "3.99")
    assert said.startswith("one_step: the row for Python 3.99 has no c calls: write it with `")


def test_timers_in_a_few_runs_do_not_count() -> None:
    assert quartile([422] * 25 + [430] * 10 + [900] * 5) == 422
    assert quartile([430] * 40) == 430


def test_writing_keeps_the_rows_of_other_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "TABLE", tmp_path / "calls.json")
    monkeypatch.setattr(calls, "measure", lambda _names: ROW)
    assert calls.main([]) == 1
    calls.write_table({"3.99": ROW})
    assert calls.main(["--write"]) == 0
    assert calls.read_table() == {version(): ROW, "3.99": ROW}
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
