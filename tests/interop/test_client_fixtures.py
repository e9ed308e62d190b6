"""The conformance workflows behave as their catalogue says, seen through the official client."""

import inspect
from typing import Any
from urllib.parse import urlsplit

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, WopError, is_http_error_code
from openwop_client import types as t
from openwop_client.types import RunConfigurable, RunEventDoc, RunSnapshot

from tests.harness.cases import each_case, present
from tests.interop import test_client_agents, test_client_interrupts, test_client_models
from tests.interop.client_calls import refused
from tests.live import KEY, Host
from weftwork.protocol.json import schema


def run(client: OpenwopClient, workflow: str, **members: Any) -> tuple[list[RunEventDoc], RunSnapshot]:
    """Create it, follow it to its end, and check every payload on the way."""
    run_id = client.runs_create(CreateRunRequest(workflow, **members)).runId
    events = list(client.runs_events(run_id, stream_mode="debug"))
    for event in events:
        assert schema.check_payload(event.type, event.payload) == []
    assert [event.sequence for event in events] == list(range(len(events)))
    assert [event.type for event in events if event.type in ("run.completed", "run.failed", "run.cancelled")] == [
        events[-1].type
    ]
    return events, client.runs_get(run_id)


def types(events: list[RunEventDoc]) -> list[str]:
    return [event.type for event in events]


