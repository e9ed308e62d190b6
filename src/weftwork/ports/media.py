"""Media that a node makes or reads."""

from typing import Any, Literal

import msgspec

MediaKind = Literal["image", "audio", "file"]


class OutgoingMedia(msgspec.Struct, frozen=True):
    """What a node wants to show: bytes, or an asset of its tenant by its mediaRef."""

    kind: MediaKind
    source: bytes | str
    media_type: str = ""
    """What it is said to be; what the bytes look like decides."""
    alt: str = ""
    title: str = ""
    name: str = ""
    duration_seconds: float | None = None
    inline: bool = False
    """Whether the bytes are to stand in the event, if they are few enough."""


class EmittedMedia(msgspec.Struct, frozen=True):
    """What became of it."""

    envelope_id: str
    media_ref: str
    payload: dict[str, Any]
    """Of the envelope: `url` or `base64`, `bytes`, `mimeType`, and so on."""
    rendering: dict[str, Any]

    @property
    def url(self) -> str | None:
        return self.payload.get("url")


class MediaBytes(msgspec.Struct, frozen=True):
    """The bytes behind a mediaRef, or a stretch of them."""

    data: bytes
    media_type: str
    """What they look like."""
    sha256: str
