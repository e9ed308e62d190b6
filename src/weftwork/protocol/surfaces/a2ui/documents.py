"""A2UI messages as bytes: a message per line, or a JSON array."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.decoder import decode
from weftwork.protocol.json.values import is_array, is_object

WRAPPER: Final = "messages"
"""The member with the messages, in an object that holds nothing else."""


def encode_messages(messages: Iterable[Any]) -> bytes:
    """The messages as JSON Lines, the form in which A2UI streams them."""
    return b"".join(msgspec.json.encode(each) + b"\n" for each in messages)


def decode_messages(data: bytes) -> list[Any]:
    """The messages of JSON Lines, of a JSON array, of an object with the member `messages`, or of one message.

    Raises a `validation_error`, with the number of the line if there are several. The messages are not checked; that is
    what `from_messages` does.
    """
    try:
        document = decode(data)
    except ClientFault as fault:
        lines = data.split(b"\n")
        filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        if len(filled) < 2 or not _is_json(filled[0][1]):
            raise fault from None
        return [_decode_line(number, line) for number, line in filled]
    if is_array(document):
        return document
    wrapped: Any = document.get(WRAPPER) if is_object(document) and len(document) == 1 else None
    return wrapped if is_array(wrapped) else [document]


def _decode_line(number: int, line: bytes) -> Any:
    try:
        return decode(line)
    except ClientFault as fault:
        raise ClientFault(fault.code, f"Line {number}: {fault.message}", fault.details) from None


def _is_json(line: bytes) -> bool:
    try:
        decode(line)
    except ClientFault:
        return False
    return True
