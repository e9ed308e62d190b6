"""Parts of messages: the media that a model is given in addition to text, and the checks before anything is fetched.

Theory of operation. The checks run in stages, and a stage looks at every part before the next one begins: first
whether the model takes such parts, then their shape, then their size. The error that a caller gets therefore does not
depend on the order of parts, and a part that no model takes is never reported as malformed. Each stage stops at the
first part that does not pass, and no error repeats what was sent.

A node or caller that passes media along with a prompt holds a reference from an upload, an input or another node. For
such media, and only there, a mediaRef is enough (`normalize_part`): the asset knows its own type. Checks that need
that type run once the asset has been found (`resolve_asset_part`); all others run before.

Media that a model sends have a rendering hint, which must agree with the payload of their envelope. Sources: RFC 0091,
RFC 0055 B (rendering), RFC 0055 C (media kinds).
"""

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.outcome import OutcomeDetail
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import media_ref_digest
from weftwork.protocol.media.media_types import UNKNOWN_TYPE, canonical_media_type

Modality = Literal["image", "audio", "document"]
PartSource = Literal["url", "mediaRef", "data"]
MODALITIES: Final[tuple[Modality, ...]] = ("image", "audio", "document")

MAX_PARTS: Final = 16
"""Media in one request."""
MAX_TOTAL_BYTES: Final = 33_554_432
"""Bytes of one request that are held in memory: those that came with it, and those that were fetched for it."""
MAX_URL: Final = 8_192
MAX_REF: Final = 512

PART_TYPES: Final[dict[str, Modality]] = {
    "image": "image",
    "audio": "audio",
    "document": "document",
    "file": "document",
}
"""media-41 (RFC 0091, readings): types of parts; checks of hosts call documents `file`."""
PART_SOURCES: Final[dict[str, PartSource]] = {
    "url": "url",
    "mediaRef": "mediaRef",
    "data": "data",
    "dataBase64": "data",
}
"""media-41: members that say where the bytes are; checks of hosts call `data` otherwise."""

_PLURALS: Final[dict[Modality, str]] = {"image": "images", "audio": "sound", "document": "documents"}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class TextInput(msgspec.Struct, frozen=True):
    text: str


class MediaInput(msgspec.Struct, frozen=True):
    """Something that is not text, as a message names it. `value` is a URL, a mediaRef, or the bytes themselves."""

    modality: Modality
    media_type: str
    source: PartSource
    value: str | bytes
    pointer: str


class AssetInput(msgspec.Struct, frozen=True):
    """An asset that is shown as what it is, which is known once it is found. No document says this: it is made by the
    host of what stands beside a prompt. `modality` is what it is said to be, if anybody says."""

    media_ref: str
    modality: Modality | None = None
    pointer: str = ""


class InvalidPart(msgspec.Struct, frozen=True):
    """Something beside a prompt that is no part: why, and the member that is missing or wrong."""

    message: str
    member: str = ""


_NO_PART: Final = InvalidPart(
    "What is shown is a mediaRef, or an object with one, or with mimeType and one of url and data."
)
_NO_TYPE: Final = InvalidPart("Media that are no asset of the tenant need their mimeType.", "mimeType")
_NO_REF: Final = InvalidPart("A mediaRef is a text.", "mediaRef")


class PartError(msgspec.Struct, frozen=True):
    """Why a message cannot be shown to a model. The code is one of the wire's; the words repeat nothing of it."""

    code: Literal["unsupported_modality", "validation_error", "payload_too_large"]
    message: str
    pointer: str
    details: dict[str, Any] = {}


InputPart = TextInput | MediaInput | AssetInput


def parse_content(
    content: Any, offered: frozenset[Modality], most_bytes: int, pointer: str = ""
) -> tuple[InputPart, ...] | PartError:
    """The parts of one message, checked; `pointer` is where it stands."""
    found = parse_contents([(pointer, content)], offered, most_bytes)
    return found if isinstance(found, PartError) else found[0]


def parse_contents(
    contents: Sequence[tuple[str, Any]], offered: frozenset[Modality], most_bytes: int
) -> list[tuple[InputPart, ...]] | PartError:
    """media-40 (RFC 0091, order of checks): the parts of all messages of a request, by their pointers: modality before
    shape before size. A text is one part."""
    listed = [(f"{at}/{index}", part) for at, given in contents if is_array(given) for index, part in enumerate(given)]
    wrong = (
        _check_modalities(listed, offered)
        or _check_shapes(contents, listed, most_bytes)
        or _check_sizes(listed, most_bytes)
    )
    if wrong is not None:
        return wrong
    return [
        (TextInput(given),)
        if isinstance(given, str)
        else tuple(_build_part(f"{at}/{index}", part) for index, part in enumerate(given))
        for at, given in contents
    ]


def plain_text(content: Any) -> str | None:
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


