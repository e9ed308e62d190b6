"""Discovery says what is offered and nothing else; the OpenAPI document describes what is mounted."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.envelopes.sample_envelopes import ABSENT, with_value
from weftwork.protocol.envelopes.completion import RELIABILITY_EVENTS
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.errors import ERRORS
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.models.capability_gate import ModelCatalogue, OfferedProvider
from weftwork.protocol.net.outbound import METHODS, FetchLimits
from weftwork.protocol.run.child_runs import DISPATCH, SUB_WORKFLOW
from weftwork.protocol.run.header import FORK_MODES
from weftwork.protocol.wire import capabilities, idempotency
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document, document_etag
from weftwork.protocol.wire.openapi import openapi
from weftwork.protocol.wire.route import Route
from weftwork.protocol.wire.v1.routes import ROUTES, SCOPES
from weftwork.protocol.workflow.orchestration import MOCK_AGENT, SUPERVISOR
from weftwork.wiring.node_types import builtin_node_types

ROOT = {
    "protocolVersion",
    "implementation",
    "engineVersion",
    "eventLogSchemaVersion",
    "minClientVersion",
    "supportedTransports",
    "capabilities",
}
TALK = "core.conversationGate"
TYPES = builtin_node_types()
FAMILIES = {"feedback", "idempotency", "runs", "testing", "runtimeCapabilities", "observability"} | {
    *("supportedEnvelopes", "schemaVersions", "limits"),
}


def offers() -> st.SearchStrategy[HostOffer]:
    names = st.lists(st.from_regex("[a-z]{1,8}", fullmatch=True), max_size=4, unique=True)
    limits = st.builds(
        Limits,
        max_node_executions=st.integers(1, 10**6),
        max_run_duration_ms=st.just(0) | st.integers(1000, 10**9),
        max_request_body_bytes=st.integers(1024, 10**8),
        max_loop_iterations=st.integers(1, 10**6),
    )
    fetch = st.none() | st.builds(FetchLimits, st.integers(1, 10**6), st.integers(1, 10**9))
    return st.builds(
        HostOffer,
        st.just("0.1.0"),
        limits,
        names.map(tuple),
        names.map(frozenset),
        test_seams=st.booleans(),
        fetch=fetch,
        node_types=st.frozensets(st.sampled_from(["core.noop", TALK, SUPERVISOR, DISPATCH, SUB_WORKFLOW, MOCK_AGENT])),
        tokens=st.booleans(),
        models=st.none() | st.builds(ModelCatalogue, st.just({}), st.booleans()),
    )


@pytest.mark.rule("disc-01")
@for_all(100, offers())
def test_the_document_says_what_is_offered_and_nothing_else(offer: HostOffer) -> None:
    document = discovery_document(offer)
    assert schema.check("capabilities", document) == []
    families = document["capabilities"]
    dispatches = DISPATCH in offer.node_types
    supervises = dispatches and SUPERVISOR in offer.node_types
    mocks = MOCK_AGENT in offer.node_types
    optional = {
        "subWorkflow": SUB_WORKFLOW in offer.node_types,
        "agents": dispatches or mocks,
        "dispatch": dispatches,
        "orchestrator": supervises,
        "multiAgent": supervises,
        "conformance": mocks,
        "fixtures": offer.fixtures,
        "httpClient": offer.fetch,
        "conversationPrimitive": TALK in offer.node_types,
        "extensions": offer.tokens,
        "modelCapabilities": offer.models is not None,
    }
    assert set(families) == FAMILIES | {name for name, there in optional.items() if there}
    assert set(document) == ROOT | set(families)
    assert all(document[name] == family for name, family in families.items())
    assert families["runtimeCapabilities"] == sorted(offer.runtime_capabilities)
    assert families.get("fixtures", []) == sorted(offer.fixtures)
    assert families["observability"]["testSeams"] == {"otelScrape": offer.test_seams}
    assert families["idempotency"]["layer1RetentionSeconds"] == idempotency.RETENTION_SECONDS
    assert document["limits"]["maxNodeExecutions"] == offer.limits.max_node_executions
    assert document["limits"]["maxRequestBodyBytes"] == offer.limits.max_request_body_bytes
    assert document["limits"]["maxLoopIterations"] == offer.limits.max_loop_iterations
    assert document["limits"].get("maxRunDurationMs", 0) == offer.limits.max_run_duration_ms
    assert '"edit"' not in json.dumps(document)
    assert document == discovery_document(offer)


@pytest.mark.rule("disc-01")
def test_the_mirror_is_the_same_families_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "MOCK_PROVIDERS", ("script",))
    document = discovery_document(HostOffer("0.1.0", Limits(), providers=("scripted",)))
    assert document["testing"] == {"testKeyPrefix": "hk_test_", "mockProviders": ["script"]}
    assert document["testing"] == document["capabilities"]["testing"]
    assert re.fullmatch(r"1\.[0-9]+", document["protocolVersion"])
    assert type(document["engineVersion"]) is int


@pytest.mark.rule("disc-06")
def test_interrupts_and_conversations_are_shown_once_they_are_there() -> None:
    bare = discovery_document(HostOffer("0.1.0", Limits(), node_types=frozenset({"core.noop", "core.dispatch"})))
    assert not {"conversationPrimitive", "extensions", "dispatch.supported", "orchestrator"} & bare.keys()
    document = discovery_document(HostOffer("0.1.0", Limits(), node_types=frozenset({TALK}), tokens=True))
    assert document["conversationPrimitive"] is True
    interrupts = document["extensions"]["interrupts"]
    assert interrupts["signedCallbackTokens"] is True
    known = {"openwop-interrupt-quorum", "openwop-interrupt-auth-required", "openwop-interrupt-external-event"}
    assert set(interrupts["profiles"]) == {*known, "openwop-interrupt-parent-child"}


@pytest.mark.rule("disc-07")
def test_supervised_runs_are_shown_as_their_nodes_are_made() -> None:
    """What is advertised for dispatch and supervisor is what their types take, and no more."""
    offer = HostOffer("0.1.0", Limits(), node_types=frozenset({SUPERVISOR, DISPATCH, SUB_WORKFLOW}), host_id="h")
    document = discovery_document(offer)
    config = TYPES[DISPATCH].declaration.config["properties"]
    assert document["subWorkflow"] == {"inputMapping": True}
    assert document["orchestrator"] == {
        "supported": True,
        "workerIdInterpretation": "workflow",
        "fanOutSupported": True,
    }
    assert document["dispatch"]["models"] == config["workerDispatchModel"]["enum"]
    assert document["dispatch"]["fanOutSupported"] is ("parallel" in config["fanOutPolicy"]["enum"])
    assert document["dispatch"]["askUserRoutings"] == ["clarification", "auto"]
    agents = {"supported": False, "orchestrator": True, "dispatch": True, "dispatchMapping": True}
    assert document["agents"] == agents
    assert document["multiAgent"]["executionModel"] == {
        "supported": True,
        "version": 2,
        "confidenceEscalationFloor": 0.5,
        "confidenceEscalationInterruptKind": "x-host-weftwork-clarification",
        "crossHostCausation": {"supported": False, "hostId": "h", "ancestryEndpointSupported": True},
    }
    talks = discovery_document(HostOffer("0.1.0", Limits(), node_types=frozenset({DISPATCH, TALK, MOCK_AGENT})))
    assert talks["dispatch"]["askUserRoutings"] == config["askUserRouting"]["enum"]
    assert "orchestrator" not in talks
    assert talks["agents"] == {
        **agents,
        "supported": True,
        "orchestrator": False,
        "reasoning": {"verbosity": "summary", "streaming": True},
    }
    assert talks["conformance"] == {"mockAgent": True}


@pytest.mark.rule("disc-11")
def test_model_capabilities_are_those_of_the_models() -> None:
    models = ModelCatalogue({"local": OfferedProvider("eyes", {"eyes": frozenset({"vision-input"})})})
    document = discovery_document(HostOffer("0.1.0", Limits(), models=models))
    expected = {"supported": True, "advertised": ["vision-input"], "substitutionSupported": True}
    assert document["modelCapabilities"] == document["capabilities"]["modelCapabilities"] == expected
    assert "modelCapabilities" not in discovery_document(HostOffer("0.1.0", Limits()))


@pytest.mark.rule("disc-05")
def test_the_client_is_shown_with_the_caps_that_it_keeps() -> None:
    assert "httpClient" not in discovery_document(HostOffer("0.1.0", Limits()))
    for seams in (False, True):
        document = discovery_document(HostOffer("0.1.0", Limits(), test_seams=seams, fetch=FetchLimits(7, 9)))
        assert document["httpClient"] == {
            "supported": True,
            "ssrfGuard": True,
            "maxResponseBodyBytes": 9,
            "requestTimeoutMs": 7,
            "methods": list(METHODS),
            "safeFetch": {"supported": seams},
        }


@pytest.mark.rule("disc-02", "disc-08")
def test_envelopes_are_advertised_by_what_the_gate_takes() -> None:
    document = discovery_document(HostOffer("0.1.0", Limits()))
    assert (document["supportedEnvelopes"], document["schemaVersions"]) == ([], {})
    assert not {"aiEnvelope", "aiProviders", "envelopes", "envelopeContracts", "debugBundle"} & document.keys()
    limits = Limits(max_retry_attempts=5)
    document = discovery_document(
        HostOffer("0.1.0", limits, envelopes=BUILTIN_KINDS.advertised, providers=("scripted",), bundles=True)
    )
    assert document["supportedEnvelopes"] == list(UNIVERSAL_KINDS)
    assert document["schemaVersions"] == dict.fromkeys(UNIVERSAL_KINDS, 1)
    assert document["aiProviders"] == {"supported": ["scripted"], "byok": []}
    assert document["envelopes"]["reliability"]["maxRetryAttempts"] == 5
    assert document["envelopes"]["reliability"]["events"] == list(RELIABILITY_EVENTS)
    assert document["debugBundle"] == {"supported": True}


@pytest.mark.rule("disc-03")
@for_all(100, st.binary(max_size=40), st.binary(max_size=40))
def test_the_entity_tag_changes_with_the_bytes(one: bytes, other: bytes) -> None:
    assert (document_etag(one) == document_etag(other)) is (one == other)
    assert re.fullmatch('"[0-9a-f]{32}"', document_etag(one))


@pytest.mark.rule("auth-04")
def test_the_scopes_are_a_fixed_vocabulary_that_the_routes_use() -> None:
    assert len(set(SCOPES)) == len(SCOPES) == 20
    assert {route.scope for route in ROUTES if route.scope} <= set(SCOPES)
    assert {route.operation_id: route.scope for route in ROUTES if route.method == "POST"} == {
        "createRun": "runs:create",
        "importRun": "runs:create",
        "cancelRun": "runs:cancel",
        "createAnnotation": "approvals:respond",
        "bulkCancelRuns": "runs:cancel",
        "pauseRun": "runs:cancel",
        "resumeRun": "runs:cancel",
        "forkRun": "runs:create",
        "retryRun": "runs:create",
        "resolveInterruptByRun": "approvals:respond",
        "resolveApproval": "approvals:respond",
        "resolveInterruptByToken": None,
        "createInterruptLink": "approvals:respond",
        "actOnSurface": "approvals:respond",
        "actOnSurfaceByToken": None,
        "registerWorkflow": "manifest:write",
        "registerSampleWorkflow": "manifest:write",
        "safeFetch": "runs:create",
        "exportDebugBundle": "runs:read",
        "resetSeams": "runs:create",
        "callAi": "runs:create",
        "programMockAi": "runs:create",
        "evaluateModelGate": "runs:create",
        "getModelCacheKey": "runs:create",
        "acceptEnvelope": "runs:create",
        "toggleCapability": "runs:create",
        "wrapPrompt": "runs:create",
        "resolvePrompts": "runs:create",
        "composePrompts": "runs:create",
        "emitEnvelopeReliability": "runs:create",
        "emitSurface": "runs:create",
        "setVariables": "runs:create",
        "uploadAsset": "runs:create",
        "putMedia": "runs:create",
    }


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


@pytest.mark.rule("disc-04")
@pytest.mark.parametrize("seams", [False, True])
def test_the_interface_describes_exactly_the_mounted_routes(seams: bool) -> None:
    routes = tuple(route for route in ROUTES if seams or not route.test_only)
    document = openapi(routes, "0.1.0")
    assert re.match(r"3\.[1-9]", document["openapi"])
    described = {
        (method.upper(), path, operation["operationId"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert described == {(route.method, route.path, route.operation_id) for route in routes}
    assert len({route.operation_id for route in routes}) == len(routes)


def test_every_reference_in_the_interface_leads_somewhere() -> None:
    document = openapi(ROUTES, "0.1.0")
    found = set(references(document))
    assert found
    for reference in found:
        assert reference.startswith("#/"), reference
        target: Any = document
        for token in reference[2:].split("/"):
            target = target[token.replace("~1", "/").replace("~0", "~")]
        assert isinstance(target, dict)
    assert set(document["components"]["schemas"]) == set(schema.names())
    json.dumps(document)


@each_case("route", *ROUTES)
def test_an_operation_says_what_it_takes_and_answers(route: Route) -> None:
    operation = openapi(ROUTES, "0.1.0")["paths"][route.path][route.method.lower()]
    for name in filter(None, (route.request, route.response)):
        assert name in schema.names()
    assert ("requestBody" in operation) is (route.request is not None or route.raw_body)
    assert bool(operation["security"]) is (route.scope is not None)
    parameters = {(each["in"], each["name"]) for each in operation.get("parameters", [])}
    assert {name for where, name in parameters if where == "path"} == set(re.findall(r"{(\w+)}", route.path))
    assert all((param.location, param.name) in parameters for param in route.params)
    responses = operation["responses"]
    assert str(route.success_status) in responses
    assert ("401" in responses) is (route.scope is not None)
    content = responses[str(route.success_status)].get("content", {})
    assert (route.content in content) is (route.success_status != 204)
    assert ("text/event-stream" in content) is route.stream
    for code in route.errors:
        assert code in responses[str(ERRORS[code].status)]["description"]


@each_case(
    "pointer, value",
    ("/envelopeStrictness", "odd"),
    ("/envelopeContracts/advertised", ABSENT),
    ("/envelopes/reasoning/promptDirective", "loud"),
    ("/envelopes/reliability/events/0", {}),
    ("/envelopes/reliability/more", 1),
    ("/envelopes/reliability/maxRetryAttempts", 17),
    ("/envelopes/reliability/completion/distinguishesTruncation", []),
    ("/aiProviders/supported/0", None),
    ("/aiProviders/more", 1),
    ("/aiProviders/realtimeVoice", {"synthesis": "streaming"}),
)
def test_the_blocks_about_envelopes_have_a_form(pointer: str, value: Any) -> None:
    document = discovery_document(HostOffer("0.1.0", Limits(), envelopes={"error": 1}, providers=("scripted",)))
    assert schema.check("capabilities", document) == []
    assert schema.check("capabilities", with_value(document, pointer, value))


CLOSED = """
    agents/commitments agents/deployment agents/evalSuite agents/goals agents/liveRuntime agents/manifestRuntime
    agents/memoryConsolidation agents/orgChart agents/proposals agents/reasoning agents/roster grpc httpClient
    httpClient/egressPolicy httpClient/safeFetch limits multiAgent multiAgent/executionModel
    multiAgent/executionModel/crossHostCausation multiAgent/executionModel/replayDeterminism
    multiAgent/executionModel/verifier prompts subWorkflow envelopes/reliability envelopes/reasoning modelCapabilities
