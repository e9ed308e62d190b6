"""Every method of the official client returns what its table says or raises an error that the client understands."""

import inspect
from typing import Any

import pytest
from openwop_client import OpenwopClient, WopError, is_http_error_code
from openwop_client import types as t

from tests.interop.client_calls import refused
from tests.live import KEY, Host

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
        "runs_fork": ((run, t.ForkRunRequest(0, "replay")), {}, GONE),
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
"""Errors of streams reach the caller in another form; see test_client_events."""
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
@pytest.mark.parametrize("name", METHODS)
def test_the_client_understands_the_answer(host: Host, ended: str, name: str) -> None:
    case = cases(ended)[name]
    got = outcome(OpenwopClient(host.address, KEY, timeout=60), name, case)
    if case[2] == SERVED:
        assert got is not None
        assert not isinstance(got, tuple)
    else:
        assert got == case[2]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in (*PUBLIC, *STREAMS)])
def test_the_client_understands_a_refused_key(host: Host, ended: str, name: str) -> None:
    got = outcome(OpenwopClient(host.address, "wrong", timeout=60), name, cases(ended)[name])
    assert got == ("unauthenticated", 401)


@pytest.mark.parametrize("name", [name for name in OF_RUNS if name not in STREAMS])
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
    bundle = client.runs_debug_bundle(run_id)
    assert bundle is not None
    assert (bundle.bundleVersion, bundle.redactionApplied, bundle.redactionMode) == ("1.0", True, "mask")
    assert bundle.events == host.log(run_id)
    assert (bundle.run["status"], bundle.truncated, bundle.truncatedReason) == ("completed", False, None)
    cut = client.runs_debug_bundle(run_id, max_events=2)
    assert cut is not None
    assert (len(cut.events), cut.truncated, cut.truncatedReason) == (2, True, "events_truncated_to_size_cap")
    assert client.runs_debug_bundle("nowhere") is None