def normalize_part(given: Any) -> Any:
    """media-50 (host): a part as it may stand beside a prompt. What has no type is a reference to media, as uploads and
    nodes give it: its `mediaRef` and `mimeType` count, and the type follows from them. A mediaRef needs neither."""
    if isinstance(given, str):
        return AssetInput(given) if media_ref_digest(given) is not None else _NO_PART
    if not is_object(given):
        return _NO_PART
    if given.get("mimeType") in (None, ""):
        return _untyped_part(given)
    if "type" in given or not isinstance(given["mimeType"], str):
        return given if "type" in given else _NO_TYPE
    sources = ("mediaRef",) if "mediaRef" in given else tuple(PART_SOURCES)
    media = {name: given[name] for name in ("mimeType", *sources) if name in given}
    return {"type": part_type(canonical_media_type(given["mimeType"])), **media}


def _untyped_part(given: dict[str, Any]) -> Any:
    named = [name for name in PART_SOURCES if name in given]
    if "type" in given:
        # A part, of which only the media type may be missing.
        modality = PART_TYPES.get(given["type"]) if isinstance(given["type"], str) else None
        known = named == ["mediaRef"] and modality is not None and isinstance(given["mediaRef"], str)
        return AssetInput(given["mediaRef"], modality) if known else given
    if "mediaRef" in given:
        return AssetInput(given["mediaRef"]) if isinstance(given["mediaRef"], str) else _NO_REF
    return _NO_TYPE if named else _NO_PART


def resolve_asset_part(named: AssetInput, media_type: str, offered: frozenset[Modality]) -> MediaInput | PartError:
    """media-50: an asset as it is shown, by the media type that it was found to have."""
    modality = named.modality or PART_TYPES.get(part_type(media_type))
    if modality is None or modality not in offered:
        return unsupported_modality(modality, named.pointer)
    if part_media_type(modality, media_type) is None:
        return PartError("validation_error", "The asset is not of the type that the part says.", named.pointer)
    return MediaInput(modality, media_type, "mediaRef", named.media_ref, named.pointer)


def part_type(media_type: str) -> str:
    """The type of the part that shows it; there is none for films."""
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _check_modalities(listed: list[tuple[str, Any]], offered: frozenset[Modality]) -> PartError | None:
    for at, part in listed:
        if isinstance(part, AssetInput) and part.modality is None and not offered:
            # Whatever the asset is.
            return PartError("unsupported_modality", "The model takes nothing but text.", at)
        kind = part.modality if isinstance(part, AssetInput) else part.get("type") if is_object(part) else None
        if not isinstance(kind, str) or kind == "text":
            # Without a type it is no part at all, which is a matter of shape.
            continue
        modality = PART_TYPES.get(kind)
        if modality not in offered:
            return unsupported_modality(modality, f"{at}/type")
    return None


def unsupported_modality(modality: Modality | None, pointer: str) -> PartError:
    """`modality` is None for what no model takes."""
    what = "parts of this type" if modality is None else _PLURALS[modality]
    return PartError("unsupported_modality", f"The model takes no {what}.", pointer)


def _check_shapes(
    contents: Sequence[tuple[str, Any]], listed: list[tuple[str, Any]], most_bytes: int
) -> PartError | None:
    for at, given in contents:
        if not isinstance(given, str) and not is_array(given):
            return PartError("validation_error", "The content of a message is a text, or a list of parts.", at)
    return next(filter(None, (_check_shape(at, part, most_bytes) for at, part in listed)), None)


def _check_shape(at: str, part: Any, most_bytes: int) -> PartError | None:
    """media-43 (RFC 0091, shape): a text, or a media type of the modality and exactly one source."""
    if isinstance(part, InvalidPart):
        return PartError("validation_error", part.message, f"{at}/{part.member}" if part.member else at)
    if isinstance(part, AssetInput):
        return None if part.media_ref and len(part.media_ref) <= MAX_REF else _invalid_source(f"{at}/mediaRef")
    if not is_object(part) or not isinstance(part.get("type"), str):
        return PartError("validation_error", "A part is an object with a type.", at)
    if part["type"] == "text":
        if not isinstance(part.get("text"), str):
            return PartError("validation_error", "A text part of a message has no text.", f"{at}/text")
        return None
    if part_media_type(PART_TYPES[part["type"]], part.get("mimeType")) is None:
        message = "A part that is no text has a mimeType, which is one of its type."
        return PartError("validation_error", message, f"{at}/mimeType")
    named = [name for name in PART_SOURCES if name in part]
    if len(named) != 1:
        return PartError("validation_error", "A part that is no text has exactly one of url, mediaRef and data.", at)
    name, value = named[0], part[named[0]]
    longest = {"url": MAX_URL, "mediaRef": MAX_REF}.get(PART_SOURCES[name])
    if PART_SOURCES[name] == "data" and isinstance(value, bytes) and value:
        # From a node of this host: no document holds bytes.
        return None
    if not isinstance(value, str) or not value or (longest is not None and len(value) > longest):
        return _invalid_source(f"{at}/{name}")
    # What is too long is refused for that, and never read to its end.
    whole = len(value) % 4 == 0
    if PART_SOURCES[name] == "data" and _decoded_size(value) <= most_bytes and not (whole and _BASE64.fullmatch(value)):
        return PartError("validation_error", "The data of a part are no base64.", f"{at}/{name}")
    return None


