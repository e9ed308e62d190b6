"""What stands beside a prompt: every form of it, what it lacks, and what an asset is shown as."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weftwork.protocol.media.message_parts import (
    MAX_PARTS,
    MODALITIES,
    AssetInput,
    InvalidPart,
    MediaInput,
    Modality,
    PartError,
    normalize_part,
    parse_content,
    resolve_asset_part,
)

ALL = frozenset(MODALITIES)
REF = "weftwork-asset:" + "0" * 64
PNG: dict[str, Any] = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
SECRET = "s3cr3t"


def parsed(content: list[Any], offered: frozenset[Modality] = ALL) -> Any:
    return parse_content([normalize_part(each) for each in content], offered, 100, "/c")


@pytest.mark.rule("media-50")
@pytest.mark.parametrize(
    ("given_part", "part"),
    [
        ({"mediaRef": REF, "mimeType": "image/png", "url": "u", "bytes": 3}, ("image", "mediaRef", REF)),
        ({"mediaRef": REF, "mimeType": "audio/ogg"}, ("audio", "mediaRef", REF)),
        ({"mediaRef": REF, "mimeType": "application/pdf"}, ("document", "mediaRef", REF)),
        ({"url": "u", "mimeType": "image/jpg", "alt": "x"}, ("image", "url", "u")),
        ({"data": "AAAA", "mimeType": "text/plain"}, ("document", "data", b"\0\0\0")),
    ],
)
def test_a_reference_to_media_is_a_part(given_part: Any, part: Any) -> None:
    (found,) = parsed([given_part])
    assert (found.modality, found.source, found.value) == part


@pytest.mark.rule("media-50")
@pytest.mark.parametrize(
    ("given_part", "named"),
    [
        (REF, AssetInput(REF, None, "/c/0")),
        ({"mediaRef": REF}, AssetInput(REF, None, "/c/0")),
        ({"mediaRef": REF, "mimeType": "", "url": "u", "bytes": 3}, AssetInput(REF, None, "/c/0")),
        ({"mediaRef": REF, "mimeType": None}, AssetInput(REF, None, "/c/0")),
        ({"mediaRef": "anything"}, AssetInput("anything", None, "/c/0")),
        ({"type": "file", "mediaRef": REF}, AssetInput(REF, "document", "/c/0")),
        ({"type": "image", "mediaRef": REF, "mimeType": ""}, AssetInput(REF, "image", "/c/0")),
    ],
)
def test_a_name_alone_is_a_part_as_well(given_part: Any, named: AssetInput) -> None:
    assert parsed([given_part]) == (named,)


@pytest.mark.parametrize("given_part", [PNG, {"type": "video"}, {"type": 1}, {"type": "text", "text": REF}])
def test_a_part_stays_as_it_is(given_part: Any) -> None:
    assert normalize_part(given_part) is given_part


@pytest.mark.rule("media-43", "media-50")
@pytest.mark.parametrize(
    ("given_part", "pointer", "word"),
    [
        ({"url": SECRET}, "/c/0/mimeType", "mimeType"),
        ({"data": SECRET}, "/c/0/mimeType", "mimeType"),
        ({"mimeType": 1, "url": SECRET}, "/c/0/mimeType", "mimeType"),
        ({"type": "image", "url": SECRET}, "/c/0/mimeType", "mimeType"),
        ({"type": "image", "url": SECRET, "mediaRef": REF}, "/c/0/mimeType", "mimeType"),
        ({"mediaRef": 7}, "/c/0/mediaRef", "mediaRef"),
        ({"mediaRef": ""}, "/c/0/mediaRef", "source"),
        ({"mediaRef": "x" * 513}, "/c/0/mediaRef", "source"),
        (SECRET, "/c/0", "mediaRef"),
        ("https://x.test/" + SECRET, "/c/0", "mediaRef"),
        ({}, "/c/0", "mediaRef"),
        (7, "/c/0", "mediaRef"),
        (None, "/c/0", "mediaRef"),
        ([REF], "/c/0", "mediaRef"),
    ],
)
def test_the_message_says_what_is_missing(given_part: Any, pointer: str, word: str) -> None:
    found = parsed([given_part])
    assert isinstance(found, PartError)
    assert (found.code, found.pointer) == ("validation_error", pointer)
    assert word in found.message
    assert SECRET not in found.message


@pytest.mark.rule("media-40")
@pytest.mark.parametrize(
    "given_part", [{"mimeType": "video/mp4", "url": "u"}, {"mimeType": "Video/X", "mediaRef": REF}]
)
def test_a_film_is_no_document(given_part: Any) -> None:
    found = parsed([{"url": "no media type"}, given_part])
    assert isinstance(found, PartError)
    assert (found.code, found.pointer) == ("unsupported_modality", "/c/1/type")


@pytest.mark.rule("media-40")
def test_what_is_known_of_a_name_is_judged_at_once() -> None:
    for part, offered, pointer in (
        (REF, frozenset[Modality](), "/c/0"),
        ({"type": "audio", "mediaRef": REF}, frozenset[Modality]({"image"}), "/c/0/type"),
    ):
        found = parsed([part, {"url": "no media type"}], offered)
        assert isinstance(found, PartError)
        assert (found.code, found.pointer) == ("unsupported_modality", pointer)


@pytest.mark.rule("media-44")
def test_names_count_among_the_media_of_a_request() -> None:
    assert len(parsed([REF] * MAX_PARTS)) == MAX_PARTS
    found = parsed([*[PNG] * MAX_PARTS, REF])
    assert isinstance(found, PartError)
    assert (found.code, found.pointer) == ("payload_too_large", f"/c/{MAX_PARTS}")


@pytest.mark.rule("media-50")
@pytest.mark.parametrize(
    ("said", "media_type", "shown"),
    [
        (None, "image/png", "image"),
        (None, "audio/ogg", "audio"),
        (None, "text/plain", "document"),
        (None, "application/octet-stream", "document"),
        (None, "video/mp4", "unsupported_modality"),
        ("image", "image/png", "image"),
        ("document", "image/png", "document"),
        ("image", "audio/ogg", "validation_error"),
        ("audio", "application/octet-stream", "validation_error"),
    ],
)
def test_an_asset_is_shown_as_what_it_is(said: Modality | None, media_type: str, shown: str) -> None:
    found = resolve_asset_part(AssetInput(REF, said, "/c/0"), media_type, ALL)
    if isinstance(found, PartError):
        assert (found.code, found.pointer) == (shown, "/c/0")
    else:
        assert found == MediaInput(found.modality, media_type, "mediaRef", REF, "/c/0")
        assert found.modality == shown
    others = ALL - {shown}
    assert isinstance(resolve_asset_part(AssetInput(REF, said, "/c/0"), media_type, others), PartError)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([PNG, REF, "image/png", "file"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "mimeType", "url", "mediaRef", "data"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(_ANY, max_size=4))
def test_nothing_raises(content: list[Any]) -> None:
    found = parsed(content)
    assert isinstance(found, PartError | tuple)
    assert not isinstance(found, tuple) or not any(isinstance(part, InvalidPart) for part in found)
