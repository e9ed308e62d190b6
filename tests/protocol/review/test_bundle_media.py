"""Media in debug bundles: by their URLs, which stay whole, and no bytes as text anywhere."""

import base64
import hashlib
import json
import random
import re
from typing import Any

import msgspec
import pytest
from hypothesis import example
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without, present
from tests.harness.definitions import FULL, for_all
from tests.protocol.privacy.test_credential_patterns import BODY, CREDENTIALS
from tests.protocol.review.test_bundle import Written, events_of, read, stored, story, write
from weftwork.protocol.media.asset_references import AssetToken, decode_asset_token, encode_asset_token, media_ref
from weftwork.protocol.privacy import credential_redaction
from weftwork.protocol.privacy.credential_patterns import MARKER
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.review import bundle_masks, bundle_media, debug_bundle
from weftwork.protocol.run.events import ENVELOPE_RECORDED
from weftwork.protocol.run.projection import StateRow
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX

TOKENS = 300_000 if FULL else 4_000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 12
TINY = b"\x89PNG\r\n\x1a\n tiny"
RUN = re.compile(rb"[A-Za-z0-9+/=_-]{1025}")


def link(sha256: bytes, media_type: str, name: str) -> str:
    token = AssetToken("live:acme", sha256, "run-1", media_type, name)
    return f"https://media.example{ASSET_PREFIX}{encode_asset_token('kid', token, bytes(32))}"


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def media(data: bytes = PNG, kind: str = "media.image", **more: Any) -> list[Written]:
    """How inline media stand in a log: the record of the envelope, and an event of its kind."""
    payload = {"base64": text_of(data), "bytes": len(data), "mimeType": "image/png", "alt": "a dot", **more}
    record = {"nodeId": "n0", "envelopeId": "e", "type": kind, "status": "accepted", "payload": payload}
    return [(ENVELOPE_RECORDED, record, "n0"), (kind, payload, "n0")]


@pytest.mark.rule("bundle-08")
@fails_without(bundle_masks, "reference_media", lambda value, link: value)
@each_case("data", b"", TINY, PNG, b"\7" * 200_000)
def test_inline_media_become_the_url_that_the_host_would_give(data: bytes) -> None:
    looks = "image/png" if data.startswith(b"\x89PNG") else None
    body, _ = write(events_of([*story(1)[:2], *media(data, name="dot.png"), *story(1)[2:]]), link=link)
    recorded, shown = read(body)["events"][2:4]
    assert recorded["payload"]["payload"] == shown["payload"]
    assert "base64" not in shown["payload"]
    opened = present(decode_asset_token(shown["payload"].pop("url").rpartition("/")[2]))
    assert (opened[0].sha256, opened[0].name, opened[0].run_id) == (hashlib.sha256(data).digest(), "dot.png", "run-1")
    assert looks is None or opened[0].media_type == looks
    assert shown["payload"] == {"bytes": len(data), "mimeType": "image/png", "alt": "a dot", "name": "dot.png"}
    assert text_of(data)[:40].encode() not in body or not data


@pytest.mark.rule("bundle-02", "bundle-08")
@fails_without(bundle_media, "mask_credentials_in_text", lambda text: text, match=BODY)
def test_no_credential_goes_into_a_token() -> None:
    body, _ = write(events_of(media(TINY, name=f"sk-{BODY}.png")), stored(1), link=link)
    opened = present(decode_asset_token(read(body)["events"][1]["payload"]["url"].rpartition("/")[2]))
    assert opened[0].name == f"{MARKER}.png"


@pytest.mark.rule("bundle-08")
def test_bytes_are_linked_as_what_they_look_like() -> None:
    html = b"<!doctype html><script>1</script>"
    body, _ = write(events_of(media(html, mimeType="image/png")), stored(1), link=link)
    opened = present(decode_asset_token(read(body)["events"][1]["payload"]["url"].rpartition("/")[2]))
    assert opened[0].media_type == "application/octet-stream"


