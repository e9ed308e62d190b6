"""What the scripted provider sees of the media in a request: enough to answer about them, the same each time."""

import hashlib
import re
from typing import Final

from weftwork.ports.models import MediaPart, ModelRequest

_PLACE: Final = re.compile(r"\{media(?:\.count|\[(\d{1,2})\]\.(modality|mediaType|bytes|sha256))\}")


def media_of(request: ModelRequest) -> list[MediaPart]:
    return [part for message in request.messages for part in message.media]


def listed_media(request: ModelRequest) -> str:
    return ", ".join(f"{part.media_type} ({part.size} bytes)" for part in media_of(request))


async def glimpsed(text: str, request: ModelRequest) -> str:
    """media-48 (host): a text of a script with what the media of the call are in it: `{media.count}`, and of each by
    its place `{media[0].modality}`, `mediaType`, `bytes` and `sha256`, which are those of the bytes that were read.
    A place that is not there stays as it is written."""
    if _PLACE.search(text) is None:
        return text
    media = media_of(request)
    known = {"{media.count}": str(len(media))}
    for at, part in enumerate(media):
        data = await part.read()
        told = part.modality, part.media_type, str(len(data)), hashlib.sha256(data).hexdigest()
        for member, value in zip(("modality", "mediaType", "bytes", "sha256"), told, strict=True):
            known[f"{{media[{at}].{member}}}"] = value
    return _PLACE.sub(lambda place: known.get(place[0], place[0]), text)
