"""Assets of others: whatever is asked about them, the answer is that for assets which are not there."""

import asyncio
import hashlib
import os
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, InProcessHost, delays, open_in_process
from tests.live.assets import NO_TOKEN, UPLOADS, fetch, list_assets, path_of, upload_asset
from tests.live.tokens import comparable
from weftwork.adapters.memory import assets as memory_assets
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.engine.media.assets import Assets
from weftwork.engine.signer import Signer
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import media_ref

STRANGERS = pytest.mark.parametrize("key", [OTHER_KEY, TEST_KEY], ids=["another tenant", "a test key"])
NOBODYS = hashlib.sha256(b"nobody has these").hexdigest()
NO_RUN = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def new(size: int = 500) -> bytes:
    return os.urandom(size)


def finished(host: Host, key: str = KEY, **inputs: Any) -> str:
    run_id = host.create("conformance-noop", key=key, inputs=inputs)
    host.log(run_id, key)
    return run_id


def refs(host: Host, query: str = "", key: str = KEY) -> list[str]:
    return [each["mediaRef"] for each in list_assets(host, query, key)["assets"]]


@pytest.mark.rule("media-36")
def test_a_tenant_sees_its_own_newest_first(host: Host) -> None:
    made = [upload_asset(host, new(size))["mediaRef"] for size in (100, 200, 300)]
    document = list_assets(host, "?limit=2")
    assert schema.check("asset-list", document) == []
    assert [each["mediaRef"] for each in document["assets"]] == made[:0:-1]
    first = document["assets"][0]
    assert (first["bytes"], first["runs"], first["mimeType"]) == (300, 0, "application/octet-stream")
    assert len(fetch(host, first["url"]).body) == 300
    assert refs(host, f"?limit=1&cursor={document['nextCursor']}") == made[:1]
    seen: list[str] = []
    query = "?limit=3"
    while True:
        page = list_assets(host, query)
        seen += [each["mediaRef"] for each in page["assets"]]
        if "nextCursor" not in page:
            break
        query = f"?limit=3&cursor={page['nextCursor']}"
    assert len(seen) == len(set(seen)) == page["usage"]["assets"]
    assert page["usage"]["quota"] == 10_737_418_240


