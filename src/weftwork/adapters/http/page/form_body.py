"""Decodes the body of a submitted form."""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from weftwork.protocol.errors import invalid

MAX_FORM_BYTES: Final = 1_048_576
MAX_FIELDS: Final = 1_000
MAX_NAME: Final = 64
MAX_VALUE: Final = 65_536
"""In characters after decoding, as is MAX_NAME."""
_ENCODED: Final = re.compile(rb"(?:[!#-$'-~]|%[0-9A-Fa-f]{2})*")
"""Printable ASCII without `"` and `&`, and with `%` only before two hexadecimal digits."""


def decode_form(body: bytes) -> list[tuple[str, str]]:
    """The fields of an application/x-www-form-urlencoded body, in the order sent, with line ends as line feeds.

    Raises ClientFault if the body exceeds a limit, a pair has no `=` or no name, or the text is not UTF-8 or has a NUL.
    """
    if len(body) > MAX_FORM_BYTES:
        raise invalid(f"The form is larger than {MAX_FORM_BYTES} bytes.")
    if body.count(b"&") >= MAX_FIELDS:
        raise invalid(f"The form has more than {MAX_FIELDS} fields.")
    fields: list[tuple[str, str]] = []
    for pair in body.split(b"&") if body else ():
        name, equals, value = pair.partition(b"=")
        if not equals or not name or _ENCODED.fullmatch(pair) is None:
            raise invalid("The body is not valid application/x-www-form-urlencoded data.")
        fields.append((_text(name, MAX_NAME), _text(value, MAX_VALUE)))
    return fields


def _text(encoded: bytes, limit: int) -> str:
    try:
        text = unquote_to_bytes(encoded.replace(b"+", b" ")).decode("utf-8")
    except UnicodeDecodeError:
        raise invalid("The form is not valid UTF-8.") from None
    if "\0" in text:
        raise invalid("The form contains a NUL character.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > limit:
        raise invalid(f"A field of the form is longer than {limit} characters.")
    return text
