"""Large expressions in a real host: in worker processes that end with the run, the time limit and the host."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.expressions.test_worker_pool import CHAINS
from tests.harness.definitions import node
from tests.live import Host, start_host, until
from tests.live.workflows import chain, write_workflows
from tests.readers.process_stats import memory
from weftwork.app import Host as ProductHost
from weftwork.protocol.limits import ExpressionLimits
from weftwork.settings import SettingsError, load_settings

LARGE = "inputs.l.map(x, x + 1.0).map(x, x).size()"
ITEMS = list(range(900))
MORE_BYTES = 300 * 2**20
"""How much more memory than an idle host a host and its workers may have."""
WORKFLOWS = (
    chain("large", [node("a", "core.transform", config={"expression": LARGE})]),
    chain(
        "limited",
        [node("a", "core.transform", config={"expression": LARGE}, settings={"timeoutMs": 300, "retries": 0})],
    ),
    chain("ports", [node("a", "core.identity", inputs={"p": {"type": "expression", "expression": LARGE}})]),
    chain(
        "title",
        [node("a", "core.approvalGate", config={"title": f"{{{{{LARGE}}}}} items?", "artifactType": "list"})],
    ),
)


def workers(host: Host) -> list[int]:
    """The child processes of the host that evaluate expressions."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text().rpartition(")")[2].split()
            line = (process / "cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(stat[1]) == host.process.pid and stat[0] != "Z" and b"adapters.expressions.worker" in line:
            found.append(int(process.name))
    return found


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    folder = write_workflows(tmp_path / "workflows", *WORKFLOWS)
    with start_host(tmp_path, "--workflows", folder) as started:
        yield started


def resident_bytes(host: Host) -> int:
    """Memory of the host and its workers now."""
    return memory(host) + sum([_resident_bytes(pid) for pid in workers(host)])


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (FileNotFoundError, ProcessLookupError):
        return 0


def ended(host: Host, run_id: str) -> dict[str, Any]:
    events = host.log(run_id)
    assert events
    return host.snapshot(run_id)


def stop_worker(host: Host) -> int:
    """A worker that takes the next job and does not work on it."""
    assert not workers(host)
    assert ended(host, host.create("large", inputs={"l": ITEMS}))["status"] == "completed"
    (pid,) = workers(host)
    os.kill(pid, signal.SIGSTOP)
    return pid


def is_waiting(host: Host, run_id: str) -> bool:
    """Whether the run is being executed. Its worker is stopped, so it can only wait for it."""
    return host.snapshot(run_id)["status"] == "running"


def test_large_expressions_are_evaluated_in_one_worker_and_small_ones_in_none(host: Host) -> None:
    assert ended(host, host.create("large", inputs={"l": [1, 2]}))["status"] == "completed"
    assert not workers(host)
    for workflow_id in ("large", "ports"):
        events = host.log(host.create(workflow_id, inputs={"l": ITEMS}))
        (completed,) = [each["payload"]["outputs"] for each in events if each["type"] == "node.completed"]
        assert list(completed.values()) == [900]
    run_id = host.create("title", inputs={"l": ITEMS})
    until(lambda: host.snapshot(run_id)["status"] == "waiting-approval", "the question")
    assert len(workers(host)) == 1
    assert host.stop() == 0


def test_a_cancel_ends_an_evaluation(host: Host) -> None:
    pid = stop_worker(host)
    run_id = host.create("large", inputs={"l": ITEMS})
    until(lambda: is_waiting(host, run_id), "the evaluation")
    assert host.call("POST", f"/v1/runs/{run_id}/cancel", {}).status in (200, 202)
    assert ended(host, run_id)["status"] == "cancelled"
    until(lambda: pid not in workers(host), "the end of the worker")
    assert ended(host, host.create("large", inputs={"l": ITEMS}))["status"] == "completed"


def test_the_time_limit_of_a_node_ends_an_evaluation(host: Host) -> None:
    pid = stop_worker(host)
    snapshot = ended(host, host.create("limited", inputs={"l": ITEMS}))
    assert (snapshot["status"], snapshot["error"]["code"]) == ("failed", "node_timeout")
    until(lambda: pid not in workers(host), "the end of the worker")


def test_a_run_survives_the_crash_of_its_worker(host: Host) -> None:
    pid = stop_worker(host)
    run_id = host.create("ports", inputs={"l": ITEMS})
    until(lambda: is_waiting(host, run_id), "the evaluation")
    os.kill(pid, signal.SIGKILL)
    assert ended(host, run_id)["status"] == "completed"
    assert "expression worker lost" in host.errors + host.output


@pytest.mark.parametrize("crash", [False, True])
def test_a_stopped_host_leaves_no_worker_and_the_next_one_continues(tmp_path: Path, crash: bool) -> None:
    folder = write_workflows(tmp_path / "workflows", *WORKFLOWS)
    with start_host(tmp_path, "--workflows", folder) as host:
        pid = stop_worker(host)
        run_id = host.create("large", inputs={"l": ITEMS})
        until(lambda: is_waiting(host, run_id), "the evaluation")
        if crash:
            host.kill()
            # A stopped process cannot see that its input has ended.
            os.kill(pid, signal.SIGCONT)
        else:
            assert host.stop() == 0
        until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), "the end of the worker")
    with start_host(tmp_path, "--workflows", folder) as host:
        assert ended(host, run_id)["status"] == "completed"


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


LARGEST, LENGTH = list(CHAINS.items())[-1]
"""Of the chains that fit into the budget, the one that needs most memory."""


def _most_bytes(folder: Path, size: int) -> int:
    """How much more memory than when idle the host and its workers have while they evaluate chains in four runs."""
    document = chain("chained", [node("a", "core.transform", config={"expression": LARGEST})])
    flows = write_workflows(folder / "workflows", document)
    with start_host(folder, "--workflows", flows, env={"WEFTWORK_EXPRESSION_WORKERS": str(size)}) as host:
        assert host.call("GET", "/health").status == 200
        found = [resident_bytes(host)]
        runs = [host.create("chained", inputs={"l": list(range(LENGTH))}) for _ in range(4)]

        def look() -> bool:
            found.append(resident_bytes(host))
            return {host.snapshot(run)["status"] for run in runs} == {"completed"}

        until(look, "the runs")
        return max(found) - found[0]


@pytest.mark.slow
def test_the_host_and_its_workers_have_little_memory(tmp_path: Path) -> None:
    assert _most_bytes(tmp_path, 2) < MORE_BYTES


@pytest.mark.slow
def test_without_a_limit_on_workers_they_would_have_much_memory(tmp_path: Path) -> None:
    assert _most_bytes(tmp_path, 8) > MORE_BYTES


def test_settings_can_only_lower_the_limits_of_new_runs(tmp_path: Path) -> None:
    settings = load_settings({"data": str(tmp_path), "max_expression_work": 1_000_000, "max_condition_work": 9_999}, {})
    assert settings.limits().expressions == ExpressionLimits(1_000_000, 9_999)
    for name, value in (
        ("max_expression_work", 20_000_001),
        ("max_condition_work", 500_001),
        ("expression_workers", 0),
    ):
        with pytest.raises(SettingsError):
            load_settings({"data": str(tmp_path), name: value}, {})


def test_the_host_has_workers(tmp_path: Path) -> None:
    host = ProductHost(load_settings({"data": str(tmp_path), "store": "memory"}, {}))
    assert host.service._runtime.expression_workers is not None  # pyright: ignore[reportPrivateUsage]
