"""Replaces what is not valid Unicode in the texts of models.

Providers split characters between chunks, and not everything they send is Unicode. What a strict JSON reader would
reject is replaced before it is used or recorded.
"""

from typing import Any, TypeVar

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.decoder import decode

_StructT = TypeVar("_StructT", bound=msgspec.Struct)


def clean_text(text: str) -> str:
    """model-02 (host): the text with U+FFFD for every half of a character that stands alone, and for NUL."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")


def clean_struct(told: _StructT) -> _StructT:
    """A struct with all its own texts clean."""
    members = ((name, getattr(told, name)) for name in told.__struct_fields__)
    return msgspec.structs.replace(told, **{name: clean_text(each) for name, each in members if isinstance(each, str)})


def is_encodable(value: Any) -> bool:
    """Whether a value can be written down, and read again by a strict reader."""
    try:
        decode(encode_stored(value))
    except (ClientFault, TypeError, ValueError, RecursionError):
        return False
    return True


class SurrogateJoiner:
    """Puts characters together that come in two pieces."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def join(self, piece: str, last: bool = False) -> str:
        """The piece, clean, with the half before it and without a half at its end, if more can follow."""
        text, self._half = self._half + piece, ""
        if not last and "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean_text(text)
