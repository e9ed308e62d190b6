"""At every fault point, for every kind of visit: a killed host loses nothing, and one that fails there goes on."""

import signal
from pathlib import Path

import pytest

from tests.crash.assets import test_assets
from tests.crash.client import ClientHistory, RecordingClient
from tests.crash.forks import test_forks
from tests.crash.oracle import check_history
from tests.crash.restartable_host import RestartableHost, check_killed_at, stop
from tests.crash.store_image import check_store_image
from tests.crash.workload import (
    SCENARIOS,
    DeadHostData,
    copy_data,
    kill_busy_host,
    prepare_scenario,
    run_workload,
    terminate,
)
from tests.harness.definitions import FULL
from tests.live import frames, until, weftwork
from weftwork.ports.fault_points import POINTS

pytestmark = pytest.mark.slow


PROVED = test_assets.PROVED | test_forks.PROVED | {"effect.claimed"}
"""The points that other proofs reach."""
ONCE = {"boot.seated", "boot.ready", "sweep.begin", "drain.begin", "drain.close"}
"""Passed once in the life of a process."""
ONLY = {"migration.applied": ("fresh",), "migration.stamped": ("fresh",), "recover.run": ("recovering", "crowd")}
"""An empty store has nothing to recover, and only an empty one is migrated."""
BUSY = {"writer.begin": 14, "writer.commit": 17, "writer.committed": 20, "append.begin": 6, "append.durable": 8}
RUNNING = {"append.published": 7, "node.launch": 3, "node.ended": 3, "stream.frame": 3, "stream.piece": 12}
"""Passed often: the one kill of the short proof comes when clients are busy."""
AT_START = {"migration.applied", "migration.stamped"}


def times(name: str) -> list[int]:
    """At which passing the point does its work."""
    if name in ONCE or name.startswith("migration."):
        return [1]
    if not FULL:
        return [{**BUSY, **RUNNING}.get(name, 1)]
    if name.startswith("writer.checkpoint"):
        return [1, 2]
    return [1, 2, 3, *range(5, 31, 5)] if name in BUSY else [1, 2, 3]


def rounds(name: str, nth: int) -> int:
    """How often each client must do everything until that point is passed so often."""
    if name in ONCE:
        return 1
    return 3 if name in BUSY or name in RUNNING else nth


def cases(action: str) -> list[tuple[str, int, str]]:
    names = [name for name, place in POINTS.items() if action == "kill" or place.fault is not None]
    names = [name for name in names if name not in PROVED]
    found: list[tuple[str, int, str]] = []
    for at, name in enumerate(names):
        # In the short proof a host dies or fails at a point that can fail, not both.
        if not FULL and POINTS[name].fault is not None and (list(POINTS).index(name) % 3 > 0) is (action == "raise"):
            continue
        scenarios = ONLY.get(name, SCENARIOS)
        chosen = scenarios if FULL else (scenarios[at % len(scenarios)],)
        found += [(name, nth, scenario) for nth in times(name) for scenario in chosen]
    return found


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> DeadHostData:
    return kill_busy_host(tmp_path_factory.mktemp("remains"))


@pytest.mark.parametrize(("name", "nth", "scenario"), cases("kill"))
def test_a_host_that_is_killed_there_loses_nothing(
    tmp_path: Path, remains: DeadHostData, name: str, nth: int, scenario: str
) -> None:
    with RestartableHost(tmp_path) as ground:
        ledger = prepare_scenario(ground, scenario, remains)
        host = ground.launch(f"{name}:{nth}:kill")
        run_workload(host, ledger, scenario, rounds(name, nth))
        terminate(host)
        check_killed_at(host, name)
        check_store_image(ground.data, tmp_path / "image")
        again = ground.start()
        check_history(again, ledger)
        stop(again)


@pytest.mark.parametrize(("name", "nth", "scenario"), cases("raise"))
def test_a_host_that_fails_there_says_so_and_goes_on(
    tmp_path: Path, remains: DeadHostData, name: str, nth: int, scenario: str
) -> None:
    with RestartableHost(tmp_path) as ground:
        ledger = prepare_scenario(ground, scenario, remains)
        host = ground.launch(f"{name}:{nth}:raise")
        clients = run_workload(host, ledger, scenario, rounds(name, nth))
        until(lambda: f'"point":"{name}"' in host.errors, f"{name} to be reached")
        assert "Traceback" not in host.errors
        if not clients:
            assert name in AT_START or name.startswith("writer."), host.errors
            assert host.process.wait(120) == 1, host.errors
        else:
            if name in (
                "create.checked",
                "create.durable",
                "cancel.durable",
                "answer.durable",
                "delete.durable",
                "key.stored",
                "admin.answer",
            ):
                assert sum(client.refusals for client in clients) == 1
            check_history(host, ledger)
            stop(host)
        check_store_image(ground.data, tmp_path / "image")
        again = ground.start()
        check_history(again, ledger)
        stop(again)


def test_a_store_that_fails_before_anybody_is_served_is_named(tmp_path: Path) -> None:
    with RestartableHost(tmp_path) as ground:
        host = ground.launch("writer.commit:4:raise")
        assert host.process.wait(120) == 1
        assert host.errors.endswith("weftwork: OSError: fault point writer.commit\n")
        assert "Traceback" not in host.errors
        check_history(ground.start(), ClientHistory())


def test_a_frame_that_was_cut_is_sent_again_whole(tmp_path: Path, remains: DeadHostData) -> None:
    with RestartableHost(tmp_path) as ground:
        ledger = copy_data(ground, remains)
        host = ground.start("stream.piece:3:kill")
        body = RecordingClient(host, ledger, "reader").watch(remains.bulk)
        check_killed_at(host, "stream.piece")
        assert not frames(body), "the first frame is longer than three pieces"
        assert len(body) >= 32_768, "and some of it was sent"
        again = ground.start()
        check_history(again, ledger)


def test_a_first_key_that_nobody_saw_is_replaced_by_hand(tmp_path: Path) -> None:
    line = ("serve", "--port", "0", "--data", tmp_path / "data")
    killed = weftwork(tmp_path, *line, env={"WEFTWORK_FAULTS": "key.stored:1:kill"})
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    made = weftwork(tmp_path, "keys", "create", "--tenant", "acme", "--data", tmp_path / "data")
    assert made.returncode == 0, made.stderr
    with RestartableHost(tmp_path) as ground:
        host = ground.start()
        assert "API key" not in host.output
        assert host.call("GET", "/v1/runs", key=made.stdout.strip()).document == {"runs": []}


def test_every_point_is_put_to_the_proof() -> None:
    others = {name: place for name, place in POINTS.items() if name not in PROVED}
    killed, failed = ({name for name, _, _ in cases(action)} for action in ("kill", "raise"))
    assert killed | failed == set(others)
    assert not FULL or (killed, failed) == (set(others), {name for name, place in others.items() if place.fault})
