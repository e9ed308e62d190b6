"""Registering workflows over HTTP: answers, versions, pages, two tenants, many at once, and a host that was killed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node, workflow
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, Host, delays, echoes, start_host, write_workflows
from tests.live.in_process_host import open_in_process
from tests.live.steering import assert_replayed
from weftwork import app
from weftwork.protocol.json import schema
from weftwork.protocol.workflow.registration import GATED_NODE_TYPES
from weftwork.wiring.node_types import builtin_node_types


def flow(workflow_id: str, version: str, text: str = "") -> dict[str, Any]:
    return {**delays(workflow_id, 0), "version": version, "description": text}


def register(host: Host, document: Any, key: str = KEY, path: str = "/v1/workflows", **headers: str) -> Answer:
    answer = host.call("POST", path, document, key=key, headers=headers)
    shape = "register-workflow-response" if answer.status < 300 else "error-envelope"
    assert schema.check(shape, answer.document) == []
    return answer


def read(host: Host, path: str, key: str = KEY) -> Any:
    answer = host.call("GET", path, key=key)
    return answer.document if answer.status == 200 else answer.document["error"]


def ran(host: Host, workflow_id: str, key: str = KEY) -> list[str]:
    """The nodes that a new run completes."""
    events = host.log(host.create(workflow_id, key), key)
    return [event["nodeId"] for event in events if event["type"] == "node.completed"]


@pytest.mark.rule("wf-11")
def test_a_workflow_is_registered_read_and_run(host: Host) -> None:
    """In a version of any name that fits a query."""
    first = register(host, flow("reg-once", "1.0"))
    assert (first.status, first.headers["location"]) == (201, "/v1/workflows/reg-once?version=1.0")
    assert first.document["workflowId"] == "reg-once"
    assert read(host, first.headers["location"]) == read(host, "/v1/workflows/reg-once") == flow("reg-once", "1.0")
    again = register(host, flow("reg-once", "1.0"))
    assert (again.status, again.document) == (200, first.document)
    assert again.headers["location"] == first.headers["location"]
    assert ran(host, "reg-once") == ["n0"]
    for version in ("1.0 beta/2?x=1&y#z%", "ünï\u2028", "+", "v" * 128):
        made = register(host, flow("reg-names", version))
        assert made.status == 201
        assert read(host, made.headers["location"])["version"] == version
    for query in ("?version=", f"?version={'v' * 129}", "?version=%ff"):
        assert read(host, f"/v1/workflows/reg-names{query}") == "validation_error"
    assert read(host, "/v1/workflows/reg-names?version=none") == "not_found"


@pytest.mark.rule("wf-11")
def test_new_runs_take_the_new_version_and_a_live_run_keeps_its_own(host: Host) -> None:
    register(host, {**delays("reg-next", 60_000), "version": "1"})
    before = host.create("reg-next")
    register(host, {**delays("reg-next", 0, 0), "version": "2"})
    assert ran(host, "reg-next") == ["n0", "n1"]
    assert host.snapshot(before)["status"] == "running"
    host.call("POST", f"/v1/runs/{before}/cancel", {})
    assert [event["nodeId"] for event in host.log(before) if event["type"] == "node.started"] == ["n0"]
    assert len(read(host, "/v1/workflows/reg-next?version=1")["nodes"]) == 1
    conflict = register(host, flow("reg-next", "2"))
    assert (conflict.status, conflict.document["error"]) == (409, "workflow_version_conflict")


@pytest.mark.rule("wf-08", "wf-11")
def test_two_tenants_do_not_see_each_other(host: Host) -> None:
    mine, theirs = flow("reg-private", "1", "mine"), {**delays("reg-private", 0, 0), "version": "1"}
    assert register(host, mine).status == 201
    for path in ("/v1/workflows/reg-private", "/v1/workflows/reg-private?version=1"):
        assert read(host, path, OTHER_KEY) == "not_found"
    refused = host.call("POST", "/v1/runs", {"workflowId": "reg-private"}, key=OTHER_KEY)
    assert (refused.status, refused.document["details"]) == (400, {"pointer": "/workflowId"})
    assert register(host, theirs, OTHER_KEY).status == 201
    assert (ran(host, "reg-private", TEST_KEY), ran(host, "reg-private", OTHER_KEY)) == (["n0"], ["n0", "n1"])
    stolen = register(host, {**mine, "version": "2", "tenantId": "other"})
    assert (stolen.status, stolen.document["error"]) == (403, "forbidden")
    assert read(host, "/v1/workflows/reg-private", OTHER_KEY) == theirs


@pytest.mark.rule("wf-11")
def test_of_many_who_register_the_same_version_at_once_one_is_first(host: Host) -> None:
    for version, documents in (
        ("same", [flow("reg-race", "same")] * 8),
        ("other", [flow("reg-race", "other", str(number)) for number in range(8)]),
    ):
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda document: register(host, document), documents))
        statuses = sorted(answer.status for answer in answers)
        assert statuses == ([200] * 7 + [201] if version == "same" else [201] + [409] * 7)
        won = next(answer for answer in answers if answer.status == 201).document
        (listed,) = [each for each in pages(host, 200) if each["workflowId"] == "reg-race"]
        assert (listed["version"], listed["createdAt"]) == (version, won["createdAt"])


@pytest.mark.rule("idem-01", "idem-03")
@each_case("path", "/v1/workflows", "/v1/host/sample/workflows")
def test_a_key_gives_the_first_outcome_again(host: Host, path: str) -> None:
    name = f"reg-key-{len(path)}"
    first = register(host, flow(name, "1"), path=path, **{"Idempotency-Key": name})
    register(host, flow(name, "2"))
    again = register(host, flow(name, "1"), path=path, **{"Idempotency-Key": name})
    assert first.status == 201
    assert_replayed(first, again)
    other = register(host, flow(name, "3"), path=path, **{"Idempotency-Key": name})
    assert (other.status, other.document["error"]) == (409, "idempotency_key_mismatch")
    assert read(host, f"/v1/workflows/{name}")["version"] == "2"


@pytest.mark.rule("wf-10")
def test_a_refusal_lists_what_is_wrong(host: Host) -> None:
    bad = flow("reg-bad", "1")
    bad["nodes"][0]["typeId"] = "no.such-type"
    bad["edges"] = [{"id": "e", "sourceNodeId": "n0", "targetNodeId": "gone"}]
    answer = register(host, bad)
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    details = answer.document["details"]
    assert [each["pointer"] for each in details["violations"]] == ["/nodes/0/typeId", "/edges/0/targetNodeId"]
    assert details["pointer"] == "/nodes/0/typeId"
    inner = register(host, {"definition": bad}, path="/v1/host/sample/workflows")
    assert inner.document["details"]["pointer"] == "/definition/nodes/0/typeId"
    assert read(host, "/v1/workflows/reg-bad") == "not_found"


@pytest.mark.rule("wf-09", "wf-12")
@pytest.mark.parametrize("type_id", GATED_NODE_TYPES)
async def test_a_gated_type_is_refused_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_id: str
) -> None:
    """By a host that does not have it: when a definition is registered, and when one of older days is started."""
    whole = workflow([node("n0", type_id)], id="reg-gated")
    short = {"workflowId": "reg-gated", "nodes": [{"nodeId": "n0", "typeId": type_id, "config": {}}]}
    seam = "/v1/host/sample/workflows"
    kept = {"store": "sqlite", "data": str(tmp_path), "test_seams": True}
    said = {"requiredCapability": GATED_NODE_TYPES[type_id], "offendingTypeId": type_id, "nodeId": "n0"}
    async with open_in_process(**kept) as before:
        assert (await before.call("POST", "/v1/workflows", {**whole, "id": "old"})).status == 201
    types = {name: each for name, each in builtin_node_types().items() if name != type_id}
    monkeypatch.setattr(app, "builtin_node_types", lambda *_: types)
    async with open_in_process(**kept) as inside:
        for path, body in (("/v1/workflows", whole), (seam, whole), (seam, {"definition": whole}), (seam, short)):
            answer = await inside.call("POST", path, body)
            assert (answer.status, answer.document["error"]) == (422, "capability_required")
            assert answer.document["details"].items() >= said.items()
        assert (await inside.call("GET", "/v1/workflows/reg-gated")).status == 404
        started = await inside.call("POST", "/v1/runs", {"workflowId": "old"})
        assert (started.status, started.document["error"]) == (422, "capability_required")
        assert started.document["details"] == {**said, "pointer": "/workflowId"}
        shown = (await inside.call("GET", "/.well-known/openwop")).document
        assert GATED_NODE_TYPES[type_id].split(".")[0] not in shown


MAPPED = {"workflowId": "x", "inputMapping": {"a": "b"}, "unknown": 1}
OVERRIDES = (
    ("conversationPrimitive", "core.conversationGate", {"unknown": 1}, 422),
    ("orchestrator.supported", "core.orchestrator.supervisor", {"plan": 7}, 422),
    ("dispatch.supported", "core.dispatch", {"unknown": 1}, 422),
    ("host.aiEnvelope.supported", "core.ai.generateEnvelope", {}, 422),
    ("subWorkflow.inputMapping", "core.subWorkflow", MAPPED, 400),
    ("agents.dispatchMapping", "core.dispatch", {"outputMapping": 7}, 400),
    ("conversationPrimitive", "core.dispatch", {"askUserRouting": "conversation", "unknown": 1}, 400),
    ("agents.subRunAttestation", "core.subWorkflow", {"outputAttestation": {}}, 400),
)
"""A capability, a node that needs it, whose config is invalid in addition, and the status of the refusal."""


@pytest.mark.rule("wf-09", "wf-20", "env-34")
@each_case("name, type_id, config, status", *OVERRIDES)
def test_a_capability_that_is_switched_off_is_missing_before_a_config_is_read(
    host: Host, name: str, type_id: str, config: dict[str, Any], status: int
) -> None:
    short = {"workflowId": "reg-off", "nodes": [{"nodeId": "n0", "typeId": type_id, "config": config}]}
    whole = workflow([node("n0", type_id, config=config)], id="reg-off")
    seam, toggle = "/v1/host/sample/workflows", "/v1/host/sample/test/capability-toggle"
    always_missing = name == "agents.subRunAttestation"
    try:
        for overridden in (True, False):
            assert host.call("POST", toggle, {"name": name, "value": not overridden}).status == 200
            for path, body in (("/v1/workflows", whole), (seam, whole), (seam, short)):
                answer = register(host, body, path=path)
                details = answer.document["details"]
                if overridden or always_missing:
                    assert answer.status == status
                    assert answer.document["error"] == {422: "capability_required", 400: "validation_error"}[status]
                    assert details["requiredCapability"] == name
                    assert details["pointer"].startswith("/nodes/0/typeId" if status == 422 else "/nodes/0/config/")
                else:
                    assert (answer.status, "requiredCapability" in details) == (400, False)
            theirs = register(host, whole, OTHER_KEY).document
            assert ("requiredCapability" in theirs["details"]) is always_missing, "only this tenant has switched it off"
    finally:
        host.call("POST", toggle, {"reset": True})
    assert register(host, whole).document["details"].get("requiredCapability") == (name if always_missing else None)


@pytest.mark.rule("wf-12")
def test_the_seam_takes_three_forms(host: Host) -> None:
    seam = "/v1/host/sample/workflows"
    for version, body in (("1", flow("reg-seam", "1")), ("2", {"definition": flow("reg-seam", "2")})):
        assert register(host, body, path=seam).document["version"] == version
        assert read(host, "/v1/workflows/reg-seam") == flow("reg-seam", version)
    short = {"workflowId": "reg-seam", "nodes": [{"nodeId": "short", "typeId": "core.noop", "config": {}}]}
    assert [register(host, short, path=seam).status for _ in "ab"] == [201, 200]
    assert ran(host, "reg-seam") == ["short"]
    unknown = register(host, {"workflowId": "x", "nodes": [{"nodeId": "n", "typeId": "no.such"}]}, path=seam)
    assert (unknown.status, unknown.document["details"]["pointer"]) == (400, "/nodes/0/typeId")


@pytest.mark.rule("wf-19")
def test_nodes_without_edges_are_chained_by_the_seam_only(host: Host) -> None:
    """The node in the middle fails, so that the last one runs only if it does not depend on it."""
    types = {"z": "core.noop", "y": "core.fail", "x": "core.noop"}
    short = {"workflowId": "reg-chain", "nodes": [{"nodeId": each, "typeId": types[each]} for each in types]}
    whole = workflow([node(each, types[each]) for each in types], id="reg-chain", version="whole")
    bare = {name: value for name, value in whole.items() if name != "edges"}
    for number, body in enumerate((short, whole, {"definition": whole}, {"definition": bare})):
        body = {**body, "workflowId": f"reg-chain-{number}"} if body is short else body
        made = register(host, body, path="/v1/host/sample/workflows").document["workflowId"]
        assert ran(host, made) == ["z"]
        edges = read(host, f"/v1/workflows/{made}")["edges"]
        assert [(each["sourceNodeId"], each["targetNodeId"]) for each in edges] == [("z", "y"), ("y", "x")]
    register(host, {**whole, "version": "apart"})
    assert sorted(ran(host, "reg-chain")) == ["x", "z"]
    assert register(host, {**bare, "version": "none"}).status == 400


def pages(host: Host, limit: int, key: str = KEY) -> list[dict[str, Any]]:
    """Every workflow that is listed, page by page."""
    found: list[dict[str, Any]] = []
    query = f"?limit={limit}"
    while True:
        page = read(host, f"/v1/workflows{query}", key)
        assert schema.check("workflow-list", page) == []
        found += page["workflows"]
        assert len(page["workflows"]) == limit or "nextCursor" not in page
        if "nextCursor" not in page:
            return found
        query = f"?limit={limit}&cursor={page['nextCursor']}"


def test_a_list_is_paged_and_holds_files_and_registrations(host: Host) -> None:
    register(host, flow("reg-list", "1", "first"))
    register(host, flow("reg-list", "2", "second"))
    register(host, flow("reg-list", "1", "theirs"), OTHER_KEY)
    whole = pages(host, 200)
    ids = [each["workflowId"] for each in whole]
    assert ids == sorted(set(ids))
    assert {"conformance-noop", "waits", "reg-list"} <= set(ids)
    for limit in (1, 3, 50):
        assert [each["workflowId"] for each in pages(host, limit)] == ids
    listed = {each["workflowId"]: each for each in whole}
    assert (listed["reg-list"]["description"], listed["reg-list"]["versions"]) == ("second", ["2", "1"])
    assert "createdAt" not in listed["conformance-noop"]
    (theirs,) = [each for each in pages(host, 200, OTHER_KEY) if each["workflowId"] == "reg-list"]
    assert theirs["versions"] == ["1"]
    for query in ("?limit=0", "?limit=201", "?limit=x", "?cursor=a%2Fb", "?cursor="):
        assert read(host, f"/v1/workflows{query}") == "validation_error"


def test_a_large_graph_is_registered_and_run(host: Host) -> None:
    document = {**echoes("reg-large", 1000), "version": "1"}
    assert register(host, document).status == 201
    assert register(host, document).status == 200
    assert read(host, "/v1/workflows/reg-large") == document
    events = host.log(host.create("reg-large", inputs={"text": "x"}))
    assert sum(event["type"] == "node.completed" for event in events) == 1000


@pytest.mark.rule("wire-04")
def test_a_definition_may_be_as_large_as_a_body(host: Host) -> None:
    document = flow("reg-huge", "1", "x" * 2**20)
    answer = host.call("POST", "/v1/workflows", document)
    assert (answer.status, answer.document["error"]) == (413, "payload_too_large")
    document["description"] = "x" * (2**20 - len(json.dumps(flow("reg-huge", "1"))))
    assert register(host, document).status == 201
    (listed,) = [each for each in pages(host, 200) if each["workflowId"] == "reg-huge"]
    assert len(listed["description"]) == 500


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_so_many_and_no_more(tmp_path: Path, store: str) -> None:
    with start_host(tmp_path, store=store, env={"WEFTWORK_MAX_WORKFLOWS_PER_TENANT": "3"}) as host:
        assert [register(host, flow(f"w{number}", "1")).status for number in range(3)] == [201] * 3
        full = register(host, flow("w0", "2"))
        assert (full.status, full.document["error"]) == (409, "workflow_limit_reached")
        assert full.document["details"] == {"limit": 3}
        assert register(host, flow("w0", "1")).status == 200
        assert register(host, flow("w0", "2"), OTHER_KEY).status == 201


@pytest.mark.rule("wf-08", "wf-11")
def test_what_was_answered_is_there_after_a_kill(tmp_path: Path) -> None:
    files = write_workflows(tmp_path / "flows", flow("shared", "file"), flow("untouched", "file"))
    with start_host(tmp_path, "--workflows", files) as host:
        assert "  workflows  2\n" in host.output
        for version in ("1", "2"):
            register(host, flow("kept", version), **{"Idempotency-Key": version})
        register(host, {**delays("shared", 0, 0), "version": "own"})
        live = host.create("kept", inputs={"x": 1})
        host.kill()
    edited = flow("untouched", "edited")
    write_workflows(files, edited)
    with start_host(tmp_path, "--workflows", files) as host:
        assert "  workflows  2 from files, 2 registered\n" in host.output
        assert read(host, "/v1/workflows/kept") == flow("kept", "2")
        assert read(host, "/v1/workflows/kept?version=1") == flow("kept", "1")
        assert register(host, flow("kept", "2"), **{"Idempotency-Key": "2"}).status == 201
        assert register(host, flow("kept", "2", "changed")).status == 409
        assert (ran(host, "shared"), ran(host, "shared", OTHER_KEY)) == (["n0", "n1"], ["n0"])
        assert host.log(live)[-1]["type"] == "run.completed"
        assert read(host, "/v1/workflows/untouched") == edited
        assert read(host, "/v1/workflows/shared?version=file") == flow("shared", "file")
