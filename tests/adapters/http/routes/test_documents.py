"""The documents a host serves: discovery, OpenAPI, definitions, schemas, node types and kinds of envelopes."""

import contextlib
import json
import re
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import node, workflow
from tests.live import KEY, TEST_KEY, Host, InProcessHost, open_in_process, start_host
from tests.live.envelopes import UNIVERSAL
from tests.live.fixtures import QUICK_WORKFLOW
from weftwork.conformance.workflows import REFUSED_WORKFLOWS
from weftwork.protocol.envelopes import kinds
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, DISPLAY_KINDS, UNIVERSAL_KINDS, KindDefinition, KindSet
from weftwork.protocol.errors import ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.wire.v1.routes import ROUTES
from weftwork.protocol.wire.v1.test_endpoints import SERVED_SCHEMAS
from weftwork.wiring.node_types import builtin_node_types

DISCOVERY = "/.well-known/openwop"
CACHED = (DISCOVERY, "/v1/openapi.json")
TRACE = "0af7651916cd43dd8448eb211c80319c"


def fixtures() -> dict[str, dict[str, Any]]:
    """The workflows of a host that lacks nothing."""
    folder = resources.files("weftwork.conformance").joinpath("fixtures")
    documents = [json.loads(file.read_bytes()) for file in folder.iterdir()]
    return {document["id"]: document for document in documents if document["id"] not in REFUSED_WORKFLOWS}


@pytest.mark.rule("disc-01", "disc-02")
def test_discovery_says_what_is_wired_and_definitions_are_served_word_for_word(host: Host) -> None:
    answer = host.call("GET", DISCOVERY, key=None)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found = answer.document
    assert schema.check("capabilities", found) == []
    assert (found["protocolVersion"], found["supportedEnvelopes"]) == ("1.1", [*UNIVERSAL, *DISPLAY_KINDS])
    assert all(isinstance(value, int) and value >= 0 for value in found["limits"].values())
    assert found["fixtures"] == sorted(fixtures())
    assert found["testing"]["testKeyPrefix"] == "hk_test_"
    assert found["observability"]["testSeams"] == {"otelScrape": True, "debugBundleExport": True}
    mirror = found["capabilities"]
    assert mirror == {name: found[name] for name in mirror}
    assert {"supportedEnvelopes", "schemaVersions", "limits"} <= mirror.keys()
    for workflow_id, document in fixtures().items():
        served = host.call("GET", f"/v1/workflows/{workflow_id}").document
        assert served == document
        assert schema.check("workflow-definition", served) == []


@pytest.mark.rule("disc-03")
@each_case("path", *CACHED)
def test_an_unchanged_document_is_not_sent_again(host: Host, path: str) -> None:
    first = host.call("GET", path, key=None)
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[!-~]+"', tag)
    assert first.headers["cache-control"] == "public, max-age=300"
    assert first.headers.get("capabilities-etag") == (tag if path == DISCOVERY else None)
    again = host.call("GET", path, key=None)
    assert (again.body, again.headers["etag"]) == (first.body, tag)
    for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        unchanged = host.call("GET", path, key=None, headers={"If-None-Match": wanted})
        assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", tag)
        assert "content-length" not in unchanged.headers
        assert "cache-control" in unchanged.headers
    for wanted in ('"other"', "", tag.strip('"')):
        assert host.call("GET", path, key=None, headers={"If-None-Match": wanted}).status == 200


@pytest.mark.rule("disc-04")
def test_openapi_describes_the_routes_that_are_mounted(host: Host) -> None:
    document = host.call("GET", "/v1/openapi.json", key=None).document
    assert re.match(r"3\.[1-9]", document["openapi"])
    shown = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    assert shown == {(route.path, route.method) for route in ROUTES}
    for pointer in re.findall(r'"\$ref":\s*"([^"]+)"', json.dumps(document)):
        assert pointer.startswith("#/")
        place: Any = document
        for token in pointer[2:].split("/"):
            place = place[token.replace("~1", "/").replace("~0", "~")]


RECOVERED = {"recovery": {"total": 0, "resumed": 0, "skipped": 0, "done": True}}
PARTS = {"store": "writable", "hints": "local", "executor": "here"}


@each_case("path, content", ("/health", {"status": "ok"}), ("/readiness", {"status": "ready", **RECOVERED, **PARTS}))
def test_health_and_readiness_answer_without_a_key(host: Host, path: str, content: dict[str, Any]) -> None:
    answer = host.call("GET", path, key=None)
    assert (answer.status, answer.document) == (200, content)
    assert schema.check("health", answer.document) == []