@pytest.mark.rule("bundle-08")
def test_a_url_that_is_there_stays_and_what_cannot_be_linked_is_left_out() -> None:
    given_url = "https://elsewhere.example/a.png"
    cases: list[dict[str, Any]] = [{"url": given_url}, {"url": given_url, "base64": text_of(TINY)}]
    cases += [{"base64": "not *base64*"}, {"base64": 7}, {"base64": {"deep": 1}}]
    events = events_of([("media.file", {"bytes": 1, **case}, None) for case in cases])
    shown = [event["payload"] for event in read(write(events, link=link)[0])["events"]]
    assert shown[:2] == [{"bytes": 1, "url": given_url}] * 2
    assert shown[2:] == [{"bytes": 1, "elided": "The bytes are not in the bundle."}] * 3
    without = [event["payload"] for event in read(write(events_of(media(TINY)), stored(1))[0])["events"]]
    for payload in (without[0]["payload"], without[1]):
        assert ("base64" in payload, payload["url"]) == (False, media_ref(hashlib.sha256(TINY).hexdigest()))


REF = media_ref(hashlib.sha256(PNG).hexdigest())
SHORT = media_ref(hashlib.sha256(TINY).hexdigest())
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
MP3 = b"ID3\x04\x00\x00\x00\x00\x00\x00" + bytes(200)


def referenced(value: Any) -> Any:
    """The value as a bundle shows it, in an event and in the run."""
    body, _ = write(events_of([("acme.thing", {"x": value}, None)]), stored(0, inputs={"x": value}))
    document = read(body)
    assert document["events"][0]["payload"] == document["run"]["inputs"]
    return document["run"]["inputs"]["x"]


@pytest.mark.rule("bundle-08")
@fails_without(bundle_media, "_reference_members", lambda value, link: value)
@fails_without(bundle_media, "_reference_named", lambda text, link: text)
@fails_without(bundle_media, "_reference_content", lambda text, link: text)
def test_media_of_every_form_are_referenced() -> None:
    png, tiny = text_of(PNG), text_of(TINY)
    nested = json.dumps({"text": json.dumps({"image": png})})
    cases: list[tuple[Any, Any]] = [
        (png, REF),
        (png.rstrip("="), REF),
        (base64.urlsafe_b64encode(PNG).decode(), REF),
        (f"({png})", f"({REF})"),
        (f"data:image/png;base64,{tiny} and", f"{SHORT} and"),
        (f"![dot](data:image/png;name=a.png;base64,{png})", f"![dot]({REF})"),
        (base64.encodebytes(PNG).decode(), f"{REF}\n"),
        (json.dumps({"image": base64.encodebytes(PNG).decode()}), json.dumps({"image": f"{REF}\n"})),
        (f"see:\\n{png}\\nend", f"see:\\n{REF}\\nend"),
        (png.replace("/", "\\/"), REF),
        (nested, nested.replace(png, REF)),
        ({"mimeType": "image/png", "base64": tiny}, {"mimeType": "image/png", "url": SHORT}),
        ({"bytes": 1, "base64": tiny}, {"bytes": 1, "url": SHORT}),
        ({"type": "audio", "mimeType": "audio/x", "data": "AAAA"}, {"type": "audio", "mimeType": "audio/x"}),
        ({"mimeType": "text/plain", "data": png}, {"mimeType": "text/plain", "url": REF}),
        ([{"deep": [{"data": png}]}], [{"deep": [{"url": REF}]}]),
        ({png: 1}, {REF: 1}),
        (json.dumps({"type": "media.file", "payload": {"base64": "AQIDBAUG", "bytes": 6}}), None),
    ]
    for value, expected in cases:
        shown = referenced(value)
        if isinstance(value, dict) and value.get("data") == "AAAA":
            assert shown.pop("url") == media_ref(hashlib.sha256(bytes(3)).hexdigest())
        assert expected is None or shown == expected, value
        assert not any(each in json.dumps(shown) for each in (tiny, png[:30], png[200:230], "AQIDBAUG")), value
    for data in (SVG, MP3, b"%PDF-1.4 " + bytes(40), b"GIF89a" + bytes(40), b"\xff\xd8\xff\xe0" + bytes(40)):
        assert referenced(text_of(data)) == media_ref(hashlib.sha256(data).hexdigest())


@pytest.mark.rule("bundle-08")
@fails_without(bundle_media, "_TYPE_MEMBERS", ())
@each_case("name", "mimeType", "mediaType", "media_type", "contentType", "content_type")
def test_bytes_of_an_unknown_format_are_media_if_their_object_names_a_type(name: str) -> None:
    sound = bytes(range(7, 107))
    ref = media_ref(hashlib.sha256(sound).hexdigest())
    assert referenced({name: "audio/pcm", "data": text_of(sound)}) == {name: "audio/pcm", "url": ref}
    assert referenced({name: "audio/pcm", "base64": text_of(sound)}) == {name: "audio/pcm", "url": ref}


