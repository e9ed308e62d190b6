"""`weftwork run --media`: files become inputs, and a run starts only if the host has them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest, run_command
from tests.live import KEY, Host, start_host
from tests.live.assets import PNG, UPLOADS, list_assets

REF = f"weftwork-asset:{hashlib.sha256(PNG).hexdigest()}"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    env = {"WEFTWORK_MAX_UPLOAD_BYTES": "2000"}
    with start_host(tmp_path_factory.mktemp("media"), "--conformance", store="memory", env=env) as running:
        yield running
        assert "raceback" not in running.errors


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf.png").write_bytes(PNG)
    (tmp_path / "a;b=c.txt").write_text("hello")
    return tmp_path


def started(host: Host, *args: str) -> dict[str, Any]:
    done = run_command(host.address, "run", "conformance-noop", "--json", *args, key=KEY)
    assert done.exit_code == 0, done.output
    run_id = json.loads(done.stdout)["runId"]
    host.log(run_id)
    return host.call("GET", f"/v1/runs/{run_id}/debug-bundle").document["run"]


def test_a_file_becomes_an_input_that_the_run_refers_to(host: Host) -> None:
    media = ("--media", "photo=shelf.png", "--media", "note=a;b=c.txt;type=text/markdown")
    run = started(host, "--input", "count=3", *media)
    note = {"mimeType": "text/markdown", "name": "a_b=c.txt"}
    note["mediaRef"] = f"weftwork-asset:{hashlib.sha256(b'hello').hexdigest()}"
    photo = {"mediaRef": REF, "mimeType": "image/png", "name": "shelf.png"}
    assert {**run["variables"], **run.get("inputs", {})} == {"count": 3, "photo": photo, "note": note}
    refs = {each["mediaRef"] for each in list_assets(host, f"?runId={run['runId']}")["assets"]}
    assert refs == {REF, note["mediaRef"]}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--media", "photo"], "must look like NAME=FILE"),
        (["--media", "=shelf.png"], "must look like NAME=FILE"),
        (["--media", "photo="], "must look like NAME=FILE"),
        (["--media", "photo=nowhere.png"], "nowhere.png cannot be read: No such file"),
        (["--media", "photo=."], "is a folder"),
        (["--media", "photo=shelf.png;type=picture"], "picture is no media type"),
        (["--media", "a=shelf.png", "--media", "a=shelf.png"], "the input a is given twice"),
        (["--media", "a=shelf.png", "--input", "a=1"], "the input a is given twice"),
        (["--media", "a=shelf.png", "--media", "b=nowhere"], "nowhere cannot be read"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(foreign: ForeignHost, args: list[str], said: str) -> None:
    done = foreign.run_command("run", "hello", *args)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert foreign.requests == []


def test_no_run_starts_without_its_files(host: Host, foreign: ForeignHost, here: Path) -> None:
    before = host.call("GET", "/v1/runs").document["runs"]
    (here / "large.bin").write_bytes(bytes(2001))
    line = ("run", "conformance-noop", "--media", "a=shelf.png", "--media", "b=large.bin")
    done = run_command(host.address, *line, key=KEY)
    assert (done.exit_code, "large.bin has 2.0 kB, and the host takes 2.0 kB" in done.stderr) == (7, True)
    assert host.call("GET", "/v1/runs").document["runs"] == before
    assert "takes no files" in foreign.run_command("run", "hello", "--media", "a=shelf.png").stderr
    assert [asked.path for asked in foreign.requests] == ["/v1/workflows/hello", "/v1/workflows", UPLOADS]


def test_nothing_is_sent_for_a_workflow_that_is_not_there(host: Host, here: Path) -> None:
    (here / "alone.txt").write_text("for no workflow")
    done = run_command(host.address, "run", "nosuch", "--media", "a=alone.txt", key=KEY)
    assert (done.exit_code, "There is no such workflow" in done.stderr) == (7, True), done.stderr
    assert "`weftwork workflows ls` lists the workflows of the host." in done.stderr
    unsent = f"weftwork-asset:{hashlib.sha256(b'for no workflow').hexdigest()}"
    assert unsent not in [each["mediaRef"] for each in list_assets(host)["assets"]]


@pytest.mark.parametrize("status", [401, 403, 404, 405, 500])
def test_who_may_not_see_workflows_may_start_them(foreign: ForeignHost, status: int) -> None:
    digest = hashlib.sha256(PNG).hexdigest()
    foreign.replies["GET /v1/workflows/hello"] = CannedResponse(status, {"error": "other", "message": "No."})
    foreign.replies[f"POST {UPLOADS}"] = CannedResponse(
        201, {"mediaRef": REF, "sha256": digest, "mimeType": "image/png"}
    )
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "run-1"})
    assert foreign.run_command("run", "hello", "--media", "photo=shelf.png").exit_code == 0


def test_a_file_of_another_type_is_told(host: Host) -> None:
    done = run_command(host.address, "run", "conformance-noop", "--media", "a=shelf.png;type=audio/wav", key=KEY)
    assert done.exit_code == 0
    assert "warning: shelf.png does not look like audio/wav, and is kept as application/octet-stream" in done.stderr


def test_the_same_command_with_the_same_key_starts_one_run(foreign: ForeignHost) -> None:
    bodies: list[Any] = []

    def start(asked: ReceivedRequest) -> CannedResponse:
        bodies.append(asked.body)
        return CannedResponse(201, {"runId": "run-1"})

    digest = hashlib.sha256(PNG).hexdigest()
    foreign.replies[f"POST {UPLOADS}"] = CannedResponse(
        201, {"mediaRef": REF, "sha256": digest, "mimeType": "image/png"}
    )
    foreign.replies["POST /v1/runs"] = start
    for _ in range(2):
        assert (
            foreign.run_command("run", "hello", "--media", "photo=shelf.png", "--idempotency-key", "k").exit_code == 0
        )
    assert bodies[0] == bodies[1]
    assert bodies[0]["inputs"] == {"photo": {"mediaRef": REF, "mimeType": "image/png", "name": "shelf.png"}}
