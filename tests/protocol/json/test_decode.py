"""JSON as text: the strict decoder, the canonical form of RFC 8785, and the place of every pointer."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import example_count, for_all
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import canonical, decoder, source_locations
from weftwork.protocol.json.canonical import digest, encode_canonical, encode_stored
from weftwork.protocol.json.decoder import MAX_DEPTH, MAX_DOCUMENT_VALUES, decode
from weftwork.protocol.json.pointers import escape_token, printable_token
from weftwork.protocol.json.source_locations import locate, locate_syntax_error

CANARY = "canary-77ab"


def nested(depth: int, core: str = "") -> bytes:
    return ("[" * depth + core + "]" * depth).encode()


WALKED: dict[str, tuple[bytes, str]] = {
    "duplicate": (b'{"a": 1, "a": 2}', "/a"),
    "duplicate in depth": (b'{"x": [0, {"b": {"c/d": 1, "e": 2, "c/d": 3}}]}', "/x/1/b/c~1d"),
    "duplicate by escape": (b'{"a": 1, "\\u0061": 2}', "/a"),
    "duplicate of the empty name": (b'{"": 1, "": 2}', "/"),
    "NaN": (b'{"n": NaN}', "/n"),
    "Infinity": (b"[Infinity]", "/0"),
    "minus Infinity": (b"[1, -Infinity]", "/1"),
    "overflow": (b'{"n": [1e999]}', "/n/0"),
    "minus overflow": (b"-1e999", ""),
    "lone high surrogate": (b'{"a": "\\ud800"}', "/a"),
    "lone low surrogate": (b'["x", "y\\udfff"]', "/1"),
    "surrogates in the wrong order": (b'["\\udc00\\ud800"]', "/0"),
    "surrogate in a name": (b'{"o": {"\\ud800": 1}}', "/o/\\ud800"),
    "NUL": (b'{"a": "x\\u0000"}', "/a"),
    "NUL in a name": (b'{"a\\n\\u0000": 1}', "/a\\x0a\\x00"),
    "2^53": (b'{"n": 9007199254740992}', "/n"),
    "minus 2^53": (b"[-9007199254740992]", "/0"),
    "many digits": (b"[" + b"9" * 4000 + b"]", "/0"),
    "depth": (nested(MAX_DEPTH + 1), "/0" * MAX_DEPTH),
    "depth of objects": (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "/a" * MAX_DEPTH),
    "values in a list": (json.dumps([0] * MAX_DOCUMENT_VALUES).encode(), ""),
    "values in objects": (json.dumps({str(n): {} for n in range(MAX_DOCUMENT_VALUES)}).encode(), ""),
}
"""What the parser lets through and the walk finds: document, pointer."""

PARSED: dict[str, bytes] = {
    "nothing": b"",
    "white space": b" \n",
    "byte-order mark": b"\xef\xbb\xbf{}",
    "no UTF-8": b'{"a": "\xff"}',
    "overlong UTF-8": b'"\xc0\xaf"',
    "surrogate in UTF-8": b'"\xed\xa0\x80"',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "garbage behind": b"{} {}",
    "comma behind": b"[1,]",
    "one quote": b"{\"a\": 'x'}",
    "comment": b"{} // no",
    "leading zero": b"[01]",
    "raw control character": b'"a\nb"',
    "half an escape": b'"\\u12"',
    "digits beyond reading": b"[" + b"9" * 5000 + b"]",
    "depth beyond the stack": nested(100_000),
    "unclosed depth": b"[" * 100_000,
}


def refusal(data: bytes) -> ClientFault:
    with pytest.raises(ClientFault) as caught:
        decode(data)
    assert caught.value.code == "validation_error"
    return caught.value


@pytest.mark.rule("json-01")
@each_case("name", *WALKED)
def test_what_the_walk_refuses_is_pointed_at(name: str) -> None:
    data, pointer = WALKED[name]
    assert refusal(data).details == {"pointer": pointer}


@pytest.mark.rule("json-01")
@each_case("name", *PARSED)
def test_what_is_no_document_is_refused(name: str) -> None:
    assert refusal(PARSED[name]).details == {"pointer": ""}


@each_case(
    "data",
    nested(MAX_DEPTH),
    json.dumps([0] * (MAX_DOCUMENT_VALUES - 1)).encode(),
    b"[9007199254740991, -9007199254740991]",
    b'{"a": {"a": 1}, "b": {"a": 2}}',
    b'"\\ud83d\\ude00"',
    b"1.7976931348623157e308",
    b" null ",
    b'{"\\n": "\\n"}',
)
def test_what_is_just_allowed_passes(data: bytes) -> None:
    assert decode(data) == json.loads(data)


def plain_text() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


def documents() -> st.SearchStrategy[Any]:
    numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | plain_text()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text(), inner, max_size=4)
    )


@for_all(100, documents(), st.booleans(), st.sampled_from([None, 1, "\t"]), full=4_000)
def test_valid_documents_decode_as_the_standard_decoder_says(value: Any, ascii_only: bool, indent: Any) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    decoded = decode(data)
    assert decoded == json.loads(data)
    assert json.dumps(decoded) == json.dumps(value)


@for_all(
    150, st.binary(max_size=60) | st.text('{}[]",:\\u0123456789eE+-.ntfNI \n', max_size=40).map(str.encode), full=6_000
)
def test_any_bytes_give_a_document_or_a_refusal(data: bytes) -> None:
    with suppress(ClientFault):
        assert json.dumps(decode(data)) == json.dumps(json.loads(data))


@each_case(
    "text",
    '{"a": "%s\\ud800"}',
    '["%s\\u0000"]',
    '{"a": "%s", "n": NaN}',
    '{"a": {"b": "%s", "b": "%s"}}',
    '{"a": "%s"',
    '"%s" tail',
    '["%s", 9007199254740993]',
    "%s",
)
def test_no_refusal_repeats_a_value(text: str) -> None:
    fault = refusal(text.replace("%s", CANARY).encode())
    assert CANARY not in f"{fault} {fault.message} {fault.details}"


def test_without_the_walk_its_cases_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_check_values", lambda *_: None)
    for data, _ in WALKED.values():
        decode(data)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = (
    st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.builds(lambda m, e: m * 10.0**e, st.integers(-999, 999), st.integers(-30, 30))
)


def canonical_documents() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | NUMBERS | TEXT
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5))


@pytest.mark.rule("json-02")
@for_all(100, canonical_documents(), full=8_000)
@example({"\U0001f600": 1, "\ufb33": 2, "\r": 3, "1": 4, "\x80": 5, "ö": 6, "€": 7})
@example([333333333.33333329, 1e30, 4.50, 2e-3, 1e-27, 1e21, 1e20, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, -0.0])
def test_the_canonical_form_is_that_of_rfc_8785(value: Any) -> None:
    assert encode_canonical(value) == rfc8785.dumps(value)


@for_all(150, st.floats(allow_nan=False, allow_infinity=False), full=6_000)
def test_numbers_are_printed_as_rfc_8785_says_and_read_back(value: float) -> None:
    printed = encode_canonical(value)
    assert printed == rfc8785.dumps(value)
    assert float(printed) == value


def test_names_are_ordered_by_utf_16_and_not_by_code_point(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"\U0001f600": 1, "\ufb33": 2}
    assert encode_canonical(value) == rfc8785.dumps(value)
    monkeypatch.setattr(canonical, "sorted", lambda names, key=None: sorted(names), raising=False)
    assert encode_canonical(value) != rfc8785.dumps(value)


@each_case("value", math.nan, math.inf, -math.inf, {"a": [math.nan]})
def test_what_is_not_finite_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match="not finite"):
        encode_canonical(value)


def test_the_canonical_form_is_of_json_only_and_its_digest_is_that_of_the_meaning() -> None:
    with pytest.raises(TypeError, match="not JSON: set"):
        encode_canonical({"a": {1, 2}})
    assert digest({"a": 1, "b": [1.0, "x"]}) == digest({"b": [1, "x"], "a": 1.0})
    assert digest({"a": 1}) != digest({"a": True})
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@for_all(50, canonical_documents(), st.randoms(use_true_random=False), full=4_000)
def test_stored_bytes_are_deterministic_and_keep_types(value: Any, random: Any) -> None:
    def shuffled(part: Any) -> Any:
        if isinstance(part, dict):
            names = list(part)
            random.shuffle(names)
            return {name: shuffled(part[name]) for name in names}
        return [shuffled(item) for item in part] if isinstance(part, list) else part

    data = encode_stored(value)
    assert data == encode_stored(shuffled(value))
    back = json.loads(data)
    assert back == value
    assert json.dumps(back, sort_keys=True) == json.dumps(value, sort_keys=True)


def test_stored_bytes_tell_whole_floats_from_integers() -> None:
    assert encode_stored([1, 1.0, True]) == b"[1,1.0,true]"


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


@for_all(100, VALUES, LAYOUTS)
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


@for_all(60, st.text(max_size=40) | st.text(alphabet='{}[]:,"\\ 01en\n', max_size=40), st.lists(NAMES, max_size=3))
@example('{}""', ["a"])
def test_no_text_and_no_pointer_breaks_it(text: str, names: list[str]) -> None:
    data = text.encode("utf-8", "surrogatepass")
    pointer = "".join(f"/{escape_token(name)}" for name in names)
    for line, column in (locate(data, [pointer])[pointer], locate_syntax_error(data)):
        assert 1 <= line <= data.count(b"\n") + 1
        assert 1 <= column <= len(text) + 1


SAMPLE = b"""{
  "a": {"b": [10, {"c": null}]},
  "\\u0061~": 7,
  "\xc3\xa9": "\xf0\x9d\x84\x9e", "last": true
}
"""


@each_case(
    "pointer, place",
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
)
def test_a_place_counts_lines_and_characters(pointer: str, place: tuple[int, int]) -> None:
    assert locate(SAMPLE, [pointer]) == {pointer: place}
    assert locate(SAMPLE, ["/a/b", pointer, "/last"])[pointer] == place


def test_a_place_is_found_by_a_member_by_a_long_name_and_at_any_depth() -> None:
    asked = ["/a", "/last", "/a/b/1", "/a/b/1/c"]
    assert list(locate(SAMPLE, asked, asked).values()) == [(2, 3), (4, 13), (2, 19), (2, 20)]
    assert locate(SAMPLE, asked, ["/last"])["/a"] == (2, 8)
    name = "ü" * 50 + "/" * 50
    text = json.dumps({"x": 1, name: {"y": 2}}).encode()
    pointer = f"/{printable_token(name)}/y"
    assert len(pointer) == 123
    assert parsed_at(text.decode(), locate(text, [pointer])[pointer]) == 2
    depth = 50_000
    text = b"[" * depth + b"1" + b"]" * depth
    pointer = "/0" * depth
    assert locate(text, [pointer])[pointer] == (1, depth + 1)


def test_what_was_replaced_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'{"a": {"b": 1}, "a": {}}'
    assert locate(text, ["/a/b"]) == {"/a/b": (1, 22)}
    monkeypatch.setattr(source_locations, "_resolve", _believing)
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


@each_case("data, place", *BROKEN)
def test_what_cannot_be_read_breaks_at_a_place(data: bytes, place: tuple[int, int]) -> None:
    with pytest.raises(ClientFault) as caught:
        decode(data)
    assert caught.value.details == {"pointer": ""}
    assert locate_syntax_error(data) == place


def test_what_can_be_read_starts_at_a_place() -> None:
    assert locate_syntax_error(b"\n  NaN") == (2, 3)
