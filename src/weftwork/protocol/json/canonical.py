"""Canonical JSON (RFC 8785), digests of it, and base64url."""

import hashlib
import json
import math
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.protocol.json.values import is_array, is_object

encode_stored: Final = msgspec.json.Encoder(order="deterministic").encode
"""Compact, deterministic JSON to compare values: equal values give equal bytes, and number types are kept (1.0 stays
1.0)."""
encode_recorded: Final = msgspec.json.Encoder().encode
"""Compact JSON for the log and for definitions. Members keep the order of their author, in which people read them."""
_quote = json.JSONEncoder(ensure_ascii=False).encode


def encode_canonical(value: Any) -> bytes:
    """json-02 (RFC 8785): members sorted by UTF-16 code units, numbers as ECMAScript prints them, no white space."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts).encode()


def base64url(data: bytes) -> str:
    """RFC 4648 section 5, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def digest(value: Any) -> str:
    """Lower-case hex SHA-256 over the canonical form."""
    return hashlib.sha256(encode_canonical(value)).hexdigest()


_SCALARS: Final[dict[type, Callable[[Any], str]]] = {
    str: _quote,
    int: int.__repr__,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
    float: lambda value: _number(value),
}


def _write(value: Any, put: Callable[[str], None]) -> None:
    plain = _SCALARS.get(value.__class__)
    if plain is not None:
        put(plain(value))
    elif is_object(value):
        _write_members(value, put)
    elif is_array(value):
        _write_items(value, put)
    else:
        raise TypeError(f"not JSON: {type(value).__name__}")


def _write_items(value: list[Any], put: Callable[[str], None]) -> None:
    before = "["
    for item in value:
        put(before)
        before = ","
        plain = _SCALARS.get(item.__class__)
        if plain is not None:
            put(plain(item))
        else:
            _write(item, put)
    put("]" if value else "[]")


def _write_members(value: dict[str, Any], put: Callable[[str], None]) -> None:
    if not value:
        put("{}")
        return
    names = sorted(value)
    if not "".join(names).isascii():
        # UTF-16 order differs from Python's order only for characters outside the Basic Multilingual Plane.
        names = sorted(names, key=lambda name: name.encode("utf-16-be"))
    before = "{"
    for name in names:
        put(before)
        before = ","
        put(_quote(name))
        put(":")
        _write(value[name], put)
    put("}")


def _number(value: float) -> str:
    """ECMAScript Number::toString for a finite double."""
    if not math.isfinite(value):
        raise ValueError("not JSON: a number that is not finite")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    # point: the number of digits before the decimal point; zero or negative for leading zeros after it.
    point = int(exponent or 0) + len(whole)
    if whole == "0":
        point -= 1 + len(fraction) - len(digits)
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    power = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"
