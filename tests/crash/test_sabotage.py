"""The proofs can fail: each guard that is taken away is missed by the check that is there for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.oracle import TIMEOUT_SECONDS, check_history, follow
from tests.crash.restartable_host import RestartableHost, check_killed_at
from tests.crash.store_image import check_store_image
from tests.crash.workload import run_workload
from tests.harness.cases import present
from tests.live import until

pytestmark = pytest.mark.slow


def begin_wait(client: RecordingClient) -> str:
    run_id = present(client.create("long"))
    until(lambda: len(client.read(run_id)) == 2, "the node to start")
    return run_id


def begin_short_wait(client: RecordingClient) -> None:
    """A wait that is too short for its run to be unloaded, and longer than a restart."""
    run_id = present(client.create("chain"))
    until(lambda: len(client.read(run_id)) >= 4, "the second node to start")


def lose_host(client: RecordingClient) -> None:
    with pytest.raises(HostGone):
        client.create("quick", keyed=True)


def check_after_kill(ground: RestartableHost, client: RecordingClient, patience: float) -> None:
    client.host.kill()
    check_store_image(ground.data, ground.folder / "image")
    check_history(ground.start(), client.history, patience)


@pytest.mark.parametrize(
    ("sabotage", "story", "said"),
    [
        ("acknowledge_run_before_storing", lambda client: client.create("quick"), "was acknowledged and is lost"),
        ("skip_recovery", lambda client: client.create("chain"), "did not go on"),
        ("restart_running_nodes", begin_short_wait, "twice"),
        ("drop_idempotency_records", lambda client: client.create("quick", keyed=True), r"was 0\w+ and is 0\w+ now"),
        ("store_key_separately", lose_host, "a key answers for a run that is not there"),
        ("hide_instead_of_delete", lambda client: client.delete(client.create("quick")), "was deleted and is back"),
        (
            "purge_partially",
            lambda client: client.delete(client.create("bulk", text="x" * 400_000)),
            "neither there nor being taken away",
        ),
        ("skip_event_on_resume", lambda client: client.watch(client.create("waits")), "the stream does not go on"),
    ],
)
def test_a_host_without_this_guard_is_seen(
    tmp_path: Path, sabotage: str, story: Callable[[RecordingClient], Any], said: str
) -> None:
    with RestartableHost(tmp_path, sabotage) as ground:
        faults = "stream.frame:3:kill" if sabotage == "skip_event_on_resume" else None
        client = RecordingClient(ground.start(faults), ClientHistory(), "c")
        story(client)
        with pytest.raises(AssertionError, match=said):
            check_after_kill(ground, client, 1 if said == "did not go on" else TIMEOUT_SECONDS)


def test_a_wait_that_begins_anew_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "restart_delays") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = begin_wait(client)
        client.host.kill()
        host = ground.start_later(1)
        with pytest.raises(AssertionError, match="did not go on"):
            follow(host, run_id, patience=1)
        assert host.snapshot(run_id)["nodeStates"]["n0"]["status"] == "running"


def test_a_point_that_is_never_reached_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "leave_faults_unarmed") as ground:
        host = ground.launch("create.durable:1:kill")
        run_workload(host, ClientHistory(), "fresh", rounds=1)
        host.stop()
        with pytest.raises(AssertionError, match="the host ended with 0"):
            check_killed_at(host, "create.durable")