@pytest.mark.rule("bundle-08")
@each_case(
    "value",
    "a" * 64,
    hashlib.sha256(b"").hexdigest(),
    text_of(b"a text that is long enough to be found in a bundle"),
    {"mimeType": "text/plain", "data": "word"},
    {"mimeType": "text/csv", "data": "a,b,c"},
    {"data": "word", "base64": "no"},
    "https://example.com/iVBORw0KGgo/" + "b" * 60,
    "data:text/plain,hello and the word base64 in a sentence of some length",
)
def test_what_is_no_media_stays(value: Any) -> None:
    assert referenced(value) == value


@pytest.mark.rule("bundle-08")
@fails_without(bundle_media.StreamedMedia, "elide", lambda self, document: document)
@each_case("size", 1, 7, 64, 10_000)
def test_streamed_text_has_no_base64(size: int) -> None:
    text = f"See data:image/png;base64,{text_of(PNG)}) and more."
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    chunks: list[Written] = [
        ("output.chunk", {"nodeId": "n0", "chunk": each, "isLast": at == len(parts) - 1}, "n0")
        for at, each in enumerate(parts)
    ]
    other: Written = ("output.chunk", {"nodeId": "n1", "chunk": "aaaa", "isLast": False}, "n1")
    events = events_of([each for chunk in chunks for each in (chunk, other)])
    shown = read(write(events, stored(len(events) - 1), cap=10**8)[0])["events"]
    assert "".join(each["payload"]["chunk"] for each in shown[::2]) == "See data:image/png;base64,) and more."
    assert {each["payload"]["chunk"] for each in shown[1::2]} == {"aaaa"}


def values() -> st.SearchStrategy[Any]:
    """JSON with bytes as text in it, bare, in addresses and in lines."""
    data = st.binary(min_size=900, max_size=3_000)
    bare = data.map(text_of) | data.map(lambda each: base64.urlsafe_b64encode(each).decode())
    lined = data.map(lambda each: base64.encodebytes(each).decode())
    held = st.one_of(bare, lined, bare.map(lambda each: f"data:image/png;base64,{each} and on"), bare.map(json.dumps))
    texts = st.text(max_size=12) | held
    return st.recursive(
        texts | st.integers(0, 9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    )


@pytest.mark.rule("bundle-08")
@for_all(30, values(), full=1_200)
@example(base64.encodebytes(bytes(900)).decode())
def test_no_long_base64_is_anywhere_in_a_bundle(value: Any) -> None:
    written = story(1)
    more: list[Written] = [("variable.changed", {"name": "v", "next": value}, "n0"), ("acme.thing", {"x": value}, "n0")]
    events = events_of([*written[:2], *more, *written[2:]])
    run = stored(len(events) - 1, inputs={"in": value}, metadata={"m": value})
    rows = (
        StateRow("variable", "v", msgspec.json.encode(value)),
        StateRow("artifact", "a", msgspec.json.encode(value)),
    )
    body, _ = write(events, msgspec.structs.replace(run, rows=rows), link=link)
    assert RUN.search(body) is None
    # In lines it is no run, and yet no more of it may be left, but for a last line that is short.
    assert re.search(rb"[A-Za-z0-9+/=_-]{1090}", re.sub(rb"\\n", b"", body)) is None
    bare = debug_bundle.unattached_bundle(
        "run-1", [{"payload": value}], [{"attributes": {"a": value}}], "1", "2026-01-31T08:05:09Z", link
    )
    assert RUN.search(msgspec.json.encode(bare)) is None


@fails_without(debug_bundle, "may_hold_media", lambda document: False)
@fails_without(bundle_masks, "elide_long_base64", lambda text: text)
def test_long_base64_of_an_event_is_left_out() -> None:
    assert RUN.search(write(events_of([("acme.thing", {"x": text_of(PNG[1:])}, None)]))[0]) is None


@each_case(
    "text",
    "a" * bundle_media.MAX_BASE64_RUN,
    "word " * 1_000,
    "\n".join(hashlib.sha256(bytes([each])).hexdigest() for each in range(50)),
    "/".join(["https:/", *(f"part{each}.html" for each in range(300))]),
    "\n".join("x" * 39 for _ in range(50)),
)
def test_what_is_no_base64_stays(text: str) -> None:
    assert bundle_media.elide_long_base64(text) == text


@pytest.mark.rule("bundle-08", "bundle-04")
@pytest.mark.parametrize("page", [1, 7, 256])
def test_the_size_that_counts_is_that_of_what_is_written(page: int) -> None:
    written = [*story(2)[:2], *[each for _ in range(40) for each in media()], *story(2)[2:]]
    events = events_of(written)
    whole, made = write(events, page=page, link=link, cap=100_000)
    document = read(whole)
    assert document["truncated"] is False, "ten times as large before"
    assert sum(len(event.document) for event in events) > 300_000
    assert write(events, page=page, link=link, cap=len(whole))[0] == whole
    for cap in range(len(whole) - 1, len(whole) - 3_000, -131):
        body, made = write(events, page=page, link=link, cap=cap)
        assert len(body) <= cap
        cut = read(body)
        assert (cut["truncatedReason"], made.is_full) == (debug_bundle.EVENTS_TRUNCATED, True)
        assert cut["events"] == document["events"][: len(cut["events"])]


def test_small_documents_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*given: Any) -> Any:
        raise AssertionError("decoded")

    monkeypatch.setattr(bundle_masks, "mask_value", nobody)
    read(write(events_of(story(30)))[0])
    assert not debug_bundle.may_hold_media(b'{"message":"%b"}' % (b"many words of a long text " * 500))
    with pytest.raises(AssertionError, match="decoded"):
        write(events_of(media(TINY)), stored(1))


