"""Parts of messages and what stands beside a prompt: what passes, what is lacking, and what an asset is shown as."""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.media import message_parts

ALL = frozenset(message_parts.MODALITIES)
CAP = 100
REF = "weftwork-asset:" + "0" * 64
PNG: dict[str, Any] = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
SECRET = "s3cr3t"


def parsed(content: Any, offered: frozenset[message_parts.Modality] = ALL, most: int = CAP) -> Any:
    return message_parts.parse_content(content, offered, most, "/c")


def wrong(content: Any, offered: frozenset[message_parts.Modality] = ALL, most: int = CAP) -> tuple[str, str]:
    found = parsed(content, offered, most)
    assert isinstance(found, message_parts.PartError), found
    assert SECRET not in f"{found.message}{found.pointer}{found.details}"
    return found.code, found.pointer


@pytest.mark.rule("media-41")
@each_case(
    "part, shown",
    (PNG, message_parts.MediaInput("image", "image/png", "data", b"\0\0\0", "/c/0")),
    ({"type": "image", "mimeType": "image/png", "dataBase64": "iVBORw0KGgo="}, b"\x89PNG\r\n\x1a\n"),
    ({"type": "audio", "mimeType": "audio/mp3", "dataBase64": "AAAA"}, b"\0\0\0"),
    ({"type": "file", "mimeType": "application/pdf", "dataBase64": "JVBERi0="}, b"%PDF-"),
    ({"type": "document", "mimeType": "text/plain", "url": "https://x.test/a"}, "https://x.test/a"),
    ({"type": "document", "mimeType": "application/octet-stream", "mediaRef": REF}, REF),
    ({"type": "audio", "mimeType": "Audio/OGG; codecs=opus", "url": "https://x.test/a"}, "https://x.test/a"),
    ({"type": "image", "mimeType": "image/png", "mediaRef": "anything"}, "anything"),
)
def test_a_part_names_its_type_and_one_source(part: Any, shown: Any) -> None:
    (found,) = parsed([part])
    assert isinstance(found, message_parts.MediaInput)
    assert (found if isinstance(shown, message_parts.MediaInput) else found.value) == shown


def test_a_part_has_one_name_and_texts_are_parts_too() -> None:
    found = parsed([{"type": "file", "mimeType": "application/x-pdf", "url": "u"}])
    assert found == (message_parts.MediaInput("document", "application/pdf", "url", "u", "/c/0"),)
    assert parsed("hello") == (message_parts.TextInput("hello"),)
    assert parsed([{"type": "text", "text": ""}, {"type": "text", "text": "b", "more": 1}]) == (
        message_parts.TextInput(""),
        message_parts.TextInput("b"),
    )
    assert parsed([]) == ()


@pytest.mark.rule("ai-03")
@each_case(
    "content, text",
    ("a", "a"),
    ([], ""),
    ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
    ([{"type": "text", "text": "a"}, PNG], None),
    ([{"type": "text"}], None),
    ([{"type": "text", "text": 1}], None),
    (["a"], None),
    ({"type": "text", "text": "a"}, None),
    (1, None),
)
def test_a_message_of_nothing_but_text_is_a_text(content: Any, text: str | None) -> None:
    assert message_parts.plain_text(content) == text


