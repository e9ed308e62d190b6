"""Assets of others: whatever is asked about them, the answer is that for assets which are not there."""

import asyncio
import hashlib
import os
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without, present
from tests.live import KEY, OTHER_KEY, TEST_KEY, Host, InProcessHost, delays, open_in_process
from tests.live.assets import NO_TOKEN, UPLOADS, fetch, list_assets, path_of, upload_asset
from tests.live.tokens import comparable
from weftwork.adapters.memory import assets as memory_assets
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.engine.media.assets import Assets
from weftwork.engine.signer import Signer
from weftwork.protocol.json import schema
from weftwork.protocol.media.asset_references import AssetToken, media_ref

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
    while query:
        page = list_assets(host, query)
        seen += [each["mediaRef"] for each in page["assets"]]
        query = f"?limit=3&cursor={page['nextCursor']}" if "nextCursor" in page else ""
    usage = list_assets(host)["usage"]
    assert len(seen) == len(set(seen)) == usage["assets"]
    assert usage["quota"] == 10_737_418_240


@pytest.mark.rule("media-36")
@each_case(
    "query",
    *("limit=0", "limit=201", "runId=a%2Fb", "runId=", "cursor=", "cursor=" + "a" * 64),
    *("cursor=1." + "A" * 64, "cursor=1." + "a" * 65, "cursor=-1." + "a" * 64, f"cursor={'1' * 16}.{'a' * 64}"),
)
def test_a_parameter_that_is_none_is_named(host: Host, query: str) -> None:
    answer = host.call("GET", f"{UPLOADS}?{query}")
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["parameter"] == query.partition("=")[0]


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
    usage = list_assets(host, key=key)["usage"]
    # Whoever sends the same bytes has an asset of their own, as if it were the first.
    again = upload_asset(host, data, key=key)
    added = {"assets": 1, "bytes": 500, "quota": 0, "quotaUsed": 500}
    usage = {name: count + added[name] for name, count in usage.items()}
    assert list_assets(host, key=key)["usage"] == usage
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


@pytest.mark.rule("media-36")
@fails_without(memory_assets, "_page_start", lambda own, after: 0)
async def test_a_list_goes_on_though_its_cursor_was_swept() -> None:
    """Each asset that a page ended with is swept before the next page is read."""
    async with open_in_process() as inside:
        made = [(await made_in(inside, text, query=f"?days={9 - at}"))["mediaRef"] for at, text in enumerate("abcd")]
        seen: list[str] = []
        query = "?limit=1"
        while query:
            page = (await inside.call("GET", UPLOADS + query)).document
            assert schema.check("asset-list", page) == []
            seen += [each["mediaRef"] for each in page["assets"]]
            query = f"?limit=1&cursor={page['nextCursor']}" if "nextCursor" in page else ""
            # The newest has the least time.
            assert not query or (await inside.host._store.assets.tombstone_unreferenced(10**15, 1)).count == 1
    assert seen == made[::-1]


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
        asset = present(await assets.find("live:acme", ref))
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
        asset = present(await assets.find("live:acme", ref))
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


async def nothing_opens_it(kind: str) -> None:
    """A URL whose signature is that of nobody, whose time is over, or of a tenant that does not have the bytes."""
    async with open_in_process() as inside:
        made = await made_in(inside, "one")
        asset = present(await inside.host.assets.find("live:acme", made["mediaRef"]))
        other = type(asset)("live:other", *[getattr(asset, name) for name in asset.__struct_fields__[1:]])
        url = {
            "forged": made["url"][:-4] + ("AAAA" if not made["url"].endswith("AAAA") else "BBBB"),
            "expired": inside.host.assets.url(asset, "text/plain", expires_at=asset.created_at - 60_000),
            "foreign": inside.host.assets.url(other, "text/plain", expires_at=asset.held_until),
        }[kind]
        status = (await told(inside, url))[0]
        assert status in (200, 404)
        assert status == 404, "opened"


async def a_list_shows_nothing_of_others() -> None:
    async with open_in_process(FLOW) as inside:
        await made_in(inside, "one")
        shown = (await inside.call("GET", UPLOADS, key=OTHER_KEY)).document
        assert (shown["assets"], shown["usage"]["assets"]) == ([], 0)


def of_acme(owner: Any, name: str) -> Any:
    honest = getattr(owner, name)
    return owner, name, lambda self, _, *more: honest(self, "live:acme", *more)


@pytest.mark.parametrize(
    ("check", "given", "guard"),
    [
        (nothing_opens_it, ("forged",), (Signer, "verify", lambda *given: True)),
        (nothing_opens_it, ("expired",), (AssetToken, "is_expired", lambda *given: False)),
        (nothing_opens_it, ("foreign",), of_acme(MemoryAssets, "find")),
        (a_list_shows_nothing_of_others, (), of_acme(Assets, "page")),
        (a_list_shows_nothing_of_others, (), of_acme(Assets, "usage")),
    ],
    ids=["the signature", "the clock", "the tenant of a token", "the tenant of a list", "the tenant of a count"],
)
async def test_each_guard_is_needed(check: Any, given: tuple[str, ...], guard: Any) -> None:
    await fails_without(*guard)(check)(*given)
