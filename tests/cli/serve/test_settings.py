"""Settings: which source wins, and what is said about a value that cannot be used."""

from pathlib import Path
from typing import Any

import pytest

from tests.live import start_host, weftwork
from weftwork.settings import Settings, SettingsError, load_settings


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


@pytest.mark.parametrize(
    ("env", "toml", "said"),
    [
        ({"WEFTWORK_PORT": "x"}, None, "WEFTWORK_PORT must be a number"),
        ({"WEFTWORK_PORT": "70000"}, None, "WEFTWORK_PORT must be between 0 and 65535"),
        ({"WEFTWORK_STORE": "disk"}, None, "WEFTWORK_STORE must be one of sqlite, memory"),
        ({"WEFTWORK_CONFORMANCE": "maybe"}, None, "WEFTWORK_CONFORMANCE must be true or false"),
        ({"WEFTWORK_KEEPALIVE_SECONDS": "nan"}, None, "WEFTWORK_KEEPALIVE_SECONDS must be between 0.05 and 14.0"),
        ({}, "port = 'x'", "{file}: port must be a whole number"),
        ({}, "port = true", "{file}: port must be a whole number"),
        ({"WEFTWORK_MAX_RUN_DURATION_MS": "999"}, None, "WEFTWORK_MAX_RUN_DURATION_MS must be 0 or at least 1000"),
        ({"WEFTWORK_HOST": ""}, None, "WEFTWORK_HOST must name an address"),
        ({}, "port = 70000", "{file}: port must be between 0 and 65535"),
        ({}, "workflows = 'a'", "{file}: workflows must be a list of texts"),
        ({}, "workflows = [1]", "{file}: workflows must be a list of texts"),
        ({}, "fetch_ports = ['https']", "{file}: fetch_ports must be a list of ports"),
        ({}, "fetch_ports = [0]", "{file}: fetch_ports must be ports between 1 and 65535"),
        ({"WEFTWORK_FETCH_PORTS": "443,https"}, None, "WEFTWORK_FETCH_PORTS must be a list of ports"),
        ({"WEFTWORK_FETCH_PORTS": "65536"}, None, "WEFTWORK_FETCH_PORTS must be ports between 1 and 65535"),
        ({"WEFTWORK_FETCH_TIMEOUT_MS": "0"}, None, "WEFTWORK_FETCH_TIMEOUT_MS must be between 1 and 600000"),
        *(
            ({"WEFTWORK_PUBLIC_URL": url}, None, "WEFTWORK_PUBLIC_URL must be an http or https URL without query")
            for url in (
                "flows.example.org",
                "/flows",
                "ftp://flows.example.org",
                "https://",
                "https://a b",
                "https://x/?a=1",
                "https://x/?",
                "https://x/#a",
                "https://u:p@x",
                "https://x:99999",
                "https://[",
                "https://x/<b>",
                "https://é.example",
            )
        ),
        ({"WEFTWORK_INTERRUPT_LINK_DAYS": "0"}, None, "WEFTWORK_INTERRUPT_LINK_DAYS must be between 1 and 3650"),
        ({}, "log_level = 'loud'", "{file}: log_level must be one of debug, info, warning, error"),
        ({}, "host = 1", "{file}: host must be text"),
        ({}, "conformance = 1", "{file}: conformance must be true or false"),
        ({}, "max-request-body-bytes = 1", "{file}: max_request_body_bytes must be between 1024 and"),
        ({}, "prot = 1", "{file}: unknown setting prot; known are "),
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
    for command in (["serve"], ["keys", "list"]):
        refused = weftwork(tmp_path, *command, env={"WEFTWORK_CONFIG": str(tmp_path / "bad.toml")})
        assert refused.returncode == 2
        assert f"Error: {tmp_path / 'bad.toml'}: port must be a whole number" in refused.stderr
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
