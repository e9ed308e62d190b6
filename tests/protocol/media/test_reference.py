"""A document names what stands in it, wherever that is, and only what belongs to its own tenant by URL."""

import hashlib
from base64 import b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.media.asset_references import (
    AssetToken,
    encode_asset_token,
    media_ref,
    media_ref_digest,
    referenced_assets,
)
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX, SAMPLE_ASSET_PREFIX

HERE = "live:acme"
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
before = st.sampled_from(["", "see ", "![x](", "<img src='", 'a\\"b\n', "🧵"])
after = st.sampled_from(["", " there", ")", "'>", ".", ". And", ",", "/", "?a=b", "-", "_x", "\n", "🧵"])


def url(digest: str, partition: str = HERE, base: str = "https://x.example", prefix: str = ASSET_PREFIX) -> str:
    token = AssetToken(partition, bytes.fromhex(digest), "01run", "image/png", "a.png")
    return base + prefix + encode_asset_token("k1", token, bytes(32))


def placed(document: Any, text: str, as_name: bool) -> Any:
    """The document with a text somewhere deep in it."""
    here: Any = {text: 1} if as_name else text
    if isinstance(document, list):
        return [*document, [here]]
    return {"y": document, "x": {"z": here}}


@pytest.mark.rule("media-01")
@given(digests)
def test_a_handle_says_a_digest(digest: str) -> None:
    assert media_ref_digest(media_ref(digest)) == digest


@pytest.mark.rule("media-01")
@given(st.text(max_size=100) | documents)
def test_nothing_else_is_a_handle(thing: Any) -> None:
    digest = media_ref_digest(thing)
    assert digest is None or media_ref(digest) == thing
    for wrong in ("", "weftwork-asset:", media_ref("a" * 63), media_ref("a" * 65), media_ref("A" * 64)):
        assert media_ref_digest(wrong) is None
    for wrong in (media_ref("a" * 64) + "\n", " " + media_ref("a" * 64), "https://x/" + media_ref("a" * 64)):
        assert media_ref_digest(wrong) is None


@pytest.mark.rule("media-02")
@settings(max_examples=example_count(300), deadline=None)
@given(documents, digests, digests, before, after, st.booleans(), st.sampled_from([ASSET_PREFIX, SAMPLE_ASSET_PREFIX]))
def test_references_are_found_in_any_document(
    document: Any, first: str, second: str, lead: str, trail: str, as_name: bool, prefix: str
) -> None:
    document = placed(document, lead + media_ref(first) + trail, as_name)
    document = placed(document, lead + url(second, prefix=prefix) + trail, as_name)
    assert referenced_assets(msgspec.json.encode(document), HERE) == {first, second}


@pytest.mark.rule("media-02")
@settings(max_examples=example_count(100), deadline=None)
@given(documents, digests, st.sampled_from(["live:other", "test:acme", "", "live:acme2"]))
def test_urls_of_other_tenants_do_not_count(document: Any, digest: str, partition: str) -> None:
    encoded = msgspec.json.encode(placed(document, url(digest, partition), False))
    assert referenced_assets(encoded, HERE) == frozenset()
    assert referenced_assets(encoded, partition) == {digest}


@pytest.mark.rule("media-02")
@given(documents, st.binary(max_size=200))
def test_media_that_stand_in_a_document_count_if_asked_for(document: Any, data: bytes) -> None:
    digest = hashlib.sha256(data).hexdigest()
    encoded = msgspec.json.encode([document, {"base64": b64encode(data).decode(), "mimeType": "image/png"}])
    assert digest in referenced_assets(encoded, HERE, inline=True)
    assert digest not in referenced_assets(encoded, HERE)
    assert referenced_assets(b'{"base64":"A"}', HERE, inline=True) == frozenset()


@pytest.mark.rule("media-02")
@given(st.binary(max_size=300))
def test_any_bytes_are_read(document: bytes) -> None:
    for noise in (b"/assets/v1.", b"weftwork-asset:", b'"base64":"'):
        referenced_assets(noise + document, HERE, inline=True)
