"""The gate for model capabilities in runs: events, the model that is really called, and what later starts see."""

import asyncio
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness, until
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.api.keyring import Principal
from weftwork.engine.decide import model_gate, transitions
from weftwork.engine.decide.model_gate import GatePass
from weftwork.ports.models import Message, ModelRequest, ProviderFault
from weftwork.ports.node_outcome import Completed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext, WaitingNode
from weftwork.protocol.json import schema
from weftwork.protocol.models.capability_gate import GateResult, ModelCatalogue, ModelRef, OfferedProvider
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.v1.routes import SCOPES
from weftwork.protocol.workflow.node_types import NodeDeclaration

SIGHT = frozenset({"vision-input"})
LOCAL = OfferedProvider("tiny", {"tiny": frozenset({"reasoning"}), "eyes": SIGHT})
CLOUD = OfferedProvider("owl", {"owl": SIGHT | {"reasoning"}})
MODELS = ModelCatalogue({"local": LOCAL, "cloud": CLOUD})
OWL = ModelRef("cloud", "owl")
REFUSED = ["run.started", "model.capability.insufficient", "node.failed", "run.failed"]
ONE = workflow([node("a", "test.see")])


def seeing(
    fallback: ModelRef | None = OWL, required: tuple[str, ...] = ("vision-input",), **declared: Any
) -> WaitingNode:
    """A node type that requires a model with sight, and calls it as often as its input says."""

    async def body(call: NodeCall, context: NodeContext) -> NodeOutcome:
        request = ModelRequest("named-by-the-node", "", (Message("user", "What do you see?"),))
        calls = call.config.get("calls", 1)
        return Completed({"seen": [(await context.generate(request, lambda answer: ())).text for _ in range(calls)]})

    any_config = {"type": "object", "properties": {}}
    declaration = NodeDeclaration(
        "test.see",
        "Sees.",
        effect="idempotent",
        instant=False,
        config=any_config,
        required_model_capabilities=required,
        fallback_model=fallback,
        **declared,
    )
    return WaitingNode(declaration, body)


def bench(*answers: Any, fallback: ModelRef | None = OWL, models: ModelCatalogue = MODELS) -> EngineHarness:
    return EngineHarness(seeing(fallback), models=ScriptedModel(*answers), catalogue=models)


def called(host: EngineHarness) -> list[tuple[str, str]]:
    model = host.runtime.models
    assert isinstance(model, ScriptedModel)
    return [(each.provider, each.model) for each in model.requests]


async def checked_payload(host: EngineHarness, key: RunKey, kind: str) -> dict[str, Any]:
    payload = await host.payload(key, kind)
    assert schema.check_payload(kind, payload) == []
    return payload


def _ungated(*_: Any) -> GatePass:
    return GatePass(ModelRef("", ""))


@each_case(
    "config, configurable, model",
    ({"model": "eyes"}, {}, ("local", "eyes")),
    ({"provider": "cloud"}, {}, ("cloud", "owl")),
    ({"model": "tiny"}, {"ai.model": "eyes"}, ("local", "eyes")),
    ({}, {"ai": {"provider": "cloud"}}, ("cloud", "owl")),
)
@pytest.mark.rule("cap-02", "cap-07", "cap-08")
@fails_without(transitions, "pass_model_gate", _ungated)
async def test_a_model_with_the_capabilities_is_called_without_an_event(
    config: dict[str, Any], configurable: dict[str, Any], model: tuple[str, str]
) -> None:
    host = bench("a cat")
    host.runtime.models.names = ("test", "local", "cloud")  # type: ignore[union-attr]
    document = workflow([node("a", "test.see", config=config)])
    key = await host.execute(document, configurable=configurable)
    assert called(host) == [model]
    started = await checked_payload(host, key, "node.started")
    assert started["model"] == {"provider": model[0], "model": model[1]}
    assert not any(kind.startswith("model.capability") for kind in await host.event_types(key))


@pytest.mark.rule("cap-03", "cap-07", "cap-08")
@fails_without(model_gate, "evaluate_gate", lambda needs, active, **policy: GateResult("refuse", ("vision-input",)))
async def test_the_fallback_model_is_called_and_the_log_says_so_first() -> None:
    host = bench("a cat", "a dog")
    key = await host.execute(workflow([node("a", "test.see", config={"calls": 2})]))
    assert called(host) == [("cloud", "owl")] * 2
    assert (await host.event_types(key))[1:3] == ["model.capability.substituted", "node.started"]
    assert await checked_payload(host, key, "model.capability.substituted") == {
        "nodeId": "a",
        "originalProvider": "local",
        "originalModel": "tiny",
        "fallbackProvider": "cloud",
        "fallbackModel": "owl",
        "missingCapabilities": ["vision-input"],
    }
    usage = (await host.payloads(key, "provider.usage"))[0]
    assert usage["model"] == "owl"


