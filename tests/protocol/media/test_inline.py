"""Media in documents: inline bytes found and cut, references named, and how media say what they are."""

import hashlib
import json
import re
from base64 import b64encode, urlsafe_b64encode
from itertools import accumulate, pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import example_count, for_all
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, MEDIA_KINDS, UNIVERSAL_KINDS
from weftwork.protocol.limits import Limits
from weftwork.protocol.media import inline_media
from weftwork.protocol.media.asset_references import (
    AssetToken,
    encode_asset_token,
    media_ref,
    media_ref_digest,
    referenced_assets,
)
from weftwork.protocol.media.inline_media import ELIDED_PREFIX, MAX_STREAMED_RUN, Base64Elider, elide_base64
from weftwork.protocol.media.message_parts import Modality, check_media_url, mirror_hint, rendering_hint
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX, SAMPLE_ASSET_PREFIX

DATA = bytes(range(256)) * 8
TEXT = b64encode(DATA).decode()
CAP = len(DATA) - 10
URL = "https://a.example/v1/host/weftwork/assets/v1.x"
LINES = "\n".join(TEXT[at : at + 76] for at in range(0, len(TEXT), 76))


def envelope(text: str = TEXT, kind: str = "media.image", **more: Any) -> str:
    return json.dumps({"type": kind, "payload": {"base64": text, "bytes": len(DATA), **more}})


@pytest.mark.rule("media-84")
@given(st.binary(max_size=300), st.booleans(), st.booleans())
def test_models_write_base64_in_many_ways(data: bytes, urlsafe: bool, padded: bool) -> None:
    text = (urlsafe_b64encode(data) if urlsafe else b64encode(data)).decode()
    text = text if padded else text.rstrip("=")
    broken = "\n".join(text[at : at + 20] for at in range(0, len(text), 20))
    assert inline_media.decode_base64(text) == inline_media.decode_base64(broken) == data
    assert inline_media.decoded_size(text) >= len(data)


@pytest.mark.rule("media-84")
@each_case("text", "!", "AAA*", "A", "AAAAA", "\u00e4\u00e4\u00e4\u00e4")
def test_what_is_none_is_none(text: str) -> None:
    assert inline_media.decode_base64(text) is None


SPELLINGS = {
    "bare": envelope(),
    "fenced": f"Here:\n```json\n{envelope()}\n```\nand more",
    "list": json.dumps([json.loads(envelope()), {"type": "error", "payload": {"code": "a", "message": "b"}}]),
    "list in a list": json.dumps({"envelopes": [[json.loads(envelope())]]}),
    "payload alone": json.dumps({"base64": TEXT, "bytes": 1}),
    "payload without a size": json.dumps({"base64": TEXT, "mimeType": "image/png"}),
    "envelope without a size": json.dumps({"type": "media.image", "payload": {"base64": TEXT}}),
    "escaped slashes": envelope().replace("/", "\\/"),
    "escaped name": envelope().replace("base64", "base\\u0036\\u0034"),
    "coded signs": envelope().replace("+", "\\u002B").replace("A", "\\u0041"),
    "escaped lines": envelope(LINES),
    "single quotes": envelope().replace('"', "'"),
    "trailing comma": envelope().replace("}}", ",}}"),
    "data URL": json.dumps({"type": "media.image", "payload": {"url": f"data:image/png;base64,{TEXT}", "bytes": 1}}),
    "markdown": f"Look: ![a dot](data:image/png;charset=x;base64,{TEXT}) there.",
}


@pytest.mark.rule("media-84")
@each_case("text", *SPELLINGS.values())
def test_media_above_the_cap_are_found_however_they_are_written(text: str) -> None:
    (found,) = inline_media.find_inline_media(text, CAP)
    assert inline_media.decode_base64(found.base64) == DATA
    shown = inline_media.replace_inline_media(text, [found], {found.base64: URL})
    assert TEXT[100:140] not in shown
    assert URL in shown
    assert "data:" not in shown
    assert len(shown) < len(text) - 2_000


