"""Media parts of messages to a model, and their checks before anything is fetched.

Theory of operation. The checks run in stages, and each stage checks every part before the next stage starts: first
whether the model accepts parts of this modality, then their shape, then their size, then their sources: the type of
inline bytes, and secrets in URLs. The reported error therefore does not depend on the order of the parts, and a part of
an unsupported modality is never reported as malformed. Each stage stops at the first part that fails. No error quotes
the submitted content, except media types.

Media that accompanies a prompt is a reference from an upload, an input or another node. Only there, a mediaRef without
a type is enough (`normalize_part`), because the asset has a type. Checks that need this type run when the asset has
been found (`resolve_asset_part`). All others run before.

Media that a model sends has a rendering hint, which must agree with the payload of its envelope. Sources: RFC 0091, RFC
0055 B (rendering), RFC 0055 C (media kinds).
"""

import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.outcome import OutcomeDetail
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import find_asset_tokens, media_ref_digest
from weftwork.protocol.media.media_types import (
    SNIFF_BYTES,
    UNKNOWN_TYPE,
    canonical_media_type,
    contradicts,
    sniff_media_type,
)
from weftwork.protocol.models.model_catalogue import MODALITIES, Modality

PartSource = Literal["url", "mediaRef", "data"]

MAX_PARTS: Final = 16
"""Media parts in one request."""
MAX_TOTAL_BYTES: Final = 33_554_432
"""Bytes of media that one request may hold in memory, inline and fetched together."""
MAX_URL: Final = 8_192
MAX_REF: Final = 512

PART_TYPES: Final[dict[str, Modality]] = {
    "image": "image",
    "audio": "audio",
    "document": "document",
    "file": "document",
}
"""media-41 (RFC 0091, readings): the modality of each part type. `file` is the conformance suite's name for
documents."""
PART_SOURCES: Final[dict[str, PartSource]] = {
    "url": "url",
    "mediaRef": "mediaRef",
    "data": "data",
    "dataBase64": "data",
}
"""media-41: members that hold the source of a part. `dataBase64` is the conformance suite's name for `data`."""

_PLURALS: Final[dict[Modality, str]] = {"image": "images", "audio": "audio", "document": "documents"}
_SNIFF_CHARS: Final = SNIFF_BYTES // 3 * 4
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class TextInput(msgspec.Struct, frozen=True):
    text: str


class MediaInput(msgspec.Struct, frozen=True):
    """A media part of a message. `value` is a URL, a mediaRef, or the bytes themselves."""

    modality: Modality
    media_type: str
    source: PartSource
    value: str | bytes
    pointer: str


class AssetInput(msgspec.Struct, frozen=True):
    """An asset whose media type is not known until it has been found. The host creates these parts from the media that
    accompanies a prompt; they never come from a document. `modality` is the declared modality, if there is one."""

    media_ref: str
    modality: Modality | None = None
    pointer: str = ""


class InvalidPart(msgspec.Struct, frozen=True):
    """Media for a prompt that is not a valid part: the reason, and the missing or invalid member."""

    message: str
    member: str = ""


_NO_PART: Final = InvalidPart(
    "A media item must be a mediaRef, an object with a mediaRef, or an object with a mimeType and one of url and data."
)
_NO_TYPE: Final = InvalidPart("Media that is not an asset of the tenant needs a mimeType.", "mimeType")
_NO_REF: Final = InvalidPart("A mediaRef must be a string.", "mediaRef")


class PartError(msgspec.Struct, frozen=True):
    """Why a message cannot be sent to a model. `code` is an error code of the wire; `message` quotes nothing of the
    content."""

    code: Literal["unsupported_modality", "validation_error", "payload_too_large"]
    message: str
    pointer: str
    details: dict[str, Any] = {}


InputPart = TextInput | MediaInput | AssetInput
UrlCheck = Callable[[str], str | None]
"""Names the secret that a URL contains; None if it contains none."""


def parse_content(
    content: Any, offered: frozenset[Modality], most_bytes: int, pointer: str = ""
) -> tuple[InputPart, ...] | PartError:
    """Check and parse the content of one message, which is at `pointer`."""
    result = parse_contents([(pointer, content)], offered, most_bytes)
    return result if isinstance(result, PartError) else result[0]


