"""`weftwork serve --store postgres://...`: real hosts on a real server."""

import signal
from pathlib import Path

import pytest

from tests.harness.cases import each_case
from tests.harness.postgres_place import PostgresPlace
from tests.harness.postgres_server import PASSWORD, PostgresServer, distribution_version
from tests.live import delays, until, write_workflows
from tests.live.tokens import approval_node
from tests.live.workflows import chain

MASKED = "postgres://weft:***@127.0.0.1"


@pytest.fixture
def place(tmp_path: Path) -> PostgresPlace:
    return PostgresPlace(tmp_path)


def flows(folder: Path) -> Path:
    return write_workflows(folder / "flows", chain("ask", [approval_node("may")]), delays("wait", 1, 60_000, 1))


def secrets(text: str) -> list[str]:
    return [each for each in (PASSWORD, "p%40ss%3Aw%2Frd", "ss:w", "ss%3Aw") if each in text]


def test_runs_and_approvals_survive_a_killed_host(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host("--workflows", flows(tmp_path)) as host:
        assert f"  store      {MASKED}:{place.server.port}/weft, schema {place.schema}\n" in host.output
        run_id, waiting = host.create("ask"), host.create("wait")
        until(lambda: host.snapshot(run_id)["status"] == "waiting-approval", "the approval")
        before = host.call("GET", f"/v1/runs/{run_id}/events/poll").body
        host.kill()
    with place.host("--workflows", flows(tmp_path)) as host:
        until(lambda: host.call("GET", "/readiness").document["recovery"]["done"], "the recovery")
        assert host.call("GET", f"/v1/runs/{run_id}/events/poll").body == before
        answered = host.call("POST", f"/v1/runs/{run_id}/interrupts/may", {"resumeValue": {"action": "accept"}})
        assert answered.status == 200, answered.body
        assert host.log(run_id)[-1]["type"] == "run.completed"
        assert host.snapshot(waiting)["status"] == "running"
        assert host.stop() == 0
        assert secrets(host.output + host.errors) == []


def test_a_second_host_is_refused_until_the_first_has_ended(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host() as host:
        text = place.refused(data=tmp_path / "other")
        assert f"process {host.process.pid} executes the runs of this store" in text
        assert "--take-over" in text
        # The data folder has a lock of its own.
        assert "is using" in place.refused()
        host.kill()
    with place.host(data=tmp_path / "other"):
        pass


def test_a_host_that_hangs_is_replaced_and_ends_when_it_goes_on(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host("--workflows", flows(tmp_path)) as old:
        run_id = old.create("ask")
        until(lambda: old.snapshot(run_id)["status"] == "waiting-approval", "the approval")
        old.process.send_signal(signal.SIGSTOP)
        with place.host("--take-over", "--workflows", flows(tmp_path), data=tmp_path / "other") as new:
            old.process.send_signal(signal.SIGCONT)
            assert old.process.wait(120) == 1
            assert "another process executes the runs of this store now" in old.errors
            answer = {"resumeValue": {"action": "accept"}}
            assert new.call("POST", f"/v1/runs/{run_id}/interrupts/may", answer).status == 200
            assert new.log(run_id)[-1]["type"] == "run.completed"


def test_take_over_is_for_postgres(tmp_path: Path) -> None:
    place = PostgresPlace(tmp_path)
    done = place.command("serve", "--take-over", env={"WEFTWORK_STORE": "sqlite"})
    assert done.returncode == 2
    assert "--take-over works only for a PostgreSQL store" in done.stderr


def test_an_unmigrated_schema_is_refused(place: PostgresPlace) -> None:
    text = place.refused()
    assert "the schema does not exist" in text
    assert "weftwork store migrate" in text
    assert "--migrate" in text
    assert place.command("store", "migrate").returncode == 0
    host = place.launch()
    try:
        host.wait_for_start()
    finally:
        host.kill()


@each_case(
    "change",
    ("p%40ss%3Aw%2Frd", "wr%40ng"),
    ("/weft", "/no_such_database"),
    ids=lambda change: change[1].strip("/"),
)
def test_a_server_that_refuses_the_user_ends_the_start(place: PostgresPlace, change: tuple[str, str]) -> None:
    text = place.refused("--migrate", env={"WEFTWORK_STORE": place.url.replace(*change)})
    assert "the server refuses the connection" in text
    assert "wr%40ng" not in text
    assert "wr@ng" not in text


def test_a_host_waits_for_a_server_that_does_not_respond(tmp_path: Path) -> None:
    version = distribution_version()
    if version is None:
        pytest.skip("no server")
    with PostgresServer(version) as server:
        server.stop()
        place = PostgresPlace(tmp_path, server, "weftwork")
        host = place.launch("--migrate")
        try:
            until(lambda: "waiting for the store" in host.errors, "the host to wait")
            assert "weftwork store check" in host.errors
            assert secrets(host.errors) == []
            server.start()
            host.wait_for_start()
            assert host.call("GET", "/readiness").status == 200
        finally:
            host.kill()


def test_a_host_is_not_ready_while_the_server_is_down(tmp_path: Path) -> None:
    version = distribution_version()
    if version is None:
        pytest.skip("no server")
    with PostgresServer(version) as server:
        place = PostgresPlace(tmp_path, server, "weftwork")
        with place.host("--workflows", flows(tmp_path)) as host:
            run_id = host.create("ask")
            until(lambda: host.snapshot(run_id)["status"] == "waiting-approval", "the approval")
            server.stop("immediate")
            until(lambda: host.call("GET", "/readiness").status == 503, "the host to be unready")
            assert host.call("GET", "/health").status == 200
            assert host.call("POST", "/v1/runs", {"workflowId": "ask"}).status == 503
            server.start()
            until(lambda: host.call("GET", "/readiness").status == 200, "the host to be ready again")
            answer = {"resumeValue": {"action": "accept"}}
            assert host.call("POST", f"/v1/runs/{run_id}/interrupts/may", answer).status == 200
            assert host.log(run_id)[-1]["type"] == "run.completed"
            assert secrets(host.output + host.errors) == []
