"""What an author shows a model: parts of messages, and media beside a prompt."""

from collections.abc import Collection, Mapping
from typing import Any, cast

from weftwork.adapters.python.errors import misused
from weftwork.adapters.python.media import Media, MediaContent
from weftwork.adapters.python.values import NotJson, as_json
from weftwork.protocol.json_value import is_object
from weftwork.protocol.media.beside import part_of
from weftwork.protocol.media.reference import digest_of

Shown = str | Media | MediaContent | Mapping[str, Any]
"""A part; or media, by their mediaRef or an object that has one, whose type says how they are shown."""


def parts_of(name: str, media: Any) -> list[Any]:
    """What stands beside a prompt. Raises NodeError."""
    if isinstance(media, Media | MediaContent | Mapping) or digest_of(media) is not None:
        media = [media]
    if not isinstance(media, Collection) or isinstance(media, str | bytes):
        raise misused(f"{name} takes media as a mediaRef, as a part, or as a list of them.")
    return [part_of(_part(name, each)) for each in cast("Collection[Any]", media)]


def content_of(what: str, content: Any) -> Any:
    """The content of a message as JSON: a text, or parts. Raises NodeError."""
    if isinstance(content, str):
        return content
    if isinstance(content, Collection) and not isinstance(content, bytes | Mapping):
        parts = [_part(what, each) for each in cast("Collection[Any]", content)]
        if all(map(_is_part, parts)):
            return parts
    raise misused(f"{what} needs a text as its content, or a list of parts with a type.")


def _is_part(part: Any) -> bool:
    if not is_object(part) or not isinstance(part.get("type"), str):
        return False
    return part["type"] != "text" or isinstance(part.get("text"), str)


def _part(what: str, given: Any) -> Any:
    if isinstance(given, Media | MediaContent):
        return {"mediaRef": given.media_ref, "mimeType": given.mime_type}
    document: Any = given
    data: Any = None
    if isinstance(given, Mapping):
        document = {**cast("Mapping[str, Any]", given)}
        data = document.get("data")
    if isinstance(data, bytes | bytearray):
        # No value of a run, so that the bounds of those do not count; and nobody has to write it as text.
        document["data"] = ""
    try:
        made = as_json(document)
    except NotJson as error:
        raise misused(f"{what} holds a part that is not JSON: {error}.") from None
    return {**made, "data": bytes(data)} if isinstance(data, bytes | bytearray) else made
