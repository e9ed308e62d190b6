"""`weftwork keys`: on a running host at once, and on the store of one that is not running."""

import json
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.live import Host, start_host, weftwork
from weftwork.wiring.data_folder import ADMIN_SOCKET


def keys(data: Path, *args: str, code: int = 0) -> Any:
    """What the command says in JSON, or its error."""
    done = weftwork(data.parent, "keys", *args, "--data", data, *(["--json"] if code == 0 else []))
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


@pytest.mark.rule("auth-02")
def test_keys_of_a_running_host_count_at_once(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        made = keys(host.data, "create", "--tenant", "acme", "--label", "mine")
        assert made["key"].startswith("hk_live_")
        run_id = host.create("conformance-noop", key=made["key"])
        assert host.snapshot(run_id)["owner"] == {"tenant": "acme", "principal": made["keyId"]}
        (row,) = [row for row in keys(host.data, "list")["keys"] if row["label"] == "mine"]
        assert row == {name: value for name, value in made.items() if name != "key"}
        revoked = keys(host.data, "revoke", made["keyId"])
        assert "revokedAt" in revoked
        refused = host.call("GET", f"/v1/runs/{run_id}", key=made["key"])
        assert (refused.status, refused.document["error"]) == (401, "key_revoked")
        assert keys(host.data, "revoke", made["keyId"]) == revoked
        assert host.snapshot(run_id)["status"] == "completed"
    with start_host(tmp_path) as host:
        refused = host.call("GET", f"/v1/runs/{run_id}", key=made["key"])
        assert (refused.status, refused.document["error"]) == (401, "key_revoked")


@pytest.mark.rule("auth-01", "auth-03")
def test_keys_made_on_a_stopped_store_work_when_the_host_starts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    live = keys(data, "create", "--tenant", "acme")
    test = keys(data, "create", "--tenant", "acme", "--test")
    poor = keys(data, "create", "--tenant", "acme", "--scope", "runs:read", "--scope", "runs:cancel")
    gone = keys(data, "create", "--tenant", "acme")
    keys(data, "revoke", gone["keyId"])
    assert (test["mode"], test["key"][:8], poor["scopes"]) == ("test", "hk_test_", ["runs:read", "runs:cancel"])
    with start_host(tmp_path, "--conformance") as host:
        assert "hk_" not in host.output
        run_id = host.create("conformance-noop", key=live["key"])
        assert host.call("GET", f"/v1/runs/{run_id}", key=poor["key"]).status == 200
        refused = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}, key=poor["key"])
        assert refused.document["details"] == {"scopeRequired": "runs:create"}
        assert host.call("GET", f"/v1/runs/{run_id}", key=test["key"]).status == 404
        own = host.create("conformance-noop", key=test["key"])
        assert [run["runId"] for run in host.call("GET", "/v1/runs", key=test["key"]).document["runs"]] == [own]
        assert host.call("GET", f"/v1/runs/{own}", key=live["key"]).status == 404
        assert host.call("GET", "/v1/runs", key=gone["key"]).document["error"] == "key_revoked"
        stored = b"".join(file.read_bytes() for file in data.iterdir() if file.is_file())
        assert all(made["key"].encode() not in stored for made in (live, test, poor, gone))


def test_what_is_printed_for_people(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made = weftwork(tmp_path, "keys", "create", "--data", data, "--label", "desk", "--expires-in", "2")
    key, key_id = made.stdout.strip(), made.stderr.split()[0]
    assert key.startswith("hk_live_")
    assert key not in made.stderr
    shown = weftwork(tmp_path, "keys", "list", "--data", data).stdout
    assert key_id in shown
    assert "desk" in shown
    assert "until 2" in shown
    assert key not in shown
    assert weftwork(tmp_path, "keys", "revoke", key_id, "--data", data).stdout == f"{key_id} is revoked.\n"
    assert "revoked" in weftwork(tmp_path, "keys", "list", "--data", data).stdout


@pytest.mark.parametrize("running", [True, False])
def test_what_cannot_be_done_is_said(tmp_path: Path, running: bool) -> None:
    data = tmp_path / "data"
    keys(data, "create")

    def refusals() -> None:
        assert "A tenant is" in keys(data, "create", "--tenant", "a b", code=1)
        assert "Unknown scope runs:write" in keys(data, "create", "--scope", "runs:write", code=1)
        assert "No key has the id key_0" in keys(data, "revoke", "key_0", code=1)
        assert "--expires-in" in keys(data, "create", "--expires-in", "0", code=2)
        assert len(keys(data, "list")["keys"]) == (4 if running else 1)

    if running:
        with start_host(tmp_path):
            refusals()
    else:
        refusals()


def test_a_folder_without_a_store_is_named(tmp_path: Path) -> None:
    assert "there is no store in" in keys(tmp_path / "nowhere", "list", code=1)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("depth", [1, 40])
def test_the_socket_is_for_its_owner_however_long_the_path(tmp_path: Path, depth: int) -> None:
    data = tmp_path.joinpath(*["deep"] * depth)
    with start_host(tmp_path, data=data) as host:
        path = data / ADMIN_SOCKET
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        made = keys(data, "create")
        assert host.call("GET", "/v1/runs", key=made["key"]).status == 200
        assert host.stop() == 0
        assert not path.exists()
    assert made["keyId"] in [row["keyId"] for row in keys(data, "list")["keys"]]


def test_a_socket_left_behind_by_a_killed_host_is_no_host(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        host.kill()
        assert (host.data / ADMIN_SOCKET).exists()
        made = keys(host.data, "create")
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/runs", key=made["key"]).status == 200
        assert made["keyId"] in [row["keyId"] for row in keys(host.data, "list")["keys"]]


ODD = [
    b"",
    b"\n",
    b"{}\n",
    b"[1]\n",
    b"\xff\n",
    b"{" * 70_000 + b"\n",
    b'{"operation":"keys.drop"}\n',
    b'{"operation":"keys.create"}\n',
    b'{"operation":"keys.create","arguments":{"tenant":5}}\n',
    b'{"operation":"keys.create","arguments":{"tenant":"acme","key":"mine"}}\n',
    b'{"operation":"keys.list"',
]


def talk(path: Path, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(120)
        connection.connect(str(path))
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_the_socket_survives_whatever_is_sent(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        before = keys(host.data, "list")
        for line in ODD:
            received = talk(host.data / ADMIN_SOCKET, line)
            assert received == b"" or "error" in json.loads(received)
        assert keys(host.data, "list") == before
        _still_well(host)


def _still_well(host: Host) -> None:
    assert host.call("GET", "/health").status == 200
    assert "Traceback" not in host.errors
    assert "traceback" not in host.errors


def test_a_host_that_hangs_up_is_said_so(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / ADMIN_SOCKET))
        listener.listen()
        hang_up = threading.Thread(target=lambda: listener.accept()[0].close())
        hang_up.start()
        assert "does not answer" in keys(tmp_path, "list", code=1)
        hang_up.join(120)
