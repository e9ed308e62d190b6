"""`weftwork serve`: what it prints, which keys and workflows it takes."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import KEY, OTHER_KEY, delays, start_host, weftwork, write_workflows
from tests.live.host import command, environment, until
from weftwork.protocol.ids import parse_api_key


def test_the_command_is_installed_and_explains_itself(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("weftwork")
    shown = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=120, check=True)
    assert re.fullmatch(r"weftwork, version \d+\.\d+\.\d+\n", shown.stdout)
    help_text = weftwork(tmp_path, "serve", "--help").stdout
    for option in "config host port data store workflows api-key conformance test-seams log-level".split():
        assert f"--{option}" in help_text
    for line in (["-h"], ["keys", "-h"], ["keys", "create", "-h"]):
        assert weftwork(tmp_path, *line).returncode == 0
    assert not (tmp_path / "xdg").exists()


def first_start(folder: Path, *args: str | Path) -> str:
    """Start without any key, read what is printed, stop."""
    output = folder / "printed"
    with output.open("wb") as out, (folder / "logged").open("wb") as err:
        line = command("serve", "--port", "0", "--data", folder / "data", *args)
        process = subprocess.Popen(line, stdout=out, stderr=err, env=environment(folder))
    try:
        printed = until(
            lambda: text if "  try " in (text := output.read_text()) and text.endswith("\n") else None, "it"
        )
        _try_curl(printed)
        process.terminate()
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait(120)
    assert "hk_live_" not in (folder / "logged").read_text()
    return printed


def _try_curl(printed: str) -> None:
    """The printed line, run as it stands, does what it promises."""
    (line,) = re.findall(r"^  try +(curl .+)$", printed, re.MULTILINE)
    curl = shutil.which("curl")
    if curl is None or "$KEY" in line:
        return
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, timeout=120, check=True)
    assert {"runId", "runs"} & json.loads(done.stdout).keys()


@pytest.mark.parametrize("args", [(), ("--conformance",)])
def test_the_first_key_is_shown_once_and_works(tmp_path: Path, args: tuple[str, ...]) -> None:
    printed = first_start(tmp_path, *args)
    (key,) = set(re.findall(r"hk_live_[\w-]+", printed))
    assert "tenant default" in printed
    again = first_start(tmp_path, *args)
    assert "hk_" not in again
    assert "$KEY" in again
    assert key.encode() not in b"".join(file.read_bytes() for file in (tmp_path / "data").iterdir() if file.is_file())
    with start_host(tmp_path) as host:
        assert host.call("GET", "/v1/runs", key=key).status == 200


def test_a_key_of_the_command_line_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    with start_host(tmp_path) as host:
        assert KEY not in host.output
        assert "API key" not in host.output
        host.stop()
    listed = weftwork(tmp_path, "keys", "list", "--json", "--data", tmp_path / "data")
    assert json.loads(listed.stdout) == {"keys": []}


@pytest.mark.rule("auth-06")
@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("k=t", ("k", "t", None)),
        ("k=t:runs:read", ("k", "t", ["runs:read"])),
        ("k=t:runs:read+runs:create", ("k", "t", ["runs:read", "runs:create"])),
        ("k:1=t", ("k:1", "t", None)),
        ("k=t:", ("k", "t", [""])),
    ],
)
def test_a_key_is_split_at_the_first_equals_and_the_first_colon(text: str, parsed: tuple) -> None:
    assert parse_api_key(text) == parsed


@pytest.mark.rule("auth-06")
@pytest.mark.parametrize("text", ["", "k", "k=", "=t", "k=:runs:read", "="])
def test_a_text_of_another_form_is_no_key(text: str) -> None:
    assert parse_api_key(text) is None


@pytest.mark.rule("auth-06", "auth-01", "auth-03")
def test_keys_of_the_command_line_have_their_scopes_and_mode(tmp_path: Path) -> None:
    args = (
        "--api-key",
        "reader=acme:runs:read",
        "--api-key",
        "hk_test_x=acme",
        "--api-key",
        "a:b=acme",
        "--conformance",
    )
    with start_host(tmp_path, *args, store="memory") as host:
        run_id = host.create("conformance-noop")
        assert host.call("GET", f"/v1/runs/{run_id}", key="reader").status == 200
        refused = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop"}, key="reader")
        assert (refused.status, refused.document["details"]["scopeRequired"]) == (403, "runs:create")
        assert host.call("GET", f"/v1/runs/{run_id}", key="hk_test_x").status == 404
        assert host.call("GET", f"/v1/runs/{run_id}", key="a:b").status == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("secretkey", "KEY=TENANT"),
        ("secretkey=acme:runs:write", "Unknown scope runs:write"),
        ("secretkey=a b", "A tenant is"),
    ],
)
def test_a_bad_key_of_the_command_line_stops_the_start(tmp_path: Path, text: str, said: str) -> None:
    refused = weftwork(tmp_path, "serve", "--port", "0", "--store", "memory", "--api-key", text)
    assert refused.returncode == 2
    assert "--api-key" in refused.stderr
    assert said in refused.stderr
    assert "secretkey" not in refused.stderr


def test_a_bad_workflow_is_named_and_the_others_are_registered(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "flows", delays("good", 0), delays("also-good", 0))
    broken = delays("broken", 0, 0)
    broken["edges"][0]["targetNodeId"] = "nowhere"
    write_workflows(folder, broken, delays("Bad Id", 0))
    (folder / "cut.json").write_text('{"id": "cut"')
    (folder / "twice.json").write_text('{"id": "a", "id": "b"}')
    (folder / "list.json").write_text("[]")
    (folder / "notes.txt").write_text("not looked at")
    with start_host(tmp_path, "--workflows", folder, store="memory") as host:
        assert "workflows  2" in host.output
        said = [line for line in host.errors.splitlines() if line.startswith("weftwork: ")]
        for name, pointer in (
            ("broken", "/edges/0/targetNodeId"),
            ("Bad Id", "/id"),
            ("cut", "/"),
            ("twice", "/id"),
            ("list", "/"),
        ):
            assert [line for line in said if line.startswith(f"weftwork: {folder / name}.json: {pointer}: ")], said
        assert not [line for line in said if "good.json" in line or "notes" in line]
        for name, status in (("good", 200), ("also-good", 200), ("broken", 404), ("cut", 404)):
            assert host.call("GET", f"/v1/workflows/{name}").status == status
        host.log(host.create("good"))


def test_a_workflow_folder_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    refused = weftwork(tmp_path, "serve", "--port", "0", "--data", tmp_path / "data", "--workflows", "nowhere")
    assert refused.returncode == 2
    assert "--workflows nowhere: there is no such folder" in refused.stderr
    listed = weftwork(tmp_path, "keys", "list", "--json", "--data", tmp_path / "data")
    assert json.loads(listed.stdout) == {"keys": []}


def test_several_folders_are_read(tmp_path: Path) -> None:
    folders = [write_workflows(tmp_path / name, delays(name, 0)) for name in ("one", "two")]
    args = [part for folder in folders for part in ("--workflows", folder)]
    with start_host(tmp_path, *args, store="memory") as host:
        assert [host.call("GET", f"/v1/workflows/{name}").status for name in ("one", "two")] == [200, 200]


def test_the_first_workflow_of_an_id_stays_and_the_second_is_named(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "flows", delays("dup", 0))
    (folder / "later.json").write_text(json.dumps({**delays("dup", 1), "name": "Later"}))
    (folder / "noop.json").write_text(json.dumps(delays("conformance-noop", 0)))
    (folder / "own.json").write_text(json.dumps({**delays("dup", 2), "tenantId": "other", "name": "Own"}))
    with start_host(tmp_path, "--conformance", "--workflows", folder, store="memory") as host:
        said = [line for line in host.errors.splitlines() if "registered already" in line]
        assert [line.split(": ")[1] for line in said] == [str(folder / "later.json"), str(folder / "noop.json")]
        assert host.call("GET", "/v1/workflows/conformance-noop").document["nodes"][0]["typeId"] == "core.noop"
        assert host.call("GET", "/v1/workflows/dup").document["name"] != "Later"
        assert host.call("GET", "/v1/workflows/dup", key=OTHER_KEY).document["name"] == "Own"


def test_a_revoked_key_of_the_command_line_stays_revoked_and_stops_nobody(tmp_path: Path) -> None:
    with start_host(tmp_path, "--api-key", "soon-gone=acme:runs:read") as host:
        listed = json.loads(weftwork(tmp_path, "keys", "list", "--json", "--data", host.data).stdout)["keys"]
        (key_id,) = [row["keyId"] for row in listed if row["scopes"] == ["runs:read"]]
        assert weftwork(tmp_path, "keys", "revoke", key_id, "--data", host.data).returncode == 0
    with start_host(tmp_path, "--api-key", "soon-gone=acme:runs:read") as host:
        assert "was revoked" in host.errors
        assert "soon-gone" not in host.errors
        assert host.call("GET", "/v1/runs", key="soon-gone").document["error"] == "key_revoked"
        assert host.call("GET", "/v1/runs", key=KEY).status == 200


def test_a_data_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "data" / "weftwork.lock").mkdir(parents=True)
    for line in (("serve", "--port", "0"), ("keys", "create")):
        refused = weftwork(tmp_path, *line, "--data", tmp_path / "data")
        assert refused.returncode == 2
        assert "weftwork.lock cannot be used: Is a directory" in refused.stderr
        assert "Traceback" not in refused.stderr
