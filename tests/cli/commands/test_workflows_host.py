"""`weftwork workflows show` and `ls`: on a running host, on the store of one that is not running, and with a key."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import CannedResponse, open_foreign_host
from tests.live import KEY, delays, start_host, weftwork, write_workflows
from weftwork.adapters.memory.store import MemoryStore
from weftwork.cli.render.drawing import draw_text
from weftwork.engine.api import administration
from weftwork.engine.api.keyring import Keyring
from weftwork.engine.api.retention import Retention
from weftwork.engine.host.catalog import WorkflowCatalog
from weftwork.engine.signer import Signer
from weftwork.protocol.errors import HostFault
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.testing.deterministic import ManualClock, SequentialIds


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


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("workflows.get", {}),
        ("workflows.get", {"tenant": "acme", "workflow_id": 5}),
        ("workflows.get", {"tenant": "acme", "workflow_id": "x", "colour": "red"}),
        ("workflows.list", {"after": "x"}),
        ("workflows.list", []),
    ],
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
    assert "there is no store in" in workflows(tmp_path / "nowhere", *args, code=1)
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
        assert "--url and --key, or a data folder" in said("ls", *named, "--tenant", "acme", code=2)
        assert "there is no store" in said("ls", "--data", str(tmp_path / "none"), code=1)
        env["WEFTWORK_URL"] = host.address
        assert said("show", "everybody") == draw_text(delays("everybody", 1, 2))
        assert "this key" in said("ls", "--key", "wrong", code=7)


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
        assert "not a list of workflows" in foreign.run_command("workflows", "ls").stderr
        foreign.replies["GET /v1/workflows/w"] = CannedResponse(200, {"id": "w", "nodes": "\x1b"})
        done = foreign.run_command("workflows", "show", "w")
        assert (done.exit_code, done.stdout, "\x1b" in done.stderr) == (1, "", False)
        assert json.loads(foreign.run_command("workflows", "show", "w", "--json").stdout) == {
            "id": "w",
            "nodes": "\x1b",
        }
        foreign.replies["GET /v1/workflows/d"] = CannedResponse(200, delays("d", 1))
        assert foreign.run_command("workflows", "show", "d").stdout == draw_text(delays("d", 1))
