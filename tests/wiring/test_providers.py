"""Which providers a host has, how they are created, and what a start says if one of them cannot be."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.adapters.providers.provider_calls import generate_text, model_request, run
from tests.harness.cases import each_case, fails_without
from weftwork.adapters.outbound.client import GuardedClient
from weftwork.ports.models import AnswerEnd, Delta, ModelRequest, ProviderContext, ProviderFault
from weftwork.protocol.models.model_catalogue import ModelInfo
from weftwork.protocol.models.provider_settings import InvalidProviderSettings, ProviderSettings
from weftwork.protocol.net.target import OutboundPolicy
from weftwork.settings import Settings, SettingsError, load_settings
from weftwork.testing import ManualClock
from weftwork.wiring import models, providers
from weftwork.wiring.models import HostModels, build_models

KEY = "sk-live-4711"


class Parrot:
    """Answers with the name of the model."""

    name = "parrot"
    default_model = "grey"

    async def generate(self, request: ModelRequest) -> AsyncGenerator[Delta | AnswerEnd]:
        yield Delta(request.model or self.default_model)
        yield AnswerEnd("stop")


class ContextParrot(Parrot):
    contexts: ClassVar[list[ProviderContext]] = []

    def __init__(self, context: ProviderContext) -> None:
        self.contexts.append(context)
        self.name = context.settings.name or "own"


def optional_context(context: ProviderContext | None = None) -> Parrot:
    assert context is not None
    return Parrot()


def other_option(size: int = 3) -> Parrot:
    assert size == 3
    return Parrot()


def says_its_key(context: ProviderContext) -> Parrot:
    raise RuntimeError(f"cannot connect with {context.credential()}")


def refuses(context: ProviderContext) -> Parrot:
    raise InvalidProviderSettings(("region",), 'write region = "eu"')


def no_name() -> object:
    return object()


def no_model() -> Any:
    return type("NoModel", (), {"name": "a"})()


def returns_an_answer() -> Any:
    class Returns:
        name = "returns"
        default_model = "m"

        async def generate(self, request: ModelRequest) -> Delta:
            return Delta("x")

    return Returns()


def no_generate() -> Any:
    return type("NoGenerate", (), {"name": "a", "default_model": "m"})()


def bad_name() -> Any:
    return type("BadName", (Parrot,), {"name": "My Models"})()


TYPES = {each.__name__: each for each in (ContextParrot, Parrot, says_its_key, refuses, no_name)}


def install(monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """Install the types above as entry points of a package."""
    points = {name: f"{__name__}:{name}" for name in TYPES} | more

    def found(group: str) -> list[EntryPoint]:
        assert group == "weftwork.providers"
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(providers, "entry_points", found)


def load(folder: Path, text: str, **options: Any) -> Settings:
    (folder / "w.toml").write_text(text)
    return load_settings({"data": str(folder), **options}, {}, str(folder / "w.toml"))


def build(settings: Settings, **more: Any) -> HostModels:
    return build_models(settings, ManualClock(), **more)


@pytest.mark.rule("model-33")
@each_case(
    "settings, names",
    (Settings(), ()),
    (Settings(conformance=True), ("mock",)),
    (Settings(test_seams=True), ("mock",)),
    (Settings(provider=(f"{__name__}:Parrot",)), ("parrot",)),
)
def test_a_host_has_only_the_providers_that_were_configured(settings: Settings, names: tuple[str, ...]) -> None:
    assert build(settings).registry.names == names


@pytest.mark.rule("model-33")
def test_the_order_is_own_classes_then_the_script_then_the_file(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('default = "hi"')
    options = {"provider": (f"{__name__}:Parrot",), "model_script": str(tmp_path / "script.toml"), "conformance": True}
    found = build(load(tmp_path, "[providers.b]\ntype = 'scripted'\n[providers.a]\ntype = 'scripted'", **options))
    assert found.registry.names == ("parrot", "scripted", "b", "a", "mock")
    assert [each.name for each in found.registry.providers] == list(found.registry.names)
    given = build(Settings(), more=[Parrot()])
    assert given.registry.names == ("parrot",)


@pytest.mark.rule("model-33")
def test_without_a_provider_the_fault_says_what_to_write() -> None:
    with pytest.raises(ProviderFault) as caught:
        build(Settings()).registry.find(model_request())
    assert (caught.value.code, caught.value.retryable) == ("provider_not_supported", False)
    assert all(each in caught.value.message for each in ("[providers.NAME]", "--provider", "--model-script"))
    mock = {"id": "stream-text", "config": {"tokens": ["x"]}}
    found = build(Settings()).registry.find(model_request(mock=mock))
    assert run(generate_text(found, model_request())) == "x"


@pytest.mark.rule("model-33")
def test_two_providers_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text("")
    settings = load(tmp_path, "[providers.scripted]\ntype = 'scripted'", model_script=str(tmp_path / "script.toml"))
    with pytest.raises(SettingsError, match=r"named scripted: --model-script and \[providers.scripted\]; rename"):
        build(settings)
    with pytest.raises(SettingsError, match="two providers are named parrot"):
        build(Settings(), more=[Parrot(), Parrot()])


def test_the_type_scripted_plays_the_script_of_its_settings(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('default = "hi"\nmodalities = ["image"]')
    text = f"[providers.play]\ntype = 'scripted'\nscript = '{tmp_path}/script.toml'"
    provider = build(load(tmp_path, text)).registry.find(model_request())
    assert (provider.name, provider.default_model) == ("play", "scripted-1")
    assert run(generate_text(provider, model_request())) == "hi"
    assert build(load(tmp_path, text)).registry.input_modalities == {"image"}


@each_case(
    "text, message",
    ("type = 'scripted'\nscript = 1", "w.toml:3: providers.a.script: write the path of a script"),
    ("type = 'scripted'\nscript = '/none.toml'", "w.toml:3: providers.a.script: cannot read /none.toml"),
    ("type = 'scripted'\nscrpt = 'x'", "w.toml:3: providers.a.scrpt: unknown member; did you mean script?"),
    ("type = 'scriptd'", "w.toml:2: providers.a.type: unknown type; did you mean scripted?"),
    ("type = 'zzz'", "w.toml:2: providers.a.type: unknown type; the types are "),
    ("type = 'broken'", "w.toml:2: providers.a.type: the type comes from the entry point no_such_module:X"),
    ("type = 'Parrot'", "w.toml:1: providers.a: the type Parrot creates a provider named parrot; give the table"),
    ("type = 'Parrot'\nregion = 'eu'", "w.toml:3: providers.a.region: unknown member; the type Parrot has no options"),
    ("type = 'no_name'", "w.toml:1: providers.a: the provider needs a `name`"),
    ("type = 'refuses'\nregion = 'x'", 'w.toml:3: providers.a.region: write region = "eu"'),
    ("type = 'refuses'", 'w.toml:1: providers.a.region: write region = "eu"'),
)
def test_a_provider_that_cannot_be_created_is_refused_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    install(monkeypatch, broken="no_such_module:X")
    with pytest.raises(SettingsError) as caught:
        build(load(tmp_path, f"[providers.a]\n{text}\n"))
    assert message in str(caught.value)


def test_a_missing_credential_is_reported_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    settings = load(tmp_path, "[providers.a]\ntype = 'ContextParrot'\ncredential = 'env:WEFTWORK_NO_SUCH_KEY'\n")
    for value in (None, ""):
        if value is not None:
            monkeypatch.setenv("WEFTWORK_NO_SUCH_KEY", value)
        with pytest.raises(SettingsError, match=r"w.toml:3: .*variable WEFTWORK_NO_SUCH_KEY is not set; set it"):
            build(settings)
    ContextParrot.contexts.clear()
    monkeypatch.setenv("WEFTWORK_NO_SUCH_KEY", KEY)
    build(settings)
    (context,) = ContextParrot.contexts
    assert context.credential() == KEY
    # Read for each call, so that a store of secrets can change it later.
    monkeypatch.setenv("WEFTWORK_NO_SUCH_KEY", "another")
    assert context.credential() == "another"
    assert KEY not in repr(context)
    assert KEY not in repr(settings)


@fails_without(providers, "_without_key", lambda text, _key: text)
def test_an_error_of_a_provider_never_shows_its_key() -> None:
    settings = Settings(providers=(ProviderSettings("a", "says_its_key", credential="env:PARROT_KEY"),))
    with pytest.MonkeyPatch.context() as patch:
        install(patch)
        patch.setenv("PARROT_KEY", KEY)
        with pytest.raises(SettingsError, match=r"providers.a: .*RuntimeError: cannot connect with ") as caught:
            build(settings)
    assert KEY not in str(caught.value)


def test_a_factory_gets_the_context_or_no_arguments(tmp_path: Path) -> None:
    ContextParrot.contexts.clear()
    names = ("ContextParrot", "optional_context")
    found = build(Settings(provider=tuple(f"{__name__}:{name}" for name in names)))
    assert found.registry.names == ("own", "parrot")
    (context,) = ContextParrot.contexts
    assert context.credential() is None
    assert 0 <= context.random() < 1
    assert build(Settings(provider=(f"{__name__}:other_option",))).registry.names == ("parrot",)


@each_case(
    "text, message",
    ("spelling", "--provider spelling: write MODULE:CLASS"),
    ("a b:C", "--provider a b:C: this is not a module name"),
    ("no_such_module:C", "there is no module no_such_module"),
    (f"{__name__}:Parot", "has no class or function Parot; did you mean Parrot?"),
    (f"{__name__}:KEY", "has no class or function KEY"),
    (f"{__name__}:no_model", "the provider needs a `default_model`"),
    (f"{__name__}:returns_an_answer", "async def with yield, without return"),
    (f"{__name__}:no_generate", "the provider needs an async generator `generate(self, request)`"),
    (f"{__name__}:bad_name", "the provider needs a `name` of lowercase letters"),
)
def test_an_own_class_that_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        build(Settings(provider=(text,)))
    assert message in str(caught.value)


def test_a_module_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parrots.py").write_text(f"from {__name__} import Parrot\nclass Ara(Parrot):\n    name = 'ara'\n")
    (tmp_path / "wrong.py").write_text("\nraise ValueError('x')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert build(Settings(provider=("parrots:Ara",))).registry.names == ("ara",)
    with pytest.raises(SettingsError, match=r"--provider wrong:X: .*wrong.py:2: ValueError: x"):
        build(Settings(provider=("wrong:X",)))


@pytest.mark.rule("model-31")
def test_every_provider_has_a_client_with_its_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    ContextParrot.contexts.clear()
    local = "[providers.a]\ntype='ContextParrot'\nbase_url='http://127.0.0.1:9000'\nallow_private_network=true\n"
    found = build(load(tmp_path, f"{local}[providers.b]\ntype='ContextParrot'\nbase_url='https://b.example:8443'\n"))
    policies: list[OutboundPolicy] = []
    for context, client in zip(ContextParrot.contexts, found.clients, strict=True):
        assert isinstance(client, GuardedClient)
        assert context.outbound is client
        policies.append(client._policy)
    assert policies == [
        OutboundPolicy(frozenset({9000}), True, True),
        OutboundPolicy(frozenset({8443}), False, False),
    ]
    asyncio.run(close(found))


async def close(found: HostModels) -> None:
    for client in found.clients:
        await client.close()


MODELS = """
[providers.a]
type = "scripted"
[[providers.a.models]]
name = "tiny"
input = ["text", "image"]
[[providers.a.models]]
name = "blind"
[providers.b]
type = "scripted"
other_models = true
[[providers.b.models]]
name = "ears"
input = ["audio"]
"""


@pytest.mark.rule("media-42")
def test_discovery_advertises_what_all_listed_models_take(tmp_path: Path) -> None:
    registry = build(load(tmp_path, MODELS)).registry
    assert registry.input_modalities == {"image", "audio"}
    assert build(Settings()).registry.input_modalities == frozenset()
    found = registry.find(model_request())
    assert (found.default_model, found.modalities("blind")) == ("tiny", frozenset())
    assert [each.name for each in found.models] == ["tiny", "blind"]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.rule("model-32")
@fails_without(models.ProviderRegistry, "find", lambda self, request: self._providers[request.provider])
def test_a_model_that_is_not_listed_is_refused_before_the_call() -> None:
    tables = (ModelInfo("tiny"), ModelInfo("blind"))
    closed = ProviderSettings("a", "scripted", models=tables)
    opened = ProviderSettings("b", "scripted", models=tables, other_models=True)
    registry = build(Settings(providers=(closed, opened, ProviderSettings("c", "scripted")))).registry
    for provider, model in (("a", ""), ("a", "blind"), ("b", "huge"), ("c", "huge")):
        assert registry.find(ModelRequest(provider, model, ())).name == provider
    for model, hint in (("tinny", "did you mean tiny?"), ("gpt", "it has tiny, blind.")):
        with pytest.raises(ProviderFault) as caught:
            registry.find(ModelRequest("a", model, ()))
        assert (caught.value.code, caught.value.retryable) == ("model_not_supported", False)
        assert hint in caught.value.message
        assert model not in caught.value.message.replace(hint, "")


def test_a_request_without_a_model_names_the_first_one() -> None:
    settings = Settings(providers=(ProviderSettings("own", "Context", models=(ModelInfo("first"),)),))
    with pytest.MonkeyPatch.context() as patch:
        install(patch, Context=f"{__name__}:ContextParrot")
        provider = build(settings).registry.find(model_request())
    assert run(generate_text(provider, ModelRequest("", "", ()))) == "first"
    assert run(generate_text(provider, ModelRequest("", "second", ()))) == "second"
