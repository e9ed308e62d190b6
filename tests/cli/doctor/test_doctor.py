"""`weftwork doctor`: what it finds here, and in a host."""

import json
import os
import shutil
import socket
import time
from contextlib import closing
from email.utils import formatdate
from importlib import metadata
from pathlib import Path

import pytest

from tests.cli import foreign_host
from tests.cli.commands.test_runs import EVIL, fill, harmless
from tests.cli.foreign_host import NOT_FOUND, CannedResponse, ForeignHost, ReceivedRequest
from tests.harness.cases import each_case
from tests.live import KEY, start_host, weftwork
from tests.live.assets import upload_asset
from weftwork.adapters.sqlite.database.connection import Migration
from weftwork.cli.doctor import host_checks, machine_checks
from weftwork.cli.doctor.host_checks import MAX_CLOCK_SKEW, check_clock, check_host
from weftwork.cli.doctor.machine_checks import (
    Finding,
    check_assets,
    check_nodes,
    check_packages,
    check_port,
    check_space,
    check_store,
)
from weftwork.settings import Settings
from weftwork.wiring.data_folder import DATABASE_FILE, LOCK_FILE

Findings = dict[str, dict[str, str]]


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        return taken.getsockname()[1]


def doctor(folder: Path, *args: str | Path, code: int = 0, env: dict[str, str] | None = None) -> Findings:
    """The findings by the name of the check, the last of each."""
    done = weftwork(folder, "doctor", "--json", *args, env={"WEFTWORK_PORT": str(free_port()), **(env or {})})
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout
    answer = json.loads(done.stdout)
    assert answer["ok"] is (code == 0)
    return {each["check"]: each for each in answer["findings"]}


def states(found: Findings) -> dict[str, str]:
    return {name: each["status"] for name, each in found.items()}


