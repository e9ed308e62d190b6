"""Scenarios of model capabilities, through the test endpoints and in a run."""

import re
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import KEY, Host, open_in_process
from tests.live.host import OTHER_KEY
from weftwork.protocol.json import schema
from weftwork.protocol.models.model_catalogue import RESERVED_CAPABILITIES

GATE = "/v1/host/sample/test/evaluate-model-capability-gate"
CATALOG = "/v1/host/sample/node-catalog"
FIRST_FIVE = RESERVED_CAPABILITIES[:5]
OWN = re.compile("x-host-[a-z][a-z0-9-]*-[a-z][a-z0-9-]*")
REQUIRED = ["structured-output", "long-context"]
FALLBACK = {"provider": "anthropic", "model": "any"}
WEAK: dict[str, Any] = {"activeProvider": "weak-host", "activeModel": "weak-1"}


def evaluate(host: Host, required: list[str], fallback: dict[str, str] | None = None, **members: Any) -> Any:
    module = {"requiredModelCapabilities": required, **({} if fallback is None else {"fallbackModel": fallback})}
    answer = host.call("POST", GATE, {"module": module, **WEAK, **members})
    assert answer.status == 200, answer.body
    assert schema.check("model-gate-result", answer.document) == []
    return answer.document


@pytest.mark.scenario("model-capability-substituted")
def test_a_fallback_model_is_substituted_and_named(host: Host) -> None:
    offered = host.call("GET", "/.well-known/openwop", key=None).document["modelCapabilities"]
    assert offered["supported"] is True
    assert all(name in RESERVED_CAPABILITIES or OWN.fullmatch(name) for name in offered["advertised"])
    assert evaluate(host, []) == {"outcome": {"route": "dispatch"}, "event": None}
    capable = evaluate(host, REQUIRED, activeProvider="anthropic")
    assert capable == {"outcome": {"route": "dispatch"}, "event": None}
    found = evaluate(host, REQUIRED, FALLBACK, substitutionSupported=True, supportedProviders=["anthropic"], nodeId="n")
    assert (found["outcome"]["route"], found["outcome"]["missingCapabilities"]) == ("substitute", REQUIRED)
    assert found["event"] == {
        "type": "model.capability.substituted",
        "payload": {
            "nodeId": "n",
            "originalProvider": "weak-host",
            "originalModel": "weak-1",
            "fallbackProvider": "anthropic",
            "fallbackModel": "any",
            "missingCapabilities": REQUIRED,
        },
    }


@pytest.mark.scenario("model-capability-insufficient")
@each_case(
    "fallback, required, policy, attempted",
    (None, REQUIRED, {"substitutionSupported": True, "supportedProviders": ["anthropic"]}, False),
    (FALLBACK, REQUIRED, {"substitutionSupported": False, "supportedProviders": ["anthropic"]}, False),
    (FALLBACK, REQUIRED, {"substitutionSupported": True, "supportedProviders": ["openai"]}, True),
    (FALLBACK, [*REQUIRED, "audio-output"], {"substitutionSupported": True, "supportedProviders": ["anthropic"]}, True),
)
def test_four_refusals(
    host: Host, fallback: dict[str, str] | None, required: list[str], policy: dict[str, Any], attempted: bool
) -> None:
    found = evaluate(host, required, fallback, **policy)
    assert (found["outcome"]["route"], found["outcome"]["fallbackAttempted"]) == ("refuse", attempted)
    assert found["event"]["type"] == "model.capability.insufficient"
    assert schema.check_payload("model.capability.insufficient", found["event"]["payload"]) == []
    assert found["event"]["payload"]["missingCapabilities"] == required


@pytest.mark.scenario("model-capability-insufficient")
def test_a_run_whose_node_no_model_can_serve(host: Host) -> None:
    fixtures = host.call("GET", "/.well-known/openwop", key=None).document["fixtures"]
    assert "conformance-model-capability-insufficient" in fixtures
    run_id = host.create("conformance-model-capability-insufficient")
    events = host.log(run_id)
    types = [each["type"] for each in events]
    assert types == ["run.started", "model.capability.insufficient", "node.failed", "run.failed"]
    payload = events[1]["payload"]
    assert (payload["nodeId"], payload["missingCapabilities"]) == ("insufficient-node", ["nonexistent-capability-9b3f"])
    error = host.call("GET", f"/v1/runs/{run_id}").document["error"]
    assert error["code"] == events[2]["payload"]["error"]["code"] == "capability_not_provided"
    assert "nonexistent-capability-9b3f" in error["message"]


@pytest.mark.scenario("node-module-required-capabilities-shape")
def test_the_node_catalog(host: Host) -> None:
    answer = host.call("GET", CATALOG)
    assert schema.check("node-catalog", answer.document) == []
    nodes = answer.document["nodes"]
    assert any(each["typeId"].startswith("core.ai.") for each in nodes)
    supported = host.call("GET", "/.well-known/openwop", key=None).document["aiProviders"]["supported"]
    for each in nodes:
        required = each.get("requiredModelCapabilities", [])
        assert all(name in FIRST_FIVE or OWN.fullmatch(name) for name in required), each
        assert "fallbackModel" not in each or each["fallbackModel"]["provider"] in supported


@each_case(
    "body",
    {},
    {"activeModel": "m"},
    {"activeProvider": "p"},
    {**WEAK, "activeModel": ""},
    {**WEAK, "module": {"requiredModelCapabilities": ["Vision"]}},
    {**WEAK, "module": {"requiredModelCapabilities": ["reasoning", "reasoning"]}},
    {**WEAK, "module": {"fallbackModel": {}}},
    {**WEAK, "substitutionSupported": "yes"},
)
def test_an_incomplete_question_is_refused(host: Host, body: dict[str, Any]) -> None:
    answer = host.call("POST", GATE, body)
    assert (answer.status, answer.document["error"]) == (400, "validation_error")


async def test_only_a_host_with_test_endpoints_has_them() -> None:
    async with open_in_process() as host:
        for key in (KEY, OTHER_KEY):
            assert (await host.call("POST", GATE, WEAK, key=key)).status == 404
            assert (await host.call("GET", CATALOG, key=key)).status == 404
