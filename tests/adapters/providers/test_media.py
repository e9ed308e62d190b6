"""Media and providers: who takes what, what is noted of it, and what models make beside text."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.providers.provider_calls import collect_answer, generate_text, model_request, run
from weftwork.adapters.providers.mock_providers import MockProvider
from weftwork.adapters.providers.registry import ProviderRegistry, default_providers
from weftwork.adapters.providers.script import ScriptError, parse_entry, read_script
from weftwork.adapters.providers.scripted import ScriptedProvider, ScriptPlayer
from weftwork.conformance.endpoints.model_programs import ScriptedPrograms, SeenMedia
from weftwork.ports.models import AnswerEnd, GeneratedMedia, Message, ModelMediaPart, ModelRequest, ModelTextPart
from weftwork.protocol.media.message_parts import MODALITIES
from weftwork.protocol.models.selection import MOCK_CONFIGS
from weftwork.testing.deterministic import ManualClock

ALL = frozenset(MODALITIES)
PICTURE = b"picture"
SHA = hashlib.sha256(PICTURE).hexdigest()


class Read:
    """Bytes that count how often they are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.times = 0

    async def __call__(self) -> bytes:
        self.times += 1
        return self.data


def showing(*texts: str, node: str = "ask") -> tuple[ModelRequest, Read]:
    read = Read(PICTURE)
    part = ModelMediaPart("image", "image/png", len(PICTURE), SHA, read)
    message = Message("user", (*(ModelTextPart(text) for text in texts), part))
    return ModelRequest("", "", (message,), node_id=node, run_id="r", partition="live:acme"), read


def script(folder: Path, text: str) -> Any:
    file = folder / "script.toml"
    file.write_text(text, "utf-8")
    return read_script(file)


@pytest.mark.rule("media-42")
def test_a_script_narrows_what_is_taken(tmp_path: Path) -> None:
    assert ScriptedProvider(ManualClock()).modalities("") == ALL
    narrow = (
        'modalities = ["image", "document"]\n[models]\nblind = []\nears = ["audio", "image"]\n"scripted-1" = ["image"]'
    )
    models = default_providers(ManualClock(), ScriptPlayer(script(tmp_path, narrow)))
    provider = models.find(model_request())
    assert provider.modalities("other") == {"image", "document"}
    assert provider.modalities("blind") == frozenset()
    # No model takes more than all of them.
    assert provider.modalities("ears") == {"image"}
    assert provider.modalities("") == {"image"}
    assert models.input_modalities == {"image"}


@pytest.mark.parametrize("text", ['modalities = ["video"]', "modalities = 1", '[models]\nx = "image"'])
def test_a_script_that_names_no_modality_is_unreadable(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScriptError):
        script(tmp_path, text)


@pytest.mark.rule("media-42")
def test_what_a_host_takes_is_what_any_provider_takes() -> None:
    class Silent:
        """Written before there were modalities."""

        name = "silent"
        default_model = "silent-1"

        def generate(self, request: ModelRequest) -> Any:
            raise NotImplementedError

    class Ears(Silent):
        name = "ears"

        def modalities(self, model: str) -> Any:
            return {"audio"}

    silent: Any = Silent()
    assert ProviderRegistry(ManualClock(), [silent]).input_modalities == frozenset()
    assert ProviderRegistry(ManualClock(), [silent, Ears()]).input_modalities == {"audio"}
    assert ProviderRegistry(ManualClock(), []).input_modalities == frozenset()


@pytest.mark.parametrize("name", MOCK_CONFIGS)
def test_mocks_take_text_alone(name: str) -> None:
    assert MockProvider(ManualClock(), name, {}).modalities("") == frozenset()


@pytest.mark.rule("media-48")
def test_a_script_can_say_what_it_was_shown() -> None:
    programs = ScriptedPrograms()
    said = "{media.count}: {media[0].modality} {media[0].mediaType} {media[0].bytes} {media[0].sha256} {media[1].bytes}"
    chunks = {"chunks": ["{media[0].bytes}", " bytes"]}
    programs.program("live:acme", "ask", [said, chunks, "no places {media[0].name}"])
    provider = ScriptedProvider(ManualClock(), programs)
    request, read = showing("?")
    assert run(generate_text(provider, request)) == f"1: image image/png 7 {SHA} {{media[1].bytes}}"
    assert run(generate_text(provider, request)) == "7 bytes"
    assert read.times == 2
    assert run(generate_text(provider, request)) == "no places {media[0].name}"
    assert read.times == 2
    assert programs.last_media("live:acme", "ask") == (SeenMedia("image", "image/png", 7, SHA, None),)
    assert programs.last_media("live:other", "ask") == ()
    programs.reset("live:acme")
    assert programs.last_media("live:acme", "ask") == ()


def test_without_a_script_it_tells_what_was_shown() -> None:
    told = "(scripted) No model is connected to this host."
    request, _ = showing("What is it?")
    assert (
        run(generate_text(ScriptedProvider(ManualClock()), request))
        == f"{told} You said: What is it? You showed: image/png (7 bytes)."
    )
    request, _ = showing()
    assert run(generate_text(ScriptedProvider(ManualClock()), request)) == f"{told} You showed: image/png (7 bytes)."


async def test_an_entry_makes_media_before_its_end() -> None:
    made = {
        "kind": "image",
        "base64": base64.b64encode(PICTURE).decode(),
        "mediaType": "image/png",
        "alt": "a",
        "name": "n",
    }
    programs = ScriptedPrograms()
    assert (
        programs.program("live:acme", "ask", [{"content": "Here.", "media": [made, {"kind": "file", "base64": ""}]}])
        == 1
    )

    items = [item async for item in ScriptedProvider(ManualClock(), programs).generate(showing()[0])]
    assert items[-3:-1] == [GeneratedMedia("image", PICTURE, "image/png", "a", "n"), GeneratedMedia("file", b"")]
    assert isinstance(items[-1], AnswerEnd)


@pytest.mark.parametrize(
    "media", [[{"kind": "video", "base64": ""}], [{"kind": "image"}], [{"kind": "image", "base64": "!"}], ["x"], {}]
)
def test_media_that_cannot_be_made_are_refused(media: Any) -> None:
    with pytest.raises(Exception, match=r"Expected|Invalid|missing"):
        parse_entry({"content": "x", "media": media})


async def test_counts_of_tokens_are_those_of_the_text() -> None:
    request, _ = showing("1234", "5678")
    _, stop = await collect_answer(ScriptedProvider(ManualClock()), request)
    assert stop is not None
    assert stop.usage.input_tokens == 3