def tokens(count: int) -> list[str]:
    """Texts of tokens with random signatures, digests and names."""
    chance = random.Random(9)
    found: list[str] = []
    for at in range(count):
        name = "".join(chance.choice("abcXYZ-_ .é") for _ in range(chance.choice([0, 0, 8, 60])))
        token = AssetToken("live:acme", chance.randbytes(32), f"run-{at}", "image/png", name)
        found.append(
            encode_asset_token(chance.choice(["k1", "sk-abcdefghijklmnop", "kid_9"]), token, chance.randbytes(32))
        )
    return found


def looking_like(credential: str) -> str:
    """A token whose signature holds something that looks like a credential."""
    signature = base64.urlsafe_b64decode((f"--{credential}" + "a" * 43)[:42] + "A=")
    return encode_asset_token("k", AssetToken("live:acme", bytes(32), "run", "image/png"), signature)


@pytest.mark.rule("media-55")
def test_the_url_of_an_asset_survives_the_masking() -> None:
    unlucky = [looking_like(each) for each in ("sk-abcdefghijklmnop", "hf_abcdefghijklmnopqrstu", "AIza" + "b" * 32)]
    for token in [*tokens(TOKENS), *unlucky]:
        text = f"see https://media.example{ASSET_PREFIX}{token}, and sk-{BODY}"
        assert mask_credentials_in_text(text) == f"see https://media.example{ASSET_PREFIX}{token}, and {MARKER}"
    event = {"url": f"https://media.example{ASSET_PREFIX}{unlucky[0]}", "bytes": 1, "mimeType": "image/png"}
    shown = read(write(events_of([("media.image", event, None)]), link=link)[0])["events"][0]
    assert shown["payload"] == event


def test_without_that_some_urls_would_open_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credential_redaction, "rewrite_around_tokens", lambda text, change: change(text))
    token = looking_like("sk-abcdefghijklmnop")
    assert token not in mask_credentials_in_text(f"https://media.example{ASSET_PREFIX}{token}")
    with pytest.raises(AssertionError):
        test_the_url_of_an_asset_survives_the_masking()


@pytest.mark.rule("media-55", "bundle-02")
@each_case("name", *CREDENTIALS)
def test_no_credential_hides_behind_the_looks_of_a_url(name: str) -> None:
    secret = CREDENTIALS[name]
    token = tokens(1)[0]
    for text in (
        f"{ASSET_PREFIX}v1.k.{secret}.{'a' * 43}",
        f"{ASSET_PREFIX}v1.{secret}",
        f"{ASSET_PREFIX}{token} {secret}",
        f"{secret} {ASSET_PREFIX}{token}",
        f"\0000\0 {ASSET_PREFIX}{token} {secret} \0001\0",
    ):
        assert BODY not in mask_credentials_in_text(text), text
        assert secret not in mask_credentials_in_text(text)


