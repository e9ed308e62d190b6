"""Times of a host, for people, and lengths of time that people write."""

import re
from datetime import UTC, datetime
from typing import Final

import click

_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def parse_duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    """The value of an option: a length of time such as 30d, in milliseconds."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", text)
    if found is None:
        raise click.BadParameter(f"{text!r} must be a whole number above 0 and s, m, h, d or w: 90m, 12h, 30d, 2w.")
    return int(found[1]) * _UNITS[found[2]]


def parse_time(text: object) -> datetime | None:
    """A time as a host wrote it, or None for what is none. A time without a zone counts as UTC."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_time(text: object) -> str:
    """A time to the second, in UTC; nothing for what is none."""
    found = parse_time(text)
    return found.strftime("%Y-%m-%d %H:%M:%S") if found is not None else ""


def format_recent_time(text: object) -> str:
    """The time of day if it was today, else the day, in UTC; nothing for what is none."""
    found = parse_time(text)
    if found is None:
        return ""
    return found.strftime("%H:%M:%S" if found.date() == datetime.now(UTC).date() else "%Y-%m-%d")


def format_elapsed(start: object, end: object) -> str:
    """How long it took from one time to another; nothing when one of them is missing."""
    first, last = parse_time(start), parse_time(end)
    return format_duration((last - first).total_seconds() * 1000) if first is not None and last is not None else ""


def format_duration(milliseconds: float) -> str:
    """A length of time: `7 ms`, `1.2 s`, `3 min 05 s`, `2 h 10 min`, `4 d 3 h`."""
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
    """So long after an instant, both in milliseconds; nothing for a time that no calendar has."""
    try:
        return datetime.fromtimestamp((start + milliseconds) / 1000, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def count_of(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1000:
        return f"{count} bytes"
    if count >= 10**9:
        return f"{count / 10**9:.1f} GB"
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count / 1000:.1f} kB"
