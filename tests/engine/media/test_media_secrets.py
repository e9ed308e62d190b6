"""Media of a run that knows a secret: it stands in no event, row, URL or bundle, wherever a node or a model puts it."""

import re
from base64 import urlsafe_b64decode
from typing import Any

import msgspec
import pytest

from tests.engine.api.test_bundles import whole
from tests.engine.privacy.test_sensitive_values import everything_shown
from tests.harness.definitions import node, variable, workflow
from tests.harness.engine_harness import CALLER, EngineHarness
from tests.harness.media_host import PNG, emit_media_node, media_envelope, media_harness, model_node
from tests.harness.scripted_model import ScriptedModel
from weftwork.engine.media.node_media import EntryMediaStore
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.models import AnswerEnd, GeneratedMedia
from weftwork.ports.storage.assets import AssetQuery
from weftwork.protocol.media.asset_headers import MAX_NAME
from weftwork.protocol.media.asset_references import find_asset_tokens
from weftwork.protocol.media.message_parts import MAX_ALT
from weftwork.protocol.models.answers import TokenUsage
from weftwork.protocol.run.header import RunKey

CANARY = "canary.of+this-run-7f3a9c"
PART = 10
"""Characters of it that tell too much; what begins a text and is cut off is told by its end."""
UNSEEN = "\u200b"
HIDDEN = workflow([node("a", "test.show")], [], [variable("secret", sensitive=True)])
SPLIT = CANARY[:6] + UNSEEN + CANARY[6:]


def cuts(most: int, text: str = CANARY) -> list[str]:
    """Texts in which the secret stands across every place of a cut."""
    return ["x" * (most - at) + text + "y" * 300 for at in range(len(text) + 1)]


def ends(most: int) -> list[str]:
    """The same for a cut that leaves the end."""
    return [("y" * 300 + CANARY + "x" * (most - at))[-most - len(CANARY) :] for at in range(len(CANARY) + 1)]


SENT = {
    "alt": [OutgoingMedia("image", PNG, alt=f"See {CANARY}!")],
    "title": [OutgoingMedia("image", PNG, alt="A", title=f"See {CANARY}!")],
    "name": [OutgoingMedia(kind, PNG, alt="A", name=f"{CANARY}.png") for kind in ("image", "audio", "file")],
    "name, unseen": [OutgoingMedia(kind, PNG, alt="A", name=f"x{SPLIT}.png") for kind in ("image", "file")],
    "media type": [OutgoingMedia("file", b"words", f"text/{CANARY}", alt="A")],
    "media type, inline": [OutgoingMedia("file", b"words", f"text/{CANARY}", alt="A", inline=True)],
    "alt, cut": [OutgoingMedia("image", PNG, alt=each) for each in cuts(MAX_ALT)],
    "title, cut": [OutgoingMedia("image", PNG, alt="A", title=each) for each in cuts(MAX_ALT)],
    "name, cut": [OutgoingMedia("file", PNG, alt="A", name=each) for each in cuts(MAX_NAME)],
    "name with an ending, cut": [
        OutgoingMedia("file", PNG, alt="A", name=f"{each}.png") for each in cuts(MAX_NAME - 4)
    ],
    "name, cut before": [OutgoingMedia("file", PNG, alt="A", name=each) for each in ends(4 * MAX_NAME)],
    "name, unseen and cut": [OutgoingMedia("file", PNG, alt="A", name=each) for each in cuts(MAX_NAME, SPLIT)],
}


async def told(bench: EngineHarness, key: RunKey) -> str:
    """All that anybody gets to read of the run, and what is inside of every token in it."""
    assert bench.assets is not None
    shown = [await everything_shown(bench, key)]
    shown.append(msgspec.json.encode((await whole(bench, key))[0]).decode())
    shown.append(repr(await bench.assets.page(CALLER.partition, AssetQuery())))
    tokens = {token for text in shown for token in find_asset_tokens(text)}
    assert tokens
    for token in tokens:
        inside = token.split(".")[2]
        shown.append(urlsafe_b64decode(inside + "=" * (-len(inside) % 4)).decode(errors="replace"))
    return "\n".join(shown)


def leaks(text: str) -> list[str]:
    """Stretches of the secret that stand in the text."""
    parts = [CANARY[at : at + PART] for at in range(len(CANARY) - PART + 1)]
    return [part for part in parts if re.search(re.escape(part), text)]


async def of_nodes(sent: list[OutgoingMedia]) -> str:
    bench = media_harness(emit_media_node(*sent))
    key = await bench.start(HIDDEN, inputs={"secret": CANARY})
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"
    return await told(bench, key)


async def of_models(answer: Any, want: str | None = None) -> str:
    bench = media_harness(model_node(want), models=ScriptedModel(answer))
    key = await bench.start(HIDDEN, inputs={"secret": CANARY})
    await bench.run_to_end(key)
    assert await bench.status(key) == "completed"
    return await told(bench, key)


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("place", SENT)
async def test_what_a_node_says_of_media_holds_no_secret(place: str) -> None:
    assert leaks(await of_nodes(SENT[place])) == []


MADE: dict[str, dict[str, Any]] = {
    "alt": {"alt": f"See {CANARY}!"},
    "alt, cut": {"alt": "x" * (MAX_ALT - 12) + CANARY},
    "name": {"name": f"{CANARY}.txt"},
    "name, unseen": {"name": f"{SPLIT}.txt"},
    "name, cut": {"name": "x" * (MAX_NAME - 12) + CANARY},
    "media type": {"media_type": f"text/{CANARY}"},
}


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("place", MADE)
async def test_what_a_model_has_made_holds_no_secret(place: str) -> None:
    made = [GeneratedMedia(kind, b"words", **{"alt": "A", **MADE[place]}) for kind in ("image", "file")]
    assert leaks(await of_models([*made, "There.", AnswerEnd("stop", TokenUsage(1, 1))])) == []


@pytest.mark.rule("hide-03")
@pytest.mark.parametrize("member", ["alt", "name", "mimeType"])
async def test_what_a_model_sends_holds_no_secret(member: str) -> None:
    said = {"alt": f"See {CANARY}", "name": f"{CANARY}.txt", "mimeType": f"text/{CANARY}"}[member]
    document = media_envelope(b"word " * 4_000, **{member: said}).replace("media.image", "media.file")
    assert leaks(await of_models(document, "media.file")) == []


@pytest.mark.parametrize(
    "place", ["name", "name, unseen", "media type", "alt, cut", "name, cut", "name, unseen and cut"]
)
async def test_without_the_mask_it_would_stand_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: EntryMediaStore, text: str, most: int = MAX_ALT) -> str:
        return text[:most]

    monkeypatch.setattr(EntryMediaStore, "_masked", cut)  # sabotage
    assert leaks(await of_nodes(SENT[place])) != []
