"""`weftwork serve`: its settings, and what it prints."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import KEY, OTHER_KEY, delays, start_host, weftwork, write_workflows
from tests.live.host import command, environment, until
from weftwork.protocol.ids import parse_api_key
from weftwork.settings import Settings, SettingsError, load_settings, misspelt_variables


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
@each_case(
    "text, parsed",
    ("k=t", ("k", "t", None)),
    ("k=t:runs:read", ("k", "t", ["runs:read"])),
    ("k=t:runs:read+runs:create", ("k", "t", ["runs:read", "runs:create"])),
    ("k:1=t", ("k:1", "t", None)),
    ("k=t:", ("k", "t", [""])),
)
def test_a_key_is_split_at_the_first_equals_and_the_first_colon(text: str, parsed: tuple) -> None:
    assert parse_api_key(text) == parsed


@pytest.mark.rule("auth-06")
@each_case("text", "", "k", "k=", "=t", "k=:runs:read", "=")
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
    assert "--workflows nowhere: the folder does not exist" in refused.stderr
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
        said = [line for line in host.errors.splitlines() if "already registered" in line]
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
        assert "weftwork.lock: Is a directory" in refused.stderr
        assert "Traceback" not in refused.stderr


def load(
    folder: Path, options: dict[str, Any] | None = None, env: dict[str, str] | None = None, toml: str | None = None
) -> Settings:
    if toml is not None:
        (folder / "weftwork.toml").write_text(toml)
    return load_settings({"data": str(folder), **(options or {})}, env or {})


def test_the_defaults_are_those_of_the_help(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.host, settings.port, settings.store, settings.log_level) == ("127.0.0.1", 8787, "sqlite", "info")
    assert settings.data_folder == tmp_path
    assert load_settings({}, {"XDG_DATA_HOME": "/x"}).data == "/x/weftwork"


@pytest.mark.parametrize(
    ("option", "env", "toml", "port"),
    [
        (1, "2", "port = 3", 1),
        (None, "2", "port = 3", 2),
        (None, None, "port = 3", 3),
        (None, None, None, 8787),
        (1, None, "port = 3", 1),
        (0, "2", None, 0),
    ],
)
def test_the_nearer_source_wins(
    tmp_path: Path, option: int | None, env: str | None, toml: str | None, port: int
) -> None:
    options = {} if option is None else {"port": option}
    assert load(tmp_path, options, {} if env is None else {"WEFTWORK_PORT": env}, toml).port == port


def test_a_file_named_by_option_or_environment_replaces_the_one_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "weftwork.toml").write_text("port = 1")
    (tmp_path / "other.toml").write_text("port = 2\nmax-live-runs = 7\nworkflows = ['a', 'b']\nconformance = true")
    named = load_settings({"data": str(tmp_path)}, {}, str(tmp_path / "other.toml"))
    by_environment = load(tmp_path, env={"WEFTWORK_CONFIG": str(tmp_path / "other.toml")})
    assert named == by_environment
    assert (named.port, named.max_live_runs, named.workflows, named.conformance) == (2, 7, ("a", "b"), True)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("workflows", "a,b", ("a", "b")),
        ("workflows", "", ()),
        ("conformance", "YES", True),
        ("conformance", "0", False),
        ("test_seams", " on ", True),
        ("keepalive_seconds", "0.5", 0.5),
        ("store", "memory", "memory"),
        ("fetch_ports", "443,8443", (443, 8443)),
        ("fetch_ports", "", ()),
        ("fetch_http", "yes", True),
        ("max_run_duration_ms", "0", 0),
    ],
)
def test_an_environment_value_is_read_as_its_type(tmp_path: Path, name: str, text: str, value: Any) -> None:
    assert getattr(load(tmp_path, env={f"WEFTWORK_{name.upper()}": text}), name) == value


BAD_URLS = [
    *("flows.example.org", "/flows", "ftp://flows.example.org"),
    *(
        f"https://{rest}"
        for rest in ("", "a b", "x/?a=1", "x/?", "x/#a", "u:p@x", "x:99999", "[", "x/<b>", "é.example")
    ),
]


@pytest.mark.parametrize(
    ("env", "toml", "said"),
    [
        ({"WEFTWORK_PORT": "x"}, None, "WEFTWORK_PORT must be a number"),
        ({"WEFTWORK_PORT": "70000"}, None, "WEFTWORK_PORT must be between 0 and 65535"),
        (
            {"WEFTWORK_STORE": "disk"},
            None,
            "WEFTWORK_STORE must be sqlite, memory, or the URL of a PostgreSQL database",
        ),
        ({"WEFTWORK_CONFORMANCE": "maybe"}, None, "WEFTWORK_CONFORMANCE must be true or false"),
        ({"WEFTWORK_KEEPALIVE_SECONDS": "nan"}, None, "WEFTWORK_KEEPALIVE_SECONDS must be between 0.05 and 14.0"),
        ({}, "port = 'x'", "{file}:1: port must be a whole number"),
        ({}, "port = true", "{file}:1: port must be a whole number"),
        ({"WEFTWORK_MAX_RUN_DURATION_MS": "999"}, None, "WEFTWORK_MAX_RUN_DURATION_MS must be 0 or at least 1000"),
        ({"WEFTWORK_HOST": ""}, None, "WEFTWORK_HOST must be an address"),
        ({}, "port = 70000", "{file}:1: port must be between 0 and 65535"),
        ({}, "workflows = 'a'", "{file}:1: workflows must be a list of strings"),
        ({}, "workflows = [1]", "{file}:1: workflows must be a list of strings"),
        ({}, "fetch_ports = ['https']", "{file}:1: fetch_ports must be a list of ports"),
        ({}, "fetch_ports = [0]", "{file}:1: fetch_ports must be a list of ports between 1 and 65535"),
        ({"WEFTWORK_FETCH_PORTS": "443,https"}, None, "WEFTWORK_FETCH_PORTS must be a list of ports"),
        ({"WEFTWORK_FETCH_PORTS": "65536"}, None, "WEFTWORK_FETCH_PORTS must be a list of ports between 1 and 65535"),
        ({"WEFTWORK_FETCH_TIMEOUT_MS": "0"}, None, "WEFTWORK_FETCH_TIMEOUT_MS must be between 1 and 600000"),
        *(
            ({"WEFTWORK_PUBLIC_URL": url}, None, "WEFTWORK_PUBLIC_URL must be an http or https URL without query")
            for url in BAD_URLS
        ),
        ({"WEFTWORK_INTERRUPT_LINK_DAYS": "0"}, None, "WEFTWORK_INTERRUPT_LINK_DAYS must be between 1 and 3650"),
        ({}, "log_level = 'loud'", "{file}:1: log_level must be one of debug, info, warning, error"),
        ({}, "host = 1", "{file}:1: host must be text"),
        ({}, "conformance = 1", "{file}:1: conformance must be true or false"),
        ({}, "max-request-body-bytes = 1", "{file}:1: max_request_body_bytes must be between 1024 and"),
        ({}, "prot = 1", "{file}:1: unknown setting prot; did you mean port?"),
        (
            {},
            "colour = 1",
            "{file}:1: unknown setting colour; the settings are allow_private_network, allowed_hosts, ",
        ),
        ({}, "[", "{file} is not valid TOML"),
    ],
)
def test_a_bad_value_is_named_with_its_source(tmp_path: Path, env: dict[str, str], toml: str | None, said: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load(tmp_path, env=env, toml=toml)
    assert str(raised.value).startswith(said.format(file=tmp_path / "weftwork.toml"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://flows.example.org", "https://flows.example.org"),
        ("http://127.0.0.1:8787/", "http://127.0.0.1:8787"),
        ("https://example.org/weft//", "https://example.org/weft"),
        ("http://[::1]:8787", "http://[::1]:8787"),
        ("", ""),
    ],
)
def test_a_public_url_is_kept_without_its_last_slash(tmp_path: Path, given: str, kept: str) -> None:
    assert load(tmp_path, env={"WEFTWORK_PUBLIC_URL": given}).public_url == kept


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*gone\.toml: No such file"):
        load_settings({}, {}, str(tmp_path / "gone.toml"))


def test_the_command_says_the_same_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("port = 'x'")
    for line in (["serve"], ["keys", "list"]):
        refused = weftwork(tmp_path, *line, env={"WEFTWORK_CONFIG": str(tmp_path / "bad.toml")})
        assert refused.returncode == 2
        assert f"Error: {tmp_path / 'bad.toml'}:1: port must be a whole number" in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.rule("disc-01", "wire-04")
def test_a_limit_that_is_set_is_advertised_and_enforced(tmp_path: Path) -> None:
    (tmp_path / "host.toml").write_text(
        "max_request_body_bytes = 4096\nmax_node_executions = 2\nmax_run_duration_ms = 9000"
    )
    env = {"WEFTWORK_MAX_REQUEST_BODY_BYTES": "2048"}
    args = ("--config", tmp_path / "host.toml", "--conformance")
    with start_host(tmp_path, *args, store="memory", env=env) as host:
        limits = host.call("GET", "/.well-known/openwop").document["limits"]
        assert limits["maxRequestBodyBytes"] == 2048
        assert (limits["maxNodeExecutions"], limits["maxRunDurationMs"]) == (2, 9000)
        body = b'{"workflowId":"conformance-multi-node"}'
        headers = {"Content-Type": "application/json"}
        assert host.call("POST", "/v1/runs", body=body.ljust(2049), headers=headers).status == 413
        answer = host.call("POST", "/v1/runs", body=body.ljust(2048), headers=headers)
        assert answer.status == 201
        host.log(answer.document["runId"])
        assert host.snapshot(answer.document["runId"])["error"]["code"] == "recursion_limit_exceeded"


def test_a_variable_that_looks_like_a_misspelt_setting_is_named() -> None:
    given: dict[str, str] = dict.fromkeys("WEFTWORK_PROT WEFTWORK_PORT WEFTWORK_FAULTS WEFTWORK_HUE PROT".split(), "1")
    assert misspelt_variables(given) == ["WEFTWORK_PROT is not a setting; did you mean WEFTWORK_PORT?"]
