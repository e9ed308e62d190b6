"""The parts of a comparison in the terminal: aligned events, differing values, and names of media."""

import base64
import struct
from typing import Any

from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from weftwork.cli.compare.alignment import MAX_ALIGNED, align_events
from weftwork.cli.compare.media_names import MAX_PICTURES, MediaNames
from weftwork.cli.compare.picture_size import picture_size
from weftwork.cli.compare.value_differences import MISSING, ValueDifference, value_differences, value_texts
from weftwork.protocol.media.asset_references import AssetToken, encode_asset_token, media_ref
from weftwork.protocol.review.compared_form import ComparedForm

FORM = ComparedForm(("run-aaaaaaaaaaaaaaaa", "run-bbbbbbbbbbbbbbbb"))


def log(run_id: str, texts: str) -> list[dict[str, Any]]:
    return [
        {"runId": run_id, "sequence": at, "type": f"acme.{each}", "nodeId": "n", "payload": {"run": run_id}}
        for at, each in enumerate(texts)
    ]


def by_sequence(one: str, other: str) -> list[dict[str, Any]]:
    """The differences of two logs as a host sends them."""
    a, b = log("run-aaaaaaaaaaaaaaaa", one), log("run-bbbbbbbbbbbbbbbb", other)
    found: list[dict[str, Any]] = []
    for at in range(max(len(a), len(b))):
        if at >= min(len(a), len(b)) or one[at] != other[at]:
            pair = {name: side[at] for name, side in (("aEvent", a), ("bEvent", b)) if at < len(side)}
            op = "changed" if len(pair) == 2 else "removed" if "aEvent" in pair else "added"
            found.append({"seq": at, "op": op, **pair})
    return found


@each_case(
    "one, other, changes",
    ("abc", "abc", ""),
    ("abcd", "axbcd", "added same same same"),
    ("axbcd", "abcd", "removed same same same"),
    ("abc", "abd", "removed added"),
    ("abcdefgh", "xbcdefgy", "removed added same same omitted same same removed added"),
)
def test_events_are_aligned_by_their_content(one: str, other: str, changes: str) -> None:
    equal = {event["sequence"]: event for event in log("run-aaaaaaaaaaaaaaaa", one)}
    assert [each.change for each in align_events(by_sequence(one, other), FORM, equal, 2)] == changes.split()


@for_all(100, st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_every_differing_event_is_shown_once(one: str, other: str) -> None:
    diffs = by_sequence(one, other)
    equal = {event["sequence"]: event for event in log("run-aaaaaaaaaaaaaaaa", one)}
    pairs = align_events(diffs, FORM, equal, 1)
    for side, name in (("a", "aEvent"), ("b", "bEvent")):
        shown = [event["sequence"] for pair in pairs if (event := getattr(pair, side)) is not None]
        wanted = {entry["seq"] for entry in diffs if name in entry}
        assert shown == sorted(shown)
        assert wanted <= set(shown)
        assert len(shown) == len(set(shown))


def test_events_beyond_the_bound_are_paired_by_sequence() -> None:
    diffs = by_sequence("a" * (MAX_ALIGNED + 5), "b" * (MAX_ALIGNED + 4))
    pairs = align_events(diffs, FORM, {}, 3)
    assert [each.change for each in pairs[-5:]] == ["changed"] * 4 + ["removed"]


@each_case(
    "a, b, expected",
    ({"x": 1}, {"x": 1}, []),
    ({"x": 1}, {"x": True}, [("/x", 1, True)]),
    ({"x": [1, 2]}, {"x": [1, 3]}, [("/x/1", 2, 3)]),
    ({"x": [1]}, {"x": [1, 3]}, [("/x/1", MISSING, 3)]),
    ({"a/b": {"y": 1}}, {"a/b": {}}, [("/a~1b/y", 1, MISSING)]),
    ([], {}, [("", [], {})]),
)
def test_values_are_compared_at_the_innermost_place(a: Any, b: Any, expected: list[Any]) -> None:
    assert [tuple(each) for each in value_differences(a, b)] == expected


def test_long_texts_are_shown_around_their_first_difference() -> None:
    a, b = value_texts(ValueDifference("", "x" * 10_000 + "left", "x" * 10_000 + "right"), 30)
    assert a == '"…xxxxxxxxxxxxleft"'
    assert b == '"…xxxxxxxxxxxxright"'
    assert value_texts(ValueDifference("", "short", MISSING), 30) == ('"short"', "-")
    assert all(len(each) <= 30 for each in value_texts(ValueDifference("", "a" * 99, "b" * 99), 30))
    assert value_texts(ValueDifference("", "\x1b[2J", {"x": None}), 30) == ('"\\u{1b}[2J"', '{"x": null}')


def jpeg(width: int, height: int) -> bytes:
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(10)
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 16) + bytes(14) + frame


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + body.ljust(20, b"\0")


