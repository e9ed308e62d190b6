"""The strict decoder: what it refuses, where it points, and that it agrees with the standard one on all the rest."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import decoder as module
from weftwork.protocol.json.decoder import MAX_DEPTH, MAX_DOCUMENT_VALUES, decode

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
@pytest.mark.parametrize("name", WALKED)
def test_what_the_walk_refuses_is_pointed_at(name: str) -> None:
    data, pointer = WALKED[name]
    assert refusal(data).details == {"pointer": pointer}


@pytest.mark.rule("json-01")
@pytest.mark.parametrize("name", PARSED)
def test_what_is_no_document_is_refused(name: str) -> None:
    assert refusal(PARSED[name]).details == {"pointer": ""}


@pytest.mark.parametrize(
    "data",
    [
        nested(MAX_DEPTH),
        json.dumps([0] * (MAX_DOCUMENT_VALUES - 1)).encode(),
        b"[9007199254740991, -9007199254740991]",
        b'{"a": {"a": 1}, "b": {"a": 2}}',
        b'"\\ud83d\\ude00"',
        b"1.7976931348623157e308",
        b" null ",
        b'{"\\n": "\\n"}',
    ],
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


@settings(max_examples=example_count(200), deadline=None)
@given(documents(), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_valid_documents_decode_as_the_standard_decoder_says(value: Any, ascii_only: bool, indent: Any) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    decoded = decode(data)
    assert decoded == json.loads(data)
    assert json.dumps(decoded) == json.dumps(value)


@settings(max_examples=example_count(300), deadline=None)
@given(st.binary(max_size=60) | st.text('{}[]",:\\u0123456789eE+-.ntfNI \n', max_size=40).map(str.encode))
def test_any_bytes_give_a_document_or_a_refusal(data: bytes) -> None:
    with suppress(ClientFault):
        assert json.dumps(decode(data)) == json.dumps(json.loads(data))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "%s\\ud800"}',
        '["%s\\u0000"]',
        '{"a": "%s", "n": NaN}',
        '{"a": {"b": "%s", "b": "%s"}}',
        '{"a": "%s"',
        '"%s" tail',
        '["%s", 9007199254740993]',
        "%s",
    ],
)
def test_no_refusal_repeats_a_value(text: str) -> None:
    fault = refusal(text.replace("%s", CANARY).encode())
    assert CANARY not in f"{fault} {fault.message} {fault.details}"


def test_without_the_walk_its_cases_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_check_values", lambda *_: None)
    for data, _ in WALKED.values():
        decode(data)
