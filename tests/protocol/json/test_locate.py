"""Every pointer of a document is found where a parser finds its value."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import source_locations as module
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.pointers import escape_token, printable_token
from weftwork.protocol.json.source_locations import locate, locate_syntax_error

NAMES = st.text(max_size=6) | st.sampled_from(
    ["", "/", "~", "~1", "a/b", "0", '"', "\\", "\n", "\x00", "é", "\\xe9", "𝄞"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12) | NAMES
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))
LAYOUTS = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, "\t", "\r\n"]),
        "separators": st.sampled_from([(",", ":"), (" ,\r\n", "\t: \n")]),
        "ensure_ascii": st.booleans(),
    }
)


def pointers(value: Any, at: str = "") -> dict[str, Any]:
    """Every pointer of a document with its value."""
    found = {at: value}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found |= pointers(inner, f"{at}/{escape_token(key) if isinstance(key, str) else key}")
    return found


def parsed_at(text: str, place: tuple[int, int]) -> Any:
    """What a parser reads from a place on."""
    line, column = place
    offset = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1
    return json.JSONDecoder().raw_decode(text, offset)[0]


def written(document: Any, layout: dict[str, Any]) -> str:
    # A lone surrogate is no UTF-8; as an escape it is JSON.
    text = json.dumps(document, **layout)
    return text if text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text) else json.dumps(document)


def is_right(document: Any, text: str) -> bool:
    wanted = pointers(document)
    found = locate(text.encode(), wanted)
    return found.keys() == wanted.keys() and all(
        parsed_at(text, place) == wanted[pointer] for pointer, place in found.items()
    )


@settings(max_examples=example_count(100), deadline=None)
@given(VALUES, LAYOUTS)
def test_every_pointer_leads_to_the_text_of_its_value(document: Any, layout: dict[str, Any]) -> None:
    assert is_right(document, written(document, layout))


@settings(max_examples=example_count(60), deadline=None)
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3), st.dictionaries(NAMES, VALUES, max_size=3), LAYOUTS)
def test_of_a_repeated_member_the_last_one_counts(
    first: dict[str, Any], last: dict[str, Any], layout: dict[str, Any]
) -> None:
    members = [written({name: value}, layout)[1:-1] for each in (first, last) for name, value in each.items()]
    text = "{" + ",".join(members) + "}"
    assert is_right(json.loads(text), text)


@settings(max_examples=example_count(60), deadline=None)
@given(st.text(max_size=40) | st.text(alphabet='{}[]:,"\\ 01en\n', max_size=40), st.lists(NAMES, max_size=3))
@example('{}""', ["a"])
def test_no_text_and_no_pointer_breaks_it(text: str, names: list[str]) -> None:
    data = text.encode("utf-8", "surrogatepass")
    pointer = "".join(f"/{escape_token(name)}" for name in names)
    for line, column in (locate(data, [pointer])[pointer], locate_syntax_error(data)):
        assert 1 <= line <= data.count(b"\n") + 1
        assert 1 <= column <= len(text) + 1


TEXT = b"""{
  "a": {"b": [10, {"c": null}]},
  "\\u0061~": 7,
  "\xc3\xa9": "\xf0\x9d\x84\x9e", "last": true
}
"""


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("", (1, 1)),
        ("/a", (2, 8)),
        ("/a/b/0", (2, 15)),
        ("/a/b/1/c", (2, 25)),
        ("/a~0", (3, 14)),
        ("/é", (4, 8)),
        ("/\\xe9", (4, 8)),
        ("/last", (4, 21)),
        ("/a/none", (2, 8)),
        ("/a/b/7", (2, 14)),
        ("/a/b/1/c/deeper", (2, 25)),
        ("/none/at/all", (1, 1)),
    ],
)
def test_a_place_counts_lines_and_characters(pointer: str, place: tuple[int, int]) -> None:
    assert locate(TEXT, [pointer]) == {pointer: place}
    assert locate(TEXT, ["/a/b", pointer, "/last"])[pointer] == place


def test_a_member_can_be_asked_for_by_its_name() -> None:
    asked = ["/a", "/last", "/a/b/1", "/a/b/1/c"]
    assert list(locate(TEXT, asked, asked).values()) == [(2, 3), (4, 13), (2, 19), (2, 20)]
    assert locate(TEXT, asked, ["/last"])["/a"] == (2, 8)


def test_a_long_name_is_found_as_errors_show_it() -> None:
    name = "ü" * 50 + "/" * 50
    text = json.dumps({"x": 1, name: {"y": 2}}).encode()
    pointer = f"/{printable_token(name)}/y"
    assert len(pointer) == 123
    assert parsed_at(text.decode(), locate(text, [pointer])[pointer]) == 2


def test_depth_is_no_matter() -> None:
    depth = 50_000
    text = b"[" * depth + b"1" + b"]" * depth
    pointer = "/0" * depth
    assert locate(text, [pointer])[pointer] == (1, depth + 1)


def test_what_was_replaced_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'{"a": {"b": 1}, "a": {}}'
    assert locate(text, ["/a/b"]) == {"/a/b": (1, 22)}
    monkeypatch.setattr(module, "_resolve", _believing)
    assert locate(text, ["/a/b"]) == {"/a/b": (1, 13)}


def _believing(root: Any, pointer: str, as_member: bool) -> tuple[int, bool]:
    """The guard taken away: every note counts, whichever container it was made in."""
    spot = root
    for part in pointer.split("/")[1:]:
        spot = spot.children[part]
    return spot.value, True


BROKEN = [
    (b"", (1, 1)),
    (b'{\n "a": 1,\n}', (3, 1)),
    (b'{"a": [1,\n 2}', (2, 3)),
    (b'{"a":\n  "\xff"}', (2, 4)),
    (b"\xc3\xa9\n\xc3\xa9\xc3\xa9 \xff", (2, 4)),
    (b"\xef\xbb\xbf{}", (1, 1)),
    (b'{"a":\n ' + b"[" * 3000 + b"]" * 3000 + b"}", (2, 65)),
    (b'{"a": 5,\n"b": ' + b"9" * 5000 + b"}", (2, 6)),
]


@pytest.mark.parametrize(("data", "place"), BROKEN)
def test_what_cannot_be_read_breaks_at_a_place(data: bytes, place: tuple[int, int]) -> None:
    with pytest.raises(ClientFault) as caught:
        decode(data)
    assert caught.value.details == {"pointer": ""}
    assert locate_syntax_error(data) == place


def test_what_can_be_read_starts_at_a_place() -> None:
    assert locate_syntax_error(b"\n  NaN") == (2, 3)