def parse_contents(
    contents: Sequence[tuple[str, Any]],
    offered: frozenset[Modality],
    most_bytes: int,
    find_secret: UrlCheck | None = None,
) -> list[tuple[InputPart, ...]] | PartError:
    """media-40 (RFC 0091, order of checks): check and parse the contents of all messages of a request, each given with
    its pointer.

    Modalities are checked before shapes, shapes before sizes, and sizes before sources. A string is one text part.
    `offered` holds the modalities that the model accepts, `most_bytes` is the limit per part.
    """
    parts = [
        (f"{at}/{index}", part) for at, content in contents if is_array(content) for index, part in enumerate(content)
    ]
    error = (
        _check_modalities(parts, offered)
        or _check_shapes(contents, parts, most_bytes)
        or _check_sizes(parts, most_bytes)
        or next(filter(None, (_check_source(at, part, find_secret) for at, part in parts)), None)
    )
    if error is not None:
        return error
    return [
        (TextInput(content),)
        if isinstance(content, str)
        else tuple(_build_part(f"{at}/{index}", part) for index, part in enumerate(content))
        for at, content in contents
    ]


def plain_text(content: Any) -> str | None:
    """ai-03 (RFC 0091, parts of messages): the text of a message that has only text parts, joined by line breaks; None
    if it has any other part."""
    if isinstance(content, str):
        return content
    if not is_array(content):
        return None
    texts = [part.get("text") if is_object(part) and part.get("type") == "text" else None for part in content]
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None


def input_family(modalities: frozenset[Modality], max_bytes_per_part: int) -> dict[str, Any] | None:
    """media-42 (RFC 0091, aiProviders.input): the block of discovery, from the same values that parts are checked
    against; None if models accept only text."""
    if not modalities:
        return None
    offered = [modality for modality in MODALITIES if modality in modalities]
    return {"modalities": ["text", *offered], "maxBytesPerPart": max_bytes_per_part}


def normalize_part(item: Any) -> Any:
    """media-50 (host): the message part for one media item of a prompt.

    An object without a `type` is a media reference, as uploads and nodes return it. Only its source and `mimeType` are
    used, and the type of the part follows from the `mimeType`. A mediaRef needs neither type nor `mimeType`.
    """
    if isinstance(item, str):
        return AssetInput(item) if media_ref_digest(item) is not None else _NO_PART
    if not is_object(item):
        return _NO_PART
    if item.get("mimeType") in (None, ""):
        return _untyped_part(item)
    if "type" in item or not isinstance(item["mimeType"], str):
        return item if "type" in item else _NO_TYPE
    sources = ("mediaRef",) if "mediaRef" in item else tuple(PART_SOURCES)
    media = {name: item[name] for name in ("mimeType", *sources) if name in item}
    return {"type": part_type(canonical_media_type(item["mimeType"])), **media}


def _untyped_part(item: dict[str, Any]) -> Any:
    sources = [name for name in PART_SOURCES if name in item]
    if "type" in item:
        # A part that may lack only its media type. `_check_shape` reports anything else that is missing.
        modality = PART_TYPES.get(item["type"]) if isinstance(item["type"], str) else None
        is_asset = sources == ["mediaRef"] and modality is not None and isinstance(item["mediaRef"], str)
        return AssetInput(item["mediaRef"], modality) if is_asset else item
    if "mediaRef" in item:
        return AssetInput(item["mediaRef"]) if isinstance(item["mediaRef"], str) else _NO_REF
    return _NO_TYPE if sources else _NO_PART


def resolve_asset_part(asset: AssetInput, media_type: str, offered: frozenset[Modality]) -> MediaInput | PartError:
    """media-50: the part for an asset, once its media type is known."""
    modality = asset.modality or PART_TYPES.get(part_type(media_type))
    if modality is None or modality not in offered:
        return unsupported_modality(modality, asset.pointer)
    if part_media_type(modality, media_type) is None:
        message = f"The part has the type {modality}, but the asset is {media_type}. Declare its real type."
        return PartError("validation_error", message, asset.pointer, {"declared": modality, "actual": media_type})
    return MediaInput(modality, media_type, "mediaRef", asset.media_ref, asset.pointer)


def part_type(media_type: str) -> str:
    """The part type for a media type. The result `video` is not a valid part type: no model accepts it."""
    family = media_type.partition("/")[0]
    return family if family in ("image", "audio", "video") else "document"


def _check_modalities(parts: list[tuple[str, Any]], offered: frozenset[Modality]) -> PartError | None:
    for at, part in parts:
        if isinstance(part, AssetInput) and part.modality is None and not offered:
            # No modality is offered, so the unknown type of the asset does not matter.
            return PartError("unsupported_modality", "The model accepts only text.", at)
        kind = part.modality if isinstance(part, AssetInput) else part.get("type") if is_object(part) else None
        if not isinstance(kind, str) or kind == "text":
            # A part without a type is malformed, which the next stage reports.
            continue
        modality = PART_TYPES.get(kind)
        if modality not in offered:
            return unsupported_modality(modality, f"{at}/type")
    return None