@pytest.mark.rule("media-84")
@each_case("text", envelope(TEXT[:1000]), TEXT, f"The key is {TEXT}.", "a" * 9_000)
def test_what_is_small_or_no_media_stays(text: str) -> None:
    assert inline_media.find_inline_media(text, CAP) == []
    assert inline_media.truncate_inline_media(text, CAP, everywhere=False) == text


@pytest.mark.rule("media-84")
def test_what_another_kind_carries_stays() -> None:
    vendor = json.dumps({"type": "vendor.acme.blob", "payload": {"base64": TEXT, "size": 1}})
    assert inline_media.find_inline_media(vendor, 10) == []
    both = json.dumps([json.loads(vendor), json.loads(envelope(b64encode(DATA[::-1]).decode()))])
    (found,) = inline_media.find_inline_media(both, 10)
    assert TEXT in inline_media.replace_inline_media(both, [found], {found.base64: URL})


@pytest.mark.rule("media-84")
def test_of_an_answer_that_cannot_be_used_little_is_left_but_a_token_is_never_cut() -> None:
    long = b64encode(DATA * 3).decode()
    broken = envelope(long)[:-30]
    assert long[100:200] not in inline_media.truncate_inline_media(broken, CAP, everywhere=False)
    cut = inline_media.truncate_inline_media(f"x {long} y", CAP, everywhere=True)
    assert cut.startswith("x AAEC")
    assert cut.endswith(f"...({len(long) - 64} characters left out) y")
    token = TEXT[:1900]
    text = f'{{"type": "media.image", "payload": {{"url": "https://a.example/assets/v1.k.{token}.{TEXT[:43]}"}}}}'
    assert inline_media.truncate_inline_media(text, 0, everywhere=True) == text


@pytest.mark.rule("media-84")
def test_the_url_goes_where_it_belongs() -> None:
    assert inline_media.with_url_member({"base64": URL, "bytes": 1, "alt": "A"}) == {"url": URL, "bytes": 1, "alt": "A"}
    for other in ({"base64": "AAAA", "bytes": 1}, {"url": URL}, {"base64": 3}, [], None):
        assert inline_media.with_url_member(other) == other


PADDED = b64encode(DATA + b"x").decode()
AROUND = {
    "lines": "![a](data:image/png;base64,{})\n\nThat is your picture.",
    "bare": "data:image/png;base64,{}\n\nThat-is-your picture",
    "two": "data:image/png;base64,{0}\ndata:image/png;base64,{0}\nend",
    "in JSON": '{{"content": "data:image/png;base64,{}\\n\\nThat is"}}',
}


@pytest.mark.rule("media-84")
@each_case("around", *AROUND.values())
@each_case("base64", TEXT, PADDED)
def test_the_text_around_a_picture_stays_as_it_is(around: str, base64: str) -> None:
    text = around.format(base64)
    found = inline_media.find_inline_media(text, CAP)
    assert {inline_media.decode_base64(each.base64) for each in found} == {inline_media.decode_base64(base64)}
    shown = inline_media.replace_inline_media(text, found, {each.base64: URL for each in found})
    assert shown == text.replace(f"data:image/png;base64,{base64}", URL)


@pytest.mark.rule("media-84")
@each_case(
    "text",
    "\n".join(f"{at:08x}-1234-4321-9876-{at:012x}" for at in range(200)),
    "\n".join(["Apple", "Banana", "Cherry"] * 500),
    json.dumps({"ids": "\n".join(f"{at:036x}" for at in range(200))}),
    "A" * 5_000,
)
def test_lists_are_no_base64(text: str) -> None:
    assert inline_media.truncate_inline_media(f"media.image {text}", CAP, everywhere=True) == f"media.image {text}"


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    assert inline_media.replace_inline_media(text, inline_media.find_inline_media(text, 0), {}) == text
    inline_media.truncate_inline_media(text, 0, everywhere=True)