""".split()
OPEN = "agents extensions extensions/interrupts runs runs/bulkCancel runs/pauseResume secrets dispatch".split()
BLOCKS: dict[str, Any] = {
    "agents": {
        **dict.fromkeys(("supported", "orchestrator", "dispatch", "dispatchMapping", "subRunAttestation"), True),
        **{key: {"supported": False} for key in ("commitments", "evalSuite", "liveRuntime", "manifestRuntime")},
        **{key: {"supported": True} for key in ("memoryConsolidation", "deployment", "roster", "orgChart")},
        "goals": {"judge": "host", "continuation": ["manual"]},
        "proposals": {"artifactKinds": ["automation"], "activation": "approval-gate"},
        "reasoning": {"verbosity": "off"},
        "modelClasses": ["chat"],
    },
    "grpc": {"supported": True, "endpoint": "grpcs://example.com", "service": "openwop.v1.Engine", "tls": "required"},
    "httpClient": {
        "supported": True,
        "methods": ["GET"],
        "safeFetch": {"supported": True},
        "egressPolicy": {"supported": True, "decisions": ["denied"]},
    },
    "multiAgent": {
        "executionModel": {
            "supported": True,
            "version": 6,
            "tier": "experimental",
            "experimentalUntil": "2026-12-31",
            "verifier": {"supported": True, "gating": False},
            "crossChildMemoryConcurrency": "strict",
            "crossHostCausation": {"supported": True},
            "replayDeterminism": {"supported": True, "llmCacheKeyRecipe": "spec-rfc-0041"},
            "statefulResume": True,
            "transcriptWindow": 1,
        }
    },
    "modelCapabilities": {
        "supported": True,
        "advertised": ["vision-input", "x-host-acme-ocr", "a-later-one"],
        "substitutionSupported": False,
    },
    "prompts": {"supported": True},
    "subWorkflow": {"inputMapping": True},
    "envelopes": {"reasoning": {"supported": True}, "reliability": {"supported": True}},
    "extensions": {"interrupts": {"profiles": 1}},
    "runs": {"bulkCancel": {"supported": "yes"}, "pauseResume": {}},
    "secrets": {},
    "dispatch": {},
}
"""Blocks of other hosts, with members that this host does not advertise."""
MINIMAL = discovery_document(HostOffer("0.1.0", Limits(), envelopes={"error": 1})) | BLOCKS


@pytest.mark.rule("disc-01")
def test_the_schema_is_open_and_closed_where_the_published_one_is() -> None:
    assert schema.check("capabilities", MINIMAL) == []
    for path in (*CLOSED, *OPEN):
        found = schema.check("capabilities", with_value(MINIMAL, f"/{path}/unknownMember", 1))
        assert [each.rule for each in found] == ["additionalProperties"] * (path in CLOSED), path


@pytest.mark.rule("disc-01")
@each_case(
    "pointer, value",
    *((f"/grpc/{member}", ABSENT) for member in ("supported", "service", "tls")),
    ("/grpc", True),
    ("/grpc/endpoint", "https://example.com"),
    ("/grpc/service", "openwop.v2.Engine"),
    ("/grpc/tls", "maybe"),
    ("/httpClient/supported", ABSENT),
    ("/httpClient/egressPolicy/supported", ABSENT),
    ("/httpClient/egressPolicy/decisions", ["denied", "denied"]),
    ("/multiAgent/executionModel/version", 7),
    ("/multiAgent/executionModel/experimentalUntil", ABSENT),
    ("/multiAgent/executionModel/experimentalUntil", "soon"),
    ("/multiAgent/executionModel/tier", "beta"),
    ("/multiAgent/executionModel/replayDeterminism/llmCacheKeyRecipe", "own"),
    ("/multiAgent/executionModel/confidenceEscalationInterruptKind", "x-host-weftwork"),
    ("/multiAgent/executionModel/transcriptWindow", 0),
    ("/agents/modelClasses", ["poet"]),
    ("/agents/goals/judge", ABSENT),
    ("/agents/proposals/activation", "direct"),
    ("/agents/roster/supported", ABSENT),
    ("/agents/subRunAttestation", "yes"),
    ("/extensions", []),
    ("/modelCapabilities", True),
    ("/modelCapabilities/supported", ABSENT),
    ("/modelCapabilities/supported", "yes"),
    ("/modelCapabilities/advertised", "vision-input"),
    ("/modelCapabilities/advertised", ["vision-input", "vision-input"]),
    ("/modelCapabilities/advertised/0", "Vision"),
    ("/modelCapabilities/advertised/0", ""),
    ("/modelCapabilities/advertised/0", 1),
    ("/modelCapabilities/substitutionSupported", None),
)
def test_the_schema_refuses_what_the_published_one_does(pointer: str, value: Any) -> None:
    assert schema.check("capabilities", with_value(MINIMAL, pointer, value))


@pytest.mark.rule("fork-06")
def test_forks_are_advertised_with_their_modes() -> None:
    assert "replay" not in discovery_document(HostOffer("0.1.0", Limits()))
    block = discovery_document(HostOffer("0.1.0", Limits(), fork_modes=FORK_MODES))["replay"]
    assert block == {"supported": True, "modes": ["replay", "branch"], "sideEffectSuppression": "recorded-outcome"}