def unsupported_modality(modality: Modality | None, pointer: str) -> PartError:
    """The error for a modality that the model does not accept. Pass None for a type that no model accepts."""
    what = "parts of this type" if modality is None else _PLURALS[modality]
    return PartError("unsupported_modality", f"The model does not accept {what}.", pointer)


def _check_shapes(
    contents: Sequence[tuple[str, Any]], parts: list[tuple[str, Any]], most_bytes: int
) -> PartError | None:
    for at, content in contents:
        if not isinstance(content, str) and not is_array(content):
            return PartError("validation_error", "The content of a message must be a string or an array of parts.", at)
    return next(filter(None, (_check_shape(at, part, most_bytes) for at, part in parts)), None)


def _check_shape(at: str, part: Any, most_bytes: int) -> PartError | None:
    """media-43 (RFC 0091, shape): a part has a text, or a media type of its modality and exactly one source."""
    if isinstance(part, InvalidPart):
        return PartError("validation_error", part.message, f"{at}/{part.member}" if part.member else at)
    if isinstance(part, AssetInput):
        return None if part.media_ref and len(part.media_ref) <= MAX_REF else _invalid_source(f"{at}/mediaRef")
    if not is_object(part) or not isinstance(part.get("type"), str):
        return PartError("validation_error", "A part must be an object with a type.", at)
    if part["type"] == "text":
        if not isinstance(part.get("text"), str):
            return PartError("validation_error", "A text part must have a text.", f"{at}/text")
        return None
    if part_media_type(PART_TYPES[part["type"]], part.get("mimeType")) is None:
        message = "A media part must have a mimeType that matches its type."
        return PartError("validation_error", message, f"{at}/mimeType")
    sources = [name for name in PART_SOURCES if name in part]
    if len(sources) != 1:
        return PartError("validation_error", "A media part must have exactly one of url, mediaRef and data.", at)
    name, value = sources[0], part[sources[0]]
    max_length = {"url": MAX_URL, "mediaRef": MAX_REF}.get(PART_SOURCES[name])
    if PART_SOURCES[name] == "data" and isinstance(value, bytes) and value:
        # Only a node of this host can pass bytes; JSON has none.
        return None
    if not isinstance(value, str) or not value or (max_length is not None and len(value) > max_length):
        return _invalid_source(f"{at}/{name}")
    # Data over the limit is left for `_check_sizes`, which rejects it without reading it.
    has_full_groups = len(value) % 4 == 0
    if (
        PART_SOURCES[name] == "data"
        and _decoded_size(value) <= most_bytes
        and not (has_full_groups and _BASE64.fullmatch(value))
    ):
        return PartError("validation_error", "The data of a part must be base64.", f"{at}/{name}")
    return None


def _invalid_source(pointer: str) -> PartError:
    message = (
        "The source of a part must be a non-empty string. "
        f"A url has at most {MAX_URL} characters, a mediaRef at most {MAX_REF}."
    )
    return PartError("validation_error", message, pointer)


def _check_sizes(parts: list[tuple[str, Any]], most_bytes: int) -> PartError | None:
    """media-44 (RFC 0091, maxBytesPerPart): check sizes by the length of the base64, before anything is decoded."""
    total = media = 0
    for at, part in parts:
        is_media = isinstance(part, AssetInput) or part["type"] != "text"
        media += is_media
        if media > MAX_PARTS:
            message = f"A request may have at most {MAX_PARTS} media parts."
            return PartError("payload_too_large", message, at, {"limit": MAX_PARTS})
        if isinstance(part, AssetInput) or not is_media:
            continue
        name = next((name for name in ("data", "dataBase64") if name in part), None)
        if name is None:
            continue
        size = _decoded_size(part[name])
        total += size
        if size > most_bytes:
            message = f"A part may have at most {most_bytes} bytes."
            return PartError("payload_too_large", message, f"{at}/{name}", {"limit": most_bytes})
        if total > MAX_TOTAL_BYTES:
            message = f"The media of a request may have at most {MAX_TOTAL_BYTES} bytes."
            return PartError("payload_too_large", message, f"{at}/{name}", {"limit": MAX_TOTAL_BYTES})
    return None


def _check_source(at: str, part: Any, find_secret: UrlCheck | None) -> PartError | None:
    """media-56, media-57: the bytes of a part agree with its type, and its URL contains no secret."""
    if isinstance(part, AssetInput) or part["type"] == "text":
        return None
    name = next(name for name in PART_SOURCES if name in part)
    value = part[name]
    if PART_SOURCES[name] == "data":
        head = value[:SNIFF_BYTES] if isinstance(value, bytes) else b64decode(value[:_SNIFF_CHARS])
        return check_declared_type(part["mimeType"], sniff_media_type(head), "its bytes are", at)
    secret = find_secret(value) if PART_SOURCES[name] == "url" and find_secret is not None else None
    if secret is None:
        return None
    message = f"The URL of a part contains {secret}. Upload the file as an asset and use its mediaRef instead."
    return PartError("validation_error", message, f"{at}/{name}")


