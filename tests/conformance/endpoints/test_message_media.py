"""The seam that looks at messages: the checks of nodes, for the caller's tenant."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import node, variable, workflow
from tests.live import KEY, OTHER_KEY, TEST_KEY, Answer, InProcessHost, open_in_process
from weftwork.engine.media.assets import Assets
from weftwork.engine.models.message_media import MessageMedia
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import media_ref

SEAM = "/v1/host/sample/ai/call"
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
IMAGE = {"type": "image", "mimeType": "image/png"}
NOBODYS = media_ref("0" * 64)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


async def shown(inside: InProcessHost, *parts: Any, key: str = KEY, **more: Any) -> Answer:
    return await inside.call("POST", SEAM, {"messages": [{"role": "user", "content": list(parts)}], **more}, key=key)


async def kept(inside: InProcessHost, key: str = KEY, data: bytes = PNG) -> str:
    partition = inside.host.keyring.authenticate(key).partition
    return media_ref((await inside.host.assets.put(partition, data)).sha256)


@pytest.mark.rule("media-51")
@each_case(
    "part, modality",
    ({"type": "image", "mimeType": "image/png", "dataBase64": "iVBORw0KGgo="}, "image"),
    ({"type": "audio", "mimeType": "audio/mp3", "dataBase64": "AAAA"}, "audio"),
    ({"type": "file", "mimeType": "application/pdf", "dataBase64": "JVBERi0="}, "document"),
    ({"type": "document", "mimeType": "application/pdf", "data": "JVBERi0="}, "document"),
    ({"type": "text", "text": "hello"}, "text"),
)
async def test_what_is_advertised_is_taken(part: Any, modality: str) -> None:
    async with open_in_process(test_seams=True) as inside:
        advertised = (await inside.call("GET", "/.well-known/openwop")).document["aiProviders"]["input"]
        assert modality in advertised["modalities"]
        answer = await shown(inside, part)
        assert (answer.status, answer.document["modalities"]) == (200, [modality])
        assert schema.check("ai-call-response", answer.document) == []
        answer = await inside.call("POST", SEAM, {"messages": [{"role": "user", "content": "text"}]})
        assert answer.document == {"ok": True, "accepted": True, "modalities": ["text"]}


@pytest.mark.rule("media-51")
@each_case(
    "parts, status, code, pointer",
    ([{"type": "video"}], 400, "unsupported_modality", "/messages/0/content/0/type"),
    (
        [{"type": "image"}, {"type": "video", "mimeType": 1}],
        400,
        "unsupported_modality",
        "/messages/0/content/1/type",
    ),
    ([{**IMAGE}], 400, "validation_error", "/messages/0/content/0"),
    ([{**IMAGE, "data": "A" * 4000}, {"type": "image"}], 400, "validation_error", "/messages/0/content/1/mimeType"),
    ([{**IMAGE, "data": "A" * 4000}], 413, "payload_too_large", "/messages/0/content/0/data"),
    (["x"], 400, "validation_error", "/messages/0/content/0"),
    ([{**IMAGE, "data": "JVBERi0xLjQK"}], 400, "validation_error", "/messages/0/content/0"),
    ([{**IMAGE, "url": "https://x.example/?token=a"}], 400, "validation_error", "/messages/0/content/0/url"),
    ([{**IMAGE, "mediaRef": NOBODYS}], 400, "validation_error", "/messages/0/content/0"),
    ([{**IMAGE, "url": "https://127.0.0.1/"}], 400, "validation_error", "/messages/0/content/0"),
)
async def test_what_is_not_taken_is_told_why(parts: list[Any], status: int, code: str, pointer: str) -> None:
    async with open_in_process(test_seams=True, max_bytes_per_part=1000) as inside:
        answer = await shown(inside, *parts)
        assert (answer.status, answer.document["error"]) == (status, code)
        assert answer.document["details"]["pointer"] == pointer


@pytest.mark.rule("media-56")
async def test_an_asset_of_another_type_is_refused() -> None:
    async with open_in_process(test_seams=True) as inside:
        part = {"mediaRef": await kept(inside, data=b"%PDF-1.4 "), **IMAGE}
        document = (await shown(inside, part)).document
        message = "The part is declared as image/png, but the asset is application/pdf. Declare its real type."
        assert (document["error"], document["message"]) == ("validation_error", message)
        assert (await shown(inside, {**part, "type": "document", "mimeType": "application/pdf"})).status == 200


@each_case(
    "body",
    {},
    {"messages": []},
    {"messages": "x"},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "tool", "content": "x"}]},
    {"messages": [{"role": "user", "content": {}}]},
    {"messages": [{"role": "user", "content": None}]},
    {"messages": [{"role": "user", "content": "x"}], "provider": 1},
    {"messages": [{"role": "user", "content": "x"}], "provider": "nobody"},
)
async def test_what_is_no_question_is_refused(body: Any) -> None:
    async with open_in_process(test_seams=True) as inside:
        answer = await inside.call("POST", SEAM, body)
        assert (answer.status, answer.document["error"]) == (400, "validation_error")


@pytest.mark.rule("media-51")
@pytest.mark.parametrize("seams", [False, True])
async def test_it_needs_a_key_and_the_flag(seams: bool) -> None:
    async with open_in_process(test_seams=seams) as inside:
        body = {"messages": [{"role": "user", "content": "x"}]}
        assert (await inside.call("POST", SEAM, body, key="nobody")).status == 401
        assert (await inside.call("POST", SEAM, body)).status == (200 if seams else 404)


async def strangers(inside: InProcessHost, what: Callable[[str], Awaitable[Any]]) -> None:
    """Every key gets at its own, and the same answer for what is somebody else's as for what is nobody's."""
    inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
    keys = (KEY, OTHER_KEY, TEST_KEY)
    owned = {key: await what(key) for key in keys}
    nothing = await shown(inside, {**IMAGE, "mediaRef": NOBODYS})
    assert nothing.document["details"]["code"] == "media_not_found"
    for key in keys:
        for owner in keys:
            answer = await shown(inside, owned[owner], key=key)
            if key == owner:
                assert (answer.status, answer.document["modalities"]) == (200, ["image"])
            else:
                assert (answer.status, answer.body) == (nothing.status, nothing.body)


async def anybodys(self: Any, partition: str, ref: Any) -> Any:
    for each in ("live:acme", "test:acme", "live:other"):
        if (found := await self._rows.find(each, str(ref).rpartition(":")[2])) is not None:
            return found.asset
    return None


@pytest.mark.rule("media-46")
@fails_without(Assets, "find", anybodys)
def test_an_asset_of_others_is_none() -> None:
    async def work() -> None:
        async with open_in_process(test_seams=True) as inside:

            async def own(key: str) -> Any:
                return {**IMAGE, "mediaRef": await kept(inside, key, PNG + key.encode())}

            await strangers(inside, own)

    run(work)


@pytest.mark.rule("media-53")
@pytest.mark.parametrize("place", ["/v1/host/weftwork/assets/", "/v1/host/sample/assets/"])
def test_a_url_of_the_host_opens_what_the_caller_has(place: str) -> None:
    async def work() -> None:
        async with open_in_process(test_seams=True, public_url="https://host.example") as inside:
            assets: Assets = inside.host.assets

            async def own(key: str) -> Any:
                partition = inside.host.keyring.authenticate(key).partition
                asset = await assets.put(partition, PNG + key.encode())
                url = assets.url(asset, "image/png", expires_at=2**45, prefix=place)
                assert url.startswith("https://host.example/")
                return {**IMAGE, "url": url}

            await strangers(inside, own)
            nothing = await shown(inside, {**IMAGE, "url": f"https://host.example{place}v1.a.b.c"})
            assert nothing.document["details"]["code"] == "media_not_found"

    run(work)


PHOTO = {"media": {"type": "variable", "variableName": "photo"}}
LOOK = workflow(
    [node("ask", "core.ai.callPrompt", config={"prompt": "?"}, inputs=PHOTO)],
    variables=[variable("photo", "object")],
    id="look",
)


async def ended(inside: InProcessHost, photo: Any, key: str) -> dict[str, Any]:
    created = await inside.call("POST", "/v1/runs", {"workflowId": "look", "inputs": {"photo": photo}}, key=key)
    for _ in range(1000):
        snapshot = (await inside.call("GET", f"/v1/runs/{created.document['runId']}", key=key)).document
        if snapshot["status"] in ("completed", "failed"):
            return snapshot
        await asyncio.sleep(0.01)
    raise AssertionError("the run does not end")


@pytest.mark.rule("media-46")
@fails_without(Assets, "find", anybodys)
async def test_a_run_sees_no_asset_of_others() -> None:
    async with open_in_process(LOOK, test_seams=True) as inside:
        inside.host.keyring.accept_for_process(TEST_KEY, "acme", None)
        keys = (KEY, OTHER_KEY, TEST_KEY)
        owned = {key: await kept(inside, key, PNG + key.encode()) for key in keys}
        nothing = (await ended(inside, {**IMAGE, "mediaRef": NOBODYS}, KEY))["error"]
        assert nothing["code"] == "media_not_found"
        for key in keys:
            for owner, ref in owned.items():
                snapshot = await ended(inside, {"mediaRef": ref, "mimeType": "image/png"}, key)
                assert snapshot["status"] == ("completed" if key == owner else "failed")
                assert key == owner or snapshot["error"] == nothing


def test_without_the_look_at_the_token_urls_of_others_would_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def own(self: Any, part: Any, url: str) -> Any:
        _, asset = await self._assets.open_token(url.rpartition("/")[2])
        return await self._lazy_part(part, self._assets, asset)

    monkeypatch.setattr(MessageMedia, "_resolve_own_url", own)  # sabotage
    with pytest.raises(AssertionError):
        test_a_url_of_the_host_opens_what_the_caller_has("/v1/host/weftwork/assets/")


async def test_the_test_endpoint_and_nodes_apply_the_same_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a copy: what is broken in one is broken in the other."""
    seen: list[str] = []
    look = MessageMedia.resolve

    async def watched(self: Any, request: Any, offered: Any) -> Any:
        seen.append(request.node_id)
        return await look(self, request, offered)

    monkeypatch.setattr(MessageMedia, "resolve", watched)

    part = {**IMAGE, "data": base64.b64encode(PNG).decode()}
    async with open_in_process(LOOK, test_seams=True) as inside:
        assert (await shown(inside, part)).status == 200
        assert (await ended(inside, part, KEY))["status"] == "completed"
        partition = inside.host.keyring.authenticate(KEY).partition
        (known,) = inside.programs.last_media(partition, "ask")
        assert (known.modality, known.media_type, known.bytes) == ("image", "image/png", len(PNG))
        inside.programs.reset(partition)
        assert inside.programs.last_media(partition, "ask") == ()
    assert seen == ["", "ask"]
