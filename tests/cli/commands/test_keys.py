"""`weftwork keys` and `nodes`."""

import json
import re
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.commands.test_runs import EVIL, VALUES, harmless
from tests.cli.foreign_host import CannedResponse, ForeignHost, run_command
from tests.harness.cases import each_case
from tests.live import KEY as LIVE_KEY
from tests.live import Host, start_host, weftwork
from weftwork.adapters.sqlite.database.connection import load_migrations, migrate
from weftwork.cli.main import main
from weftwork.cli.render import node_type_details
from weftwork.cli.render.node_type_details import example, node_type_lines
from weftwork.cli.render.schema_text import SchemaText
from weftwork.protocol.scopes import missing_scope
from weftwork.protocol.wire.v1.paths import method_and_path
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow.node_types import EFFECTS
from weftwork.protocol.workflow.validation import parse_workflow
from weftwork.wiring.data_folder import ADMIN_SOCKET, DATABASE_FILE
from weftwork.wiring.node_types import builtin_node_types, declarations_by_type


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


@pytest.mark.rule("auth-01")
@each_case(
    "scope, partition, scopes",
    ("runs:create", "live:acme", ["runs:create"]),
    ("approvals:delegate", "test:acme", ["runs:read", "approvals:respond", "approvals:delegate"]),
    ("runs:debug", "live:default", ["runs:read", "runs:debug"]),
)
def test_the_command_in_a_refusal_creates_the_key(tmp_path: Path, scope: str, partition: str, scopes: Any) -> None:
    [command] = re.findall("`weftwork keys (.*?)`", missing_scope(partition, scope).message)
    made = keys(tmp_path / "data", *command.split())
    assert (f"{made['mode']}:{made['tenant']}", made["scopes"]) == (partition, scopes)


OLD_SCOPES = [scope for scope in SCOPES if scope != "runs:debug"]