@each_case(
    "fallback, models, attempted",
    (None, MODELS, False),
    (OWL, ModelCatalogue({"local": LOCAL, "cloud": CLOUD}, allows_substitution=False), False),
    (OWL, ModelCatalogue({"local": LOCAL}), True),
    (ModelRef("cloud", "blind"), MODELS, True),
)
@pytest.mark.rule("cap-03", "cap-07", "cap-10")
@fails_without(transitions, "pass_model_gate", _ungated)
async def test_a_refused_node_never_starts(fallback: ModelRef | None, models: ModelCatalogue, attempted: bool) -> None:
    host = bench(fallback=fallback, models=models)
    key = await host.execute(ONE)
    assert await host.event_types(key) == REFUSED
    assert called(host) == []
    assert await checked_payload(host, key, "model.capability.insufficient") == {
        "nodeId": "a",
        "provider": "local",
        "model": "tiny",
        "missingCapabilities": ["vision-input"],
        "fallbackAttempted": attempted,
    }
    error = (await host.payload(key, "run.failed"))["error"]
    assert error["code"] == "capability_not_provided"
    assert error["details"] == {"capability": "vision-input", "missingCapabilities": ["vision-input"]}
    assert "vision-input" in error["message"]
    assert "Select another model" in error["message"]


async def test_a_host_without_models_refuses_the_node() -> None:
    host = bench(models=ModelCatalogue())
    key = await host.execute(ONE)
    assert await host.event_types(key) == REFUSED
    refused = await checked_payload(host, key, "model.capability.insufficient")
    assert (refused["provider"], refused["model"], refused["fallbackAttempted"]) == ("", "", True)
    message = (await host.payload(key, "run.failed"))["error"]["message"]
    assert "No model of this host" in message


async def test_an_edge_can_handle_the_refusal() -> None:
    host = bench(fallback=None)
    document = workflow([node("a", "test.see"), node("b")], [edge("a", "b", "any_failed")])
    key = await host.execute(document)
    assert (await host.event_types(key))[-1] == "run.completed"


def _asks_again(state: Any, models: Any, node_id: str, needs: Any) -> GatePass:
    state.nodes[node_id].model = None
    return PASS(state, models, node_id, needs)


PASS = transitions.pass_model_gate


@pytest.mark.rule("cap-07", "cap-08")
async def test_a_restart_with_other_models_changes_nothing_for_a_node_that_has_started() -> None:
    held = asyncio.Event()
    host = bench("a cat", ["a d", held, "og"], "a dog")
    key = await host.start(workflow([node("a", "test.see", config={"calls": 2})]))
    await until(lambda: len(called(host)) == 2)
    later = ModelCatalogue({"other": OfferedProvider("blind", {"blind": frozenset()})}, allows_substitution=False)
    host = await host.restart(catalogue=later)
    await host.run_to_end(key)
    assert called(host) == [("cloud", "owl")] * 3
    assert (await host.payload(key, "node.completed"))["outputs"] == {"seen": ["a cat", "a dog"]}
    assert (await host.event_types(key)).count("model.capability.substituted") == 1


@pytest.mark.rule("cap-07")
@fails_without(transitions, "pass_model_gate", _asks_again)
async def test_all_attempts_use_the_model_of_the_first_one() -> None:
    host = bench([ProviderFault("provider_unavailable", "It is away.")], "a cat")
    key = await host.execute(workflow([node("a", "test.see", settings={"maxRetries": 1})]))
    assert called(host) == [("cloud", "owl")] * 2
    assert (await host.event_types(key)).count("model.capability.substituted") == 1
    assert [each["model"] for each in await host.payloads(key, "node.started")] == [OWL.document()] * 2


@pytest.mark.rule("cap-06")
async def test_a_map_has_the_requirements_of_its_body() -> None:
    body = {"typeId": "test.see", "config": {"model": "eyes"}}
    mapping = node("m", "core.flow.map", config={"body": body}, inputs={"items": {"type": "static", "value": [1, 2]}})
    host = bench("a cat", "a dog")
    key = await host.execute(workflow([mapping]))
    assert (await host.payload(key, "node.started"))["model"] == {"provider": "local", "model": "eyes"}
    assert called(host) == [("local", "eyes")] * 2
    mapping["config"]["body"]["config"]["model"] = "blind"
    host = bench(fallback=None)
    key = await host.execute(workflow([mapping]))
    assert await host.event_types(key) == REFUSED


async def test_a_run_with_a_mock_gets_no_other_model() -> None:
    mocked = {"mockProvider": {"id": "stream-text"}}
    host = bench()
    await host.open()
    assert await host.catalog.register(ONE) == []
    tester = Principal.of("key_1", "acme", "test", frozenset(SCOPES))
    outcome = await host.service.create_run(tester, {"workflowId": "sample", "configurable": mocked})
    key = tester.run(outcome.run_id)
    await host.run_to_end(key)
    assert await host.event_types(key) == REFUSED
    refused = await checked_payload(host, key, "model.capability.insufficient")
    assert (refused["provider"], refused["fallbackAttempted"]) == ("stream-text", False)


@fails_without(model_gate, "mask_credentials_in_text", lambda text: text)
async def test_a_credential_in_place_of_a_model_is_not_recorded() -> None:
    secret = "sk-proj-" + "Ab1" * 16
    host = bench(fallback=None)
    key = await host.execute(ONE, configurable={"ai.model": secret})
    assert await host.event_types(key) == REFUSED
    logged = b"".join(event.payload for event in await host.events(key))
    assert secret.encode() not in logged
