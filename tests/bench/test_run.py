"""The bench itself, end to end and as small as it can be: our host alone, in the main environment."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from bench.child_process import ROOT, ChildProcess
from bench.costs.graphs import definition, node
from bench.plan import BenchError
from bench.report.statistics import FIGURES
from bench.subjects.host import weftwork

from bench import child_process
from tests.bench.sample_results import HOST_FIGURES
from tests.browser.chromium import installed
from tests.harness.definitions import FULL
from tests.live import until

BOUND = 240
BESIDE_STARLETTE = {f"asset_{name}" for name in ("bare_4_per_s", "bare_16_per_s", "4_ratio", "16_ratio")}
"""Figures that need what only the environment of the bench has."""

SMALLER = """
import sys
import msgspec
from bench import cli
from bench.costs import graph_cost, host_figures, hostile_cost, python_cost, stalled_reader_cost, waiting_cost
from tests.harness import preloaded_cli
preloaded_cli.pytest_configure(None)
graph_cost.NODES_AT_A_TIME = 200
python_cost.SLEEP_SECONDS, python_cost.WATCH_SECONDS = 2.0, 0.2
stalled_reader_cost.KINDS, stalled_reader_cost.DELAY_MS = {"small": (20_000, 20), "large": (200_000, 3)}, 100
stalled_reader_cost.PAUSES = dict.fromkeys(stalled_reader_cost.PAUSES, 0.05)
for module in (graph_cost, host_figures, hostile_cost, waiting_cost):
    module.SETTLE_SECONDS = 0.0
smaller = {"startups": 1, "waiting": 50, "quiet": 0.1, "sleepers": 10, "answers": 5}
cli.QUICK = msgspec.structs.replace(cli.QUICK, **smaller)
sys.exit(cli.main(sys.argv[1:]))
"""
"""The same bench with smaller numbers, whose hosts are forks of a process that has the package loaded."""

CARELESS = """
import sys
from bench import child_process, cli
child_process.ChildProcess.__exit__ = cli.end_all = lambda *_: None
sys.exit(cli.main(sys.argv[1:]))
"""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "bench", "--quick", "--only", "weftwork", *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """That of the bench's own processes, so that hosts can be forks; see SMALLER."""
    return {**child_process.environment(), "TMPDIR": str(folder)}