@pytest.mark.rule("media-36")
@each_case(
    "query, parameter",
    ("limit=0", "limit"),
    ("limit=201", "limit"),
    ("cursor=", "cursor"),
    ("cursor=" + "a" * 64, "cursor"),
    ("cursor=1." + "A" * 64, "cursor"),
    ("cursor=1." + "a" * 65, "cursor"),
    ("cursor=-1." + "a" * 64, "cursor"),
    ("cursor=" + "1" * 16 + "." + "a" * 64, "cursor"),
    ("runId=a%2Fb", "runId"),
    ("runId=", "runId"),
)
def test_a_parameter_that_is_none_is_named(host: Host, query: str, parameter: str) -> None:
    answer = host.call("GET", f"{UPLOADS}?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == parameter


@pytest.mark.rule("media-36")
def test_a_run_has_those_that_it_refers_to(host: Host) -> None:
    one, two, three = (upload_asset(host, new()) for _ in "abc")
    first = finished(host, picture=one["mediaRef"], more={"deep": [two["url"]]})
    second = finished(host, picture=one["mediaRef"])
    assert set(refs(host, f"?runId={first}")) == {one["mediaRef"], two["mediaRef"]}
    assert refs(host, f"?runId={second}") == [one["mediaRef"]]
    counts = {each["mediaRef"]: each["runs"] for each in list_assets(host)["assets"]}
    assert [counts[each["mediaRef"]] for each in (one, two, three)] == [2, 1, 0]


@pytest.mark.rule("media-36")
@STRANGERS
def test_no_question_finds_what_belongs_to_others(host: Host, key: str) -> None:
    """Each view of an id of somebody else is that of one which nobody has."""
    data = new()
    made = upload_asset(host, data)
    run_id = finished(host, picture=made["mediaRef"])
    own = upload_asset(host, new(), key=key)["mediaRef"]
    far, long_ago = 10**14, 1
    for known, unknown, seen in (
        (f"?runId={run_id}", f"?runId={NO_RUN}", False),
        (f"?cursor={far}.{made['sha256']}", f"?cursor={far}.{NOBODYS}", True),
        (f"?cursor={long_ago}.{made['sha256']}", f"?cursor={long_ago}.{NOBODYS}", False),
    ):
        assert refs(host, known, key) == refs(host, unknown, key)
        assert (own in refs(host, known, key)) == seen
        theirs, nobodys = (host.call("GET", UPLOADS + query, key=key) for query in (known, unknown))
        assert seen or comparable(theirs) == comparable(nobodys)
    assert made["mediaRef"] not in refs(host, key=key)
    before = list_assets(host, key=key)["usage"]
    # Whoever sends the same bytes has an asset of their own, as if it were the first.
    again = upload_asset(host, data, key=key)
    assert list_assets(host, key=key)["usage"] == {
        **before,
        "assets": before["assets"] + 1,
        "bytes": before["bytes"] + 500,
    }
    assert again["url"] != made["url"]


@pytest.mark.rule("media-36")
@STRANGERS
def test_a_run_of_others_keeps_nothing_of_mine(host: Host, key: str) -> None:
    made = upload_asset(host, new())
    mine = {each["mediaRef"]: each["runs"] for each in list_assets(host)["assets"]}
    for named in (made["mediaRef"], made["url"], media_ref(NOBODYS)):
        run_id = finished(host, key, picture=named)
        assert refs(host, f"?runId={run_id}", key) == []
    assert {each["mediaRef"]: each["runs"] for each in list_assets(host)["assets"]} == mine


async def pages_while_it_goes() -> list[str]:
    """What the pages show, one after the other, while each asset that one of them ended with is swept."""
    async with open_in_process() as inside:
        made = [(await made_in(inside, text, query=f"?days={9 - at}"))["mediaRef"] for at, text in enumerate("abcd")]
        seen: list[str] = []
        query = "?limit=1"
        while True:
            page = (await inside.call("GET", UPLOADS + query)).document
            seen += [each["mediaRef"] for each in page["assets"]]
            if "nextCursor" not in page:
                return ["abcd"[made.index(ref)] for ref in seen]
            assert schema.check("asset-list", page) == []
            query = f"?limit=1&cursor={page['nextCursor']}"
            # The newest has the least time.
            assert (await inside.host._store.assets.tombstone_unreferenced(10**15, 1)).count == 1


@pytest.mark.rule("media-36")
def test_a_list_goes_on_though_its_cursor_was_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(pages_while_it_goes()) == list("dcba")
    # The sabotage: behind what is not there, there is nothing.
    monkeypatch.setattr(memory_assets, "_page_start", lambda own, after: 0)
    assert asyncio.run(pages_while_it_goes()) == ["d"]


FLOW = delays("asset-flow", 0)


async def made_in(inside: InProcessHost, text: str, key: str = KEY, query: str = "") -> Any:
    answer = await inside.call("POST", UPLOADS + query, {"text": text}, key=key)
    assert answer.status == 201
    return answer.document


async def told(inside: InProcessHost, url: str) -> Any:
    return comparable(await inside.call("GET", url if url.startswith("/") else path_of(url), key="none"))


async def run_of(inside: InProcessHost, key: str = KEY, **inputs: Any) -> str:
    answer = await inside.call("POST", "/v1/runs", {"workflowId": FLOW["id"], "inputs": inputs}, key=key)
    run_id = answer.document["runId"]
    while (await inside.call("GET", f"/v1/runs/{run_id}", key=key)).document["status"] != "completed":
        await asyncio.sleep(0)
    return run_id


@pytest.mark.rule("media-30", "media-36")
async def test_a_url_of_a_run_works_while_a_run_refers_to_the_asset() -> None:
    async with open_in_process(FLOW) as inside:
        assets = inside.host.assets
        ref = (await made_in(inside, "one"))["mediaRef"]
        asset = await assets.find("live:acme", ref)
        assert asset is not None
        url = assets.url(asset, "application/json", run_id="any")
        nobody = await told(inside, NO_TOKEN)
        assert nobody[0] == 404
        assert await told(inside, url) == nobody, "no run refers to it yet"
        first, second = await run_of(inside, x=ref), await run_of(inside, x=ref)
        for run_id in (first, second):
            assert (await told(inside, url))[0] == 200
            assert (await inside.call("DELETE", f"/v1/runs/{run_id}")).status == 204
        assert await told(inside, url) == nobody


@pytest.mark.rule("media-30")
async def test_every_token_that_opens_nothing_is_told_the_same() -> None:
    """Signed by the host or not: expired, of another tenant, of bytes that are not there, of another purpose."""
    async with open_in_process(FLOW) as inside:
        assets = inside.host.assets
        ref = (await made_in(inside, "one"))["mediaRef"]
        asset = await assets.find("live:acme", ref)
        assert asset is not None
        now = asset.created_at
        other = type(asset)("live:other", *[getattr(asset, name) for name in asset.__struct_fields__[1:]])
        gone = type(asset)("live:acme", NOBODYS, *[getattr(asset, name) for name in asset.__struct_fields__[2:]])
        assert (await told(inside, assets.url(asset, "text/plain", expires_at=now + 60_000)))[0] == 200
        wrong = [
            assets.url(asset, "text/plain", expires_at=now - 60_000),
            assets.url(other, "text/plain", expires_at=now + 60_000),
            assets.url(gone, "text/plain", expires_at=now + 60_000),
            assets.url(asset, "text/plain"),
        ]
        nobody = await told(inside, NO_TOKEN)
        assert [await told(inside, url) for url in wrong] == [nobody] * len(wrong)
        token = assets.make_token(asset, "text/plain", expires_at=now + 60_000)
        as_question = await inside.call("GET", f"/v1/interrupts/{token}", key="none")
        assert as_question.document["error"] == "interrupt_not_found"


# The guards one by one: without each of them, a proof above goes red.


async def forged() -> int:
    """The status for a token whose signature is that of nobody."""
    async with open_in_process() as inside:
        url = (await made_in(inside, "one"))["url"]
        return (await told(inside, url[:-4] + ("AAAA" if not url.endswith("AAAA") else "BBBB")))[0]


def test_without_the_signature_anybody_makes_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(forged()) == 404
    monkeypatch.setattr(Signer, "verify", lambda *given: True)
    assert asyncio.run(forged()) == 200


async def expired() -> int:
    async with open_in_process() as inside:
        ref = (await made_in(inside, "one"))["mediaRef"]
        asset = await inside.host.assets.find("live:acme", ref)
        assert asset is not None
        url = inside.host.assets.url(asset, "text/plain", expires_at=asset.created_at - 60_000)
        return (await told(inside, url))[0]


def test_without_the_clock_urls_work_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(expired()) == 404
    monkeypatch.setattr("weftwork.protocol.media.asset_references.AssetToken.is_expired", lambda *given: False)
    assert asyncio.run(expired()) == 200


async def strange(monkeypatch: pytest.MonkeyPatch, broken: str = "") -> list[Any]:
    """What another tenant sees of an asset by its list, and whether its run keeps it."""
    async with open_in_process(FLOW) as inside:
        ref = (await made_in(inside, "one"))["mediaRef"]
        if broken:
            honest: Any = getattr(Assets, broken)
            monkeypatch.setattr(Assets, broken, lambda self, partition, *more: honest(self, "live:acme", *more))
        answer = await inside.call("GET", UPLOADS, key=OTHER_KEY)
        return [ref in [each["mediaRef"] for each in answer.document["assets"]], answer.document["usage"]["assets"]]


def test_without_the_tenant_the_list_shows_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(strange(monkeypatch)) == [False, 0]
    assert asyncio.run(strange(monkeypatch, "page")) == [True, 0]
    monkeypatch.undo()
    assert asyncio.run(strange(monkeypatch, "usage")) == [False, 1]


async def foreign_token(monkeypatch: pytest.MonkeyPatch, broken: bool) -> int:
    """The status for a token that the host has signed for a tenant without these bytes."""
    async with open_in_process() as inside:
        ref = (await made_in(inside, "one"))["mediaRef"]
        asset = await inside.host.assets.find("live:acme", ref)
        assert asset is not None
        other = type(asset)("live:other", *[getattr(asset, name) for name in asset.__struct_fields__[1:]])
        if broken:
            honest: Any = MemoryAssets.find
            monkeypatch.setattr(MemoryAssets, "find", lambda self, _, digest: honest(self, "live:acme", digest))
        return (await told(inside, inside.host.assets.url(other, "text/plain", expires_at=asset.held_until)))[0]


def test_without_the_tenant_a_token_opens_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(foreign_token(monkeypatch, False)) == 404
    assert asyncio.run(foreign_token(monkeypatch, True)) == 200
