"""What stands beside a prompt: parts, and what is as good as one.

Theory. Whoever shows a picture has a reference to it, from an upload, an input or another node, and has no use for the
words of the protocol. So here, and nowhere else, a mediaRef is enough: the asset knows what it is. What only the asset
knows can be judged only when it is found; everything else is judged before that.
"""

from typing import Any, Final

from weftwork.protocol.json_value import is_object
from weftwork.protocol.media.media_type import canonical
from weftwork.protocol.media.parts import SOURCES, TYPES, Modality, Named, Shown, Unfit, Wrong, media_type_of, not_taken
from weftwork.protocol.media.reference import digest_of

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
