"""The setting `local_model`: which weights it names, what a start without them says, what the provider can reach."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from weftwork.adapters.model_server.model_server import ModelServer
from weftwork.adapters.model_server.weights import KNOWN_MODELS
from weftwork.ports.models import AnswerEnd, ProviderContext
from weftwork.ports.outbound import FetchRefused, OutboundRequest
from weftwork.settings import Settings, SettingsError, load_settings
from weftwork.testing import ManualClock
from weftwork.testing.deterministic import SequentialIds
from weftwork.wiring import local_model
from weftwork.wiring.local_model import build_model_server
from weftwork.wiring.models import build_models

KNOWN = KNOWN_MODELS["smollm2"]


def build(data: Path, text: str) -> ModelServer | None:
    return build_model_server(Settings(data=str(data), local_model=text), SequentialIds())


async def test_a_host_without_the_setting_has_no_server(tmp_path: Path) -> None:
    assert build(tmp_path, "") is None


async def test_the_fetched_weights_are_found_by_name(tmp_path: Path) -> None:
    weights = tmp_path / "models" / KNOWN.file
    weights.parent.mkdir()
    weights.write_bytes(b"GGUF")
    server = build(tmp_path, "smollm2")
    assert server is not None
    assert (server.weights, server.model) == (weights, "smollm2")
    assert server.log_file == tmp_path / "models" / "server.log"
    assert server.key
    await server.close()


@each_case("name, model", ("my-model.gguf", "my-model"), (KNOWN.file, "smollm2"))
async def test_a_file_of_weights_names_its_model(name: str, model: str, tmp_path: Path) -> None:
    weights = tmp_path / name
    weights.write_bytes(b"GGUF")
    server = build(tmp_path / "data", str(weights))
    assert server is not None
    assert (server.weights, server.model) == (weights, model)
    await server.close()


def test_a_start_without_weights_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="run weftwork models fetch smollm2, with the same --data"):
        build(tmp_path, "smollm2")
    with pytest.raises(SettingsError, match=r"cannot read .*none\.gguf: No such file.*name a GGUF file, or .*smollm2"):
        build(tmp_path, str(tmp_path / "none.gguf"))
    (tmp_path / "text.gguf").write_text("no weights")
    with pytest.raises(SettingsError, match=r"text\.gguf is not a GGUF file"):
        build(tmp_path, str(tmp_path / "text.gguf"))


def test_a_start_without_the_extra_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(local_model, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install 'weftwork\[local\]'"):
        build(tmp_path, str(tmp_path / "a.gguf"))
    assert importlib.util.find_spec("xllamacpp") is not None


def test_the_setting_is_an_option_and_a_variable(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "WEFTWORK_LOCAL_MODEL": "/weights.gguf"}
    assert load_settings({}, environment).local_model == "/weights.gguf"
    assert load_settings({"local_model": "smollm2"}, environment).local_model == "smollm2"


class Probe:
    """Takes the place of the provider that speaks the protocol of the server, and keeps its context."""

    name = "local"
    default_model = ""

    def __init__(self, context: ProviderContext) -> None:
        self.context = context

    async def generate(self, request: Any) -> Any:
        yield AnswerEnd("stop")


def _any_address(address: object, private: bool) -> bool:
    return True


@fails_without(local_model, "_is_loopback", _any_address, errors=(Exception,))
async def test_the_provider_reaches_this_machine_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Probe] = []

    def make(context: ProviderContext) -> Probe:
        made.append(Probe(context))
        return made[-1]

    monkeypatch.setattr(local_model, "PROVIDER_TYPES", {"openai-compatible": make})
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    server = build(tmp_path, str(tmp_path / "a.gguf"))
    assert server is not None
    models = build_models(Settings(data=str(tmp_path)), ManualClock(), server=server)
    try:
        (context,) = [each.context for each in made]
        assert models.registry.names == ("local",)
        assert context.settings.base_url == server.base_url
        assert context.credential() == server.key
        assert server.key not in repr(context.settings)
        port = server.base_url.rsplit(":", 1)[1]
        with pytest.raises(FetchRefused):
            await context.outbound.fetch(OutboundRequest(f"http://192.0.2.1:{port}", timeout_ms=2_000))
    finally:
        await server.close()
        for client in models.clients:
            await client.close()