@pytest.mark.rule("run-06")
def test_a_run_is_told_in_the_shapes_we_publish(host: Host) -> None:
    body = {
        "workflowId": QUICK_WORKFLOW,
        "inputs": {"anything": [1, {"x": None}]},
        "tags": ["b", "a"],
        "metadata": {"ticket": {"id": 7}},
        "configurable": {"recursionLimit": 50, "mine": True},
        "tenantId": "acme",
    }
    created = host.call("POST", "/v1/runs", body)
    assert schema.check("create-run-response", created.document) == []
    run_id = created.document["runId"]
    base = f"/v1/runs/{run_id}"
    urls = {"eventsUrl": f"{base}/events", "statusUrl": base}
    assert created.document == {"runId": run_id, "status": "pending", **urls}
    assert created.headers["location"] == base
    assert re.fullmatch(r"[A-Za-z0-9._~-]{16,128}", run_id)
    live = host.snapshot(run_id)
    log = host.log(run_id)
    snapshot = host.snapshot(run_id)
    for document in (live, snapshot):
        assert schema.check("run-snapshot", document) == []
        assert None not in document.values()
        for name in ("workflowId", "inputs", "tags", "metadata", "configurable"):
            assert document[name] == body[name]
        assert document["owner"]["tenant"] == "acme"
        assert KEY not in json.dumps(document)
    assert snapshot["status"] == "completed"
    assert snapshot["completedAt"] == log[-1]["timestamp"] >= snapshot["startedAt"] == log[0]["timestamp"]
    assert snapshot["nodeStates"] == {f"n{at}": {"status": "completed", "attempt": 1} for at in range(6)}
    listed = host.call("GET", f"/v1/runs?limit=1&tag=a&workflowId={QUICK_WORKFLOW}").document["runs"][0]
    assert listed.items() <= snapshot.items()
    cancelled = host.call("POST", f"{base}/cancel")
    assert schema.check("cancel-run-response", cancelled.document) == []
    assert cancelled.document == {"runId": run_id, "status": "completed"}


@pytest.mark.rule("opt-01")
def test_the_tenant_of_the_key_and_its_mode_are_kept(host: Host) -> None:
    mock = {"configurable": {"mockProvider": {"id": "nobody"}}}
    for more, key, status, code in (
        ({"tenantId": "other"}, KEY, 403, "forbidden"),
        (mock, KEY, 403, "mock_provider_forbidden"),
        (mock, TEST_KEY, 400, "unsupported_mock_provider"),
    ):
        answer = host.call("POST", "/v1/runs", {"workflowId": "conformance-noop", **more}, key=key)
        assert (answer.status, answer.document["error"]) == (status, code)


@pytest.mark.rule("err-01", "err-02")
def test_every_error_is_the_closed_envelope_with_its_headers(host: Host) -> None:
    answers = [
        host.call("GET", "/v1/runs", key=None),
        host.call("GET", "/v1/runs/nowhere"),
        host.call("PUT", "/v1/runs/nowhere"),
        host.call("GET", "/runs"),
        host.call("POST", "/v1/runs", {}),
        host.call("POST", "/v1/runs", body=b"{}"),
        host.call("GET", "/v1/prompts"),
        host.call("POST", "/v1/runs", {"mode": "eval", "evalSuiteRef": "x", "agentId": "core.x"}),
        host.call("GET", "/v1/runs/nowhere/events?streamMode=x", headers={"Accept": "text/event-stream"}),
        host.call("GET", "/v1/runs/nowhere/events", headers={"Accept": "text/event-stream"}),
    ]
    for answer in answers:
        document = answer.document
        assert schema.check("error-envelope", document) == []
        assert set(document) <= {"error", "message", "details"}
        assert answer.status == ERRORS[document["error"]].status
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert ("www-authenticate" in answer.headers) is (answer.status == 401)
        assert ("allow" in answer.headers) is (answer.status == 405)
    assert [answer.status for answer in answers] == [401, 404, 405, 400, 400, 415, 501, 501, 400, 404]