def left_running(folder: Path) -> list[int]:
    """Processes whose command line names the folder, or that are in it."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            known = (path / "cmdline").read_text("utf-8", "replace") + str((path / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in known:
            found.append(int(path.name))
    return found


def run_bench(line: list[str], folder: Path, seconds: float = BOUND) -> "subprocess.CompletedProcess[str]":
    """Run the bench to its end. One that takes too long is killed with the hosts that it started in the folder."""
    try:
        return subprocess.run(
            line, cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=seconds, check=False
        )
    except BaseException:
        kill_left_running(folder)
        raise


def kill_left_running(folder: Path) -> list[int]:
    left = left_running(folder)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


@pytest.mark.slow
def test_a_tiny_bench_measures_our_host_and_cleans_up(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    out = tmp_path / "latest.json"
    page = (ROOT / "docs" / "performance.md").read_bytes()
    line = command("--runs", "20", "--out", out, "--json")
    if not FULL:
        line[1:3] = ["-c", SMALLER]
    ended = run_bench(line, scratch)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document == json.loads(out.read_text("utf-8"))
    assert set(document) == {"weftwork", "meta"}
    in_browser = set() if installed() else {"surface_page_ms", "surface_page_first_ms"}
    on_server = {name for name in HOST_FIGURES if name.startswith("pg_")}
    measured = {"clients1", "clients16", *HOST_FIGURES} - BESIDE_STARLETTE - in_browser - on_server
    assert set(document["weftwork"]) - on_server == measured
    for clients in ("clients1", "clients16"):
        for workflow in ("one_step", "three_step"):
            stage = document["weftwork"][clients][workflow]
            assert tuple(stage) == FIGURES
            assert all(value > 0 for name, value in stage.items() if name != "server_cpu_ms_per_run")
            assert stage["server_cpu_ms_per_run"] == 0
    assert all(document["weftwork"][name] > 0 for name in ("idle_mib", "startup_ms", "first_event_ms", "cpu_flat"))
    assert "round 1/1" in ended.stderr
    assert list(scratch.iterdir()) == []
    assert left_running(scratch) == []
    assert (ROOT / "docs" / "performance.md").read_bytes() == page


@pytest.mark.slow
def test_a_part_of_the_figures_is_measured_alone(tmp_path: Path) -> None:
    out = tmp_path / "latest.json"
    ended = run_bench([sys.executable, "-m", "bench", "--quick", "--figures", "map", "--out", str(out)], tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert set(json.loads(out.read_text("utf-8"))["weftwork"]) == {"map_ms", "map_item_us", "map_mib"}
    assert "runs/s" not in ended.stdout
    assert re.search(r"Map over 10,000 items +[0-9.]+ ms", ended.stdout)
    assert re.search(r"Registering 1,000 nodes, slowest graph shape .* not measured", ended.stdout)


def test_a_run_that_fails_is_not_measured(tmp_path: Path) -> None:
    with weftwork(tmp_path) as host:
        host.wait()
        host.call("POST", "/v1/workflows", definition("good", [node(0)], []))
        host.call("POST", "/v1/workflows", definition("bad", [node(0, "core.fail")], []))
        assert host.complete("good", 2) > 0
        assert host.newest()["workflowId"] == "good"
        with pytest.raises(BenchError, match="a run of bad did not complete"):
            host.complete("bad", 1)


def stopped(line: list[str], scratch: Path, number: int) -> tuple[int, str]:
    """Start a bench, send it a signal once it has started a host; its exit status and what it said."""
    scratch.mkdir()
    with subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment(scratch),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until(lambda: left_running(scratch) or None, "a host of the bench")
            process.send_signal(number)
            _, said = process.communicate(timeout=BOUND)
        finally:
            process.kill()
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_bench_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    scratch = tmp_path / "scratch"
    status, said = stopped(command("--out", tmp_path / "latest.json"), scratch, number)
    assert status == 130, said
    assert said.endswith("bench: stopped\n")
    assert list(scratch.iterdir()) == []
    assert left_running(scratch) == []
    assert not (tmp_path / "latest.json").exists()


@pytest.mark.slow
def test_a_bench_that_ends_nothing_is_seen(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    line = command("--out", tmp_path / "latest.json")
    line[1:3] = ["-c", CARELESS]
    status, said = stopped(line, scratch, signal.SIGINT)
    left = kill_left_running(scratch)
    assert status == 130, said
    assert left


def test_a_bench_over_its_time_leaves_no_host_running(tmp_path: Path) -> None:
    host = [sys.executable, "-c", "import time; time.sleep(600)", str(tmp_path)]
    starter = f"import subprocess; subprocess.run({host}, start_new_session=True)"
    with pytest.raises(subprocess.TimeoutExpired):
        run_bench([sys.executable, "-c", starter], tmp_path, 2)
    until(lambda: not left_running(tmp_path) or None, "the end of the host")


def test_a_subject_that_does_not_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with (
        ChildProcess("nobody", "bench.nobody", [], tmp_path) as child,
        pytest.raises(BenchError, match=r"nobody ended with status 1;(?s:.*)No module named bench\.nobody"),
    ):
        child.receive(30.0)


def test_the_bench_has_an_environment_of_its_own() -> None:
    def planned(target: str) -> str:
        line = ["make", "-n", "-W", "constraints.txt", target]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(line, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=30, check=True).stdout

    assert ".venv-bench/bin/python tools/install.py bench\n" in planned("bench")
    assert ".venv/bin/python tools/install.py dev\n" in planned("setup")
    assert ".venv-bench" not in planned("setup")