def test_noop(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-noop")
    assert types(events) == ["run.started", "node.started", "node.completed", "run.completed"]
    assert snapshot.status == "completed"


def test_identity(client: OpenwopClient) -> None:
    payload = {"a": [1, 2.5, None, True, {"é": "日本\u2028"}], "": {}, "deep": {"x": {"y": [[]]}}}
    events, snapshot = run(client, "conformance-identity", inputs={"payload": payload})
    assert snapshot.status == "completed"
    assert present(snapshot.variables)["payload"] == payload
    assert events[-1].payload["outputs"] == {"echo": {"payload": payload}}


def test_delay(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-delay", inputs={"delayMs": 700})).runId
    assert client.runs_get(run_id).status == "running"
    assert client.runs_get(run_id).currentNodeId == "wait"
    events = list(client.runs_events(run_id))
    assert types(events) == ["run.started", "node.completed", "run.completed"]
    assert client.runs_get(run_id).status == "completed"


@pytest.mark.rule("run-03")
def test_cancellable(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-cancellable")).runId
    assert client.runs_get(run_id).status == "running"
    assert client.runs_cancel(run_id).status in ("cancelling", "cancelled")
    events = list(client.runs_events(run_id, stream_mode="debug"))
    assert types(events)[-2:] == ["node.cancelled", "run.cancelled"]
    assert "parentRunId" not in events[-1].payload
    assert client.runs_get(run_id).status == "cancelled"
    _, snapshot = run(client, "conformance-cancellable", inputs={"delayMs": 5})
    assert snapshot.status == "completed"


@pytest.mark.rule("run-04")
def test_failure(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-failure")
    assert types(events) == ["run.started", "node.started", "node.failed", "run.failed"]
    assert snapshot.status == "failed"
    assert snapshot.error is not None
    assert (snapshot.error.code, snapshot.error.message) == (
        "conformance_test_failure",
        "Intentional conformance failure",
    )
    for event in events[-2:]:
        assert event.payload["error"]["code"] == "conformance_test_failure"


def test_multi_node(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-multi-node")
    assert [event.nodeId for event in events if event.type == "node.completed"] == ["a", "b", "c"]
    assert snapshot.status == "completed"


def test_idempotent(client: OpenwopClient) -> None:
    _, snapshot = run(client, "conformance-idempotent", inputs={"nonce": "once"})
    assert snapshot.status == "completed"
    assert snapshot.variables == {"nonce": "once"}


@pytest.mark.rule("lim-01", "lim-03", "lim-04")
def test_cap_breach(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-cap-breach", configurable={"recursionLimit": 3})
    (breach,) = [event for event in events if event.type == "cap.breached"]
    assert breach.payload["kind"] == "node-executions"
    assert breach.payload["limit"] == 3
    assert breach.payload["observed"] > 3
    assert breach.payload["nodeId"] == breach.nodeId == "n4"
    assert types(events)[-2:] == ["cap.breached", "run.failed"]
    assert types(events).count("node.started") == 3
    assert (snapshot.status, present(snapshot.error).code) == ("failed", "recursion_limit_exceeded")
    _, free = run(client, "conformance-cap-breach")
    assert free.status == "completed"


@pytest.mark.rule("lim-01", "lim-02", "lim-05")
def test_run_duration_breach(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-run-duration-breach", configurable={"runTimeoutMs": 200})
    (breach,) = [event for event in events if event.type == "cap.breached"]
    assert (breach.payload["kind"], breach.payload["limit"]) == ("run-duration", 200)
    assert breach.payload["observed"] > 200
    assert types(events)[-1] == "run.failed"
    assert (snapshot.status, present(snapshot.error).code) == ("failed", "run_timeout")


@pytest.mark.rule("node-01", "node-02")
def test_capability_missing(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-capability-missing")
    assert snapshot.error is not None
    assert (snapshot.status, snapshot.error.code) == ("failed", "capability_not_provided")
    assert "conformance.never-provided" in snapshot.error.message
    assert present(snapshot.error.details)["capability"] == "conformance.never-provided"
    assert types(events)[-1] == "run.failed"


@pytest.mark.rule("opt-04")
def test_configurable_schema(client: OpenwopClient) -> None:
    wrong: list[dict[str, Any]] = [{"recursionLimit": "many"}, {"recursionLimit": 0}, {"tags": [1]}, {"more": True}]
    for configurable in wrong:
        with refused(400, "validation_error") as details:
            client.runs_create(CreateRunRequest("conformance-configurable-schema", configurable=configurable))
        assert details["pointer"].startswith("/configurable")
    for configurable in ({"recursionLimit": 1}, {"tags": ["a"]}, {}, RunConfigurable(recursionLimit=1)):
        events, snapshot = run(client, "conformance-configurable-schema", configurable=configurable)
        assert types(events) == ["run.started", "node.started", "node.completed", "run.completed"]
        assert snapshot.status == "completed"


@pytest.mark.rule("run-14")
@pytest.mark.scenario("channel-ttl")
def test_channel_ttl(client: OpenwopClient) -> None:
    """Three entries are too old when the fourth is written."""
    events, snapshot = run(client, "conformance-channel-ttl")
    assert snapshot.status == "completed"
    written = [event for event in events if event.type == "channel.written"]
    assert [event.nodeId for event in written] == ["write-a", "write-b", "write-c", "write-d"]
    assert [event.payload["reducer"] for event in written] == ["append"] * 4
    assert snapshot.variables is not None
    assert snapshot.channels is not None
    (left,) = snapshot.variables["events"]
    assert left["value"] == "d"
    assert isinstance(left["_ts"], int)
    assert set(left) == {"value", "_ts"}
    assert snapshot.channels["events"] == [left]


@pytest.mark.rule("run-14")
@pytest.mark.scenario("agentMessageReducer")
def test_message_reducer(client: OpenwopClient) -> None:
    events, snapshot = run(client, "conformance-message-reducer")
    assert snapshot.status == "completed"
    written = [event.payload["value"]["messageId"] for event in events if event.type == "channel.written"]
    assert written == ["msg-1", "msg-2", "msg-2"]
    assert [entry["messageId"] for entry in present(snapshot.channels)["messages"]] == ["msg-1", "msg-2"]


@pytest.mark.rule("media-68", "sse-01")
def test_media_emit(client: OpenwopClient, host: Host) -> None:
    events, snapshot = run(client, "conformance-media-emit")
    assert snapshot.status == "completed"
    shown = [event for event in events if event.type.startswith("media.")]
    updates = client.runs_events(snapshot.runId, stream_mode="updates")
    assert [event for event in updates if event.type.startswith("media.")] == shown
    assert types(shown) == ["media.image", "media.audio", "media.file", "media.image", "media.audio"]
    assert all(event.payload["alt"] for event in shown)
    for event in shown[:3]:
        served = host.call("GET", urlsplit(event.payload["url"]).path, key=None)
        assert (served.status, len(served.body)) == (200, event.payload["bytes"])


def test_every_advertised_workflow_is_proved_here(host: Host) -> None:
    advertised = host.call("GET", "/.well-known/openwop").document["fixtures"]
    modules = (test_client_agents, test_client_interrupts, test_client_models)
    tests = (*globals(), *(name for module in modules for name in vars(module)))
    proved = {name.removeprefix("test_").replace("_", "-") for name in tests if name.startswith("test_")}
    assert {name.removeprefix("conformance-") for name in advertised} <= proved


GONE = ("not_found", 404)
UNOFFERED = ("capability_not_provided", 501)
UNASKED = ("interrupt_not_found", 404)
OVER = ("conflict", 409)
"""The protocol names no code for a run that cannot be steered, and the client's catalogue has none for it."""
SERVED = "served"
"""Works; what exactly it returns is proved in the other modules of this folder."""

PAGE = t.LocalizedContentPage("page-1", "home", "Home", "draft", [])
PROMPT = t.PromptTemplate("greet", "1.0.0", "system", "Hello {{name}}")
ANSWER = t.ResolveInterruptRequest({"action": "accept"})
TRIGGER = t.TriggerSubscriptionRegistration({"type": "webhook"}, "conformance-noop")
SETTINGS = t.LocalizedContentLanguageSettings("en", ["en"], False)
NOOP = t.CreateRunRequest("conformance-noop")

Case = tuple[tuple[Any, ...], dict[str, Any], Any]


def cases(run: str) -> dict[str, Case]:
    """Method -> arguments, keywords, and the value it returns or the (code, status) it raises."""
    return {
        "agents_get": (("core.agent",), {}, None),
        "agents_get_org_chart": ((), {}, None),
        "agents_get_org_chart_department": (("sales",), {"recursive": False}, None),
        "agents_get_roster_entry": (("r1",), {}, None),
        "agents_list": ((), {}, None),
        "agents_list_deployments": (("core.agent",), {}, None),
        "agents_list_roster": ((), {}, None),
        "agents_transition_deployment": (("a", t.AgentDeploymentTransition("1.0.0", "promote")), {}, GONE),
        "audit_verify": ((0, 10), {}, GONE),
        "content_create_page": ((PAGE,), {}, UNOFFERED),
        "content_delete_page": (("page-1",), {}, UNOFFERED),
        "content_get_page": (("home",), {"accept_language": "de"}, None),
        "content_get_settings": ((), {}, None),
        "content_list_pages": ((), {}, None),
        "content_put_section": (("p", "s", t.PutContentSectionRequest("en", {})), {}, UNOFFERED),
        "content_put_settings": ((SETTINGS,), {}, UNOFFERED),
        "create_annotation": ((run, t.CreateAnnotationRequest({"kind": "flag"})), {"idempotency_key": "a"}, SERVED),
        "create_trigger_subscription": ((TRIGGER,), {}, UNOFFERED),
        "delete_workspace_file": (("notes/a b.md",), {}, False),
        "discovery_capabilities": ((), {}, SERVED),
        "discovery_openapi": ((), {}, SERVED),
        "get_workspace_file": (("notes/a b.md",), {"version": 1}, None),
        "interrupts_inspect_by_token": (("token",), {}, UNASKED),
        "interrupts_resolve_by_run": ((run, "noop", ANSWER), {}, UNASKED),
        "interrupts_resolve_by_token": (("token", ANSWER), {}, UNASKED),
        "list_annotations": ((run,), {}, SERVED),
        "list_workspace_files": ((), {"prefix": "notes/"}, None),
        "prompts_create": ((PROMPT,), {}, UNOFFERED),
        "prompts_delete": (("greet",), {}, UNOFFERED),
        "prompts_get": (("greet",), {"version": "1.0.0", "library_id": "lib"}, UNOFFERED),
        "prompts_list": ((t.ListPromptsRequest(kind="system", limit=5),), {}, UNOFFERED),
        "prompts_render": ((t.RenderPromptRequest("greet", {"name": "x"}),), {}, UNOFFERED),
        "prompts_update": (("greet", PROMPT), {}, UNOFFERED),
        "put_workspace_file": (("a", t.PutWorkspaceFileRequest("x")), {"if_match": '"1"'}, UNOFFERED),
        "runs_ancestry": ((run,), {}, SERVED),
        "runs_bulk_cancel": ((t.BulkCancelRunsRequest([run]),), {}, SERVED),
        "runs_cancel": ((run,), {}, SERVED),
        "runs_create": ((NOOP,), {}, SERVED),
        "runs_debug_bundle": ((run,), {"max_events": 10}, SERVED),
        "runs_diff": ((run, run), {}, SERVED),
        "runs_eval_summary": ((run,), {}, None),
        "runs_events": ((run,), {}, SERVED),
        "runs_fork": ((run, t.ForkRunRequest(0, "replay")), {}, SERVED),
        "runs_get": ((run,), {}, SERVED),
        "runs_get_artifact": ((run, "artifact-1"), {}, None),
        "runs_pause": ((run,), {}, OVER),
        "runs_poll_events": ((run,), {}, SERVED),
        "runs_resume": ((run, t.ResumeRunRequest("go")), {}, OVER),
        "tools_get": (("core:tool/x",), {}, None),
        "tools_list": ((), {}, None),
        "tools_list_compact": ((), {}, None),
        "webhooks_register": ((t.RegisterWebhookRequest("https://example.org/h", ["run.completed"]),), {}, GONE),
        "webhooks_rotate_secret": (("s1", "acme", t.RotateWebhookSecretRequest("whsec_eA==")), {}, GONE),
        "webhooks_unregister": (("s1", "acme"), {}, GONE),
        "workflows_get": (("conformance-noop",), {}, SERVED),
    }


METHODS = [name for name, _ in inspect.getmembers(OpenwopClient, inspect.isfunction) if not name.startswith("_")]
PUBLIC = ("discovery_capabilities", "discovery_openapi", "interrupts_inspect_by_token", "interrupts_resolve_by_token")
STREAMS = ("runs_events",)
"""Errors of streams reach the caller in another form; see test_client_runs."""
OF_RUNS = [name for name in METHODS if "run_id" in inspect.signature(getattr(OpenwopClient, name)).parameters]


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    run_id = host.create("conformance-noop")
    host.log(run_id)
    return run_id


def outcome(client: OpenwopClient, name: str, case: Case) -> Any:
    """What the call returns, read to its end, or (code, status) of a well-formed error."""
    try:
        returned = getattr(client, name)(*case[0], **case[1])
    except WopError as raised:
        error = raised
    else:
        return list(returned) if name == "runs_events" else returned
    assert error.envelope is not None, error.raw_text
    assert is_http_error_code(error.envelope.error) or (error.envelope.error, error.status) == OVER, error.envelope
    assert error.envelope.message
    assert error.trace_id is not None
    return error.envelope.error, error.status


def test_no_method_of_the_client_is_missing() -> None:
    assert sorted(cases("")) == sorted(METHODS)


@pytest.mark.rule("wire-02")
@each_case("name", *METHODS)
def test_the_client_understands_the_answer(host: Host, ended: str, name: str) -> None:
    case = cases(ended)[name]
    got = outcome(OpenwopClient(host.address, KEY, timeout=60), name, case)
    if case[2] == SERVED:
        assert not isinstance(present(got), tuple)
    else:
        assert got == case[2]


@each_case("name", *[name for name in METHODS if name not in (*PUBLIC, *STREAMS)])
def test_the_client_understands_a_refused_key(host: Host, ended: str, name: str) -> None:
    got = outcome(OpenwopClient(host.address, "wrong", timeout=60), name, cases(ended)[name])
    assert got == ("unauthenticated", 401)


@each_case("name", *[name for name in OF_RUNS if name not in STREAMS])
def test_the_client_understands_a_run_that_is_not_there(host: Host, name: str) -> None:
    got = outcome(OpenwopClient(host.address, KEY, timeout=60), name, cases("nowhere")[name])
    assert got in (None, GONE, UNOFFERED)


def finished(host: Host, workflow_id: str) -> str:
    run_id = host.create(workflow_id)
    host.log(run_id)
    return run_id


def test_the_client_says_something_and_finds_it_again(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-multi-node")
    event = host.log(run_id)[1]
    requests = [
        t.CreateAnnotationRequest({"kind": "rating", "rating": 5}),
        t.CreateAnnotationRequest({"kind": "correction", "correction": "four"}, target={"eventId": event["eventId"]}),
        t.CreateAnnotationRequest({"kind": "label", "label": "good"}, target={"nodeId": event["nodeId"]}, note="well"),
        t.CreateAnnotationRequest({"kind": "flag"}),
    ]
    said = [client.create_annotation(run_id, each) for each in requests]
    assert [each.signal for each in said] == [each.signal for each in requests]
    assert [each.note for each in said] == [None, None, "well", None]
    assert said[1].target == {"runId": run_id, "eventId": event["eventId"]}
    assert client.list_annotations(run_id) == said
    again = [client.create_annotation(run_id, requests[0], idempotency_key="once") for _ in range(2)]
    assert again[0] == again[1]
    assert client.list_annotations(run_id) == [*said, again[0]]


def test_the_client_is_told_while_it_reads(host: Host, client: OpenwopClient) -> None:
    run_id = host.create("conformance-cancellable")
    events = client.runs_events(run_id)
    assert next(events).type == "run.started"
    said = client.create_annotation(run_id, t.CreateAnnotationRequest({"kind": "flag"}, note="now"))
    noticed = next(events)
    assert (noticed.type, noticed.payload["annotationId"]) == ("run.annotated", said.annotationId)
    client.runs_cancel(run_id)
    assert [event.type for event in events][-1] == "run.cancelled"


def test_the_client_sees_what_is_refused(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-noop")
    with refused(400, "validation_error"):
        client.create_annotation(run_id, t.CreateAnnotationRequest({"kind": "rating"}))
    assert client.list_annotations("nowhere") is None
    assert client.runs_diff(run_id, "nowhere") is None


def test_the_client_compares_runs(host: Host, client: OpenwopClient) -> None:
    flows = ("conformance-multi-node", "conformance-multi-node", "conformance-noop")
    a, b, c = (finished(host, flow) for flow in flows)
    same, other = client.runs_diff(a, b), client.runs_diff(a, c)
    assert same is not None
    assert (same.a, same.b, same.divergedAtSeq, same.eventDiffs, same.stateDiff) == (a, b, None, [], {})
    assert other is not None
    assert other.divergedAtSeq == 0
    assert {each.op for each in other.eventDiffs} == {"changed", "removed"}
    assert all((each.bEvent is None) is (each.op == "removed") for each in other.eventDiffs)
    assert not other.truncated


def test_the_client_reads_a_bundle(host: Host, client: OpenwopClient) -> None:
    run_id = finished(host, "conformance-multi-node")
    bundle = present(client.runs_debug_bundle(run_id))
    assert (bundle.bundleVersion, bundle.redactionApplied, bundle.redactionMode) == ("1.0", True, "mask")
    assert bundle.events == host.log(run_id)
    assert (bundle.run["status"], bundle.truncated, bundle.truncatedReason) == ("completed", False, None)
    cut = present(client.runs_debug_bundle(run_id, max_events=2))
    assert (len(cut.events), cut.truncated, cut.truncatedReason) == (2, True, "events_truncated_to_size_cap")
    assert client.runs_debug_bundle("nowhere") is None
