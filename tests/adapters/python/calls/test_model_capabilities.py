"""Python nodes that require model capabilities: on a host with several models, and in the test kit."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

import weftwork
from tests.harness.definitions import node, workflow
from tests.live.host import KEY
from tests.live.in_process_host import InProcessHost
from weftwork.app import Host
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest
from weftwork.protocol.models.model_catalogue import ModelInfo
from weftwork.settings import Settings
from weftwork.testing import FakeModel, run_node


@weftwork.node("acme.see", required_model_capabilities=["vision-input"], fallback_model="cloud/owl")
async def see(ctx: weftwork.Context, *, config: dict[str, Any]) -> str:
    return (await ctx.call_ai("What do you see?", provider="local", model="tiny")).text


class ListedModels:
    """A provider whose models answer with their names."""

    def __init__(self, name: str, *models: ModelInfo) -> None:
        self.name = name
        self.default_model = models[0].name
        self.models = models

    def modalities(self, model: str) -> frozenset[Any]:
        return frozenset()

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd, None]:
        yield Delta(f"{self.name}/{request.model}", last=True)
        yield AnswerEnd("stop")


LOCAL = ListedModels("local", ModelInfo("tiny"), ModelInfo("eyes", frozenset({"vision-input"})))
CLOUD = ListedModels("cloud", ModelInfo("owl", frozenset({"vision-input", "x-host-acme-ocr"})))


async def outputs_on(
    *providers: ListedModels, config: dict[str, Any] | None = None, **settings: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The discovery of a host with these providers, and the log of a run of the node."""
    host = Host(Settings(store="memory", **settings), nodes=[see], providers=providers)
    await host.open()
    try:
        host.keyring.accept_for_process(KEY, "acme", None)
        assert await host.catalog.register(workflow([node("look", "acme.see", config=config or {})])) == []
        calls = InProcessHost(host)
        discovery = (await calls.call("GET", "/.well-known/openwop")).document
        return discovery, await calls.run_log("sample")
    finally:
        await host.close()


def answer(events: list[dict[str, Any]]) -> Any:
    return next(each["payload"]["outputs"]["output"] for each in events if each["type"] == "node.completed")


def types(events: list[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in events]


@pytest.mark.rule("cap-04", "cap-07", "cap-08", "disc-11")
async def test_the_model_that_the_gate_chose_answers() -> None:
    discovery, events = await outputs_on(LOCAL, CLOUD)
    assert discovery["modelCapabilities"] == {
        "supported": True,
        "advertised": ["vision-input", "x-host-acme-ocr"],
        "substitutionSupported": True,
    }
    assert answer(events) == "cloud/owl"
    assert types(events)[1:3] == ["model.capability.substituted", "node.started"]
    _, events = await outputs_on(LOCAL, CLOUD, config={"model": "eyes"})
    assert answer(events) == "local/eyes"
    assert "model.capability.substituted" not in types(events)


async def test_an_operator_can_forbid_fallback_models() -> None:
    discovery, events = await outputs_on(LOCAL, CLOUD, model_substitution=False)
    assert discovery["modelCapabilities"]["substitutionSupported"] is False
    assert types(events) == ["run.started", "model.capability.insufficient", "node.failed", "run.failed"]


async def test_a_host_whose_models_list_nothing_advertises_nothing() -> None:
    discovery, events = await outputs_on()
    assert discovery["modelCapabilities"]["advertised"] == []
    assert types(events)[-1] == "run.failed"


def test_a_fake_model_has_the_capabilities_that_the_test_gives_it() -> None:
    assert run_node(see, model=FakeModel(["a cat"])).outputs == {"output": "a cat"}
    assert run_node(see, model=FakeModel(["a cat"], capabilities=["vision-input"])).outputs == {"output": "a cat"}
    error = run_node(see, model=FakeModel(capabilities=["reasoning"])).error
    assert error is not None
    assert error.code == "capability_not_provided"
