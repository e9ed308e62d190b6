"""The body of an answer as a value: JSON, text, or base64."""

import asyncio
import base64
import re
from typing import Any, Final

from weftwork.protocol.decode import decode
from weftwork.protocol.errors import ClientFault

LARGE: Final = 65_536
"""Bytes of JSON that are decoded beside the event loop."""
_JSON: Final = re.compile(r"(application|text)/([\w.+-]+\+)?json")
_TEXT: Final = re.compile(r"text/.*|application/([\w.+-]+\+)?(json|xml|javascript|x-www-form-urlencoded|yaml|graphql)")
_CHARSETS: Final = {"": "utf-8", "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "iso-8859-1": "latin-1"}


async def read_body(content: bytes, content_type: str) -> tuple[Any, bool]:
    """The body, and whether it is in base64. What does not keep to its type is taken for the next best thing."""
    kind, _, parameters = content_type.lower().partition(";")
    kind = kind.strip()
    if _JSON.fullmatch(kind) and content:
        try:
            return (decode(content) if len(content) <= LARGE else await asyncio.to_thread(decode, content)), False
        except ClientFault:
            pass
    text = _text(content, parameters) if not kind or _TEXT.fullmatch(kind) or not content else None
    return (base64.b64encode(content).decode(), True) if text is None else (text, False)


def _text(content: bytes, parameters: str) -> str | None:
    found = re.search(r"charset=\"?([\w.:-]+)", parameters)
    charset = _CHARSETS.get(found[1] if found else "")
    if charset is None:
        return None
    try:
        text = content.decode(charset)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
