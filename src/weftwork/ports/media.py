"""Media that a node emits or reads."""

from typing import Any, Literal

import msgspec

MediaKind = Literal["image", "audio", "file"]


class OutgoingMedia(msgspec.Struct, frozen=True):
    """Media for a node to emit: bytes, or the mediaRef of an asset of its tenant."""

    kind: MediaKind
    source: bytes | str
    media_type: str = ""
    """The type that the node declares. The host sniffs the bytes, and the sniffed type wins."""
    alt: str = ""
    title: str = ""
    name: str = ""
    duration_seconds: float | None = None
    inline: bool = False
    """Whether to put the bytes into the event itself, if they are within `max_inline_media_bytes`."""


class EmittedMedia(msgspec.Struct, frozen=True):
    """Media that was stored as an asset and announced by an envelope."""

    envelope_id: str
    media_ref: str
    payload: dict[str, Any]
    """The payload of the envelope: `url` or `base64`, `bytes`, `mimeType`, and so on."""
    rendering: dict[str, Any]

    @property
    def url(self) -> str | None:
        return self.payload.get("url")


class MediaBytes(msgspec.Struct, frozen=True):
    """The bytes of an asset, or a range of them."""

    data: bytes
    media_type: str
    """The type that the host sniffed from the bytes."""
    sha256: str
