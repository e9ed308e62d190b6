"""Ranges: the bytes that were asked for, no byte too many, and everything where the question makes no sense."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.media.asset_headers import (
    UNSATISFIABLE,
    ByteRange,
    asset_etag,
    is_not_modified,
    is_range_current,
    parse_byte_range,
)

TAG = asset_etag("ab" * 32)
sizes = st.integers(0, 50)


@pytest.mark.rule("media-11")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("bytes=0-0", ByteRange(0, 1)),
        ("bytes=0-9", ByteRange(0, 10)),
        ("bytes=3-", ByteRange(3, 10)),
        ("bytes=-4", ByteRange(6, 10)),
        ("bytes=-99", ByteRange(0, 10)),
        ("bytes=2-99", ByteRange(2, 10)),
        ("Bytes= 2-3 ", ByteRange(2, 4)),
        ("bytes=10-", UNSATISFIABLE),
        ("bytes=10-20", UNSATISFIABLE),
        ("bytes=-0", UNSATISFIABLE),
        ("bytes=" + "9" * 50 + "-", UNSATISFIABLE),
        (None, None),
        ("", None),
        ("bytes", None),
        ("bytes=", None),
        ("bytes=-", None),
        ("bytes=5-2", None),
        ("bytes=0-1,3-4", None),
        ("bytes=0-1, ", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=1.0-2", None),
        ("bytes=+1-2", None),
        ("bytes=--1", None),
        ("bytes=0x1-2", None),
        ("bytes=\u0661-\u0662", None),
        ("bytes=" + "9" * 5000 + "-", None),
    ],
)
def test_the_table(value: str | None, found: ByteRange | None) -> None:
    assert parse_byte_range(value, 10) == found


@pytest.mark.rule("media-11")
@settings(max_examples=example_count(500), deadline=None)
@given(st.none() | st.integers(0, 60), st.none() | st.integers(0, 60), sizes)
def test_it_is_what_a_slice_gives(first: int | None, last: int | None, size: int) -> None:
    data = bytes(range(size))
    found = parse_byte_range(f"bytes={'' if first is None else first}-{'' if last is None else last}", size)
    end = None if last is None else last + 1
    wanted = data[first:end] if first is not None else data[-last:] if last else b""
    if found is None:
        assert (first is None and (last is None or not size)) or (
            first is not None and last is not None and last < first
        )
    elif found == UNSATISFIABLE:
        assert not wanted
        assert found.content_range(size) == b"bytes */%d" % size
    else:
        assert 0 <= found.start < found.stop <= size
        assert data[found.start : found.stop] == wanted
        assert found.content_range(size) == b"bytes %d-%d/%d" % (found.start, found.start + len(wanted) - 1, size)


@pytest.mark.rule("media-11")
@given(st.text(max_size=40) | st.from_regex(r"bytes=[0-9,\- ]{0,30}", fullmatch=True), sizes)
@example("bytes=0-0", 0)
@example("bytes=-5", 0)
def test_whatever_is_sent_it_stays_inside(value: str, size: int) -> None:
    found = parse_byte_range(value, size)
    assert found is None or 0 <= found.start <= found.stop <= size


@pytest.mark.rule("media-12")
@pytest.mark.parametrize(
    ("value", "has"),
    [
        (TAG, True),
        (f"W/{TAG}", True),
        (f'"x", {TAG}', True),
        (f'"x",W/{TAG},"y"', True),
        ("*", True),
        (None, False),
        ("", False),
        ('"x"', False),
        (TAG.strip('"'), False),
        (TAG.upper(), False),
    ],
)
def test_who_has_it_is_not_sent_it_again(value: str | None, has: bool) -> None:
    assert is_not_modified(value, TAG) is has


@pytest.mark.rule("media-12")
@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (None, True),
        (TAG, True),
        (f" {TAG} ", True),
        (f"W/{TAG}", False),
        ('"x"', False),
        ("*", False),
        ("Wed, 21 Oct 2015 07:28:00 GMT", False),
        ("", False),
    ],
)
def test_a_part_of_something_else_is_not_sent(value: str | None, holds: bool) -> None:
    assert is_range_current(value, TAG) is holds
