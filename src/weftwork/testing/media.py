"""Media in tests: assets for the inputs of a run, and the media that a run emits."""

import binascii
import hashlib
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from weftwork.protocol.media.asset_references import decode_asset_token, media_ref
from weftwork.protocol.media.media_types import SNIFF_BYTES, resolve_media_type, sniff_media_type
from weftwork.protocol.wire.v1.assets import ASSET_PREFIX

MEDIA_BASE: Final = "https://media.test"
"""Base URL of assets in tests. Nothing is served there."""
MEDIA_EVENT_PREFIX: Final = "media."


class Asset(Mapping[str, Any]):
    """An upload of the run's tenant, for the inputs of a run. A mapping with `mediaRef`, `mimeType` and `bytes`."""

    def __init__(self, data: bytes | Path, mime_type: str = "") -> None:
        self.data = data if isinstance(data, bytes) else data.read_bytes()
        sha256 = hashlib.sha256(self.data).hexdigest()
        media_type = resolve_media_type(mime_type, sniff_media_type(self.data[:SNIFF_BYTES]))
        self._members: dict[str, Any] = {"mediaRef": media_ref(sha256), "mimeType": media_type, "bytes": len(self.data)}

    def __getitem__(self, name: str) -> Any:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    @property
    def media_ref(self) -> str:
        return self._members["mediaRef"]


class Shown(msgspec.Struct, frozen=True):
    """Media that a node has emitted."""

    kind: str
    """image, audio or file."""
    payload: dict[str, Any]
    """The payload of the event: `url` or `base64`, `bytes`, `mimeType`, `alt` and others."""
    data: bytes
    """The bytes of the media; empty if the log hides its source."""
    node_id: str | None


def assets_in(value: object) -> Iterator[Asset]:
    """Every Asset in the value, at any depth."""
    if isinstance(value, Asset):
        yield value
    elif isinstance(value, Mapping):
        for member in cast("Mapping[Any, Any]", value).values():
            yield from assets_in(member)
    elif isinstance(value, list | tuple):
        for item in cast("Iterable[Any]", value):
            yield from assets_in(item)


def shown_digest(payload: dict[str, Any]) -> str | None:
    """The SHA-256 of the asset that the URL of a payload refers to; None if there is no such URL."""
    decoded = decode_asset_token(str(payload.get("url", "")).removeprefix(MEDIA_BASE + ASSET_PREFIX))
    return decoded[0].sha256.hex() if decoded is not None else None


def inline_data(payload: dict[str, Any]) -> bytes | None:
    """The inline bytes of a payload; None if it has none."""
    try:
        return b64decode(payload["base64"], validate=True)
    except (KeyError, binascii.Error):
        return None