@pytest.mark.rule("media-55")
def test_a_long_token_is_no_base64_to_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    token = encode_asset_token("k", AssetToken("live:acme", bytes(32), "run", "image/png", "n" * 900), bytes(32))
    assert RUN.search(token.encode()) is not None
    text = f"https://media.example{ASSET_PREFIX}{token}"
    assert bundle_media.elide_long_base64(text) == text
    assert len(bundle_media.elide_long_base64(f"{ASSET_PREFIX}v1.k.{'a' * 1_800}.{'b' * 43}")) < 300, (
        "what only looks like one"
    )
    monkeypatch.setattr(bundle_media, "rewrite_around_tokens", lambda text, change: change(text))
    assert bundle_media.elide_long_base64(text) != text


class Recorded:
    """A pattern, and the lengths of the texts that it searched."""

    def __init__(self, pattern: "re.Pattern[str]") -> None:
        self._pattern = pattern
        self.lengths: list[int] = []

    def sub(self, replacement: Any, text: str) -> str:
        self.lengths.append(len(text))
        return self._pattern.sub(replacement, text)


WORDS = "many words of at most 39 letters, and " * 10_000
LONG_TEXT = f"{text_of(PNG)} {WORDS} {text_of(PNG)} {WORDS}"


@pytest.mark.rule("bundle-08")
@fails_without(bundle_media, "_PIECE", 10**9)
@fails_without(bundle_media, "_has_run", lambda text, letters: True)
def test_only_the_pieces_of_a_long_text_that_have_base64_are_searched() -> None:
    with pytest.MonkeyPatch.context() as patch:
        content, lines = Recorded(bundle_media._CONTENT), Recorded(bundle_media._LINES)
        patch.setattr(bundle_media, "_CONTENT", content)
        patch.setattr(bundle_media, "_LINES", lines)
        found = bundle_media.reference_media(LONG_TEXT, None)
        bundle_media.elide_long_base64(LONG_TEXT.replace(", ", ",\n"))
    reference = media_ref(hashlib.sha256(PNG).hexdigest())
    assert found == f"{reference} {WORDS} {reference} {WORDS}"
    assert len(content.lengths) == len(lines.lengths) == 2
    assert max(content.lengths + lines.lengths) < 2 * 65_536


_FRAGMENTS = st.lists(
    st.sampled_from(
        (
            *("A", "=", "==", "-", "/", "\\/", "\\", "\\n", "\\r", "\\t", "\r\n", "\n", " ", '"', "é", "\ud800"),
            *("a" * 39, "b" * 40, "c" * 41, "0" * 40, "x" * 600, "=a" * 600),
            *(text_of(PNG)[:100], text_of(TINY), text_of(PNG)[:76] + "\n" + text_of(PNG)[76:160]),
        )
    ),
    max_size=20,
).map("".join)
_CHARACTER = r"(?:[A-Za-z0-9+/_-]|\\/)"
_PLAIN_LINE = re.compile(rf"{_CHARACTER}{{40,}}+")


@pytest.mark.rule("bundle-08")
@for_all(150, _FRAGMENTS, full=10_000)
def test_the_pieces_of_a_text_do_not_change_the_result(text: str) -> None:
    check_pieces(text)


@fails_without(bundle_media, "_CUT", re.compile("\n"))
def test_a_text_is_not_cut_within_base64() -> None:
    check_pieces(f"{text_of(PNG)[:76]}\n{text_of(PNG)[76:152]}\n")


def check_pieces(text: str) -> None:
    def results() -> tuple[Any, str]:
        return bundle_media.reference_media(text, link), bundle_media.elide_long_base64(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle_media, "_PIECE", 10**9)
        whole = results()
        patch.setattr(bundle_media, "_PIECE", 1)
        assert results() == whole


@for_all(150, _FRAGMENTS, full=10_000)
def test_a_line_of_base64_is_read_as_by_a_repetition_of_characters(text: str) -> None:
    line = re.compile(bundle_media._LINE)
    for at in range(len(text)):
        found, expected = line.match(text, at), _PLAIN_LINE.match(text, at)
        assert (found and found.span()) == (expected and expected.span())
