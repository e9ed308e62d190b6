"""How media say what they are: the payload and the hint agree, and there is one source."""

from typing import Any

import pytest

from weftwork.protocol.media.message_parts import check_media_url, mirror_hint, rendering_hint


@pytest.mark.rule("media-81")
@pytest.mark.parametrize(
    ("kind", "display"), [("media.image", "image"), ("media.audio", "audio"), ("media.file", "file")]
)
def test_the_hint_says_what_the_payload_says(kind: str, display: str) -> None:
    payload = {"url": "https://a.example/x", "bytes": 1, "mimeType": "a/b", "alt": "A"}
    assert rendering_hint(kind, payload, "T") == {"display": display, "mimeType": "a/b", "alt": "A", "title": "T"}
    assert rendering_hint(kind, {"bytes": 1}) == {"display": display}


@pytest.mark.rule("media-82")
@pytest.mark.parametrize(
    ("payload", "hint", "alt"),
    [
        ({"alt": "P"}, {}, "P"),
        ({}, {"alt": "H"}, "H"),
        ({"alt": "P"}, {"alt": "H"}, "P"),
        ({}, {}, None),
        ({}, {"alt": 3}, None),
    ],
)
def test_what_one_of_them_says_both_say(payload: dict[str, Any], hint: dict[str, Any], alt: str | None) -> None:
    made = mirror_hint({"type": "media.image", "payload": payload, "meta": {"rendering": hint}})
    assert made["payload"].get("alt") == alt
    if alt is not None:
        assert made["meta"]["rendering"] == {"display": "image", "alt": alt}


@pytest.mark.rule("media-82")
@pytest.mark.parametrize(
    "document",
    [
        {"type": "media.image", "payload": []},
        {"type": "media.image"},
        {"type": "media.image", "payload": {}, "meta": 1},
        {"type": "media.image", "payload": {}, "meta": {"rendering": "x"}},
    ],
)
def test_what_is_no_envelope_stays_as_it_is(document: dict[str, Any]) -> None:
    assert mirror_hint(document) == document


@pytest.mark.rule("media-83")
@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"url": "https://a.example/x"}, None),
        ({"url": "http://a.example/x"}, None),
        ({"base64": "AAAA"}, None),
        ({"url": "data:image/png;base64,AAAA"}, "/payload/url"),
        ({"url": "JavaScript:alert(1)"}, "/payload/url"),
        ({"url": "file:///etc/passwd"}, "/payload/url"),
    ],
)
def test_a_url_is_a_web_address(payload: dict[str, Any], place: str | None) -> None:
    fault = check_media_url(payload)
    assert (fault.instance_path if fault is not None else None) == place
