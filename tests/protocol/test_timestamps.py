"""Instants on the wire, compared with the standard library over four thousand years."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol import timestamps
from weftwork.protocol.timestamps import iso

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
LAST = (datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC) - EPOCH) // timedelta(milliseconds=1)


def expected(milliseconds: int) -> str:
    text = (EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


@settings(max_examples=example_count(500), deadline=None)
@given(st.integers(FIRST, LAST))
@example(0)
@example(-1)
@example(951_782_400_000)
@example(FIRST)
@example(LAST)
def test_an_instant_is_written_as_iso_8601_in_utc(milliseconds: int) -> None:
    assert iso(milliseconds) == expected(milliseconds)


@pytest.mark.parametrize("year", [1600, 1700, 1900, 1970, 2000, 2024, 2026, 2100, 2400])
def test_every_day_around_the_end_of_february_is_right(year: int) -> None:
    start = (datetime(year, 2, 26, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1)
    for day in range(5):
        assert iso(start + day * 86_400_000) == expected(start + day * 86_400_000)


def test_kept_dates_are_bounded_and_stay_right() -> None:
    for day in range(500):
        assert iso(day * 86_400_000) == expected(day * 86_400_000)
    assert timestamps._iso_seconds.cache_info().currsize <= 64


@settings(max_examples=example_count(300), deadline=None)
@given(st.integers(FIRST, LAST))
def test_an_instant_is_read_again(milliseconds: int) -> None:
    assert timestamps.parse_iso(iso(milliseconds)) == milliseconds
    assert re.fullmatch(timestamps.INSTANT_PATTERN, iso(milliseconds))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2024-02-29T23:59:59.9Z", 1_709_251_199_900),
        ("2026-01-01T00:00:00.123456789Z", 1_767_225_600_123),
        ("2026-02-30T00:00:00Z", 1_772_409_600_000),
        ("2026-01-01T00:00:00", None),
        ("2026-01-01T00:00:00+00:00", None),
        ("2026-01-01 00:00:00Z", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-01-01T24:00:00Z", None),
        ("2026-01-01T00:00:00.Z", None),
        ("\u0662026-01-01T00:00:00Z", None),
        ("2026-01-01T00:00:00Z\n", None),
        ("", None),
    ],
)
def test_what_is_no_instant_in_utc_is_none(text: str, value: int | None) -> None:
    assert timestamps.parse_iso(text) == value
