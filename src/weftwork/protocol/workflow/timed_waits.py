"""When the wait of a node ends: the lengths of `core.delay`, the instants of `core.wait`, and which waits are long.

The end of a wait is computed from the inputs and the config of the node and from its start, which are all in the log.
It is therefore the same before and after a restart, and a run in a long wait does not have to be in memory.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from weftwork.protocol.timestamps import iso, parse_iso

LONG_WAIT_MS: Final = 1000
"""park-03 (host): a delay or a wait before a retry that is longer than this is long: a run that only waits for the end
of long waits is parked. Loading a run again takes a few milliseconds, so shorter waits stay in memory."""

MAX_DELAY_MS: Final = 365 * 86_400_000
MAX_INSTANT_MS: Final = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z."""

ZONED_PATTERN: Final = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]"
    r"(:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
"""A date and time with `Z` or an offset. Seconds are optional."""
_ZONED: Final = re.compile(ZONED_PATTERN)


def delay_end(inputs: Mapping[str, Any], config: Mapping[str, Any], started_at: int) -> int | None:
    """node-03 (OpenWOP fixtures): the delay is inputs.delayMs, else config.delayMs, config.ms or config.durationMs, and
    counts from the start of the node. None without any of them."""
    candidates = [inputs.get("delayMs"), *map(config.get, ("delayMs", "ms", "durationMs"))]
    length = next((value for value in candidates if value is not None), None)
    return started_at + int(length) if length is not None else None


def wait_end(inputs: Mapping[str, Any], config: Mapping[str, Any], started_at: int) -> int | None:
    """The instant that a node of the type `core.wait` waits for: the input `until`, else the config member `until`,
    else the input `input`. None without a valid time."""
    for values, member in ((inputs, "until"), (config, "until"), (inputs, "input")):
        if member in values:
            return parse_instant(values[member])
    return None


def parse_instant(value: Any) -> int | None:
    """Milliseconds since the epoch, or None if the value is not a valid time. Smaller units are cut off."""
    if isinstance(value, str):
        when = _parse_zoned(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        when = int(value)
    else:
        return None
    return when if when is not None and 0 <= when <= MAX_INSTANT_MS else None


def _parse_zoned(text: str) -> int | None:
    if _ZONED.fullmatch(text) is None:
        return None
    local, offset = (text[:-1], "+00:00") if text.endswith("Z") else (text[:-6], text[-6:])
    when = parse_iso(f"{local}Z" if len(local) > len("2026-01-31T08:05") else f"{local}:00Z")
    if when is None or iso(when)[:10] != text[:10]:
        # The month has no such day.
        return None
    minutes = int(offset[1:3]) * 60 + int(offset[4:])
    return when - (minutes if offset[0] == "+" else -minutes) * 60_000