@each_case(
    "before, added",
    (OLD_SCOPES, ["runs:debug"]),
    (OLD_SCOPES[::-1], ["runs:debug"]),
    (OLD_SCOPES[1:], []),
    ([*OLD_SCOPES[1:], OLD_SCOPES[1]], []),
    (["runs:read"], []),
    ([], []),
)
def test_a_stored_key_with_every_scope_gets_the_new_one(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], added: list[str]
) -> None:
    data = tmp_path_factory.mktemp("host") / "data"
    data.mkdir()
    old: Any = apsw.Connection(str(data / DATABASE_FILE))
    migrate(old, load_migrations()[:10])
    row = ("key_1", b"digest", "acme", "live", json.dumps(before), "ours", 1)
    columns = "key_id, digest, tenant, mode, scopes, label, created_at"
    old.execute(f"INSERT INTO keys ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    old.close()
    for _ in range(2):
        [shown] = keys(data, "ls")["keys"]
        assert (shown["scopes"], shown["keyId"]) == ([*before, *added], "key_1")


def test_what_is_printed_for_people(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made = weftwork(tmp_path, "keys", "create", "--data", data, "--label", "desk", "--expires-in", "2")
    key, key_id = made.stdout.strip(), made.stderr.split()[3]
    assert key.startswith("hk_live_")
    assert made.stderr == f"created live key {key_id} for tenant default; store the key now, it is not shown again.\n"
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
    assert "no store in" in keys(tmp_path / "nowhere", "list", code=1)
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
        assert "does not respond" in keys(tmp_path, "list", code=1)
        hang_up.join(120)


FOR_TESTS = ("conformance.", "core.conformance.", "local.sample.")
SCORE: dict[str, Any] = {
    "typeId": "acme.score",
    "version": "2.0.0",
    "title": "Scores a customer.",
    "description": "Looks at the last orders.\nNever at names.",
    "effect": "once",
    "instant": False,
    "concurrency": 4,
    "source": "acme_nodes.score",
    "requires": ["chat.sendPrompt"],
    "inputs": {
        "type": "object",
        "properties": {"value": {"type": "integer", "minimum": 0, "maximum": 10}, "who": {"$ref": "#/$defs/Who"}},
        "required": ["value", "who"],
        "$defs": {
            "Who": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "Loop": {"$ref": "#/$defs/Loop"},
        },
    },
    "outputs": {"type": "object", "properties": {"output": {"type": ["number", "null"]}}},
    "config": {
        "type": "object",
        "properties": {"mode": {"enum": ["fast", "good"], "default": "fast", "description": "How to look."}},
        "additionalProperties": False,
    },
}

ACME = '''
import weftwork

@weftwork.node("acme.score", version="1.0.0", effect="pure")
def score(ctx: weftwork.PlainContext, value: int = 0) -> int:
    """Scores a customer."""
    return value * 2
'''


def offline(*args: str) -> Result:
    result = CliRunner(env={"WEFTWORK_URL": "http://127.0.0.1:1"}).invoke(main, ["nodes", *args, "--offline"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_types_of_the_package_need_no_host() -> None:
    listed = json.loads(offline("ls", "--all", "--json").stdout)["nodeTypes"]
    assert [row["typeId"] for row in listed] == sorted(builtin_node_types())
    usual = [row["typeId"] for row in json.loads(offline("ls", "--json").stdout)["nodeTypes"]]
    assert usual == [each for each in sorted(builtin_node_types()) if not each.startswith(FOR_TESTS)]
    assert "conformance." not in offline("ls").stdout
    assert "conformance.artifact.emit  " in offline("ls", "--all").stdout
    lines = {line.split()[0]: line.split(None, 2)[1:] for line in offline("ls").stdout.splitlines()}
    assert lines["core.noop"] == ["pure", "Does nothing and completes."]
    assert lines["core.flow.noop"] == ["pure", "Same as `core.noop`."]


@each_case("type_id", *list(builtin_node_types()))
def test_each_type_is_explained_with_a_node_that_a_host_takes(type_id: str) -> None:
    shown = offline("show", type_id)
    assert shown.exit_code == 0, shown.output
    assert all(f"\n{part}\n" in shown.stdout for part in ("inputs", "outputs", "config", "example"))
    node = json.loads(shown.stdout.split("\nexample\n")[1])
    assert json.loads(offline("show", type_id, "--json").stdout)["typeId"] == node["typeId"] == type_id
    rest = {"edges": [], "triggers": [], "variables": [], "metadata": {}, "settings": {}}
    document = {"id": "w", "name": "w", "version": "1", "nodes": [node], **rest}
    _, violations = parse_workflow(document, declarations_by_type(builtin_node_types()))
    # What an example reads from elsewhere is not there, which says nothing of the type.
    assert not [each for each in violations if each.pointer.startswith("/nodes/0/config")]


def test_a_type_of_the_host_is_explained(foreign: ForeignHost) -> None:
    foreign.replies[method_and_path("listNodeTypes")] = CannedResponse(200, {"nodeTypes": [SCORE, "odd"]})
    assert foreign.run_command("nodes", "ls").stdout.splitlines() == [
        "type        effect  source            title",
        "acme.score  once    acme_nodes.score  Scores a customer.",
    ]
    said = foreign.run_command("nodes", "show", "acme.score").stdout
    assert said.splitlines()[:9] == [
        "type         acme.score",
        "version      2.0.0",
        "title        Scores a customer.",
        f"effect       once: {EFFECTS['once']}",
        "execution    waiting: runs asynchronously, while other nodes run",
        "concurrency  at most 4 per host",
        "requires     chat.sendPrompt",
        "source       acme_nodes.score",
        "",
    ]
    assert "\n  value   integer, 0 to 10  required\n  who     object            required\n  who.id  string  " in said
    assert '\nconfig\n  mode  "fast" or "good"  "fast"  How to look.\n' in said
    assert "\n  output  number or null\n  other members are allowed\n" in said
    assert json.loads(said.split("\nexample\n")[1])["inputs"] == {
        "value": {"type": "static", "value": 1},
        "who": {"type": "static", "value": {"id": "text"}},
    }
    assert json.loads(foreign.run_command("nodes", "show", "acme.score", "--json").stdout) == SCORE


def test_a_host_of_ours_lists_what_the_package_has_and_its_own(tmp_path: Path) -> None:
    (tmp_path / "acme_nodes.py").write_text(ACME, "utf-8")
    env = {"PYTHONPATH": str(tmp_path)}
    with start_host(tmp_path, "--nodes", "acme_nodes", store="memory", env=env) as host:
        found = json.loads(run_command(host.address, "nodes", "ls", "--json", key=LIVE_KEY).stdout)["nodeTypes"]
        ours = [row for row in found if row["typeId"] != "acme.score"]
        assert ours == json.loads(offline("ls", "--json").stdout)["nodeTypes"]
        said = run_command(host.address, "nodes", "show", "acme.score", key=LIVE_KEY).stdout
        assert "Scores a customer." in said
        assert "\ninputs\n  value  integer  0\n" in said
        assert "acme.score" in run_command(host.address, "nodes", "ls", key=LIVE_KEY).stdout


def test_a_type_that_is_not_there_has_neighbours(foreign: ForeignHost) -> None:
    done = offline("show", "core.delai")
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: unknown node type core.delai; did you mean core.delay?\n",
    )
    foreign.replies[method_and_path("listNodeTypes")] = CannedResponse(200, {"nodeTypes": []})
    assert "`weftwork nodes ls` lists" in foreign.run_command("nodes", "show", EVIL).stderr
    assert harmless(foreign.run_command("nodes", "show", EVIL).stderr)


def test_a_host_without_the_route_is_said_to_be_one(foreign: ForeignHost) -> None:
    done = foreign.run_command("nodes", "ls")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "--offline" in done.stderr
    foreign.replies[method_and_path("listNodeTypes")] = CannedResponse(200, {"nodeTypes": 5})
    assert "without node types" in foreign.run_command("nodes", "ls").stderr
    foreign.replies[method_and_path("listNodeTypes")] = CannedResponse(
        401, {"error": "unauthenticated", "message": "no"}
    )
    assert foreign.run_command("nodes", "ls").exit_code == 7


def test_only_a_host_that_nobody_named_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = weftwork(tmp_path, "nodes", "ls", "--url", "http://127.0.0.1:1")
    assert (gone.returncode, gone.stdout) == (6, "")

    def nobody(*_: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", nobody)
    monkeypatch.delenv("WEFTWORK_URL", raising=False)
    done = CliRunner().invoke(main, ["nodes", "ls"])
    assert (done.exit_code, done.stdout) == (0, offline("ls").stdout)
    assert "no host is listening on http://127.0.0.1:8787" in done.stderr


EVIL_TYPE = {
    **dict.fromkeys(("typeId", "version", "title", "description", "effect", "source", "concurrency"), EVIL),
    "requires": [EVIL],
    "inputs": {"type": EVIL, "description": EVIL, "properties": {EVIL: {"type": EVIL, "description": EVIL}}},
    "outputs": {"properties": {"a": {"enum": [EVIL]}, "b": {"default": EVIL}}},
    "config": {"required": [EVIL], "properties": {EVIL: {"const": EVIL}}},
}


def test_texts_of_a_host_move_no_cursor(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign.replies[method_and_path("listNodeTypes")] = CannedResponse(200, {"nodeTypes": [EVIL_TYPE]})
    for args in (("ls",), ("show", EVIL), ("show", EVIL, "--json")):
        done = foreign.run_command("nodes", *args)
        assert (done.exit_code, harmless(done.stdout)) == (0, True), args
    monkeypatch.setattr(node_type_details, "clean", lambda text, most=0: str(text))
    assert not harmless(foreign.run_command("nodes", "show", EVIL).stdout)


KEYWORDS = st.sampled_from(
    "type properties required items enum const default anyOf oneOf minimum maximum maxItems $ref $defs".split()
)
SCHEMAS = st.dictionaries(KEYWORDS, VALUES | st.just({"$ref": "#/$defs/a"}) | st.just("#/$defs/a"))


@given(SCHEMAS, SCHEMAS)
def test_any_schema_is_put_into_words(one: dict[str, Any], other: dict[str, Any]) -> None:
    shape = {**one, "$defs": {"a": other, "b": {"$ref": "#/$defs/b"}}}
    lines = list(node_type_lines({"typeId": "x", "inputs": shape, "outputs": one, "config": other}))
    assert all(line.isprintable() for line in lines)
    json.dumps(example({"config": shape, "inputs": other}))


@each_case(
    "shape, words, value",
    ({"type": "string", "maxLength": 5}, "string, up to 5 characters", "text"),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1}, "array of integer, 1 or more items", []),
    ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, "null or boolean", None),
    ({"type": "number", "minimum": 7}, "number, 7 or more", 7),
    ({"type": "number", "maximum": 0.5}, "number, up to 0.5", 0.5),
    ({"const": 3}, "3", 3),
    ({"$ref": "#/$defs/none"}, "any", "text"),
    (True, "any", "text"),
)
def test_schemas_in_words(shape: Any, words: str, value: Any) -> None:
    assert (SchemaText(shape).type_text(), SchemaText(shape).sample()) == (words, value)


def test_a_schema_that_holds_itself_comes_to_an_end() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/t"}}, "required": ["left"]}
    shape = {"$ref": "#/$defs/t", "$defs": {"t": tree}}
    assert len(list(SchemaText(shape).rows())) < 10
    assert "left" in SchemaText(shape).sample()
