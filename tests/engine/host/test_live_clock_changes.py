"""A real host whose wall clock is set back and forward, while it runs and between two processes."""

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node
from tests.live import clock
from tests.live.clock import CLOCK_FILE, set_clock
from tests.live.host import Host, start_host, until
from tests.live.sabotage import sabotaged
from tests.live.steering import flow, register

pytestmark = pytest.mark.slow

HOUR = 3_600_000
DAY = 24 * HOUR
SHORT, LONG = 500, 1_100
"""A delay that stays in memory, and one that is parked."""
PATIENCE_SECONDS = 30.0
TOO_LONG_SECONDS = 4.0

RETRIES = {"maxRetries": 1, "retryDelayMs": LONG, "retryMaxDelayMs": LONG}
LIMITED = {"timeoutMs": LONG}
FLOWS = [
    flow("short", [node("a", "core.delay", config={"ms": SHORT})]),
    flow("long", [node("a", "core.delay", config={"ms": LONG})]),
    flow("retry", [node("a", "core.fail", settings=RETRIES)]),
    flow("limit", [node("a", "core.delay", config={"ms": DAY}, settings=LIMITED)]),
    flow("run", [node("a", "core.delay", config={"ms": DAY})], settings={"timeout": LONG}),
    flow("ask", [node("a", "core.approvalGate", config={"title": "Pay?", "timeoutMs": LONG})]),
]


@contextlib.contextmanager
def set_clock_host(folder: Path, file: Path, guard: str = "shifted") -> Iterator[Host]:
    with start_host(folder, program=sabotaged(Path(clock.__file__), guard), env={CLOCK_FILE: str(file)}) as host:
        yield host


def start_runs(host: Host) -> list[str]:
    for document in FLOWS:
        register(host, document)
    return [host.create(document["id"]) for document in FLOWS]


def has_ended(host: Host, run_id: str) -> bool:
    return host.snapshot(run_id)["status"] in ("completed", "failed")


def await_ends(host: Host, runs: list[str], seconds: float = PATIENCE_SECONDS) -> None:
    until(lambda: all(has_ended(host, run) for run in runs), "the waits to end", seconds)


def check_order(events: list[dict[str, Any]]) -> None:
    times = [event["timestamp"] for event in events]
    assert all(a <= b for a, b in pairwise(times)), times


@each_case("back", HOUR, 40 * DAY)
def test_setting_the_clock_back_does_not_lengthen_the_waits_of_a_real_host(tmp_path: Path, back: int) -> None:
    folder, file = tmp_path / str(back), tmp_path / f"clock-{back}"
    set_clock(file, 0)
    with set_clock_host(folder, file) as host:
        runs = start_runs(host)
        set_clock(file, -back)
        later = host.create("long")
        await_ends(host, [*runs, later])
        for run in (*runs, later):
            check_order(host.log(run))
        assert host.errors.count("system clock set back") == 1
        # A run that started after the change uses the new time.
        assert host.snapshot(later)["startedAt"] < host.snapshot(runs[0])["startedAt"]


@pytest.mark.parametrize("guard", ["wall_clock_only", "never_ahead"])
def test_without_the_monotonic_clock_the_waits_of_a_real_host_do_not_end(tmp_path: Path, guard: str) -> None:
    file = tmp_path / "clock"
    set_clock(file, 0)
    with set_clock_host(tmp_path / "host", file, guard) as host:
        runs = start_runs(host)
        set_clock(file, -DAY)
        with pytest.raises(AssertionError, match="the waits to end"):
            await_ends(host, runs, TOO_LONG_SECONDS)


@pytest.mark.parametrize("shift", [-40 * DAY, -HOUR, HOUR])
def test_a_clock_that_is_set_while_the_host_is_down_does_not_lengthen_a_wait(tmp_path: Path, shift: int) -> None:
    file = tmp_path / "clock"
    set_clock(file, 0)
    with set_clock_host(tmp_path / "host", file) as host:
        runs = start_runs(host)
        register(host, flow("hour", [node("a", "core.delay", config={"ms": HOUR})]))
        hour = host.create("hour")
        host.kill()
    set_clock(file, shift)
    with set_clock_host(tmp_path / "host", file) as host:
        await_ends(host, [*runs, hour] if shift > 0 else runs)
        assert has_ended(host, hour) is (shift > 0), "the delay of an hour"
        for run in runs:
            check_order(host.log(run))
