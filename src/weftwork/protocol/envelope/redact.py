"""Redaction of a payload: known secrets are replaced wherever they stand, and counted.

Source: OpenWOP security invariant envelope-redaction-sr-1-carry-forward, RFC 0021 (redaction).
"""

from typing import Any

from weftwork.protocol.copies import Copies
from weftwork.protocol.json_value import is_array, is_object


def redact(value: Any, copies: Copies) -> tuple[Any, int]:
    """env-11: the value with every learnt text in its texts and member names replaced, and how many there were.

    Parts in which there is none are not copied. Two names that become the same stay two members.
    """
    if isinstance(value, str):
        return copies.mask_counted(value)
    if is_array(value):
        return _redact_items(value, copies)
    if is_object(value):
        return _redact_members(value, copies)
    return value, 0


def _redact_items(value: list[Any], copies: Copies) -> tuple[list[Any], int]:
    found = [redact(each, copies) for each in value]
    count = sum(each for _, each in found)
    return ([each for each, _ in found] if count else value), count


def _redact_members(value: dict[str, Any], copies: Copies) -> tuple[dict[str, Any], int]:
    shown: dict[str, Any] = {}
    total = 0
    for name, each in value.items():
        new_name, in_name = redact(name, copies)
        new_value, count = redact(each, copies)
        total += in_name + count
        if in_name:
            new_name = _free_name(new_name, value, shown)
        shown[new_name] = new_value
    return (shown if total else value), total


def _free_name(name: str, value: dict[str, Any], shown: dict[str, Any]) -> str:
    number, free = 1, name
    while free in shown or free in value:
        number += 1
        free = f"{name} ({number})"
    return free
