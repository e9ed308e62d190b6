"""Canonical JSON against an independent implementation of RFC 8785, and the encoding of the log."""

import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.json import canonical
from weftwork.protocol.json.canonical import digest, encode_canonical, encode_stored

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = (
    st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.builds(lambda m, e: m * 10.0**e, st.integers(-999, 999), st.integers(-30, 30))
)


def documents() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | NUMBERS | TEXT
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=5))


@pytest.mark.rule("json-02")
@settings(max_examples=example_count(400), deadline=None)
@given(documents())
@example({"\U0001f600": 1, "\ufb33": 2, "\r": 3, "1": 4, "\x80": 5, "ö": 6, "€": 7})
@example([333333333.33333329, 1e30, 4.50, 2e-3, 1e-27, 1e21, 1e20, 1e-6, 1e-7, 5e-324, 1.7976931348623157e308, -0.0])
def test_the_canonical_form_is_that_of_rfc_8785(value: Any) -> None:
    assert encode_canonical(value) == rfc8785.dumps(value)


@settings(max_examples=example_count(300), deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_printed_as_rfc_8785_says_and_read_back(value: float) -> None:
    printed = encode_canonical(value)
    assert printed == rfc8785.dumps(value)
    assert float(printed) == value


def test_names_are_ordered_by_utf_16_and_not_by_code_point(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"\U0001f600": 1, "\ufb33": 2}
    assert encode_canonical(value) == rfc8785.dumps(value)
    monkeypatch.setattr(canonical, "sorted", lambda names, key=None: sorted(names), raising=False)
    assert encode_canonical(value) != rfc8785.dumps(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {"a": [math.nan]}])
def test_what_is_not_finite_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match="not finite"):
        encode_canonical(value)


def test_what_is_not_json_has_no_canonical_form() -> None:
    with pytest.raises(TypeError, match="not JSON: set"):
        encode_canonical({"a": {1, 2}})


def test_the_digest_is_the_same_for_the_same_meaning() -> None:
    assert digest({"a": 1, "b": [1.0, "x"]}) == digest({"b": [1, "x"], "a": 1.0})
    assert digest({"a": 1}) != digest({"a": True})
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@settings(max_examples=example_count(200), deadline=None)
@given(documents(), st.randoms(use_true_random=False))
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
