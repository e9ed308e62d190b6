"""`weftwork workflows validate` and drawing from files: without a host, without a data folder."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host, run_on
from tests.harness.cases import each_case
from tests.live import KEY, Host, delays, start_host, weftwork, write_workflows
from tests.live.fixtures import host_fixture
from tests.live.host import command, environment
from weftwork.adapters.memory.store import MemoryStore
from weftwork.cli.render.drawing import draw_mermaid, draw_text
from weftwork.engine.api import administration
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.signer import Signer
from weftwork.protocol.errors import HostFault
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.deterministic import ManualClock, SequentialIds


def validate(folder: Path, *args: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    """What is printed. Nothing is made, and nothing goes wrong in a way of its own."""
    done = weftwork(folder, "workflows", "validate", *args, env=env)
    assert (done.returncode, done.stderr) == (code, "")
    assert not (folder / "xdg").exists()
    return done.stdout


def bad() -> dict[str, Any]:
    document = delays("bad", 1, 2)
    document["nodes"][1]["typeId"] = "core.nothing"
    document["edges"].append({"id": "loose", "sourceNodeId": "n0", "targetNodeId": "n7"})
    return document


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(json.dumps(delays("good", 1, 2, 3)), "utf-8")
    (tmp_path / "bad.json").write_text(json.dumps(bad(), indent=2), "utf-8")
    (tmp_path / "broken.json").write_bytes(b'{\n  "id": "x",\n  "id": "y"\n}\n')
    return tmp_path


def test_a_good_file_is_said_to_be_one(folder: Path) -> None:
    assert validate(folder, "good.json") == "good.json: ok (3 nodes, 2 edges)\n"
    assert json.loads(validate(folder, "good.json", "--json")) == []


def place(text: str, piece: str) -> str:
    before = text[: text.index(piece)]
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def test_every_problem_is_a_line_with_file_line_column_pointer_and_message(folder: Path) -> None:
    said = validate(folder, "good.json", "bad.json", "broken.json", "gone.json", code=1).splitlines()
    text, kind, end = (folder / "bad.json").read_text("utf-8"), '"core.nothing"', '"n7"'
    assert said == [
        "good.json: ok (3 nodes, 2 edges)",
        f"bad.json:{place(text, kind)} /nodes/1/typeId: this host has no such node type",
        f"bad.json:{place(text, end)} /edges/1/targetNodeId: no node has this id",
        "broken.json:3:3 /id: An object repeats a member name.",
        "gone.json:1:1 /: cannot be read: No such file or directory",
    ]


def test_programs_get_a_list(folder: Path) -> None:
    found = json.loads(validate(folder, "bad.json", "broken.json", "--json", code=1))
    assert [(each["file"], each["pointer"]) for each in found] == [
        ("bad.json", "/nodes/1/typeId"),
        ("bad.json", "/edges/1/targetNodeId"),
        ("broken.json", "/id"),
    ]
    assert found[2] == {
        "file": "broken.json",
        "line": 3,
        "column": 3,
        "pointer": "/id",
        "message": "An object repeats a member name.",
    }


def test_nodes_written_in_python_are_known_if_named(folder: Path) -> None:
    (folder / "acme.py").write_text(
        "import weftwork\n\n@weftwork.node('core2.nothing', version='1.0.0')\ndef nothing(ctx): ...\n", "utf-8"
    )
    document = delays("python", 1)
    document["nodes"][0] |= {"typeId": "core2.nothing", "config": {}}
    (folder / "python.json").write_text(json.dumps(document), "utf-8")
    assert "this host has no such node type" in validate(folder, "python.json", code=1)
    assert validate(folder, "--nodes", "acme", "python.json") == "python.json: ok (1 node, 0 edges)\n"
    refused = weftwork(folder, "workflows", "validate", "--nodes", "nowhere", "python.json")
    assert (refused.returncode, "no module nowhere" in refused.stderr) == (2, True)


def piped(folder: Path, sent: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    line = command("workflows", *args)
    return subprocess.run(line, input=sent, cwd=folder, env=environment(folder), capture_output=True, timeout=120)


def test_a_dash_is_standard_input(folder: Path) -> None:
    done = piped(folder, (folder / "good.json").read_bytes(), "validate", "-")
    assert (done.returncode, done.stdout) == (0, b"-: ok (3 nodes, 2 edges)\n")
    done = piped(folder, b"[1,\n", "validate", "-")
    assert done.returncode == 1
    assert done.stdout.startswith(b"-:2:1 /: The document is not valid JSON")
    done = piped(folder, (folder / "good.json").read_bytes(), "show", "--file", "-")
    assert done.stdout.decode() == draw_text(delays("good", 1, 2, 3))


def test_names_of_files_and_poor_terminals_do_no_harm(folder: Path) -> None:
    odd = "ü\x1b[2J.json"
    (folder / odd).write_text("{", "utf-8")
    assert validate(folder, odd, code=1).startswith("ü\\u{1b}[2J.json:1:2 /: ")
    poor = validate(folder, odd, code=1, env={"PYTHONIOENCODING": "ascii"})
    assert poor.startswith("\\xfc\\u{1b}[2J.json:1:2 /: ")
    assert json.loads(validate(folder, odd, "--json", code=1))[0]["file"] == odd


@pytest.mark.parametrize("name", [".", "good.json/x", "/dev/zero"])
def test_what_is_no_file_is_a_problem_like_others(folder: Path, name: str) -> None:
    said = validate(folder, name, "good.json", code=1).splitlines()
    assert said[0].startswith(f"{name}:1:1 /: ")
    assert said[1] == "good.json: ok (3 nodes, 2 edges)"


@pytest.mark.parametrize(("style", "draw"), [("text", draw_text), ("mermaid", draw_mermaid)])
def test_a_file_is_drawn(folder: Path, style: str, draw: Any) -> None:
    done = weftwork(folder, "workflows", "show", "--file", "good.json", "--format", style)
    assert (done.returncode, done.stdout) == (0, draw(delays("good", 1, 2, 3)))
    shown = weftwork(folder, "workflows", "show", "--file", "good.json", "--json").stdout
    assert json.loads(shown) == delays("good", 1, 2, 3)
    assert not (folder / "xdg").exists()


def test_what_this_host_cannot_run_is_drawn_and_what_has_no_shape_is_not(folder: Path) -> None:
    drawn = weftwork(folder, "workflows", "show", "--file", "bad.json").stdout
    assert "core.nothing" in drawn
    assert "not drawn: n0 → n7 (no such node)" in drawn
    refused = weftwork(folder, "workflows", "show", "--file", "broken.json")
    assert refused.returncode == 1
    assert "broken.json:3:3 /id: An object repeats a member name." in refused.stderr
    gone = weftwork(folder, "workflows", "show", "--file", "gone.json")
    assert (gone.returncode, gone.stderr) == (1, "Error: gone.json cannot be read: No such file or directory\n")


@pytest.mark.parametrize("args", [("show",), ("show", "hello", "--file", "good.json"), ("validate",)])
def test_what_is_meant_must_be_said(folder: Path, args: tuple[str, ...]) -> None:
    done = weftwork(folder, "workflows", *args)
    assert done.returncode == 2
    assert "Usage: " in done.stderr


def test_the_help_loads_no_drawing() -> None:
    script = "import sys, weftwork.cli.main\n"
    script += "print([name for name in sys.modules if 'drawing' in name or 'source_locations' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[]\n"


host = host_fixture("--api-key", "reader=acme:manifest:read", "--no-conversation", store="memory")


def write(folder: Path, name: str, document: Any) -> str:
    (folder / name).write_text(json.dumps(document, indent=2), "utf-8")
    return str(folder / name)


def add(host: Host, *args: str, code: int = 0, key: str = KEY) -> Result:
    return run_on(host, "workflows", "add", *args, code=code, key=key)


def bad_file(workflow_id: str) -> dict[str, Any]:
    document = delays(workflow_id, 1, 2)
    document["nodes"][1]["typeId"] = "core.nothing"
    document["edges"].append({"id": "loose", "sourceNodeId": "n0", "targetNodeId": "n7"})
    return document


def test_the_version_that_was_made_is_said(host: Host, tmp_path: Path) -> None:
    file = write(tmp_path, "first.json", {**delays("first", 1), "version": "2.5"})
    said = add(host, file).stdout
    assert said.startswith(f"{file}: workflow first, version 2.5, registered 20")
    assert add(host, file).stdout == said
    answer = json.loads(add(host, file, "--json").stdout)
    assert (answer["added"][0]["workflowId"], answer["added"][0]["version"]) == ("first", "2.5")
    assert answer["problems"] == []
    assert host.call("GET", "/v1/workflows/first").document["version"] == "2.5"


def test_every_problem_is_printed_as_validate_prints_it(host: Host, tmp_path: Path) -> None:
    good = write(tmp_path, "good.json", delays("good", 1))
    wrong = write(tmp_path, "bad.json", bad_file("bad"))
    shapeless = write(tmp_path, "shapeless.json", {**delays("shapeless", 1), "colour": "red", "name": 5})
    (tmp_path / "broken.json").write_bytes(b'{\n  "id": "x",\n  "id": "y"\n}\n')
    broken, gone = str(tmp_path / "broken.json"), str(tmp_path / "gone.json")
    files = (wrong, shapeless, broken, gone)
    checked = weftwork(tmp_path, "workflows", "validate", *files).stdout.splitlines()
    assert len(checked) >= 6
    done = add(host, *files, good, code=1)
    *problems, last = done.stdout.splitlines()
    assert problems == checked
    assert last.startswith(f"{good}: workflow good, ")
    found = json.loads(add(host, *files, "--json", code=1).stdout)
    listed = json.loads(weftwork(tmp_path, "workflows", "validate", *files, "--json").stdout)
    assert (found["added"], found["problems"]) == ([], listed)


def test_a_version_with_other_content_and_a_type_for_others_are_placed_too(host: Host, tmp_path: Path) -> None:
    add(host, write(tmp_path, "same.json", delays("same", 1)))
    other = write(tmp_path, "other.json", delays("same", 2))
    line = (tmp_path / "other.json").read_text("utf-8")[: (tmp_path / "other.json").read_text().index('"version"')]
    said = add(host, other, code=1).stdout
    assert said.startswith(f"{other}:{line.count(chr(10)) + 1}:")
    assert "/version: This version of the workflow is registered with other content" in said
    document = delays("gated", 1)
    document["nodes"][0]["typeId"] = "core.conversationGate"
    assert "/nodes/0/typeId: This host does not offer" in add(host, write(tmp_path, "g.json", document), code=1).stdout
    foreign_tenant = write(tmp_path, "t.json", {**delays("theirs", 1), "tenantId": "other"})
    assert "/tenantId: " in add(host, foreign_tenant, code=1).stdout


def test_a_key_that_may_not_is_told_once(host: Host, tmp_path: Path) -> None:
    file = write(tmp_path, "w.json", delays("w", 1))
    done = add(host, file, file, key="reader", code=7)
    assert (done.stdout, done.stderr.count("Error")) == ("", 1)


def test_standard_input_and_odd_names(host: Host, tmp_path: Path) -> None:
    odd = write(tmp_path, "ü\x1b[2J.json", bad_file("odd"))
    assert "\x1b" not in add(host, odd, code=1).stdout
    assert add(host, "/dev/zero", code=1).stdout.startswith("/dev/zero:1:1 /: is larger than")


@pytest.mark.parametrize(
    ("details", "told"),
    [
        (None, ["1:1 /: refused"]),
        ({"violations": []}, ["1:1 /: refused"]),
        ({"violations": [{"pointer": "/name", "message": "\x1b[2J"}, 5, {"pointer": 7}]}, ["3:11 /name: \\u{1b}[2J"]),
        ({"pointer": "/nodes/0/\x1b"}, ["6:5 /nodes/0/\\u{1b}: refused"]),
        ({"violations": [{"pointer": "/id"}, {"pointer": "odd"}]}, ["1:1 odd: is refused", "2:9 /id: is refused"]),
    ],
)
def test_refusals_of_others_are_placed_as_far_as_they_say(
    foreign: ForeignHost, tmp_path: Path, details: Any, told: list[str]
) -> None:
    document = {"error": "validation_error", "message": "refused", "details": details}
    foreign.replies["POST /v1/workflows"] = CannedResponse(400, document)
    file = write(tmp_path, "w.json", delays("w", 1))
    done = foreign.run_command("workflows", "add", file)
    assert (done.exit_code, done.stdout.splitlines()) == (1, [f"{file}:{line}" for line in told])


def test_what_others_answer_is_shown_safely_and_what_is_sent_is_the_document(
    foreign: ForeignHost, tmp_path: Path
) -> None:
    def reply(asked: ReceivedRequest) -> CannedResponse:
        return CannedResponse(201, {"workflowId": "\x1b[2J", "version": 7})

    foreign.replies["POST /v1/workflows"] = reply
    file = write(tmp_path, "w.json", delays("w", 1))
    assert (
        foreign.run_command("workflows", "add", file).stdout
        == f"{file}: workflow \\u{{1b}}[2J, version 7, registered\n"
    )
    assert foreign.requests[0].body == delays("w", 1)
    assert foreign.requests[0].headers["idempotency-key"]


def workflows(data: Path, *args: str, tenant: str = "acme", code: int = 0) -> str:
    done = weftwork(data.parent, "workflows", *args, "--data", str(data), "--tenant", tenant)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def listed(data: Path, tenant: str = "acme") -> list[dict[str, Any]]:
    return json.loads(workflows(data, "ls", "--json", tenant=tenant))["workflows"]


def test_workflows_of_a_host_are_listed_and_drawn_for_their_tenant(tmp_path: Path) -> None:
    ours = {**delays("ours", 1), "tenantId": "acme"}
    files = write_workflows(tmp_path / "flows", delays("everybody", 1, 2), ours)
    with start_host(tmp_path, "--workflows", files) as host:
        first, second = {**delays("mine", 1), "version": "1"}, {**delays("mine", 1, 2), "version": "2"}
        for document in (first, second):
            assert host.call("POST", "/v1/workflows", document, key=KEY).status == 201
        assert [(each["workflowId"], each["from"], each["versions"]) for each in listed(host.data)] == [
            ("everybody", "file", ["1.0"]),
            ("mine", "registered", ["2", "1"]),
            ("ours", "file", ["1.0"]),
        ]
        assert workflows(host.data, "ls").splitlines()[2] == "mine       2        mine"
        assert workflows(host.data, "list") == workflows(host.data, "ls")
        assert [each["workflowId"] for each in listed(host.data, "other")] == ["everybody"]
        assert workflows(host.data, "show", "everybody") == draw_text(delays("everybody", 1, 2))
        assert workflows(host.data, "show", "mine") == draw_text(second)
        assert workflows(host.data, "show", "mine", "--version", "1") == draw_text(first)
        assert workflows(host.data, "show", "mine", "--format", "mermaid").startswith("flowchart TD\n")
        assert json.loads(workflows(host.data, "show", "ours", "--json")) == ours
        for missing in (("ours", "other"), ("mine", "other"), ("gone", "acme")):
            said = workflows(host.data, "show", missing[0], tenant=missing[1], code=1)
            assert said == "Error: There is no such workflow for this tenant.\n"
        assert workflows(host.data, "show", "mine", "--version", "3", code=1).startswith("Error: There is no such")
        assert host.stop() == 0
    assert [each["workflowId"] for each in listed(host.data)] == ["mine"]
    assert workflows(host.data, "show", "mine") == draw_text(second)
    assert workflows(host.data, "show", "mine", "--version", "1") == draw_text(first)
    assert "There is no such workflow" in workflows(host.data, "show", "everybody", code=1)


def test_more_than_one_page_is_listed(tmp_path: Path) -> None:
    count = administration.WORKFLOW_PAGE_SIZE + 5
    names = [f"w{at:03}" for at in range(count)]
    files = write_workflows(tmp_path / "flows", *(delays(name, 1) for name in names))
    with start_host(tmp_path, "--workflows", files) as host:
        assert [each["workflowId"] for each in listed(host.data)] == names


def test_a_definition_as_deep_and_large_as_may_be_comes_through(tmp_path: Path) -> None:
    deep: Any = "x" * 400_000
    for _ in range(58):
        deep = [deep]
    document = delays("deep", 1)
    document["nodes"][0]["inputs"] = {"input": {"type": "static", "value": deep}}
    files = write_workflows(tmp_path / "flows", document)
    with start_host(tmp_path, "--workflows", files) as host:
        assert json.loads(workflows(host.data, "show", "deep", "--json")) == document
        assert len(workflows(host.data, "show", "deep")) < 1_000


@each_case(
    "operation, arguments",
    ("workflows.get", {}),
    ("workflows.get", {"tenant": "acme", "workflow_id": 5}),
    ("workflows.get", {"tenant": "acme", "workflow_id": "x", "colour": "red"}),
    ("workflows.list", {"after": "x"}),
    ("workflows.list", []),
)
async def test_a_request_that_makes_no_sense_is_answered_so(operation: str, arguments: Any) -> None:
    answer = await office().handle({"operation": operation, "arguments": arguments})
    assert answer["error"] == "validation_error"


async def test_a_definition_that_the_store_has_lost_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(*given: Any) -> bytes:
        raise HostFault("the definition is not in the store")

    monkeypatch.setattr(WorkflowCatalog, "read_definition", lost)
    wanted = {"operation": "workflows.get", "arguments": {"tenant": "acme", "workflow_id": "mine"}}
    answer = await office().handle(wanted)
    assert answer == {"error": "internal_error", "message": "the definition is not in the store"}


def office() -> administration.Administration:
    store, clock = MemoryStore(), ManualClock()
    keyring = Keyring(store.keys, clock, SequentialIds(), SCOPES)
    signer = Signer(store.signing, clock, SequentialIds())
    return administration.Administration(
        keyring,
        Retention(store.retention, store.log, store.records, clock),
        WorkflowCatalog(store.definitions, {}),
        signer,
    )


@pytest.mark.parametrize("args", [("show", "mine"), ("list",)])
def test_a_folder_without_a_store_is_named(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert f"no store in {tmp_path / 'nowhere'}" in workflows(tmp_path / "nowhere", *args, code=1)
    assert not (tmp_path / "nowhere").exists()


def test_with_a_key_the_host_is_asked_as_any_client_would(tmp_path: Path) -> None:
    files = write_workflows(tmp_path / "flows", delays("everybody", 1, 2))
    with start_host(tmp_path, "--workflows", files, store="memory") as host:
        newer = {**delays("mine", 1), "version": "2"}
        for document in ({**delays("mine", 1, 2), "version": "1"}, newer):
            assert host.call("POST", "/v1/workflows", document).status == 201
        env = {"WEFTWORK_KEY": KEY}
        named = ("--url", host.address)

        def said(*args: str, code: int = 0) -> str:
            done = weftwork(tmp_path, "workflows", *args, env=env)
            assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
            return done.stdout if code == 0 else done.stderr

        assert said("ls", *named).splitlines() == [
            "workflow   version  name",
            "everybody  1.0      everybody",
            "mine       2        mine",
        ]
        assert json.loads(said("ls", *named, "--json")) == host.call("GET", "/v1/workflows").document
        assert said("show", "mine", *named) == draw_text(newer)
        assert json.loads(said("show", "mine", "--version", "1", "--json", *named))["version"] == "1"
        assert "There is no such workflow" in said("show", "gone", *named, code=7)
        # Only the operator can name a tenant.
        assert "--url and --key cannot be combined with --data, --store and --tenant" in said(
            "ls", *named, "--tenant", "acme", code=2
        )
        assert "no store in" in said("ls", "--data", str(tmp_path / "none"), code=1)
        env["WEFTWORK_URL"] = host.address
        assert said("show", "everybody") == draw_text(delays("everybody", 1, 2))
        assert "the host does not accept this API key" in said("ls", "--key", "wrong", code=7)


def test_workflows_of_other_hosts() -> None:
    with open_foreign_host() as foreign:
        done = foreign.run_command("workflows", "ls")
        assert (done.exit_code, "this host does not list workflows" in done.stderr) == (1, True)
        pages = {"": CannedResponse(200, {"workflows": [{"workflowId": "a", "name": "\x1b[2J"}], "nextCursor": "a"})}
        pages["a"] = CannedResponse(200, {"workflows": [{"workflowId": "b", "version": 3}, "odd"], "nextCursor": "a"})
        foreign.replies["GET /v1/workflows"] = lambda asked: pages[asked.query.get("cursor", [""])[0]]
        _, *rows = foreign.run_command("workflows", "ls").stdout.splitlines()
        assert [row.split() for row in rows] == [["a", "\\u{1b}[2J"], ["b", "3"]]
        foreign.replies["GET /v1/workflows"] = CannedResponse(200, [])
        assert "without a list of workflows" in foreign.run_command("workflows", "ls").stderr
        foreign.replies["GET /v1/workflows/w"] = CannedResponse(200, {"id": "w", "nodes": "\x1b"})
        done = foreign.run_command("workflows", "show", "w")
        assert (done.exit_code, done.stdout, "\x1b" in done.stderr) == (1, "", False)
        assert json.loads(foreign.run_command("workflows", "show", "w", "--json").stdout) == {
            "id": "w",
            "nodes": "\x1b",
        }
        foreign.replies["GET /v1/workflows/d"] = CannedResponse(200, delays("d", 1))
        assert foreign.run_command("workflows", "show", "d").stdout == draw_text(delays("d", 1))
