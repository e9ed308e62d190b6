"""The bench on a PostgreSQL server, as small as it can be, and on a machine without one."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.costs import postgres_cost
from bench.plan import QUICK
from bench.report.statistics import FIGURES

from bench import cli, meter, postgres_server
from tests.bench.sample_results import HOST_FIGURES
from tests.bench.test_run import BOUND, left_running, run_bench
from tests.harness.definitions import FULL
from tests.harness.postgres_server import LEFT_OUT, distribution_version

ON_SERVER = {name for name in HOST_FIGURES if name.startswith("pg_")}

needs_server = pytest.mark.skipif(distribution_version() is None, reason=LEFT_OUT)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder that the user of the server may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="weftwork-test-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@needs_server
@pytest.mark.slow
def test_the_host_and_the_store_are_measured_on_a_server(tmp_path: Path, scratch: Path) -> None:
    def measured(*arguments: str) -> dict[str, dict[str, Any]]:
        line = [sys.executable, "-m", "bench", "--quick", "--runs", "20", "--json", "--out", str(tmp_path / "out.json")]
        ended = run_bench([*line, *arguments], scratch, BOUND)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    found = measured("--figures", "postgres")["weftwork"]
    assert set(found) == ON_SERVER
    assert all(value > 0 for value in found.values())
    if FULL:
        stage = measured("--only", "weftwork_postgres")["weftwork_postgres"]["clients16"]["one_step"]
        assert tuple(stage) == FIGURES
        assert all(value > 0 for value in stage.values())
    assert list(scratch.iterdir()) == []
    assert left_running(scratch) == []


def test_without_a_server_the_bench_says_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "distribution_version", lambda: None)
    said: list[str] = []
    names = ["weftwork", "weftwork_postgres", "dbos_postgres"]
    assert cli.possible_subjects(names, tmp_path, said.append) == ["weftwork"]
    assert postgres_cost.postgres_costs(QUICK, tmp_path, said.append) == {}
    assert said == [
        f"warning: weftwork_postgres and dbos_postgres are left out: {LEFT_OUT}",
        f"the figures of PostgreSQL are left out: {LEFT_OUT}",
    ]
    with pytest.raises(cli.BenchError, match="no PostgreSQL server"):
        cli.possible_subjects(["dbos_postgres"], tmp_path, said.append)


@needs_server
def test_a_folder_that_the_user_of_the_server_may_not_enter_is_named(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "server_user", lambda: {"user": 1})
    assert postgres_server.missing(scratch) is None
    scratch.chmod(0o700)
    assert str(scratch) in (postgres_server.missing(scratch) or "")


def test_the_cpu_time_of_a_server_includes_processes_that_have_ended() -> None:
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True, timeout=BOUND)
    ended = meter.server_cpu_seconds(os.getpid()) - meter.cpu_seconds(os.getpid())
    times = os.times()
    assert ended > 0
    assert ended == pytest.approx(times.children_user + times.children_system, abs=0.05)
