"""Times, durations, counts and sizes as text, and parsing of times and durations."""

import re
from datetime import UTC, datetime
from typing import Final

import click

_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    """Callback of an option: a duration such as 30d, in milliseconds."""
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", text)
    if match is None:
        raise click.BadParameter(f"{text!r} is not a duration; use a whole number with s, m, h, d or w, such as 90m.")
    return int(match[1]) * _UNITS[match[2]]


def parse_time(text: object) -> datetime | None:
    """The time of an ISO 8601 text, in UTC; None if it is not valid. A time without a zone is UTC."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_time(text: object) -> str:
    """Date and time to the second, in UTC; empty if the text is not a time."""
    time = parse_time(text)
    return time.strftime("%Y-%m-%d %H:%M:%S") if time is not None else ""


def format_recent_time(text: object, with_time: bool = False) -> str:
    """The time of day if it is today, otherwise the date, in UTC; empty if the text is not a time. `with_time`: another
    date is followed by the time of day."""
    time = parse_time(text)
    if time is None:
        return ""
    other_day = "%Y-%m-%d %H:%M:%S" if with_time else "%Y-%m-%d"
    return time.strftime("%H:%M:%S" if time.date() == datetime.now(UTC).date() else other_day)


def format_elapsed(start: object, end: object) -> str:
    """The duration between two times; empty if either is missing."""
    first, last = parse_time(start), parse_time(end)
    return format_duration((last - first).total_seconds() * 1000) if first is not None and last is not None else ""


def format_duration(milliseconds: float) -> str:
    """A duration: `7 ms`, `1.2 s`, `3 min 05 s`, `2 h 10 min`, `4 d 3 h`."""
    if milliseconds < 0:
        return f"-{format_duration(-milliseconds)}"
    if milliseconds < 999.5:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f} s"
    seconds = round(milliseconds / 1000)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    minutes = seconds // 60
    if minutes < 1440:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def add_milliseconds(start: float, milliseconds: int) -> str:
    """The ISO 8601 time `milliseconds` after `start` (milliseconds since 1970); empty if it is out of range."""
    try:
        return datetime.fromtimestamp((start + milliseconds) / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def count_of(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_size(count: int) -> str:
    """A number of bytes with a unit: `12 bytes`, `3.4 kB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} bytes"
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"