@pytest.mark.rule("trace-01", "trace-02")
@each_case(
    "header",
    "",
    "x",
    f"00-{TRACE}-b7ad6b7169203331",
    f"ff-{TRACE}-b7ad6b7169203331-01",
    f"00-{'0' * 32}-b7ad6b7169203331-01",
)
def test_without_a_usable_trace_the_answer_starts_one(host: Host, header: str) -> None:
    seen = {host.call("GET", "/health", headers={"traceparent": header}).headers["traceparent"] for _ in range(2)}
    assert len(seen) == 2
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", back) and TRACE not in back for back in seen)


@pytest.mark.rule("trace-02", "trace-03", "trace-04")
def test_an_answer_belongs_to_the_trace_of_its_caller_and_a_run_to_that_of_its_creator(host: Host) -> None:
    sent = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    for method, path in (("GET", "/v1/runs"), ("GET", "/v1/runs/nowhere"), ("GET", DISCOVERY), ("POST", "/v1/runs")):
        back = host.call(method, path, headers=sent).headers["traceparent"]
        assert re.fullmatch(rf"00-{TRACE}-[0-9a-f]{{16}}-01", back)
        assert back != sent["traceparent"]
    run_id = host.call("POST", "/v1/runs", {"workflowId": "conformance-multi-node"}, headers=sent).document["runId"]
    stream = host.call("GET", f"/v1/runs/{run_id}/events", headers={**sent, "Accept": "text/event-stream"})
    assert stream.headers["traceparent"].startswith(f"00-{TRACE}-")
    host.log(run_id)
    spans = host.call("GET", f"/v1/host/sample/test/otel/spans?runId={run_id}").document["spans"]
    assert len(spans) == 4
    assert {span["traceId"] for span in spans} == {TRACE}
    (root,) = [span for span in spans if span["parentSpanId"] == "b7ad6b7169203331"]
    assert {span["parentSpanId"] for span in spans if span is not root} == {root["spanId"]}
    named = host.call("GET", f"/v1/host/sample/test/otel/spans?runId={run_id}&name={root['name']}").document["spans"]
    assert named == [root]


KINDS = sorted(BUILTIN_KINDS.names)


@pytest.mark.rule("env-30")
@each_case("path", *SERVED_SCHEMAS, *(f"envelopes/{kind}" for kind in KINDS))
def test_a_schema_is_served_to_everybody(host: Host, path: str) -> None:
    for key in (None, "wrong"):
        answer = host.call("GET", f"/schemas/{path}.schema.json", key=key)
        assert answer.status == 200
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.document == schema.document(path)
    if path != "create-run":  # not published under a name of its own
        assert answer.document["$id"] == f"https://openwop.dev/spec/v1/{path}.schema.json"
    jsonschema_rs.meta.validate(answer.document)


