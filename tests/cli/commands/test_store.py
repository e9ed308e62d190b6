"""`weftwork store`: checks, migrations, and copies of the store of a host to a real PostgreSQL server."""

import json
from pathlib import Path

import pytest

from tests.harness.definitions import node, variable
from tests.harness.postgres_place import PostgresPlace
from tests.harness.postgres_server import PASSWORD
from tests.live import Host, start_host, until, weftwork, write_workflows
from tests.live.assets import PNG, fetch, upload_asset
from tests.live.tokens import answer_by_token, approval_node, token_of
from tests.live.workflows import chain


@pytest.fixture
def place(tmp_path: Path) -> PostgresPlace:
    return PostgresPlace(tmp_path)


def findings(place: PostgresPlace, *args: str, code: int = 0, **env: str) -> dict[str, dict[str, str]]:
    done = place.command("store", "check", "--json", *args, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] is (code == 0)
    return {each["check"]: each for each in answer["findings"]}


def statuses(found: dict[str, dict[str, str]]) -> dict[str, str]:
    return {name: each["status"] for name, each in found.items()}


def test_a_check_follows_the_life_of_a_store(place: PostgresPlace) -> None:
    new = findings(place)
    assert {name for name, status in statuses(new).items() if status != "ok"} == {"schema"}
    assert "weftwork store migrate" in new["schema"]["hint"]
    first = place.command("store", "migrate")
    assert first.returncode == 0
    assert "created, version" in first.stdout
    assert "applied migration 1" in first.stderr
    assert "is up to date" in place.command("store", "migrate").stdout
    with place.host() as host:
        used = findings(place)
        assert set(statuses(used).values()) == {"ok"}
        assert f"process {host.process.pid}" in used["executor"]["message"]
        assert "runs " in used["size"]["message"]
    assert PASSWORD not in first.stdout


def test_a_check_counts_the_connections_of_all_processes(place: PostgresPlace) -> None:
    found = findings(place, "--replicas", "40", code=1)
    assert found["connections"]["status"] == "fail"
    assert "40 processes with 8 connections" in found["connections"]["message"]
    assert "store_connections" in found["connections"]["hint"]
    assert findings(place, "--replicas", "10", WEFTWORK_STORE_CONNECTIONS="5")["connections"]["status"] == "ok"


def test_a_server_that_cannot_be_reached_is_one_failed_check(place: PostgresPlace) -> None:
    place.url = "postgres://weft:s3cret@127.0.0.1:1/weft"
    found = findings(place, code=1)
    assert list(found) == ["store"]
    assert "s3cret" not in json.dumps(found)
    assert "postgres://weft:***@127.0.0.1:1/weft" in found["store"]["message"]


def test_a_password_on_the_command_line_is_a_warning(place: PostgresPlace) -> None:
    done = place.command("store", "check", "--store", place.url)
    assert done.returncode == 0
    assert "warning: other users of this machine can see the password in --store" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr


def test_the_store_of_a_data_folder_is_checked_and_migrated(tmp_path: Path) -> None:
    done = weftwork(tmp_path, "store", "migrate", "--data", "data")
    assert done.returncode == 0, done.stderr
    assert "created, version" in done.stdout
    again = weftwork(tmp_path, "store", "migrate", "--data", "data", "--json")
    versions = json.loads(again.stdout)
    assert versions["before"] == versions["after"] > 12
    checked = weftwork(tmp_path, "store", "check", "--data", "data")
    assert checked.returncode == 0
    assert "no damage found" in checked.stdout
    memory = weftwork(tmp_path, "store", "migrate", env={"WEFTWORK_STORE": "memory"})
    assert memory.returncode == 2
    assert "no schema to migrate" in memory.stderr


SECRET = "a sensitive value"


def flows(folder: Path) -> Path:
    hidden = {"text": {"type": "variable", "variableName": "secret"}}
    return write_workflows(
        folder / "flows",
        chain("ask", [approval_node("gate"), node("end", "core.noop")]),
        chain("echo", [node("e", "core.identity", inputs=hidden)], variables=[variable("secret", sensitive=True)]),
    )


def read(host: Host, run_id: str, key: str) -> tuple[bytes, bytes]:
    """The bytes of the events and, of a run that has ended, of the snapshot."""
    snapshot = host.call("GET", f"/v1/runs/{run_id}", key=key)
    is_ended = snapshot.document["status"] == "completed"
    events = host.call("GET", f"/v1/runs/{run_id}/events/poll", key=key)
    return events.body, snapshot.body if is_ended else b""


def test_a_host_continues_on_the_copy_of_its_store(place: PostgresPlace, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with start_host(tmp_path, "--workflows", flows(tmp_path)) as host:
        key = weftwork(tmp_path, "keys", "create", "--data", data, "--tenant", "acme").stdout.strip()
        ended = host.create("echo", key, inputs={"secret": SECRET})
        host.log(ended, key)
        waiting = host.create("ask", key)
        until(lambda: host.snapshot(waiting, key)["status"] == "waiting-approval", "the approval")
        token = token_of(host, waiting, key)
        slot = {"Idempotency-Key": "once"}
        asked = {"workflowId": "echo", "inputs": {"secret": SECRET}}
        made = host.call("POST", "/v1/runs", asked, key=key, headers=slot)
        host.log(made.document["runId"], key)
        deleted = host.create("echo", key)
        host.log(deleted, key)
        assert host.call("DELETE", f"/v1/runs/{deleted}", key=key).status in (200, 204)
        asset = upload_asset(host, PNG, key=key)
        runs = [each["runId"] for each in host.pages("/v1/runs?limit=2", "runs")]
        before = {run_id: read(host, run_id, key) for run_id in runs}
        refused = place.command("store", "copy", data)
        assert refused.returncode == 1
        assert "is using" in refused.stderr
        host.kill()
    done = place.command("store", "copy", data)
    assert done.returncode == 0, done.stderr
    assert "copied and verified" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    with place.host("--workflows", flows(tmp_path), data=data) as host:
        assert {run_id: read(host, run_id, key) for run_id in runs} == before
        assert [each["runId"] for each in host.pages("/v1/runs?limit=2", "runs")] == runs
        again = host.call("POST", "/v1/runs", asked, key=key, headers=slot)
        assert again.document["runId"] == made.document["runId"]
        assert host.call("GET", f"/v1/runs/{deleted}", key=key).status == 404
        assert fetch(host, asset["url"]).body == PNG
        assert answer_by_token(host, token, {"action": "accept"}).status == 200
        assert host.log(waiting, key)[-1]["type"] == "run.completed"
        newest = host.create("echo", key, inputs={"secret": SECRET})
        assert host.log(newest, key)[-1]["type"] == "run.completed"
        assert host.pages("/v1/runs?limit=50", "runs")[0]["runId"] == newest
        assert host.stop() == 0


def test_a_copy_is_refused_into_a_used_store_and_without_a_target(place: PostgresPlace, tmp_path: Path) -> None:
    assert weftwork(tmp_path, "store", "migrate", "--data", "data").returncode == 0
    with place.host(data=tmp_path / "other") as host:
        host.stop()
    used = place.command("store", "copy", "data")
    assert used.returncode == 1
    assert "the schema is not empty" in used.stderr
    nowhere = weftwork(tmp_path, "store", "copy", "data")
    assert nowhere.returncode == 2
    assert "the target must be the URL of a PostgreSQL database" in nowhere.stderr
    missing = place.command("store", "copy", "nothing")
    assert missing.returncode == 2
    assert "no store" in missing.stderr
