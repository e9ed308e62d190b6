"""Commands of the operator on a PostgreSQL store that a host is using: `--store`, and notifications of the host."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.harness.postgres_place import PostgresPlace
from tests.harness.postgres_server import PASSWORD
from tests.live import Host, until, write_workflows
from tests.live.assets import PNG, upload_asset
from tests.live.tokens import approval_node, get_interrupt, token_of
from tests.live.workflows import chain, echoes


@pytest.fixture
def place(tmp_path: Path) -> PostgresPlace:
    return PostgresPlace(tmp_path)


def flows(folder: Path) -> Path:
    return write_workflows(folder / "flows", chain("ask", [approval_node()]), echoes("echo", 1))


def operate(place: PostgresPlace, *args: str | Path) -> Any:
    """The JSON of a command that goes to the database: its data folder is not that of the host."""
    done = place.command(*args, "--data", "elsewhere", "--json")
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    return json.loads(done.stdout)


def accepts(host: Host, key: str) -> bool:
    return host.call("GET", "/v1/runs", key=key).status == 200


def test_a_running_host_follows_keys_and_deletions_of_other_processes(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host("--workflows", flows(tmp_path)) as host:
        until(lambda: host.call("GET", "/readiness").document["hints"] == "listening", "the host to listen")
        made = operate(place, "keys", "create", "--tenant", "acme")
        until(lambda: accepts(host, made["key"]), "the new key to be accepted")
        run_id = host.create("echo", made["key"], inputs={"text": "x"})
        host.log(run_id)
        assert operate(place, "runs", "prune", "--older-than", "1s")["count"] in (0, 1)
        until(
            lambda: (
                operate(place, "runs", "prune", "--older-than", "1s") is not None
                and host.call("GET", f"/v1/runs/{run_id}").status == 404
            ),
            "the run to be gone",
        )
        waiting = host.create("ask", made["key"])
        until(lambda: host.snapshot(waiting)["status"] == "waiting-approval", "the approval")
        token = token_of(host, waiting)
        assert get_interrupt(host, token).status == 200
        (signing,) = operate(place, "signing", "ls")["keys"]
        operate(place, "signing", "drop", signing["kid"])
        until(lambda: get_interrupt(host, token).status != 200, "the old link to be refused")
        assert get_interrupt(host, token_of(host, waiting)).status == 200
        operate(place, "keys", "revoke", made["keyId"])
        until(lambda: not accepts(host, made["key"]), "the key to be refused")
        assert [each["keyId"] for each in operate(place, "keys", "ls")["keys"]] == [made["keyId"]]


def test_the_socket_is_used_for_the_store_of_the_running_host(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host("--workflows", flows(tmp_path)) as host:
        by_socket = place.command("workflows", "ls", "--json", "--data", host.data)
        assert {each["workflowId"] for each in json.loads(by_socket.stdout)["workflows"]} == {"ask", "echo"}
        # The database has only what tenants have registered.
        by_store = place.command("workflows", "ls", "--json", "--data", host.data, "--store", place.url)
        assert json.loads(by_store.stdout)["workflows"] == []
        assert "warning: other users of this machine can see the password" in by_store.stderr


def test_assets_are_pruned_with_the_blobs_of_the_host(place: PostgresPlace) -> None:
    with place.host() as host:
        upload_asset(host, PNG)
        done = place.command("assets", "prune", "--json", "--data", host.data, "--store", place.url)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["deleted"] == 0
        assert len(host.call("GET", "/v1/host/weftwork/assets").document["assets"]) == 1


def test_doctor_shows_the_server_and_how_the_host_uses_it(place: PostgresPlace, tmp_path: Path) -> None:
    with place.host("--workflows", flows(tmp_path)) as host:
        host.log(host.create("echo", inputs={"text": "x"}))
        done = place.command("doctor", "--json", "--data", host.data, "--url", host.address)
        assert PASSWORD not in done.stdout + done.stderr
        found = {each["check"]: each for each in json.loads(done.stdout)["findings"]}
        assert {found[name]["status"] for name in ("server", "schema", "executor", "store use")} == {"ok"}
        assert f"process {host.process.pid}" in found["executor"]["message"]
        writes = re.fullmatch(
            r"(\d+) writes? in \d+ commits?, 99 % of the last ones within \d+\.\d ms; 0 reconnects, \d+ waits? for a "
            r"connection",
            found["store use"]["message"],
        )
        assert writes is not None, found["store use"]
        assert int(writes[1]) > 0
    stopped = place.command("doctor", "--json", "--data", host.data)
    assert "store use" not in {each["check"] for each in json.loads(stopped.stdout)["findings"]}


def test_a_server_that_cannot_be_reached_is_named(place: PostgresPlace) -> None:
    done = place.command(
        "keys", "ls", "--data", "elsewhere", env={"WEFTWORK_STORE": "postgres://u:s3cret@127.0.0.1:1/d"}
    )
    assert done.returncode == 1
    assert "no connection to the server" in done.stderr
    assert "s3cret" not in done.stderr
    assert "Traceback" not in done.stderr