def check_declared_type(declared: str, known: str, how_known: str, pointer: str) -> PartError | None:
    """media-56: the error for a part whose declared type contradicts the type that the host knows; None if it does not.
    `how_known` introduces the known type in the message."""
    if not contradicts(declared, known):
        return None
    types = {"declared": canonical_media_type(declared), "actual": canonical_media_type(known)}
    message = f"The part is declared as {types['declared']}, but {how_known} {types['actual']}. Declare its real type."
    return PartError("validation_error", message, pointer, types)


def _build_part(at: str, part: Any) -> InputPart:
    if isinstance(part, AssetInput):
        return msgspec.structs.replace(part, pointer=at)
    if part["type"] == "text":
        return TextInput(part["text"])
    modality = PART_TYPES[part["type"]]
    media_type = part_media_type(modality, part["mimeType"])
    assert media_type is not None, "_check_shapes runs before _build_part"
    name = next(name for name in PART_SOURCES if name in part)
    source = PART_SOURCES[name]
    value = part[name]
    decoded = b64decode(value) if source == "data" and isinstance(value, str) else value
    return MediaInput(modality, media_type, source, decoded, at)


def part_media_type(modality: Modality, declared: Any) -> str | None:
    """The canonical media type of a part; None if it is malformed or does not belong to the modality."""
    if not isinstance(declared, str):
        return None
    name = canonical_media_type(declared)
    if name == UNKNOWN_TYPE and declared.partition(";")[0].strip().lower() != UNKNOWN_TYPE:
        return None
    return name if modality == "document" or name.startswith(f"{modality}/") else None


def _decoded_size(text: str | bytes) -> int:
    """The number of bytes in a base64 text."""
    if isinstance(text, bytes):
        return len(text)
    return len(text) // 4 * 3 - text.endswith("=") - text.endswith("==")


DISPLAYS: Final = {kind: kind.removeprefix("media.") for kind in MEDIA_KINDS}
"""media-81 (RFC 0055 B): the `display` of each media kind."""
MAX_ALT: Final = 2_000
"""Characters of a description or a title. Longer ones are cut."""


def rendering_hint(kind: str, payload: dict[str, Any], title: str = "") -> dict[str, Any]:
    """media-81 (RFC 0055 B): the rendering hint for a media payload."""
    members = {"mimeType": payload.get("mimeType"), "alt": payload.get("alt"), "title": title}
    return {"display": DISPLAYS[kind], **{name: text for name, text in members.items() if text}}


def mirror_hint(document: dict[str, Any]) -> dict[str, Any]:
    """media-82 (RFC 0055 B): a media envelope whose payload and rendering hint agree. A member that only one of them
    has is copied to the other; if both have it, the payload's value is used."""
    payload, meta = document.get("payload"), document.get("meta", {})
    hint: Any = meta.get("rendering", {}) if is_object(meta) else None
    if not is_object(payload) or not is_object(meta) or not is_object(hint):
        return document
    for name in ("mimeType", "alt"):
        if name not in payload and isinstance(hint.get(name), str):
            payload = {**payload, name: hint[name]}
    title = hint.get("title")
    full_hint = {**hint, **rendering_hint(document["type"], payload, title if isinstance(title, str) else "")}
    return {**document, "payload": payload, "meta": {**meta, "rendering": full_hint}}


def check_media_url(payload: dict[str, Any]) -> OutcomeDetail | None:
    """media-83 (RFC 0055 C): the URL of media must be an http or https URL. Inline bytes are allowed only in `base64`,
    not in a data URL."""
    if payload.get("url", "https://").startswith(("https://", "http://")):
        return None
    message = "must begin with https:// or http://; send inline bytes in `base64`"
    return OutcomeDetail("/payload/url", "#/properties/url", "pattern", message)


def with_usable_media(payload: dict[str, Any], redacted: dict[str, Any]) -> dict[str, Any]:
    """hide-08 (readings, Questions of a node that read a secret): the redacted payload of a media envelope, with the
    members that a reader needs to decode the media.

    Bytes and URLs of this host keep their text: a match in them is a coincidence, and masked they would be useless. A
    media type that contains a secret becomes the type of unknown bytes. All other members stay redacted.
    """
    usable = dict(redacted)
    if "base64" in payload:
        usable["base64"] = payload["base64"]
    if find_asset_tokens(str(payload.get("url", ""))):
        usable["url"] = payload["url"]
    if payload.get("mimeType") != redacted.get("mimeType"):
        usable["mimeType"] = UNKNOWN_TYPE
    return usable
