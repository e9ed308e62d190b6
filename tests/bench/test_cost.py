"""Instructions per run: where valgrind comes from, what is read from its dumps, and one small count from end to end."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bench.callgrind import by_thread, check_interpreter, missing, require, run
from bench.cost import NAMES, rows, summary
from bench.plan import BenchError

from bench import slow_host
from weftwork.engine.run import live_run

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize(
    ("root", "why"), [(True, "apt-get could not install it"), (False, "only root can install it with apt-get")]
)
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


@pytest.mark.parametrize(
    "dumps", [{}, {1: dump(1000)}, {2: dump(5, STORE)}, {1: "desc: no figures\n", 2: dump(5, STORE)}]
)
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
    monkeypatch.setattr(live_run, "MAX_BATCH_MS", live_run.MAX_BATCH_MS)
    limit = live_run.MAX_BATCH_MS
    try:
        slow_host.stretch()
        assert limit * slow_host.SLOWDOWN == live_run.MAX_BATCH_MS
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
