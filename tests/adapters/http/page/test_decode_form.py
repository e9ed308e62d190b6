"""The body of a form: read strictly, within bounds, and with one kind of refusal."""

from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.adapters.http.page.form_answer import MAX_FIELDS, MAX_FORM_BYTES, MAX_NAME, MAX_VALUE, decode_form
from weftwork.protocol.errors import ClientFault

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")
NAMES = st.text(CHARACTERS, min_size=1, max_size=MAX_NAME)
PAIRS = st.lists(st.tuples(NAMES, st.text(CHARACTERS)), max_size=8)


def code_of(body: bytes) -> str | None:
    try:
        decode_form(body)
    except ClientFault as fault:
        return fault.code
    return None


def refused(body: bytes) -> bool:
    code = code_of(body)
    assert code in (None, "validation_error")
    return code is not None


@given(pairs=PAIRS, way=st.sampled_from([quote, quote_plus]))
@settings(max_examples=example_count(200), deadline=None)
def test_what_is_encoded_comes_back(pairs: list[tuple[str, str]], way: object) -> None:
    assert decode_form(urlencode(pairs, quote_via=way).encode()) == pairs  # pyright: ignore[reportArgumentType, reportCallIssue]


@given(body=st.binary(max_size=200) | st.text("a=&%+0fFé;\n", max_size=60).map(str.encode))
@settings(max_examples=example_count(500), deadline=None)
def test_any_body_is_read_or_refused(body: bytes) -> None:
    refused(body)


def test_line_ends_are_line_feeds() -> None:
    assert decode_form(b"a=1%0D%0A2%0D3%0A4") == [("a", "1\n2\n3\n4")]


def test_the_order_and_repetitions_are_kept() -> None:
    assert decode_form(b"b=1&a=2&b=3&c=") == [("b", "1"), ("a", "2"), ("b", "3"), ("c", "")]
    assert decode_form(b"") == []


@pytest.mark.parametrize(
    "body",
    [
        b"a",
        b"&",
        b"a=1&",
        b"=1",
        b"a=1&&b=2",
        b"a=%",
        b"a=%4",
        b"a=%zz",
        b"a=%ff",
        b"a=%c0%80",
        b"a=%ed%a0%80",
        b"a=%f4%90%80%80",
        b"a=%00",
        b"%00=a",
        b"a=\xc3\xa9",
        b"a=1 2",
        b"a=1\n",
        b'a="x"',
        b"%ff=a",
        b'{"resumeValue": 1}',
        b"--boundary\r\ncontent-disposition: form-data",
    ],
)
def test_what_is_no_form_is_refused(body: bytes) -> None:
    assert refused(body)


@pytest.mark.parametrize(
    ("fits", "too_much"),
    [
        (b"&".join([b"a=1"] * MAX_FIELDS), b"&".join([b"a=1"] * (MAX_FIELDS + 1))),
        (b"a" * MAX_NAME + b"=1", b"a" * (MAX_NAME + 1) + b"=1"),
        (b"a=" + b"x" * MAX_VALUE, b"a=" + b"x" * (MAX_VALUE + 1)),
        (b"a=" + b"%F0%9F%99%82" * MAX_VALUE, b"a=" + b"%F0%9F%99%82" * (MAX_VALUE + 1)),
        (b"a=1", b"a=1&" + b"b" * MAX_FORM_BYTES),
    ],
)
def test_bounds(fits: bytes, too_much: bytes) -> None:
    assert not refused(fits)
    assert refused(too_much)