runs = st.builds(str.__mul__, st.sampled_from(["A", "b+/", "Zm9v", "_-", "=", "9"]), st.integers(1, 400))
words = st.text("ab c.,\n\"'é🧵", max_size=20)
marks = st.sampled_from(
    [' {"base64":"', ' {\\"base64\\" : \\"', " 'base64' :\n '", " data:image/png;base64,", ' "sha":"']
)
prose = st.lists(runs | words | st.builds(str.__add__, marks, runs), max_size=8).map("".join)

MARKED = re.compile(r"""((?:base64\\?["']\s*:\s*\\?["'])|;base64,)([A-Za-z0-9+/=_\\\r\n-]+)""")


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.rule("media-14")
@for_all(100, prose, st.lists(st.integers(0, 5000), max_size=30), st.integers(1, 600), full=8_000)
def test_where_it_is_cut_makes_no_difference(text: str, places: list[int], most: int) -> None:
    whole = Base64Elider(most).feed(text)
    assert whole == MARKED.sub(lambda found: found[1] + found[2][:most], text)
    elider = Base64Elider(most)
    pieces = cut(text, places)
    shown = [elider.feed(piece) for piece in pieces]
    assert "".join(shown) == whole
    assert all(len(after) <= len(before) for after, before in zip(shown, pieces, strict=True))


@pytest.mark.rule("media-14")
def test_a_stream_goes_on_behind_the_run() -> None:
    elider = Base64Elider()
    pieces = ['{"base6', '4": "', *["iVBORw0KGgo=" * 10] * 20, "", "/9j", '"} and', " done"]
    before = len('{"base64": "')
    shown = [elider.feed(piece) for piece in pieces]
    assert len(shown) == len(pieces)
    assert len("".join(shown)) == before + MAX_STREAMED_RUN + len('"} and done')
    assert shown[-2:] == ['"} and', " done"]
    assert list(accumulate(map(len, shown)))[7] == before + MAX_STREAMED_RUN


@pytest.mark.rule("media-14")
@given(words, runs)
def test_what_is_not_said_to_be_base64_is_shown_whole(lead: str, run: str) -> None:
    elider = Base64Elider(1)
    assert elider.feed(lead) + elider.feed(run) == lead + run


@pytest.mark.rule("media-14")
@for_all(150, prose, st.integers(1, 600), full=6_000)
def test_a_text_says_how_much_is_gone(text: str, most: int) -> None:
    found = elide_base64(text, most)
    long = [run for run in re.findall(r"[A-Za-z0-9+/=_-]+", text) if len(run) > most]
    assert found.count(" characters left out)") == len(long)
    left = sum(map(int, re.findall(r"\.\.\.\((\d+) characters left out\)", found)))
    assert left == sum(len(run) - min(ELIDED_PREFIX, most) for run in long)
    if not long:
        assert found == text


@pytest.mark.rule("media-14")
def test_megabytes_become_a_line() -> None:
    found = elide_base64('{"image":"' + "A" * 5_000_000 + '","said":"hello"}', 1024)
    assert found == '{"image":"' + "A" * 64 + '...(4999936 characters left out)","said":"hello"}'


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
@settings(max_examples=example_count(150, 6_000), deadline=None)
@given(documents, digests, digests, before, after, st.booleans(), st.sampled_from([ASSET_PREFIX, SAMPLE_ASSET_PREFIX]))
def test_references_are_found_in_any_document(
    document: Any, first: str, second: str, lead: str, trail: str, as_name: bool, prefix: str
) -> None:
    document = placed(document, lead + media_ref(first) + trail, as_name)
    document = placed(document, lead + url(second, prefix=prefix) + trail, as_name)
    assert referenced_assets(msgspec.json.encode(document), HERE) == {first, second}


@pytest.mark.rule("media-02")
@for_all(100, documents, digests, st.sampled_from(["live:other", "test:acme", "", "live:acme2"]))
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


@pytest.mark.rule("media-81")
@each_case("kind, display", ("media.image", "image"), ("media.audio", "audio"), ("media.file", "file"))
def test_the_hint_says_what_the_payload_says(kind: str, display: str) -> None:
    payload = {"url": "https://a.example/x", "bytes": 1, "mimeType": "a/b", "alt": "A"}
    assert rendering_hint(kind, payload, "T") == {"display": display, "mimeType": "a/b", "alt": "A", "title": "T"}
    assert rendering_hint(kind, {"bytes": 1}) == {"display": display}


