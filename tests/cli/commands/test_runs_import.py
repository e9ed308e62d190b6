"""`weftwork runs import` and `weftwork bundle save --media`, between real hosts."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import open_foreign_host, run_on
from tests.harness.cases import fails_without
from tests.live import OTHER_KEY, Host
from tests.live.fixtures import host_fixture
from tests.live.operation_calls import BUNDLE
from weftwork.cli.imports import media_packing
from weftwork.protocol.review.bundle_import import MAX_IMPORT_BYTES, MAX_MEDIA, MAX_MEDIA_BYTES

PATH = "/v1/host/weftwork/runs:import"
host = host_fixture("--conformance")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def weft(host: Host, *args: str, code: int = 0, **more: Any) -> Result:
    return run_on(host, *args, code=code, **more)


def write(here: Path, document: Any) -> str:
    (here / "bundle.json").write_text(json.dumps(document))
    return "bundle.json"


def test_a_bundle_of_another_host_is_imported_shown_and_followed(host: Host, here: Path) -> None:
    done = weft(host, "runs", "import", write(here, BUNDLE))
    run_id = done.stdout.removesuffix("\n")
    assert done.stderr == f"imported 2 events; the run is read-only; show it with `weftwork runs show {run_id}`\n"
    shown = weft(host, "runs", "show", run_id).stdout
    assert "imported  run there-1 of matrix 1, exported 2026-01-31 08:05:09 UTC" in shown
    assert "trust     untrusted" in shown
    listed = next(line for line in weft(host, "runs", "ls").stdout.splitlines() if line.startswith(run_id))
    assert listed.endswith("imported")
    followed = weft(host, "events", run_id, "--follow", "--json").stdout.splitlines()
    assert [json.loads(line)["type"] for line in followed] == ["run.started", "run.completed"]
    answer = json.loads(weft(host, "runs", "import", "bundle.json", "--json").stdout)
    assert (answer["sourceRunId"], answer["eventCount"], answer["status"]) == ("there-1", 2, "completed")
    assert answer["runId"] != run_id


def test_a_run_that_had_not_ended_can_be_followed_and_says_so(host: Host, here: Path) -> None:
    waiting = deepcopy(BUNDLE)
    del waiting["events"][1]
    waiting["run"] |= {"status": "waiting-approval"}
    run_id = json.loads(weft(host, "runs", "import", write(here, waiting), "--json").stdout)["runId"]
    assert "there     waiting-approval when it was exported" in weft(host, "runs", "show", run_id).stdout
    assert len(weft(host, "events", run_id, "--follow").stdout.splitlines()) == 1
    page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1&timeout=60").document
    assert (page["isTerminal"], page["runStatus"]) == (True, "cancelled")
    assert host.call("GET", "/v1/host/weftwork/interrupts").document["interrupts"] == []
    refused = host.call("POST", f"/v1/runs/{run_id}/approvals/gate", {"action": "accept"})
    assert (refused.status, refused.document["details"]) == (409, {"imported": True})
    assert host.call("GET", f"/v1/runs/{run_id}", key=OTHER_KEY).status == 404


def test_a_refusal_names_the_places(host: Host, here: Path) -> None:
    wrong = deepcopy(BUNDLE)
    wrong["events"][1] |= {"sequence": 7, "runId": "x"}
    name = write(here, wrong)
    for more, code in ((["--dry-run"], 1), ([], 7)):
        refused = weft(host, "runs", "import", name, *more, code=code)
        assert "at /events/1/sequence: must be 1" in refused.stderr
        assert "at /events/1/runId: must be the id of the run of the bundle" in refused.stderr
    name = write(here, {**BUNDLE, "truncated": True})
    assert "The bundle is truncated" in weft(host, "runs", "import", name, code=7).stderr
    assert "The bundle is truncated" in weft(host, "runs", "import", name, "--dry-run", code=1).stderr
    assert "nope.json cannot be read" in weft(host, "runs", "import", "nope.json", code=2).stderr
    dry = weft(host, "runs", "import", write(here, BUNDLE), "--dry-run", "--json").stdout
    assert json.loads(dry) == {
        "sourceRunId": "there-1",
        "status": "completed",
        "eventCount": 2,
        "mediaCount": 0,
        "dryRun": True,
    }


@pytest.mark.rule("wire-04", "imp-02")
def test_a_bundle_may_be_larger_than_other_bodies_and_is_bounded(host: Host, here: Path) -> None:
    large = deepcopy(BUNDLE)
    large["spans"] = [{"name": "x y " * 500_000}]
    assert weft(host, "runs", "import", write(here, large)).exit_code == 0
    (here / "large.json").write_bytes(b" " * (MAX_IMPORT_BYTES + 1))
    refused = weft(host, "runs", "import", "large.json", code=7)
    assert "the host imports bundles of up to 12.6 MB" in refused.stderr
    answer = host.call("POST", PATH, body=b" " * 100, headers={"Content-Type": "text/plain"})
    assert answer.status == 415
    answer = host.call(
        "POST", PATH, body=b"x", headers={"Content-Type": "application/json", "Content-Length": "99999999"}
    )
    assert (answer.status, answer.document["details"]) == (413, {"maxRequestBodyBytes": MAX_IMPORT_BYTES})


@pytest.mark.rule("idem-01")
def test_a_repeated_import_is_one_run(host: Host) -> None:
    answers = [host.call("POST", PATH, BUNDLE, headers={"Idempotency-Key": "once"}) for _ in range(2)]
    assert [each.status for each in answers] == [201, 201]
    assert answers[0].document == answers[1].document
    other = host.call("POST", PATH, {**BUNDLE, "more": 1}, headers={"Idempotency-Key": "once"})
    assert (other.status, other.document["error"]) == (409, "idempotency_key_mismatch")


def test_a_host_without_imports_is_named(here: Path) -> None:
    with open_foreign_host() as foreign:
        refused = foreign.run_command("runs", "import", write(here, BUNDLE))
        assert refused.exit_code == 1
        assert "this host does not import runs" in refused.stderr


@pytest.mark.rule("imp-07")
@fails_without(media_packing, "_asset_urls", lambda data: [])
def test_media_are_packed_and_shown_by_the_other_host(host: Host, here: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(300_000)
    asset = host.call("POST", "/v1/host/weftwork/assets?days=1", body=picture, headers={"Content-Type": "image/png"})
    url, foreign = asset.document["url"], "https://127.0.0.1:1/v1/host/weftwork/assets/v1.x"
    bundle = deepcopy(BUNDLE)
    bundle["events"][1]["payload"] = {"outputs": {"n": {"text": f"{url} {foreign}"}}}
    run_id = json.loads(weft(host, "runs", "import", write(here, bundle), "--json").stdout)["runId"]
    saved = weft(host, "bundle", "save", run_id, "--media", "-o", "packed.json")
    assert ", 1 media file, " in saved.stdout
    packed = json.loads((here / "packed.json").read_text())
    assert [(each["url"], each["mimeType"]) for each in packed["media"]] == [(url, "image/png")]
    answer = json.loads(weft(host, "runs", "import", "packed.json", "--json", key=OTHER_KEY).stdout)
    assert answer["mediaCount"] == 1
    snapshot = host.call("GET", f"/v1/runs/{answer['runId']}", key=OTHER_KEY).document
    new, _, other = snapshot["outputs"]["n"]["text"].partition(" ")
    assert (new != url, other) == (True, foreign)
    served = host.call("GET", new.removeprefix(host.address), key=None)
    assert (served.status, served.body) == (200, picture)


def test_the_command_and_the_host_have_the_same_limits() -> None:
    assert (media_packing.MAX_PACKED, media_packing.MAX_PACKED_BYTES) == (MAX_MEDIA, MAX_MEDIA_BYTES)