PNG = b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 640, 480) + bytes(60)


@each_case(
    "head, size",
    (PNG, (640, 480)),
    (b"GIF89a" + struct.pack("<HH", 7, 9), (7, 9)),
    (jpeg(300, 200), (300, 200)),
    (webp(b"VP8X", bytes(4) + (99).to_bytes(3, "little") + (49).to_bytes(3, "little")), (100, 50)),
    (webp(b"VP8L", b"\x2f" + (99 | 49 << 14).to_bytes(4, "little")), (100, 50)),
    (webp(b"VP8 ", bytes(6) + struct.pack("<HH", 100, 50)), (100, 50)),
    (b"\xff\xd8\xff\xe0\0\0" + bytes(99), None),
    (b"RIFF" + bytes(40), None),
    (b"", None),
)
def test_the_size_of_a_picture_is_read_from_its_beginning(head: bytes, size: Any) -> None:
    assert picture_size(head) == size


@for_all(100, st.sampled_from([PNG[:8], b"GIF89a", b"\xff\xd8\xff", b"RIFF0000WEBPVP8 "]), st.binary(max_size=80))
def test_no_bytes_stop_a_comparison(start: bytes, rest: bytes) -> None:
    picture_size(start + rest)


def url(number: int = 1, media_type: str = "image/png", run_id: str = "r") -> str:
    token = AssetToken("live:acme", number.to_bytes(32, "big"), run_id, media_type)
    return f"https://host.example/v1/host/weftwork/assets/{encode_asset_token('kid', token, bytes(32))}"


def test_media_are_named_by_type_picture_size_and_digest() -> None:
    asked: list[str] = []
    media = MediaNames(lambda token, _: asked.append(token) or PNG)
    digest = f"{1:064x}"[:12]
    assert media.readable({"url": url()}) == {"url": f"<image/png 640x480 sha256:{digest}>"}
    assert media.readable([f"see {url(run_id='s')}!"])[0].endswith(f"/assets/<image/png 640x480 sha256:{digest}>!")
    assert media.readable(url(media_type="audio/wav")) == f"<audio/wav sha256:{digest}>"
    assert len(asked) == 1, "the same bytes are looked at once"
    assert media.readable(media_ref("ab" * 32)) == "<media sha256:abababababab>"
    data = base64.b64encode(PNG).decode()
    named = media.readable({"mimeType": "image/png", "base64": data, "alt": "dot"})
    assert named["base64"].startswith("<image/png 640x480 84 bytes sha256:")
    assert named["alt"] == "dot"
    assert media.readable(f"data:image/png;base64,{data}") == named["base64"]
    for text in ("data:image/png;base64,!!!", "assets/v1.x", "weftwork-asset:x", "x" * 5_000):
        assert media.readable(text) == text


def test_few_pictures_are_requested() -> None:
    asked: list[str] = []
    media = MediaNames(lambda token, _: asked.append(token))
    for number in range(MAX_PICTURES + 9):
        assert "image/png sha256" in media.readable(url(number))
    assert len(asked) == MAX_PICTURES
