"""Parts of messages: what a model is shown beside text, and the checks that come before anything is fetched.

Theory. The checks are stages, and a stage looks at every part before the next one begins: first whether the model takes
such parts, then their shape, then their size. So what a caller is told does not depend on the order of parts, and a
part of a kind that nobody takes is never called misshapen. Each stage stops at the first part that does not pass, and
no answer repeats what was sent. Source: RFC 0091.

What stands beside a prompt: parts, and what is as good as one.

Theory. Whoever shows a picture has a reference to it, from an upload, an input or another node, and has no use for the
words of the protocol. So here, and nowhere else, a mediaRef is enough: the asset knows what it is. What only the asset
knows can be judged only when it is found; everything else is judged before that.
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import digest_of
from weftwork.protocol.media.media_types import UNKNOWN, canonical

Modality = Literal["image", "audio", "document"]
Source = Literal["url", "mediaRef", "data"]
MODALITIES: Final[tuple[Modality, ...]] = ("image", "audio", "document")

MAX_PARTS: Final = 16
"""Media in one request."""
MAX_TOTAL: Final = 33_554_432
"""Bytes of one request that are held in memory: those that came with it, and those that were fetched for it."""
MAX_URL: Final = 8_192
MAX_REF: Final = 512

TYPES: Final[dict[str, Modality]] = {"image": "image", "audio": "audio", "document": "document", "file": "document"}
"""media-41 (RFC 0091, readings): types of parts; checks of hosts call documents `file`."""
SOURCES: Final[dict[str, Source]] = {"url": "url", "mediaRef": "mediaRef", "data": "data", "dataBase64": "data"}
"""media-41: members that say where the bytes are; checks of hosts call `data` otherwise."""
_ALPHABET: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Text(msgspec.Struct, frozen=True):
    text: str


class Shown(msgspec.Struct, frozen=True):
    """Something that is not text, as a message names it. `value` is a URL, a mediaRef, or the bytes themselves."""

    modality: Modality
    media_type: str
    source: Source
    value: str | bytes
    pointer: str


class Named(msgspec.Struct, frozen=True):
    """An asset that is shown as what it is, which is known once it is found. No document says this: it is made by the
    host of what stands beside a prompt. `modality` is what it is said to be, if anybody says."""

    media_ref: str
    modality: Modality | None = None
    pointer: str = ""


class Unfit(msgspec.Struct, frozen=True):
    """Something beside a prompt that is no part: why, and the member that is missing or wrong."""

    message: str
    member: str = ""


class Wrong(msgspec.Struct, frozen=True):
    """Why a message cannot be shown to a model. The code is one of the wire's; the words repeat nothing of it."""

    code: Literal["unsupported_modality", "validation_error", "payload_too_large"]
    message: str
    pointer: str
    details: dict[str, Any] = {}


Part = Text | Shown | Named


def parse_content(
    content: Any, offered: frozenset[Modality], most_bytes: int, pointer: str = ""
) -> tuple[Part, ...] | Wrong:
    """The parts of one message, checked; `pointer` is where it stands."""
    found = parse_contents([(pointer, content)], offered, most_bytes)
    return found if isinstance(found, Wrong) else found[0]


def parse_contents(
    contents: Sequence[tuple[str, Any]], offered: frozenset[Modality], most_bytes: int
) -> list[tuple[Part, ...]] | Wrong:
    """media-40 (RFC 0091, order of checks): the parts of all messages of a request, by their pointers: modality before
    shape before size. A text is one part."""
    listed = [(f"{at}/{index}", part) for at, given in contents if is_array(given) for index, part in enumerate(given)]
    wrong = _unsupported(listed, offered) or _misshapen(contents, listed, most_bytes) or _oversized(listed, most_bytes)
    if wrong is not None:
        return wrong
    return [_parts(at, given) for at, given in contents]


def text_of(content: Any) -> str | None:
    """ai-03 (RFC 0091, parts of messages): the text of a message of nothing but text, its parts joined line by line;
    None if there is anything else in it."""
    if isinstance(content, str):
        return content
    if not is_array(content):
        return None
    texts = [part.get("text") if is_object(part) and part.get("type") == "text" else None for part in content]
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None


