"""Timestamps: milliseconds since the epoch inside the host, ISO 8601 in UTC on the wire."""

import re
from functools import lru_cache
from typing import Final


def iso(milliseconds: int) -> str:
    """Format as `2026-01-31T08:05:09.042Z`.

    The date is computed with Hinnant's civil-from-days algorithm, because this package may not import `datetime`.
    """
    seconds, millis = divmod(milliseconds, 1000)
    return f"{_iso_seconds(seconds)}.{millis:03}Z"


@lru_cache(maxsize=64)
def _iso_seconds(seconds: int) -> str:
    """Cached, because almost every call is for the current second or the one before."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{_date(days)}T{hours:02}:{minutes:02}:{rest:02}"


def _date(days: int) -> str:
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = year_of_era + era * 400 + (month <= 2)
    return f"{year:04}-{month:02}-{day:02}"


INSTANT_PATTERN: Final = (
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?Z$"
)
"""The timestamps that `parse_iso` accepts. A day past the end of its month, such as 31 April, is read as a day of the
next month."""
_INSTANT = re.compile(INSTANT_PATTERN[1:-1], re.ASCII)


def parse_iso(text: str) -> int | None:
    """The inverse of `iso`. None if the text is not a timestamp in UTC."""
    if _INSTANT.fullmatch(text) is None:
        return None
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    seconds = days * 86_400 + int(text[11:13]) * 3600 + int(text[14:16]) * 60 + int(text[17:19])
    return seconds * 1000 + int((text[20:-1] + "000")[:3])


_LAST_DAYS: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DATE: Final = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")


def is_date(text: str) -> bool:
    """Whether the text is a day of the calendar, such as 2026-01-31."""
    if _DATE.fullmatch(text) is None:
        return False
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    if month == 2 and day == 29:
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _LAST_DAYS[month - 1]
