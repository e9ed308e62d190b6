"""ctx.emit_image, emit_audio, emit_file and read_media: the media of one call of a node.

An emission is recorded, so a node that is entered again does not emit it twice.
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
    """An asset of the run's tenant. As JSON it is a reference, and never its bytes; a port that brings such an object
    can be annotated with this type."""

    media_ref: str
    mime_type: str = ""
    bytes: int = msgspec.field(default_factory=int)
    """How many there are; 0 if only its name is known. Always in the JSON: what is made by a factory is."""
    url: str | None = None
    """Opens it, as long as a run refers to it; None if the bytes stand in the event themselves."""
    envelope_id: str = ""


class MediaContent(msgspec.Struct, frozen=True):
    """The bytes of an asset, and what they look like."""

    data: bytes
    mime_type: str
    media_ref: str


MediaSource = bytes | bytearray | memoryview | Path | str | Media | MediaContent | Mapping[str, Any]
"""Bytes, a file, or what names an asset: a mediaRef, or an object that has one."""
MediaReference = str | Media | MediaContent | Mapping[str, Any]


class MediaCalls:
    """The media calls of one call of a node."""

    def __init__(self, host: NodeContext, state: CallState) -> None:
        self._host = host
        self._state = state

    async def emit(self, turn_prefix: str, source: MediaSource, kind: MediaKind, said: dict[str, Any]) -> Media:
        """media-65 (RFC 0055 B): send it, and get what became of it, now or in an earlier entry. Raises NodeError."""
        self._state.check_not_stopping()
        if current_step.get():
            raise misuse_error(
                "A step cannot emit media; emit before it or after it. An emission is recorded by itself."
            )
        sent = OutgoingMedia(kind, await self._load_source(source), **said)
        self._state.check_not_stopping()
        made = await self._state.await_host(self._host.emit_media(sent, turn_prefix))
        payload = made.payload
        return Media(made.media_ref, payload["mimeType"], payload["bytes"], made.url, made.envelope_id)

    async def read(self, ref: MediaReference, most: int | None) -> MediaContent:
        """media-66 (RFC 0091): the bytes behind a mediaRef; from here on the node is untrusted. Raises NodeError."""
        self._state.check()
        limit = self._host.limits.max_upload_bytes if most is None else most
        found = await self._state.await_host(self._host.read_media(media_ref_of(ref), limit))
        return MediaContent(found.data, found.media_type, media_ref(found.sha256))

    async def _load_source(self, source: MediaSource) -> bytes | str:
        """What the host is given: bytes, or the text of a reference."""
        limit = self._host.limits.max_upload_bytes
        if isinstance(source, Path):
            return _check_not_empty(await asyncio.to_thread(_read_file, source, limit))
        if not isinstance(source, bytes | bytearray | memoryview):
            ref = media_ref_of(source)
            if media_ref_digest(ref) is None:
                raise misuse_error(
                    f"Media are bytes, a pathlib.Path or a mediaRef, and not {_describe_source(source)}."
                )
            return cast("str", ref)
        if (size := source.nbytes if isinstance(source, memoryview) else len(source)) > limit:
            raise media_too_large_error(size, limit)
        return _check_not_empty(bytes(source))


def media_ref_of(ref: object) -> object:
    """The mediaRef that this is, or has; anything else as it is."""
    if isinstance(ref, Media | MediaContent):
        return ref.media_ref
    if isinstance(ref, Mapping):
        return cast("Mapping[str, Any]", ref).get("mediaRef")
    return ref


def _describe_source(source: object) -> str:
    if isinstance(source, str):
        return "a text that is none"
    has_one = isinstance(source, Mapping | Media | MediaContent)
    return "an object that has none" if has_one else f"an object of type {type(source).__name__}"


def _check_not_empty(data: bytes) -> bytes:
    if not data:
        raise misuse_error("There is nothing to show: the media have no bytes.")
    return data


def media_too_large_error(size: int, limit: int) -> NodeError:
    return NodeError("media_too_large", f"Media of a node have at most {limit} bytes.", {"bytes": size, "limit": limit})


def _read_file(path: Path, limit: int) -> bytes:
    """A file that is not larger than it may be. Raises NodeError, or OSError."""
    # Not blocking: to open a pipe would wait for whoever writes to it.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise misuse_error("Media can be read from a regular file, and from nothing else.")
        if found.st_size > limit:
            raise media_too_large_error(found.st_size, limit)
        data = file.read(limit + 1)
    if len(data) > limit:
        # It has grown.
        raise media_too_large_error(len(data), limit)
    return data