def _invalid_source(pointer: str) -> PartError:
    message = "The source of a part is a text that is not empty, and not longer than it may be."
    return PartError("validation_error", message, pointer)


def _check_sizes(listed: list[tuple[str, Any]], most_bytes: int) -> PartError | None:
    """media-44 (RFC 0091, maxBytesPerPart): by the length of the text alone, before anything is decoded."""
    total = media = 0
    for at, part in listed:
        is_media = isinstance(part, AssetInput) or part["type"] != "text"
        media += is_media
        if media > MAX_PARTS:
            message = f"At most {MAX_PARTS} parts of a request are no text."
            return PartError("payload_too_large", message, at, {"limit": MAX_PARTS})
        if isinstance(part, AssetInput) or not is_media:
            continue
        name = next((name for name in ("data", "dataBase64") if name in part), None)
        if name is None:
            continue
        size = _decoded_size(part[name])
        total += size
        if size > most_bytes:
            message = f"At most {most_bytes} bytes are taken in one part."
            return PartError("payload_too_large", message, f"{at}/{name}", {"limit": most_bytes})
        if total > MAX_TOTAL_BYTES:
            message = f"At most {MAX_TOTAL_BYTES} bytes are taken in one request."
            return PartError("payload_too_large", message, f"{at}/{name}", {"limit": MAX_TOTAL_BYTES})
    return None


def _build_part(at: str, part: Any) -> InputPart:
    if isinstance(part, AssetInput):
        return msgspec.structs.replace(part, pointer=at)
    if part["type"] == "text":
        return TextInput(part["text"])
    modality = PART_TYPES[part["type"]]
    media_type = part_media_type(modality, part["mimeType"])
    assert media_type is not None, "its shape was checked"
    name = next(name for name in PART_SOURCES if name in part)
    source = PART_SOURCES[name]
    value = part[name]
    decoded = b64decode(value) if source == "data" and isinstance(value, str) else value
    return MediaInput(modality, media_type, source, decoded, at)


def part_media_type(modality: Modality, given: Any) -> str | None:
    """The one name of the media type of a part; None if it is none, or none of that modality."""
    if not isinstance(given, str):
        return None
    name = canonical_media_type(given)
    if name == UNKNOWN_TYPE and given.partition(";")[0].strip().lower() != UNKNOWN_TYPE:
        return None
    return name if modality == "document" or name.startswith(f"{modality}/") else None


def _decoded_size(text: str | bytes) -> int:
    """How many bytes a base64 text stands for, if it is one."""
    if isinstance(text, bytes):
        return len(text)
    return len(text) // 4 * 3 - text.endswith("=") - text.endswith("==")


DISPLAYS: Final = {kind: kind.removeprefix("media.") for kind in MEDIA_KINDS}
"""media-81 (RFC 0055 B): how each kind is displayed."""
MAX_ALT: Final = 2_000
"""Characters of a description or a title; more is cut."""


def rendering_hint(kind: str, payload: dict[str, Any], title: str = "") -> dict[str, Any]:
    """media-81 (RFC 0055 B): the hint for those who show it, made from what the payload says."""
    told = {"mimeType": payload.get("mimeType"), "alt": payload.get("alt"), "title": title}
    return {"display": DISPLAYS[kind], **{name: text for name, text in told.items() if text}}


def mirror_hint(document: dict[str, Any]) -> dict[str, Any]:
    """media-82 (RFC 0055 B): an envelope of media whose payload and hint say the same, wherever only one says it."""
    payload, meta = document.get("payload"), document.get("meta", {})
    hint: Any = meta.get("rendering", {}) if is_object(meta) else None
    if not is_object(payload) or not is_object(meta) or not is_object(hint):
        return document
    for name in ("mimeType", "alt"):
        if name not in payload and isinstance(hint.get(name), str):
            payload = {**payload, name: hint[name]}
    title = hint.get("title")
    shown = {**hint, **rendering_hint(document["type"], payload, title if isinstance(title, str) else "")}
    return {**document, "payload": payload, "meta": {**meta, "rendering": shown}}


def check_media_url(payload: dict[str, Any]) -> OutcomeDetail | None:
    """media-83 (RFC 0055 C): what is no web address is no URL of media in a run; bytes go inline by base64 alone."""
    if payload.get("url", "https://").startswith(("https://", "http://")):
        return None
    message = "must begin with https:// or http://; send bytes as base64"
    return OutcomeDetail("/payload/url", "#/properties/url", "pattern", message)