def input_family(modalities: frozenset[Modality], max_bytes_per_part: int) -> dict[str, Any] | None:
    """media-42 (RFC 0091, aiProviders.input): what discovery says, from the values that parts are checked by; None if
    models take text alone."""
    if not modalities:
        return None
    taken = [modality for modality in MODALITIES if modality in modalities]
    return {"modalities": ["text", *taken], "maxBytesPerPart": max_bytes_per_part}


def _unsupported(listed: list[tuple[str, Any]], offered: frozenset[Modality]) -> Wrong | None:
    for at, part in listed:
        if isinstance(part, Named) and part.modality is None and not offered:
            # Whatever the asset is.
            return Wrong("unsupported_modality", "The model takes nothing but text.", at)
        kind = part.modality if isinstance(part, Named) else part.get("type") if is_object(part) else None
        if not isinstance(kind, str) or kind == "text":
            # Without a type it is no part at all, which is a matter of shape.
            continue
        modality = TYPES.get(kind)
        if modality not in offered:
            return not_taken(modality, f"{at}/type")
    return None


def not_taken(modality: Modality | None, pointer: str) -> Wrong:
    """`modality` is None for what no model takes."""
    what = "parts of this type" if modality is None else _PLURALS[modality]
    return Wrong("unsupported_modality", f"The model takes no {what}.", pointer)


def _misshapen(contents: Sequence[tuple[str, Any]], listed: list[tuple[str, Any]], most_bytes: int) -> Wrong | None:
    for at, given in contents:
        if not isinstance(given, str) and not is_array(given):
            return Wrong("validation_error", "The content of a message is a text, or a list of parts.", at)
    for at, part in listed:
        wrong = _shape(at, part, most_bytes)
        if wrong is not None:
            return wrong
    return None


def _shape(at: str, part: Any, most_bytes: int) -> Wrong | None:
    """media-43 (RFC 0091, shape): a text, or a media type of the modality and exactly one source."""
    if isinstance(part, Unfit):
        return Wrong("validation_error", part.message, f"{at}/{part.member}" if part.member else at)
    if isinstance(part, Named):
        return None if part.media_ref and len(part.media_ref) <= MAX_REF else _no_source(f"{at}/mediaRef")
    if not is_object(part) or not isinstance(part.get("type"), str):
        return Wrong("validation_error", "A part is an object with a type.", at)
    if part["type"] == "text":
        if not isinstance(part.get("text"), str):
            return Wrong("validation_error", "A text part of a message has no text.", f"{at}/text")
        return None
    if media_type_of(TYPES[part["type"]], part.get("mimeType")) is None:
        message = "A part that is no text has a mimeType, which is one of its type."
        return Wrong("validation_error", message, f"{at}/mimeType")
    named = [name for name in SOURCES if name in part]
    if len(named) != 1:
        return Wrong("validation_error", "A part that is no text has exactly one of url, mediaRef and data.", at)
    name, value = named[0], part[named[0]]
    longest = {"url": MAX_URL, "mediaRef": MAX_REF}.get(SOURCES[name])
    if SOURCES[name] == "data" and isinstance(value, bytes) and value:
        # From a node of this host: no document holds bytes.
        return None
    if not isinstance(value, str) or not value or (longest is not None and len(value) > longest):
        return _no_source(f"{at}/{name}")
    # What is too long is refused for that, and never read to its end.
    if SOURCES[name] == "data" and _size(value) <= most_bytes and not _is_base64(value):
        return Wrong("validation_error", "The data of a part are no base64.", f"{at}/{name}")
    return None


def _no_source(pointer: str) -> Wrong:
    message = "The source of a part is a text that is not empty, and not longer than it may be."
    return Wrong("validation_error", message, pointer)


def _oversized(listed: list[tuple[str, Any]], most_bytes: int) -> Wrong | None:
    """media-44 (RFC 0091, maxBytesPerPart): by the length of the text alone, before anything is decoded."""
    total = media = 0
    for at, part in listed:
        is_media = isinstance(part, Named) or part["type"] != "text"
        media += is_media
        if media > MAX_PARTS:
            message = f"At most {MAX_PARTS} parts of a request are no text."
            return Wrong("payload_too_large", message, at, {"limit": MAX_PARTS})
        if isinstance(part, Named) or not is_media:
            continue
        name = next((name for name in ("data", "dataBase64") if name in part), None)
        if name is None:
            continue
        size = _size(part[name])
        total += size
        if size > most_bytes:
            message = f"At most {most_bytes} bytes are taken in one part."
            return Wrong("payload_too_large", message, f"{at}/{name}", {"limit": most_bytes})
        if total > MAX_TOTAL:
            message = f"At most {MAX_TOTAL} bytes are taken in one request."
            return Wrong("payload_too_large", message, f"{at}/{name}", {"limit": MAX_TOTAL})
    return None