def test_a_known_schema_is_not_sent_again_and_only_read(host: Host) -> None:
    path = "/schemas/envelopes/error.schema.json"
    tag = host.call("GET", path, key=None).headers["etag"]
    again = host.call("GET", path, key=None, headers={"If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert host.call("GET", path, key=None, headers={"If-None-Match": '"other"'}).status == 200
    head = host.call("HEAD", path, key=None)
    assert (head.status, head.body, head.headers["content-type"]) == (200, b"", "application/schema+json")
    assert head.headers["content-length"] == str(len(host.call("GET", path).body))
    for each in (path, "/schemas/run-event.schema.json"):
        answer = host.call("POST", each, {}, key=None)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.rule("env-30", "wire-01")
@each_case(
    "path",
    *"""
    /schemas /schemas/ /schemas/envelopes /schemas/envelopes/ /schemas/error /schemas/error.schema.json
    /schemas/error-envelope /schemas/health.schema.json /schemas/envelopes/nothing.schema.json
    /schemas/envelopes/vendor.acme.plan.schema.json /schemas/envelopes/error /schemas/envelopes/error.schema.json/x
    /schemas/..%2Frules.schema.json /schemas/%00.schema.json /schemas/%ff.schema.json /schemas/.schema.json
    /schemas/envelopes/..%2F..%2Frules.toml
    """.split(),
)
def test_what_is_no_schema_is_not_found(host: Host, path: str) -> None:
    for key in (None, "wrong"):
        answer = host.call("GET", path, key=key)
        assert (answer.status, answer.document["error"]) == (404, "not_found")


@pytest.mark.rule("env-30")
def test_kinds_of_the_host_are_served_beside_those_of_the_protocol(tmp_path: Path) -> None:
    long = "vendor.acme." + "x" * 100 + "." + "y" * 100
    folder = tmp_path / "kinds"
    folder.mkdir()
    for kind in ("vendor.acme.plan", long):
        shape = '{"x-version": 3, "type": "object", "required": ["steps"], "properties": {"steps": {"type": "array"}}}'
        (folder / f"{kind}.schema.json").write_text(shape, "utf-8")
    with start_host(tmp_path, "--envelope-kinds", folder, store="memory") as host:
        for kind in ("vendor.acme.plan", long):
            answer = host.call("GET", f"/schemas/envelopes/{kind}.schema.json", key=None)
            assert (answer.status, answer.document["required"]) == (200, ["steps"])


PATH = "/v1/host/weftwork/node-types"


def test_every_type_is_listed_by_id(host: Host) -> None:
    answer = host.call("GET", PATH)
    assert answer.status == 200
    assert schema.check("node-type-list", answer.document) == []
    rows = answer.document["nodeTypes"]
    assert [row["typeId"] for row in rows] == sorted(builtin_node_types())
    delay = next(row for row in rows if row["typeId"] == "core.delay")
    declared = builtin_node_types()["core.delay"].declaration
    assert delay["title"] == declared.title
    assert delay["description"].startswith(declared.notes.strip())
    assert '"delayMs": 1000' in delay["description"].removeprefix(declared.notes.strip())
    assert (delay["effect"], delay["instant"], delay["source"], delay["requires"]) == ("pure", False, "", [])
    assert (delay["inputs"], delay["outputs"], delay["config"]) == (declared.inputs, declared.outputs, declared.config)
    assert host.call("GET", f"{PATH}/core.delay").document == delay


def test_a_node_type_is_found_by_a_key_with_the_scope_and_only_if_there_is_one(tmp_path: Path) -> None:
    keys = ("--api-key", "reader=acme:manifest:read", "--api-key", "runner=acme:runs:read")
    with start_host(tmp_path, *keys, store="memory") as host:
        assert host.call("GET", PATH, key="reader").status == 200
        for path in (PATH, f"{PATH}/core.noop", f"{PATH}/core.nothing"):
            assert host.call("GET", path, key="runner").status == 403
        for name in ("core.nothing", "a%2Fb", "%00", "x" * 200):
            answer = host.call("GET", f"{PATH}/{name}", key="reader")
            assert (answer.status, answer.document["error"]) == (404, "not_found")
        assert host.call("GET", f"{PATH}/core.nothing", key=None).status == 401
        assert host.call("POST", PATH, {}, key="reader").status == 405


STEPS = {"type": "object", "properties": {"steps": {"type": "array"}}, "required": ["steps"]}
GOOD, BAD = {"steps": ["sow", "reap"]}, {"step": "sow"}


PLAN = "vendor.acme.plan"


def wanting(kind: str, workflow_id: str = "sample", own: Any = None) -> dict[str, Any]:
    metadata = {"envelopeKinds": own} if own is not None else {}
    asks = node("ask", "core.ai.generateEnvelope", config={"envelopeType": kind, "userMessage": "A plan, please."})
    return workflow([asks], id=workflow_id, metadata=metadata)


async def ran(
    inside: InProcessHost, document: dict[str, Any], kind: str, payload: Any, version: int = 1
) -> list[dict[str, Any]]:
    """The events of a run in which the model sends one envelope, again and again."""
    registered = await inside.call("POST", "/v1/workflows", document, key=TEST_KEY)
    assert registered.status in (200, 201), registered.body
    said = json.dumps({"type": kind, "schemaVersion": version, "payload": payload})
    mock = {"id": "stream-text", "config": {"tokens": [said]}}
    body = {"workflowId": document["id"], "configurable": {"mockProvider": mock}}
    created = await inside.call("POST", "/v1/runs", body, key=TEST_KEY)
    assert created.status == 201, created.body
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ("run.completed", "run.failed"):
        path = f"/v1/runs/{created.document['runId']}/events/poll?timeout=5"
        events = (await inside.call("GET", path, key=TEST_KEY)).document["events"]
    return events


def result(events: list[dict[str, Any]]) -> Any:
    """The payload that came out, or the code of the failure."""
    last = events[-1]
    done = last["type"] == "run.completed"
    return last["payload"]["outputs"]["ask"]["payload"] if done else last["payload"]["error"]["code"]


@contextlib.asynccontextmanager
async def told(**settings: Any) -> AsyncIterator[InProcessHost]:
    async with open_in_process(**settings) as inside:
        inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
        yield inside


@pytest.mark.rule("env-41", "env-43", "env-44")
async def test_a_kind_of_a_file_is_the_hosts_and_one_of_a_workflow_is_known_to_that_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PLAN}.schema.json").write_text(json.dumps({**STEPS, "x-version": 2}))
    async with told(envelope_kinds=(str(tmp_path),)) as inside:

        async def outcome(document: dict[str, Any], kind: str, payload: Any, version: int = 1) -> Any:
            return result(await ran(inside, document, kind, payload, version))

        for version in (1, 2):
            assert await outcome(wanting(PLAN), PLAN, GOOD, version) == GOOD
        assert await outcome(wanting(PLAN), PLAN, GOOD, 3) == "envelope_invalid"
        assert await outcome(wanting(PLAN), PLAN, BAD) == "envelope_invalid"
        assert await outcome(wanting(PLAN), "vendor.acme.plans", GOOD) == "envelope_contract_violation"
        local = wanting("local.plan", "local", {"local.plan": {"schema": STEPS}})
        assert await outcome(local, "local.plan", GOOD) == GOOD
        assert await outcome(local, "local.plan", BAD) == "envelope_invalid"
        assert await outcome(wanting("local.plan", "other"), "local.plan", GOOD) == "unknown_envelope_kind"
        discovery = (await inside.call("GET", "/.well-known/openwop")).document
        assert discovery["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *DISPLAY_KINDS, PLAN]
        assert discovery["schemaVersions"][PLAN] == 2
        served = await inside.call("GET", f"/schemas/envelopes/{PLAN}.schema.json")
        assert (served.status, served.document["required"]) == (200, ["steps"])
        assert (await inside.call("GET", "/schemas/envelopes/local.plan.schema.json")).status == 404
        # One of the host stays what it is in every workflow.
        mine = {PLAN: {"version": 1, "schema": {"required": ["step"]}}}
        refused = await inside.call("POST", "/v1/workflows", wanting(PLAN, "mine", mine))
        (why,) = refused.document["details"]["violations"]
        assert (why["pointer"], why["keyword"]) == (f"/metadata/envelopeKinds/{PLAN}", "taken")
        assert await outcome(wanting(PLAN, "same", {PLAN: {"version": 2, "schema": STEPS}}), PLAN, GOOD) == GOOD
        assert await outcome(wanting(PLAN, "theirs"), PLAN, BAD) == "envelope_invalid"


@pytest.mark.rule("env-42")
async def test_a_kind_of_a_package_may_be_recursive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its highest version counts, beside that of a file."""
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#"}}}, "required": ["name"]}
    text = f"import weftwork\ntree = weftwork.EnvelopeKind('vendor.acme.tree', version=2, schema={tree!r})\n"
    (tmp_path / "acme_trees.py").write_text(text)
    file = tmp_path / "vendor.acme.tree.schema.json"
    file.write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    async with told(nodes=("acme_trees",), envelope_kinds=(str(file),)) as inside:
        document = wanting("vendor.acme.tree")
        deep: dict[str, Any] = {"name": "root", "below": [{"name": "a", "below": [{"name": "b"}]}]}
        assert result(await ran(inside, document, "vendor.acme.tree", deep, 2)) == deep
        del deep["below"][0]["below"][0]["name"]
        assert result(await ran(inside, document, "vendor.acme.tree", deep, 2)) == "envelope_invalid"


@pytest.mark.rule("env-43")
async def test_a_workflow_with_a_wrong_kind_is_refused() -> None:
    async with told() as inside:
        for own in ({"media.image": {"schema": {}}}, {"local.x": {"schema": {"items": {"$ref": "#"}}}}):
            refused = await inside.call("POST", "/v1/workflows", wanting("local.x", own=own))
            assert refused.status == 400, refused.body
            assert "/metadata/envelopeKinds/" in refused.body.decode()


@pytest.mark.rule("env-42")
def test_kinds_of_the_protocol_are_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the sabotage: without the second guard, whatever gets past the first would replace them."""
    own = KindDefinition("error", 7, {})
    builtin = KindSet({name: KindDefinition(name, 1, STEPS) for name in UNIVERSAL_KINDS})
    assert builtin.with_kinds([own]).find("error") == KindDefinition("error", 1, STEPS)
    monkeypatch.setattr(kinds, "UNIVERSAL_KINDS", ())
    assert builtin.with_kinds([own]).find("error") == own
