"""`weftwork workflows show` and `list`: on a running host, and on the store of one that is not running."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.live import KEY, delays, start_host, weftwork, write_workflows

from weftwork.adapters.memory.store import MemoryStore
from weftwork.engine import administration
from weftwork.engine.catalog import Catalog
from weftwork.engine.keyring import Keyring
from weftwork.engine.retention import Retention
from weftwork.protocol.drawing import as_text
from weftwork.protocol.errors import HostFault
from weftwork.protocol.wire_v1 import SCOPES
from weftwork.testing.clock import ManualClock
from weftwork.testing.ids import SequentialIds


def workflows(data: Path, *args: str, tenant: str = "acme", code: int = 0) -> str:
    done = weftwork(data.parent, "workflows", *args, "--data", str(data), "--tenant", tenant)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def listed(data: Path, tenant: str = "acme") -> list[dict[str, Any]]:
    return json.loads(workflows(data, "list", "--json", tenant=tenant))["workflows"]


def test_workflows_of_a_host_are_listed_and_drawn_for_their_tenant(tmp_path: Path) -> None:
    ours = {**delays("ours", 1), "tenantId": "acme"}
    files = write_workflows(tmp_path / "flows", delays("everybody", 1, 2), ours)
    with start_host(tmp_path, "--workflows", files) as host:
        first, second = {**delays("mine", 1), "version": "1"}, {**delays("mine", 1, 2), "version": "2"}
        for document in (first, second):
            assert host.call("POST", "/v1/workflows", document, key=KEY).status == 201
        assert [(each["id"], each["from"], each["versions"]) for each in listed(host.data)] == [
            ("everybody", "file", ["1.0"]),
            ("mine", "registered", ["2", "1"]),
            ("ours", "file", ["1.0"]),
        ]
        assert workflows(host.data, "list").splitlines()[1] == "mine  2  registered  mine"
        assert [each["id"] for each in listed(host.data, "other")] == ["everybody"]
        assert workflows(host.data, "show", "everybody") == as_text(delays("everybody", 1, 2))
        assert workflows(host.data, "show", "mine") == as_text(second)
        assert workflows(host.data, "show", "mine", "--version", "1") == as_text(first)
        assert workflows(host.data, "show", "mine", "--format", "mermaid").startswith("flowchart TD\n")
        assert json.loads(workflows(host.data, "show", "ours", "--json")) == ours
        for missing in (("ours", "other"), ("mine", "other"), ("gone", "acme")):
            said = workflows(host.data, "show", missing[0], tenant=missing[1], code=1)
            assert said == "Error: There is no such workflow for this tenant.\n"
        assert workflows(host.data, "show", "mine", "--version", "3", code=1).startswith("Error: There is no such")
        assert host.stop() == 0
    assert [each["id"] for each in listed(host.data)] == ["mine"]
    assert workflows(host.data, "show", "mine") == as_text(second)
    assert workflows(host.data, "show", "mine", "--version", "1") == as_text(first)
    assert "There is no such workflow" in workflows(host.data, "show", "everybody", code=1)


def test_more_than_one_page_is_listed(tmp_path: Path) -> None:
    count = administration.WORKFLOWS_LISTED + 5
    names = [f"w{at:03}" for at in range(count)]
    files = write_workflows(tmp_path / "flows", *(delays(name, 1) for name in names))
    with start_host(tmp_path, "--workflows", files) as host:
        assert [each["id"] for each in listed(host.data)] == names


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
def test_a_request_that_makes_no_sense_is_answered_so(operation: str, arguments: Any) -> None:
    answer = asyncio.run(office().answer({"operation": operation, "arguments": arguments}))
    assert answer["error"] == "validation_error"


def test_a_definition_that_the_store_has_lost_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(*given: Any) -> bytes:
        raise HostFault("the definition is not in the store")

    monkeypatch.setattr(Catalog, "read", lost)
    wanted = {"operation": "workflows.get", "arguments": {"tenant": "acme", "workflow_id": "mine"}}
    answer = asyncio.run(office().answer(wanted))
    assert answer == {"error": "internal_error", "message": "the definition is not in the store"}


def office() -> administration.Administration:
    store, clock = MemoryStore(), ManualClock()
    keyring = Keyring(store.keys, clock, SequentialIds(), SCOPES)
    return administration.Administration(keyring, Retention(store.log, clock), Catalog(store.definitions, {}))


@pytest.mark.parametrize("args", [("show", "mine"), ("list",)])
def test_a_folder_without_a_store_is_named(tmp_path: Path, args: tuple[str, ...]) -> None:
    assert "there is no store in" in workflows(tmp_path / "nowhere", *args, code=1)
    assert not (tmp_path / "nowhere").exists()