def _parts(at: str, given: Any) -> tuple[Part, ...]:
    if isinstance(given, str):
        return (Text(given),)
    return tuple(_part(f"{at}/{index}", part) for index, part in enumerate(given))


def _part(at: str, part: Any) -> Part:
    if isinstance(part, Named):
        return msgspec.structs.replace(part, pointer=at)
    if part["type"] == "text":
        return Text(part["text"])
    modality = TYPES[part["type"]]
    media_type = media_type_of(modality, part["mimeType"])
    assert media_type is not None, "its shape was checked"
    name = next(name for name in SOURCES if name in part)
    source = SOURCES[name]
    value = part[name]
    decoded = b64decode(value) if source == "data" and isinstance(value, str) else value
    return Shown(modality, media_type, source, decoded, at)


def media_type_of(modality: Modality, given: Any) -> str | None:
    """The one name of the media type of a part; None if it is none, or none of that modality."""
    if not isinstance(given, str):
        return None
    name = canonical(given)
    if name == UNKNOWN and given.partition(";")[0].strip().lower() != UNKNOWN:
        return None
    return name if modality == "document" or name.startswith(f"{modality}/") else None


def _size(text: str | bytes) -> int:
    """How many bytes a base64 text stands for, if it is one."""
    if isinstance(text, bytes):
        return len(text)
    return len(text) // 4 * 3 - text.endswith("=") - text.endswith("==")


def _is_base64(text: str) -> bool:
    """Strictly: one alphabet, no spaces, all of its padding."""
    return not len(text) % 4 and _ALPHABET.fullmatch(text) is not None


_PLURALS: Final[dict[Modality, str]] = {"image": "images", "audio": "sound", "document": "documents"}


_NO_PART: Final = Unfit("What is shown is a mediaRef, or an object with one, or with mimeType and one of url and data.")
_NO_TYPE: Final = Unfit("Media that are no asset of the tenant need their mimeType.", "mimeType")
_NO_REF: Final = Unfit("A mediaRef is a text.", "mediaRef")


def part_of(given: Any) -> Any:
    """media-50 (host): a part as it may stand beside a prompt. What has no type is a reference to media, as uploads and
    nodes give it: its `mediaRef` and `mimeType` count, and the type follows from them. A mediaRef needs neither."""
    if isinstance(given, str):
        return Named(given) if digest_of(given) is not None else _NO_PART
    if not is_object(given):
        return _NO_PART
    if given.get("mimeType") in (None, ""):
        return _untyped(given)
    if "type" in given or not isinstance(given["mimeType"], str):
        return given if "type" in given else _NO_TYPE
    sources = ("mediaRef",) if "mediaRef" in given else tuple(SOURCES)
    media = {name: given[name] for name in ("mimeType", *sources) if name in given}
    return {"type": kind_of(canonical(given["mimeType"])), **media}


def _untyped(given: dict[str, Any]) -> Any:
    named = [name for name in SOURCES if name in given]
    if "type" in given:
        # A part, of which only the media type may be missing.
        modality = TYPES.get(given["type"]) if isinstance(given["type"], str) else None
        known = named == ["mediaRef"] and modality is not None and isinstance(given["mediaRef"], str)
        return Named(given["mediaRef"], modality) if known else given
    if "mediaRef" in given:
        return Named(given["mediaRef"]) if isinstance(given["mediaRef"], str) else _NO_REF
    return _NO_TYPE if named else _NO_PART


def shown_as(named: Named, media_type: str, offered: frozenset[Modality]) -> Shown | Wrong:
    """media-50: an asset as it is shown, by the media type that it was found to have."""
    modality = named.modality or TYPES.get(kind_of(media_type))
    if modality is None or modality not in offered:
        return not_taken(modality, named.pointer)
    if media_type_of(modality, media_type) is None:
        return Wrong("validation_error", "The asset is not of the type that the part says.", named.pointer)
    return Shown(modality, media_type, "mediaRef", named.media_ref, named.pointer)


def kind_of(media_type: str) -> str:
    """The type of the part that shows it; there is none for films."""
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"