def test_a_host_of_ours_is_well(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        host.log(host.create("conformance-noop"))
        found = doctor(tmp_path, "--data", host.data, "--url", host.address, env={"WEFTWORK_KEY": KEY})
        # On a busy machine the loop may have been blocked.
        loop = found.pop("event loop")
        assert "blocked" in loop["message"]
        assert set(states(found).values()) == {"ok"}, found
        assert "a running host is using it" in found["store"]["message"]
        assert "weftwork" in found["protocol"]["message"]
        assert found["key"]["message"] == (
            "accepted, with the scopes runs:read, manifest:read, artifacts:read; other scopes were not checked"
        )
        assert found["events"]["message"] == "streaming works"
        before = host.call("GET", "/v1/runs").document
        port = {"WEFTWORK_PORT": str(free_port())}
        lines = weftwork(tmp_path, "doctor", "--url", host.address, "--key", KEY, env=port).stdout.splitlines()
        assert [line.split()[0] for line in lines] == ["ok"] * len(lines)
        assert host.call("GET", "/v1/runs").document == before
        assert "raceback" not in host.errors
        wrong = doctor(tmp_path, "--url", host.address, "--key", "wrong", code=1)
        assert (wrong["key"]["status"], "events" in wrong) == ("fail", False)
        assert "does not accept this API key" in wrong["key"]["message"]
        none = doctor(tmp_path, "--url", host.address)
        assert (none["key"]["status"], none["key"]["hint"]) == ("warn", "set WEFTWORK_KEY")


def test_a_key_with_few_scopes_is_told(tmp_path: Path) -> None:
    limited = ("--api-key", "starter=acme:runs:create")
    with start_host(tmp_path, *limited, store="memory") as host:
        found = doctor(tmp_path, "--url", host.address, "--key", "starter")
        assert found["key"]["status"] == "warn"
        assert found["key"]["message"] == "accepted, but without the scopes runs:read, manifest:read, artifacts:read"
        assert "events" not in found


def test_a_host_that_is_named_must_be_there_and_another_need_not(tmp_path: Path) -> None:
    found = doctor(tmp_path, "--url", "http://127.0.0.1:1", code=1)
    assert found["host"]["status"] == "fail"
    assert "no host is listening" in found["host"]["message"]
    port = free_port()
    found = doctor(tmp_path, env={"WEFTWORK_PORT": str(port), "WEFTWORK_HOST": "0.0.0.0"})
    assert found["host"]["status"] == "warn"
    assert f"no host is listening on http://127.0.0.1:{port}" in found["host"]["message"]
    found = doctor(tmp_path, env={"WEFTWORK_PORT": str(port), "WEFTWORK_HOST": "::1"})
    assert f"http://[::1]:{port}" in found["host"]["message"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A store with some runs, of a host that is not running."""
    fill(tmp_path / "data", 20)
    return tmp_path / "data"


def test_a_store_that_no_host_holds_is_looked_into_and_not_changed(data: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in data.iterdir()}
    found = doctor(tmp_path, "--data", data)
    assert found["store"]["status"] == "ok"
    assert "no damage found, version" in found["store"]["message"]
    assert {file.name: file.read_bytes() for file in data.iterdir() if file.name in before} == before


def test_a_store_of_a_killed_host_is_looked_into(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        host.log(host.create("conformance-noop"))
        host.kill()
    assert (host.data / f"{DATABASE_FILE}-wal").stat().st_size > 0
    kept = shutil.copytree(host.data, tmp_path / "kept", ignore=shutil.ignore_patterns("*.sock"))
    assert doctor(tmp_path, "--data", host.data)["store"]["status"] == "ok"
    # What the killed host had written is still there for the next one.
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal"):
        assert (host.data / name).read_bytes() == (kept / name).read_bytes()
    with start_host(tmp_path) as host:
        assert len(host.call("GET", "/v1/runs").document["runs"]) == 1


def test_a_damaged_store_is_found(data: Path, tmp_path: Path) -> None:
    content = bytearray((data / DATABASE_FILE).read_bytes())
    content[4096 * 2 : 4096 * 6] = b"\xa5" * 4096 * 4
    (data / DATABASE_FILE).write_bytes(content)
    found = doctor(tmp_path, "--data", data, code=1)
    assert found["store"]["status"] == "fail"
    assert "backup" in found["store"]["hint"]
    assert "weftwork doctor --salvage" in found["store"]["hint"]
    salvaged = weftwork(tmp_path, "doctor", "--data", data, "--salvage", tmp_path / "new.db")
    assert (salvaged.returncode, "runs: 0 rows, others are lost\n" in salvaged.stdout) == (0, True)
    assert "run_headers: 20 rows\n" in salvaged.stdout
    (data / DATABASE_FILE).write_bytes(b"no database" * 1000)
    assert "cannot be read" in doctor(tmp_path, "--data", data, code=1)["store"]["message"]


def test_a_store_is_salvaged_to_a_new_file_only(data: Path, tmp_path: Path) -> None:
    done = weftwork(tmp_path, "doctor", "--data", data, "--salvage", "new.db")
    assert (done.returncode, "runs: 20 rows\n" in done.stdout) == (0, True)
    assert "lost" not in done.stdout
    again = weftwork(tmp_path, "doctor", "--data", data, "--salvage", "new.db")
    assert (again.returncode, "new.db already exists" in again.stderr) == (1, True)
    tables = json.loads(weftwork(tmp_path, "doctor", "--data", data, "--salvage", "other.db", "--json").stdout)[
        "tables"
    ]
    assert {"name": "runs", "rows": 20, "isComplete": True} in tables
    missing = weftwork(tmp_path, "doctor", "--data", tmp_path / "none", "--salvage", "third.db")
    assert (missing.returncode, "no store in" in missing.stderr) == (1, True)
    (data / DATABASE_FILE).write_bytes(b"no database" * 1000)
    nothing = weftwork(tmp_path, "doctor", "--data", data, "--salvage", "third.db")
    assert (nothing.returncode, "restore a backup" in nothing.stderr) == (1, True)
    assert not (tmp_path / "third.db").exists()
    (tmp_path / "other").mkdir()
    with start_host(tmp_path / "other") as host:
        used = weftwork(tmp_path, "doctor", "--data", host.data, "--salvage", "third.db")
        assert (used.returncode, "stop it first" in used.stderr) == (1, True)


def test_a_store_of_a_newer_release_is_found(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "load_migrations", lambda: [Migration(0, "")])
    assert check_store(data / DATABASE_FILE).hint == "use the release that wrote it, or a newer one"


def test_a_store_that_takes_too_long_is_not_called_damaged(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "_STEPS", 1)
    found = check_store(data / DATABASE_FILE, seconds=-1)
    assert found.status == "warn"
    assert "no damage" in found.message


def test_what_others_can_get_at_is_found(data: Path, tmp_path: Path) -> None:
    assert doctor(tmp_path, "--data", data)["data folder"]["status"] == "ok"
    (data / DATABASE_FILE).chmod(0o644)
    found = doctor(tmp_path, "--data", data)["data folder"]
    assert (found["status"], DATABASE_FILE in found["message"]) == ("warn", True)
    assert found["hint"] == f"run `chmod -R go-rwx {data}`"
    (data / DATABASE_FILE).chmod(0o600)
    data.chmod(0o755)
    assert doctor(tmp_path, "--data", data)["data folder"]["status"] == "warn"


def test_folders_that_are_none(tmp_path: Path) -> None:
    found = doctor(tmp_path, "--data", tmp_path / "new")
    assert all("does not exist yet" in found[each]["message"] for each in ("data folder", "store"))
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    assert doctor(tmp_path, "--data", tmp_path / "file", code=1)["data folder"]["message"].endswith("is not a folder")


def test_settings_that_cannot_be_used_are_found(tmp_path: Path) -> None:
    found = doctor(tmp_path, code=1, env={"WEFTWORK_MAX_STREAMS": "many"})
    assert found["settings"]["status"] == "fail"
    assert "WEFTWORK_MAX_STREAMS" in found["settings"]["message"]


def test_nodes_that_cannot_be_loaded_are_found(tmp_path: Path) -> None:
    (tmp_path / "acme_bad.py").write_text("import no_such_thing\n", "utf-8")
    env = {"WEFTWORK_NODES": "acme_bad", "PYTHONPATH": str(tmp_path)}
    found = doctor(tmp_path, code=1, env=env)
    assert found["nodes"]["status"] == "fail"
    assert "no_such_thing" in found["nodes"]["message"]
    assert "acme_bad.py:1" in found["nodes"]["message"]
    assert list(check_nodes(())) == []


def test_a_port_in_use_is_no_matter_if_it_is_our_host() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        assert check_port("127.0.0.1", port, held=False).status == "warn"
        assert check_port("127.0.0.1", port, held=True).status == "ok"
    assert check_port("127.0.0.1", port, held=False).status == "ok"
    assert check_port("203.0.113.7", 0, held=True).status == "warn"


def test_space_packages_and_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [check_space(size * 2**20).status for size in (10, 100, 5000)] == ["fail", "warn", "ok"]
    assert machine_checks._check_python((3, 10, 9)).status == "fail"
    monkeypatch.setattr(metadata, "requires", lambda _: ["no-such-package>=1", "other; sys_platform == 'x'"])
    assert [each.status for each in check_packages("weftwork")] == ["fail", "ok"]
    monkeypatch.setattr(metadata, "requires", lambda _: ["httpcore2[asyncio]>=2.10", "rich>=14", "pip; extra == 'x'"])
    (found,) = check_packages("weftwork")
    assert [each.split()[0] for each in found.message.split(", ")] == ["weftwork", "httpcore2", "rich"]


def test_few_open_files_are_found(tmp_path: Path) -> None:
    found = doctor(tmp_path, env={"WEFTWORK_MAX_CONNECTIONS": "1000000"})["open files"]
    assert (found["status"], "1000000" in found["message"]) == ("warn", True)


def test_the_seat_is_left_as_it_was(data: Path, tmp_path: Path) -> None:
    (data / LOCK_FILE).write_bytes(b"")
    (data / LOCK_FILE).chmod(0o600)
    doctor(tmp_path, "--data", data)
    assert (data / LOCK_FILE).read_bytes() == b""


def test_a_user_who_may_not_write_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    states = [each.status for each in machine_checks._check_data_folder(data)]
    assert states[0] == "fail"


def test_the_folder_of_assets_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "does not exist yet" in doctor(tmp_path, "--data", tmp_path / "data")["assets"]["message"]
    with start_host(tmp_path) as host:
        upload_asset(host, bytes(5_000))
        found = doctor(tmp_path, "--data", host.data)["assets"]
        assert found["status"] == "ok"
        assert found["message"] == f"{host.data / 'assets'} is writable; 5.0 kB in 1 file"
    assert doctor(tmp_path, env={"WEFTWORK_BLOBS": "s3://bucket/x"})["assets"]["message"] == (
        "not checked: stored in s3://bucket/x"
    )
    assert doctor(tmp_path, env={"WEFTWORK_STORE": "memory"})["assets"]["message"] == "in memory"
    settings = Settings(data=str(host.data))
    assert check_assets(settings, seconds=-1).message.endswith("at least 0 bytes in 0 files")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert check_assets(settings).status == "fail"
    (tmp_path / "other").mkdir()
    assert check_assets(Settings(data=str(tmp_path / "other"))).status == "ok"
    assert check_assets(Settings(data=str(tmp_path / "other")), is_held=True).status == "fail"
    (tmp_path / "other" / "assets").touch()
    assert check_assets(Settings(data=str(tmp_path / "other"))).status == "fail"
    shutil.rmtree(host.data / "assets")
    gone = check_assets(settings)
    assert (gone.status, gone.message) == ("fail", f"{host.data}/assets was deleted")
    assert "restore it from a backup" in gone.hint
    (host.data / DATABASE_FILE).unlink()
    assert check_assets(settings).status == "ok"


def asked(foreign: ForeignHost) -> dict[str, Finding]:
    return {each.check: each for each in check_host(foreign.url, foreign_host.KEY, is_explicit=True)}


def well(foreign: ForeignHost) -> None:
    run = {"runId": "r1", "workflowId": "w", "status": "completed"}
    foreign.replies |= {
        "GET /health": CannedResponse(200, {"status": "ok"}),
        "GET /readiness": CannedResponse(200, {"status": "ready"}),
        "GET /v1/runs": CannedResponse(200, {"runs": [run]}),
        "GET /v1/runs/r1/events": CannedResponse(
            200, raw=b": hello\n\nid: 0\ndata: {}\n\n", headers={"Content-Type": "text/event-stream; charset=utf-8"}
        ),
    }


def test_a_host_of_others_is_well(foreign: ForeignHost) -> None:
    well(foreign)
    found = asked(foreign)
    assert {each.status for each in found.values()} == {"ok"}, found
    assert found["protocol"].message == "OpenWOP 1.0 by elsewhere 7, not a weftwork host"
    assert found["clock"].message == "not checked: the host sends no Date header"
    assert {each.method for each in foreign.requests} == {"GET"}


def recovering(total: int | None, resumed: int, skipped: int = 0) -> CannedResponse:
    recovery = {"total": total, "resumed": resumed, "skipped": skipped, "done": skipped > 0}
    return CannedResponse(200, {"status": "ready", "recovery": recovery})


CUT_STREAM = CannedResponse(200, raw=b": x\n", headers={"Content-Type": "text/event-stream"})
AHEAD = CannedResponse(200, {"protocolVersion": "1.1"}, {"Date": formatdate(time.time() + 3600, usegmt=True)})


@pytest.mark.parametrize(
    ("path", "reply", "check", "state", "piece"),
    [
        ("/.well-known/openwop", CannedResponse(200, {"protocolVersion": "2.0"}), "protocol", "fail", "OpenWOP 2.0"),
        ("/.well-known/openwop", CannedResponse(200, [EVIL]), "protocol", "fail", "OpenWOP null"),
        ("/.well-known/openwop", CannedResponse(200, raw=b"<html>"), "host", "fail", "is not valid JSON"),
        ("/.well-known/openwop", NOT_FOUND, "host", "fail", "Nothing here"),
        ("/health", NOT_FOUND, "health", "warn", "does not support /health"),
        ("/readiness", CannedResponse(503, {"error": "x", "message": "full"}), "readiness", "fail", "full"),
        ("/readiness", recovering(10_000, 4_000), "readiness", "ok", "4,000 of 10,000 unfinished runs"),
        ("/readiness", recovering(None, 0), "readiness", "ok", "resuming: unfinished runs"),
        ("/readiness", recovering(10, 8, 2), "readiness", "warn", "2 unfinished runs cannot be loaded"),
        ("/readiness", CannedResponse(200, {"status": EVIL, "recovery": [EVIL]}), "readiness", "ok", "evil"),
        ("/v1/runs", NOT_FOUND, "events", "ok", "does not list"),
        ("/v1/runs", CannedResponse(200, {"runs": []}), "events", "ok", "no runs yet"),
        ("/v1/runs", CannedResponse(500, {"error": "x", "message": EVIL}), "events", "fail", "evil"),
        ("/v1/runs/r1/events", CannedResponse(200, []), "events", "fail", "media type application/json,"),
        ("/v1/runs/r1/events", CUT_STREAM, "events", "fail", "ended before"),
        ("/.well-known/openwop", AHEAD, "clock", "warn", "ahead of this machine's"),
    ],
)
def test_what_is_not_well_with_a_host_of_others(
    foreign: ForeignHost, path: str, reply: CannedResponse, check: str, state: str, piece: str
) -> None:
    well(foreign)
    foreign.replies[f"GET {path}"] = reply
    found = asked(foreign)
    assert (found[check].status, piece in found[check].message) == (state, True), found[check]
    assert all(harmless(each.message) for each in found.values())


def test_scopes_are_seen_by_what_is_refused(foreign: ForeignHost) -> None:
    well(foreign)

    def reply(request: ReceivedRequest) -> CannedResponse:
        return (
            CannedResponse(403, {"error": "forbidden", "message": "no"}) if "/artifacts/" in request.path else NOT_FOUND
        )

    foreign.replies["GET /v1/runs/weftwork-doctor-no-such-run/artifacts/none"] = reply
    found = asked(foreign)
    assert (found["key"].status, found["key"].message) == ("warn", "accepted, but without the scopes artifacts:read")
    assert found["events"].status == "ok"
    refused = CannedResponse(401, {"error": "unauthenticated", "message": "no"})
    foreign.replies["GET /v1/runs/weftwork-doctor-no-such-run"] = refused
    assert asked(foreign)["key"].status == "fail"


def test_clocks_are_compared() -> None:
    now = 1_800_000_000.0
    for ahead, words in ((60, "60 s ahead of"), (-60, "60 s behind")):
        (found,) = check_clock(formatdate(now + ahead, usegmt=True), now)
        assert (found.status, words in found.message) == ("warn", True)
    (found,) = check_clock(formatdate(now + MAX_CLOCK_SKEW / 2, usegmt=True), now)
    assert found.status == "ok"
    assert [each.status for each in check_clock("soon", now)] == ["ok"]


@each_case(
    "url, clear",
    ("http://127.0.0.1:1", False),
    ("http://localhost", False),
    ("http://[::1]:5", False),
    ("https://host.example", False),
    ("http://host.example", True),
    ("http://10.0.0.1", True),
)
def test_a_key_in_the_clear_is_seen(url: str, clear: bool) -> None:
    assert host_checks._is_plaintext(url) is clear
