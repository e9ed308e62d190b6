"""ctx.emit_image, emit_audio, emit_file and read_media: the media of one call of a node.

An emission is recorded, so a repeated call of the node does not emit it twice.
"""

import asyncio
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from weftwork.adapters.python.calls.call_state import CallState, current_step
from weftwork.adapters.python.errors import NodeError, misuse_error
from weftwork.ports.media import MediaKind, OutgoingMedia
from weftwork.ports.nodes import NodeContext
from weftwork.protocol.media.asset_references import media_ref, media_ref_digest


class Media(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A reference to an asset of the run's tenant, without the bytes. An input port can be annotated with this type."""

    media_ref: str
    mime_type: str = ""
    bytes: int = msgspec.field(default_factory=int)
    """The size in bytes; 0 if only the mediaRef is known. Always part of the JSON, because of its default_factory."""
    url: str | None = None
    """The URL of the asset, valid as long as a run refers to it; None if the event contains the bytes."""
    envelope_id: str = ""


class MediaContent(msgspec.Struct, frozen=True):
    """The bytes of an asset, with the media type that was detected from them."""

    data: bytes
    mime_type: str
    media_ref: str


MediaSource = bytes | bytearray | memoryview | Path | str | Media | MediaContent | Mapping[str, Any]
"""Bytes, the path of a file, a mediaRef, or an object with a mediaRef."""
MediaReference = str | Media | MediaContent | Mapping[str, Any]


class MediaCalls:
    """The media calls of one call of a node."""

    def __init__(self, host: NodeContext, state: CallState) -> None:
        self._host = host
        self._state = state

    async def emit(self, turn_prefix: str, source: MediaSource, kind: MediaKind, options: dict[str, Any]) -> Media:
        """media-65 (RFC 0055 B): emit media, or return the recorded result of an earlier call. Raises NodeError."""
        self._state.check_not_stopping()
        if current_step.get():
            raise misuse_error(
                "A step cannot emit media. Emit it before or after the step; an emission is recorded on its own."
            )
        outgoing = OutgoingMedia(kind, await self._load_source(source), **options)
        self._state.check_not_stopping()
        emitted = await self._state.await_host(self._host.emit_media(outgoing, turn_prefix))
        payload = emitted.payload
        return Media(emitted.media_ref, payload["mimeType"], payload["bytes"], emitted.url, emitted.envelope_id)

    async def read(self, ref: MediaReference, most: int | None) -> MediaContent:
        """media-66 (RFC 0091): the bytes of a mediaRef, which make the node untrusted. Raises NodeError."""
        self._state.check()
        limit = self._host.limits.max_upload_bytes if most is None else most
        content = await self._state.await_host(self._host.read_media(media_ref_of(ref), limit))
        return MediaContent(content.data, content.media_type, media_ref(content.sha256))

    async def _load_source(self, source: MediaSource) -> bytes | str:
        """The bytes, or the mediaRef of an asset. Raises NodeError, or OSError for a file."""
        limit = self._host.limits.max_upload_bytes
        if isinstance(source, Path):
            return _check_not_empty(await asyncio.to_thread(_read_file, source, limit))
        if not isinstance(source, bytes | bytearray | memoryview):
            ref = media_ref_of(source)
            if media_ref_digest(ref) is None:
                raise misuse_error(
                    f"Media must be bytes, a pathlib.Path or a mediaRef, not {_describe_source(source)}."
                )
            return cast("str", ref)
        if (size := source.nbytes if isinstance(source, memoryview) else len(source)) > limit:
            raise media_too_large_error(size, limit)
        return _check_not_empty(bytes(source))


def media_ref_of(ref: object) -> object:
    """The mediaRef of a reference or an object; any other value unchanged."""
    if isinstance(ref, Media | MediaContent):
        return ref.media_ref
    if isinstance(ref, Mapping):
        return cast("Mapping[str, Any]", ref).get("mediaRef")
    return ref


def _describe_source(source: object) -> str:
    if isinstance(source, str):
        return "another text"
    if isinstance(source, Mapping | Media | MediaContent):
        return "an object without a valid mediaRef"
    return f"an object of type {type(source).__name__}"


def _check_not_empty(data: bytes) -> bytes:
    if not data:
        raise misuse_error("The media is empty; it needs at least one byte.")
    return data


def media_too_large_error(size: int, limit: int) -> NodeError:
    return NodeError(
        "media_too_large",
        f"Media of a node can have up to {limit:,} bytes (max_upload_bytes).",
        {"bytes": size, "limit": limit},
    )


def _read_file(path: Path, limit: int) -> bytes:
    """The content of a regular file up to the limit. Raises NodeError, or OSError."""
    # O_NONBLOCK, because opening a named pipe would block until another process writes to it.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise misuse_error("Media can be read only from a regular file.")
        if status.st_size > limit:
            raise media_too_large_error(status.st_size, limit)
        data = file.read(limit + 1)
    if len(data) > limit:
        # The file has grown since fstat.
        raise media_too_large_error(len(data), limit)
    return data