@pytest.mark.rule("media-82")
@each_case(
    "payload, hint, alt",
    ({"alt": "P"}, {}, "P"),
    ({}, {"alt": "H"}, "H"),
    ({"alt": "P"}, {"alt": "H"}, "P"),
    ({}, {}, None),
    ({}, {"alt": 3}, None),
)
def test_what_one_of_them_says_both_say(payload: dict[str, Any], hint: dict[str, Any], alt: str | None) -> None:
    made = mirror_hint({"type": "media.image", "payload": payload, "meta": {"rendering": hint}})
    assert made["payload"].get("alt") == alt
    if alt is not None:
        assert made["meta"]["rendering"] == {"display": "image", "alt": alt}


@pytest.mark.rule("media-82")
@each_case(
    "document",
    {"type": "media.image", "payload": []},
    {"type": "media.image"},
    {"type": "media.image", "payload": {}, "meta": 1},
    {"type": "media.image", "payload": {}, "meta": {"rendering": "x"}},
)
def test_what_is_no_envelope_stays_as_it_is(document: dict[str, Any]) -> None:
    assert mirror_hint(document) == document


@pytest.mark.rule("media-83")
@each_case(
    "payload, place",
    ({"url": "https://a.example/x"}, None),
    ({"url": "http://a.example/x"}, None),
    ({"base64": "AAAA"}, None),
    ({"url": "data:image/png;base64,AAAA"}, "/payload/url"),
    ({"url": "JavaScript:alert(1)"}, "/payload/url"),
    ({"url": "file:///etc/passwd"}, "/payload/url"),
)
def test_a_url_is_a_web_address(payload: dict[str, Any], place: str | None) -> None:
    fault = check_media_url(payload)
    assert (fault.instance_path if fault is not None else None) == place


@pytest.mark.rule("disc-09")
def test_media_are_advertised_by_what_is_served_and_what_models_take() -> None:
    kinds = BUILTIN_KINDS.with_displayed(MEDIA_KINDS)
    limits = Limits(max_inline_media_bytes=7, max_bytes_per_part=9)
    more = {"providers": ("scripted",), "modalities": frozenset[Modality]({"image"})}
    document = discovery_document(HostOffer("0.1.0", limits, envelopes=kinds.advertised, **more))
    assert document["supportedEnvelopes"] == [*UNIVERSAL_KINDS, *MEDIA_KINDS]
    assert document["aiProviders"] == {
        "supported": ["scripted"],
        "byok": [],
        "input": {"modalities": ["text", "image"], "maxBytesPerPart": 9},
        "maxInlineMediaBytes": 7,
    }
    # Served and not perceived, or the other way round: each is said by itself.
    served = discovery_document(HostOffer("0.1.0", limits, envelopes=kinds.advertised, providers=("scripted",)))
    assert served["aiProviders"].keys() == {"supported", "byok", "maxInlineMediaBytes"}
    seen = discovery_document(HostOffer("0.1.0", limits, envelopes=BUILTIN_KINDS.advertised, **more))
    assert seen["aiProviders"].keys() == {"supported", "byok", "input"}


@pytest.mark.rule("media-84")
def test_short_runs_that_cannot_be_media_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = 0
    honest = inline_media.strip_base64

    def counted(text: str) -> str:
        nonlocal copied
        copied += 1
        return honest(text)

    monkeypatch.setattr(inline_media, "strip_base64", counted)
    media = '{"base64":"AAAABBBBCCCCDDDD","mimeType":"image/png"}'
    assert inline_media.find_inline_media("base64," * 1_000, 0, 4, None) == []
    assert not copied
    found = inline_media.find_inline_media("base64," * 1_000 + media, 0, 4, None)
    assert [each.base64 for each in found] == ["AAAABBBBCCCCDDDD"]
    assert copied <= 4
