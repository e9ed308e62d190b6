"""The proofs can fail: each guard that is taken away is missed by the check that is there for it."""

from pathlib import Path

import pytest

from tests.crash.client import ClientHistory, HostGone, RecordingClient
from tests.crash.oracle import check_history, follow
from tests.crash.restartable_host import RestartableHost, check_killed_at
from tests.crash.store_image import check_store_image
from tests.crash.workload import run_workload
from tests.live import until

pytestmark = pytest.mark.slow


def test_a_run_that_was_acknowledged_too_early_is_missed(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "acknowledge_run_before_storing") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        assert client.create("quick") is not None
        client.host.kill()
        with pytest.raises(AssertionError, match="was acknowledged and is lost"):
            check_history(ground.start(), client.history)


def test_a_run_that_nobody_goes_on_with_is_missed(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "skip_recovery") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        client.create("chain")
        client.host.kill()
        with pytest.raises(AssertionError, match="did not go on"):
            check_history(ground.start(), client.history, patience=1)


def test_a_node_that_is_started_again_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "restart_running_nodes") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = client.create("long")
        assert run_id is not None
        until(lambda: len(client.read(run_id)) == 2, "the node to start")
        client.host.kill()
        with pytest.raises(AssertionError, match="twice"):
            check_history(ground.start(), client.history)


def test_a_wait_that_begins_anew_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "restart_delays") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = client.create("long")
        assert run_id is not None
        until(lambda: len(client.read(run_id)) == 2, "the node to start")
        client.host.kill()
        host = ground.start_later(1)
        with pytest.raises(AssertionError, match="did not go on"):
            follow(host, run_id, patience=1)
        assert host.snapshot(run_id)["nodeStates"]["n0"]["status"] == "running"


def test_a_key_that_makes_two_runs_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "drop_idempotency_records") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        client.create("quick", keyed=True)
        with pytest.raises(AssertionError, match=r"was 0\w+ and is 0\w+ now"):
            check_history(client.host, client.history)


def test_a_key_without_its_run_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "store_key_separately") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        with pytest.raises(HostGone):
            client.create("quick", keyed=True)
        with pytest.raises(AssertionError, match="a key answers for a run that is not there"):
            check_store_image(ground.data, tmp_path / "image")


def test_a_run_that_is_deleted_and_comes_back_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "hide_instead_of_delete") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = client.create("quick")
        assert run_id is not None
        client.delete(run_id)
        client.host.kill()
        with pytest.raises(AssertionError, match="was deleted and is back"):
            check_history(ground.start(), client.history)


def test_what_a_deleted_run_leaves_for_ever_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "purge_partially") as ground:
        client = RecordingClient(ground.start(), ClientHistory(), "c")
        run_id = client.create("bulk", text="x" * 400_000)
        assert run_id is not None
        client.delete(run_id)
        client.host.kill()
        with pytest.raises(AssertionError, match="neither there nor being taken away"):
            check_store_image(ground.data, tmp_path / "image")


def test_a_stream_that_skips_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "skip_event_on_resume") as ground:
        client = RecordingClient(ground.start("stream.frame:3:kill"), ClientHistory(), "c")
        run_id = client.create("waits")
        assert run_id is not None
        assert client.watch(run_id)
        with pytest.raises(AssertionError, match="the stream does not go on"):
            check_history(ground.start(), client.history)


def test_a_point_that_is_never_reached_is_seen(tmp_path: Path) -> None:
    with RestartableHost(tmp_path, "leave_faults_unarmed") as ground:
        host = ground.launch("create.durable:1:kill")
        run_workload(host, ClientHistory(), "fresh", rounds=1)
        host.stop()
        with pytest.raises(AssertionError, match="the host ended with 0"):
            check_killed_at(host, "create.durable")