@pytest.mark.rule("media-43")
@each_case(
    "part, pointer",
    ({"type": "image", "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": 1, "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": SECRET, "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": "image/" + "x" * 2000, "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": "image/png\r\nX: y", "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": "audio/ogg", "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "audio", "mimeType": "image/png", "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": "application/octet-stream", "data": "AAAA"}, "/c/0/mimeType"),
    ({"type": "image", "mimeType": "image/png"}, "/c/0"),
    ({**PNG, "url": "https://x.test"}, "/c/0"),
    ({**PNG, "mediaRef": REF}, "/c/0"),
    ({**PNG, "dataBase64": "AAAA"}, "/c/0"),
    ({**PNG, "url": "u", "mediaRef": REF}, "/c/0"),
    ({**PNG, "data": ""}, "/c/0/data"),
    ({**PNG, "data": None}, "/c/0/data"),
    ({**PNG, "data": [SECRET]}, "/c/0/data"),
    ({**PNG, "data": "AAA"}, "/c/0/data"),
    ({**PNG, "data": "AA=A"}, "/c/0/data"),
    ({**PNG, "data": "A==="}, "/c/0/data"),
    ({**PNG, "data": "===="}, "/c/0/data"),
    ({**PNG, "data": "AA\nAA==="}, "/c/0/data"),
    ({**PNG, "data": "AA-_"}, "/c/0/data"),
    ({**PNG, "data": "AA AA==="}, "/c/0/data"),
    ({"type": "image", "mimeType": "image/png", "dataBase64": "!" + SECRET * 4}, "/c/0/dataBase64"),
    ({"type": "image", "mimeType": "image/png", "url": "h" * 8193}, "/c/0/url"),
    ({"type": "image", "mimeType": "image/png", "url": {}}, "/c/0/url"),
    ({"type": "image", "mimeType": "image/png", "mediaRef": "h" * 513}, "/c/0/mediaRef"),
    ({"type": "text"}, "/c/0/text"),
    ({"type": "text", "text": 1}, "/c/0/text"),
    ({"type": 1}, "/c/0"),
    ({}, "/c/0"),
    (SECRET, "/c/0"),
    (None, "/c/0"),
    ([PNG], "/c/0"),
)
def test_a_part_of_another_shape_is_told_where(part: Any, pointer: str) -> None:
    assert wrong([part]) == ("validation_error", pointer)


@each_case("content", None, 1, True, {}, PNG)
def test_content_is_a_text_or_a_list(content: Any) -> None:
    assert wrong(content) == ("validation_error", "/c")


@pytest.mark.rule("media-40")
@fails_without(message_parts, "_check_modalities", lambda listed, offered: None, match="kind='image'")
@each_case("kind", "image", "audio", "document", "file", "video", "", "Image", "TEXT", SECRET)
def test_a_part_that_is_not_taken_is_no_matter_of_shape(kind: str) -> None:
    for part in ({"type": kind}, {"type": kind, "mimeType": SECRET, "url": 1, "data": SECRET}):
        assert wrong([{"type": "text"}, {}, part], frozenset()) == ("unsupported_modality", "/c/2/type")


@pytest.mark.parametrize("taken", message_parts.MODALITIES)
def test_each_modality_is_taken_by_itself(taken: message_parts.Modality) -> None:
    types = {"image": ("image",), "audio": ("audio",), "document": ("document", "file")}
    offered = frozenset[message_parts.Modality]({taken})
    for modality, names in types.items():
        for name in names:
            family = "application/pdf" if modality == "document" else f"{modality}/x"
            found = parsed([{"type": name, "mimeType": family, "data": "AAAA"}], offered)
            assert isinstance(found, message_parts.PartError) == (modality != taken)


@pytest.mark.rule("media-44")
@each_case("over", -1, 0, 1, 2, 3)
@each_case("name", "data", "dataBase64")
def test_the_cap_is_one_of_decoded_bytes(over: int, name: str) -> None:
    part = {"type": "image", "mimeType": "image/png", name: b64encode(bytes(CAP + over)).decode()}
    if over <= 0:
        assert len(parsed([part])[0].value) == CAP + over
    else:
        assert wrong([part]) == ("payload_too_large", f"/c/0/{name}")


@pytest.mark.rule("media-44")
def test_what_is_too_long_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(text: str) -> bytes:
        raise AssertionError("decoded")

    monkeypatch.setattr(message_parts, "b64decode", decode)
    assert wrong([{**PNG, "data": "!" * 1_000_000}]) == ("payload_too_large", "/c/0/data")
    assert wrong([{**PNG, "data": "A" * 1_000_001}]) == ("payload_too_large", "/c/0/data")
    monkeypatch.setattr(message_parts, "_decoded_size", lambda text: 0)  # sabotage
    with pytest.raises(AssertionError, match="decoded"):
        parsed([{**PNG, "data": "A" * 1_000_000}])


def test_one_request_has_so_many_parts_and_bytes() -> None:
    assert len(parsed([PNG] * message_parts.MAX_PARTS)) == message_parts.MAX_PARTS
    assert wrong([{"type": "text", "text": "a"}, *[PNG] * (message_parts.MAX_PARTS + 1)]) == (
        "payload_too_large",
        "/c/17",
    )
    assert isinstance(
        message_parts.parse_contents([("/a", [PNG] * 9), ("/b", [PNG] * 8)], ALL, CAP), message_parts.PartError
    )
    many = b64encode(bytes(message_parts.MAX_TOTAL_BYTES // 4 + 1)).decode()
    found = message_parts.parse_contents(
        [("/a", [{**PNG, "data": many}] * 2), ("/b", [{**PNG, "data": many}] * 2)], ALL, message_parts.MAX_TOTAL_BYTES
    )
    assert isinstance(found, message_parts.PartError)
    assert (found.code, found.pointer, found.details) == (
        "payload_too_large",
        "/b/1/data",
        {"limit": message_parts.MAX_TOTAL_BYTES},
    )


GOOD = [PNG, {"type": "text", "text": "a"}, {"type": "file", "mimeType": "text/plain", "url": "u"}]
STAGES: list[tuple[str, list[Any]]] = [
    (
        "unsupported_modality",
        [{"type": "video"}, {"type": "audio", "mimeType": "x"}, {"type": "audio", "data": "A" * 999}],
    ),
    ("validation_error", [{"type": "image"}, {}, "x", {"type": "text"}, {**PNG, "url": "u"}, {**PNG, "data": "!"}]),
    ("payload_too_large", [{**PNG, "data": "A" * 200}, {**PNG, "data": "?" * 2000}]),
]


@pytest.mark.rule("media-40")
@given(st.data())
def test_modality_comes_before_shape_and_shape_before_size(data: st.DataObject) -> None:
    offered = frozenset[message_parts.Modality]({"image", "document"})
    first = data.draw(st.integers(0, len(STAGES) - 1))
    later = [part for _, found in STAGES[first + 1 :] for part in found]
    listed = data.draw(st.lists(st.sampled_from([*GOOD, *later]), max_size=6))
    listed.insert(data.draw(st.integers(0, len(listed))), data.draw(st.sampled_from(STAGES[first][1])))
    cut = data.draw(st.integers(0, len(listed)))
    found = message_parts.parse_contents([("/a", listed[:cut]), ("/b", listed[cut:])], offered, CAP)
    assert isinstance(found, message_parts.PartError)
    assert found.code == STAGES[first][0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([*GOOD, *STAGES[1][1]]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["type", "text", "mimeType", "url", "mediaRef", "data"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_nothing_raises(content: Any) -> None:
    found = parsed(content)
    assert isinstance(found, message_parts.PartError | tuple)
    message_parts.plain_text(content)


@pytest.mark.rule("media-42")
def test_discovery_says_what_is_taken() -> None:
    assert message_parts.input_family(frozenset(), 10) is None
    assert message_parts.input_family(frozenset({"document", "image"}), 10) == {
        "modalities": ["text", "image", "document"],
        "maxBytesPerPart": 10,
    }


def parsed_parts(content: list[Any], offered: frozenset[message_parts.Modality] = ALL) -> Any:
    return message_parts.parse_content([message_parts.normalize_part(each) for each in content], offered, 100, "/c")


@pytest.mark.rule("media-50")
@each_case(
    "given_part, part",
    ({"mediaRef": REF, "mimeType": "image/png", "url": "u", "bytes": 3}, ("image", "mediaRef", REF)),
    ({"mediaRef": REF, "mimeType": "audio/ogg"}, ("audio", "mediaRef", REF)),
    ({"mediaRef": REF, "mimeType": "application/pdf"}, ("document", "mediaRef", REF)),
    ({"url": "u", "mimeType": "image/jpg", "alt": "x"}, ("image", "url", "u")),
    ({"data": "AAAA", "mimeType": "text/plain"}, ("document", "data", b"\0\0\0")),
)
def test_a_reference_to_media_is_a_part(given_part: Any, part: Any) -> None:
    (found,) = parsed_parts([given_part])
    assert (found.modality, found.source, found.value) == part


@pytest.mark.rule("media-50")
@each_case(
    "given_part, named",
    (REF, message_parts.AssetInput(REF, None, "/c/0")),
    ({"mediaRef": REF}, message_parts.AssetInput(REF, None, "/c/0")),
    ({"mediaRef": REF, "mimeType": "", "url": "u", "bytes": 3}, message_parts.AssetInput(REF, None, "/c/0")),
    ({"mediaRef": REF, "mimeType": None}, message_parts.AssetInput(REF, None, "/c/0")),
    ({"mediaRef": "anything"}, message_parts.AssetInput("anything", None, "/c/0")),
    ({"type": "file", "mediaRef": REF}, message_parts.AssetInput(REF, "document", "/c/0")),
    ({"type": "image", "mediaRef": REF, "mimeType": ""}, message_parts.AssetInput(REF, "image", "/c/0")),
)
def test_a_name_alone_is_a_part_as_well(given_part: Any, named: message_parts.AssetInput) -> None:
    assert parsed_parts([given_part]) == (named,)


@each_case("given_part", PNG, {"type": "video"}, {"type": 1}, {"type": "text", "text": REF})
def test_a_part_stays_as_it_is(given_part: Any) -> None:
    assert message_parts.normalize_part(given_part) is given_part


@pytest.mark.rule("media-43", "media-50")
@each_case(
    "given_part, pointer, word",
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
)
def test_the_message_says_what_is_missing(given_part: Any, pointer: str, word: str) -> None:
    found = parsed_parts([given_part])
    assert isinstance(found, message_parts.PartError)
    assert (found.code, found.pointer) == ("validation_error", pointer)
    assert word in found.message
    assert SECRET not in found.message


@pytest.mark.rule("media-40")
@each_case("given_part", {"mimeType": "video/mp4", "url": "u"}, {"mimeType": "Video/X", "mediaRef": REF})
def test_a_film_is_no_document(given_part: Any) -> None:
    found = parsed_parts([{"url": "no media type"}, given_part])
    assert isinstance(found, message_parts.PartError)
    assert (found.code, found.pointer) == ("unsupported_modality", "/c/1/type")


@pytest.mark.rule("media-40", "media-44")
def test_names_are_judged_and_counted_among_the_media_of_a_request_at_once() -> None:
    for part, offered, pointer in (
        (REF, frozenset[message_parts.Modality](), "/c/0"),
        ({"type": "audio", "mediaRef": REF}, frozenset[message_parts.Modality]({"image"}), "/c/0/type"),
    ):
        found = parsed_parts([part, {"url": "no media type"}], offered)
        assert isinstance(found, message_parts.PartError)
        assert (found.code, found.pointer) == ("unsupported_modality", pointer)
    assert len(parsed_parts([REF] * message_parts.MAX_PARTS)) == message_parts.MAX_PARTS
    found = parsed_parts([*[PNG] * message_parts.MAX_PARTS, REF])
    assert isinstance(found, message_parts.PartError)
    assert (found.code, found.pointer) == ("payload_too_large", f"/c/{message_parts.MAX_PARTS}")


@pytest.mark.rule("media-50")
@each_case(
    "said, media_type, shown",
    (None, "image/png", "image"),
    (None, "audio/ogg", "audio"),
    (None, "text/plain", "document"),
    (None, "application/octet-stream", "document"),
    (None, "video/mp4", "unsupported_modality"),
    ("image", "image/png", "image"),
    ("document", "image/png", "document"),
    ("image", "audio/ogg", "validation_error"),
    ("audio", "application/octet-stream", "validation_error"),
)
def test_an_asset_is_shown_as_what_it_is(said: message_parts.Modality | None, media_type: str, shown: str) -> None:
    found = message_parts.resolve_asset_part(message_parts.AssetInput(REF, said, "/c/0"), media_type, ALL)
    if isinstance(found, message_parts.PartError):
        assert (found.code, found.pointer) == (shown, "/c/0")
    else:
        assert found == message_parts.MediaInput(found.modality, media_type, "mediaRef", REF, "/c/0")
        assert found.modality == shown
    others = ALL - {shown}
    assert isinstance(
        message_parts.resolve_asset_part(message_parts.AssetInput(REF, said, "/c/0"), media_type, others),
        message_parts.PartError,
    )


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([PNG, REF, "image/png", "file"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["type", "text", "mimeType", "url", "mediaRef", "data"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(_ANY, max_size=4))
def test_no_part_raises(content: list[Any]) -> None:
    found = parsed_parts(content)
    assert isinstance(found, message_parts.PartError | tuple)
    assert not isinstance(found, tuple) or not any(isinstance(part, message_parts.InvalidPart) for part in found)
