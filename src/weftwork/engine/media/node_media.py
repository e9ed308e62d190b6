"""Media that one entry of a node makes or reads: stored as assets of the run's tenant, and referred to in envelopes."""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from weftwork.engine.media.assets import Assets, BytesMissing, retry_store
from weftwork.engine.runtime import Runtime
from weftwork.ports.media import EmittedMedia, MediaBytes, OutgoingMedia
from weftwork.ports.models import GeneratedMedia
from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.ports.storage.assets import StoredAsset
from weftwork.protocol.envelopes.kinds import MEDIA_KINDS
from weftwork.protocol.envelopes.outcome import Accepted
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.fold.state import RunState
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.asset_headers import safe_file_name, sanitize_name
from weftwork.protocol.media.asset_references import (
    find_asset_tokens,
    media_ref,
    referenced_assets,
)
from weftwork.protocol.media.inline_media import (
    MAX_ANSWER_INLINE_BYTES,
    decode_base64,
    find_inline_media,
    replace_inline_media,
    truncate_inline_media,
    with_url_member,
)
from weftwork.protocol.media.media_types import UNKNOWN_TYPE, resolve_media_type
from weftwork.protocol.media.message_parts import MAX_ALT, rendering_hint
from weftwork.protocol.privacy.redaction import Redactor

T = TypeVar("T")

NO_MEDIA_STORE: Final = Failed("host_capability_missing", "This host keeps no media.", retryable=False)
MEDIA_NOT_FOUND: Final = Failed("media_not_found", "There is no such asset.", retryable=False)
THREAD_SCAN_CHARS: Final = 262_144
"""Characters of an answer that is looked through in a thread."""


class EntryMediaStore:
    """media-85 (host): the log gets references; bytes only where they are few, and only if somebody asked for that."""

    __slots__ = ("_partition", "_redactor", "_run_id", "_runtime")

    def __init__(self, runtime: Runtime, state: RunState, redactor: Redactor | None) -> None:
        self._runtime = runtime
        self._partition = state.header.partition
        self._run_id = state.header.run_id
        self._redactor = redactor

    async def make_payload(self, sent: OutgoingMedia) -> dict[str, Any]:
        """The payload of the envelope of what a node shows. Raises StepFailed."""
        given = sent.source
        asset = await (self._put(given) if isinstance(given, bytes) else self.find(given, held=True))
        payload = await self._payload(asset, sent.media_type, sent.name, sent.inline)
        if sent.alt:
            payload["alt"] = self._masked(sent.alt)
        if sent.kind == "audio" and sent.duration_seconds is not None:
            payload["durationSeconds"] = sent.duration_seconds
        if sent.kind == "file" and (name := self._safe_name(sent.name)):
            payload["name"] = name
        return payload

    async def read(self, ref: object, most: int) -> MediaBytes:
        """The bytes behind a mediaRef. Raises StepFailed."""
        asset = await self.find(ref)
        if asset.size > most:
            message = f"The asset has {asset.size} bytes; at most {most} are taken here."
            raise StepFailed(Failed("media_too_large", message, {"bytes": asset.size, "limit": most}, retryable=False))
        data = await self._retry_store(lambda: self._assets.read(asset))
        return MediaBytes(data, asset.media_type, asset.sha256)

    async def find(self, ref: object, held: bool = False) -> StoredAsset:
        """media-04 (RFC 0091): an asset of the run's tenant. Raises StepFailed, alike for what is not there and what is
        somebody else's."""
        asset = await self._retry_store(lambda: self._assets.find(self._partition, ref))
        if asset is not None and held:
            found = asset
            asset = await self._retry_store(lambda: self._assets.hold(found))
        if asset is None:
            raise StepFailed(MEDIA_NOT_FOUND)
        return asset

    async def record_of_generated(self, piece: GeneratedMedia) -> dict[str, Any]:
        """What the record of an answer says of something that a model has made."""
        asset = await self._put(piece.data)
        media_type = self._safe_media_type(resolve_media_type(piece.media_type, asset.media_type))
        told = {"mimeType": media_type, "alt": self._masked(piece.alt), "name": self._safe_name(piece.name)}
        known = {name: text for name, text in told.items() if text}
        return {"kind": piece.kind, "mediaRef": media_ref(asset.sha256), "bytes": asset.size, **known}

    async def externalise(self, text: str, whole: bool) -> str:
        """media-84 (RFC 0055 C, inline cap): an answer of a model as it is recorded: media above the cap are assets.

        An answer that was cut off is used by nobody; of the bytes in it only the beginning is kept.
        """
        cap = self._inline_cap
        if not whole or self._runtime.assets is None:
            return truncate_inline_media(text, cap, everywhere=not whole)
        # All documents in it are read, which takes a while, in which everybody else would wait.
        is_long = len(text) > THREAD_SCAN_CHARS
        spans = await asyncio.to_thread(find_inline_media, text, cap) if is_long else find_inline_media(text, cap)
        urls: dict[str, str] = {}
        for span in spans:
            data = decode_base64(span.base64)
            if span.base64 not in urls and data is not None:
                asset = await self._put(data)
                urls[span.base64] = self._assets.url(asset, asset.media_type, self._run_id)
        return truncate_inline_media(replace_inline_media(text, spans, urls), cap, everywhere=False)

    def by_url(self, document: Any) -> Any:
        """An envelope of media whose base64 was taken out before the answer was recorded."""
        if not is_object(document) or document.get("type") not in MEDIA_KINDS or self._runtime.assets is None:
            return document
        return {**document, "payload": with_url_member(document.get("payload"))}

    async def store_inline(self, document: Any) -> Any:
        """media-86 (RFC 0055 C, inline cap): an envelope of media from a model, kept as an asset: inline if it was sent
        so and is small enough, else by its URL; with its true size and type. Anything else as it is."""
        payload = document.get("payload") if is_object(document) and document.get("type") in MEDIA_KINDS else None
        if not is_object(payload) or self._runtime.assets is None:
            return document
        declared = str(payload.get("mimeType", ""))
        if isinstance(payload.get("base64"), str):
            data = decode_base64(payload["base64"])
            if data is None:
                return document
            asset, inline = await self._put(data), len(data) <= self._inline_cap
            made = await self._payload(asset, declared, str(payload.get("name", "")), inline, data)
        elif (own := await self._own_asset_payload(payload.get("url"), declared)) is not None:
            made = own
        else:
            return document
        kept = {name: value for name, value in payload.items() if name not in ("base64", "url", "bytes", "mimeType")}
        return {**document, "payload": {**kept, **made}}

    def is_foreign(self, document: Any) -> bool:
        """media-87 (RFC 0055 C, tenant scope): whether an envelope of media shows an asset URL of this host that opens
        nothing of this tenant."""
        payload = document.get("payload") if is_object(document) and document.get("type") in MEDIA_KINDS else None
        url = payload.get("url") if is_object(payload) else None
        if not isinstance(url, str) or self._runtime.assets is None:
            return False
        found = [token for text in find_asset_tokens(url) if (token := self._assets.verify_token(text)) is not None]
        if not found:
            at = url.lower().removeprefix(self._assets.base.lower())
            return at.startswith(self._assets.prefixes)
        return any(token.partition != self._partition for token in found)

    async def _own_asset_payload(self, url: object, declared: str) -> dict[str, Any] | None:
        """The payload of an asset whose URL this host has made for the tenant of the run. What a run shows does not
        expire, so the URL is made anew."""
        texts = find_asset_tokens(url) if isinstance(url, str) else []
        token = self._assets.verify_token(texts[0]) if len(texts) == 1 else None
        if token is None or token.partition != self._partition:
            return None
        asset = await self.find(media_ref(token.sha256.hex()), held=True)
        return await self._payload(asset, declared or token.media_type, token.name, inline=False)

    async def _payload(
        self, asset: StoredAsset, declared: str, name: str, inline: bool, data: bytes | None = None
    ) -> dict[str, Any]:
        media_type = self._safe_media_type(resolve_media_type(declared, asset.media_type))
        told: dict[str, Any] = {"bytes": asset.size, "mimeType": media_type}
        if inline and asset.size <= self._runtime.limits.max_inline_media_bytes:
            known = data if data is not None else await self._retry_store(lambda: self._assets.read(asset))
            return {"base64": b64encode(known).decode(), **told}
        return {"url": self._assets.url(asset, media_type, self._run_id, self._safe_name(name)), **told}

    def _masked(self, text: str, most: int = MAX_ALT) -> str:
        """Masked before it is cut, so that no part of a secret is left."""
        return (text if self._redactor is None else self._redactor.matcher.mask(text))[:most]

    def _safe_name(self, name: str) -> str:
        """A name for a token, where nobody could find a secret any more. Cleaning may bring one together, so that it is
        masked again before it is cut."""
        return safe_file_name(self._masked(sanitize_name(self._masked(name))))

    def _safe_media_type(self, media_type: str) -> str:
        return media_type if self._masked(media_type) == media_type else UNKNOWN_TYPE

    async def _put(self, data: bytes) -> StoredAsset:
        cap = self._runtime.limits.max_upload_bytes
        try:
            return await self._retry_store(
                lambda: self._assets.put(self._partition, data, cap=cap, away=self._runtime.wait_for_store)
            )
        except ClientFault as fault:
            raise StepFailed(Failed("media_too_large", fault.message, fault.details, retryable=False)) from None

    async def _retry_store(self, work: Callable[[], Awaitable[T]]) -> T:
        """An unavailable store is no fault of the node: the node waits, as its run does."""
        try:
            return await retry_store(work, self._runtime.wait_for_store)
        except BytesMissing:
            raise StepFailed(MEDIA_NOT_FOUND) from None

    @property
    def _inline_cap(self) -> int:
        return min(self._runtime.limits.max_inline_media_bytes, MAX_ANSWER_INLINE_BYTES)

    @property
    def _assets(self) -> Assets:
        if self._runtime.assets is None:
            raise StepFailed(NO_MEDIA_STORE)
        return self._runtime.assets


class MediaDiscarded(Exception):
    """The node takes no such media; that was noted, and it goes on."""


def emitted_media(accepted: Accepted, partition: str, title: str) -> EmittedMedia:
    """What became of media, from what is recorded of them."""
    payload: dict[str, Any] = accepted.payload
    named = sorted(referenced_assets(encode_stored(payload), partition, inline=True))
    hint = rendering_hint(accepted.type, payload, title)
    return EmittedMedia(accepted.envelope_id, media_ref(named[0]) if named else "", payload, hint)


def media_envelope(kind: str, payload: dict[str, Any], title: str = "") -> dict[str, Any]:
    """The envelope of what a node shows."""
    hint = {"title": title} if title else {}
    meta = {"source": "system", "rendering": hint}
    return {"type": f"media.{kind}", "schemaVersion": 1, "payload": payload, "meta": meta}


def media_of_record(record: dict[str, Any]) -> OutgoingMedia:
    """What a model has made, from the record of its answer."""
    return OutgoingMedia(
        record["kind"],
        record["mediaRef"],
        record.get("mimeType", ""),
        record.get("alt", ""),
        name=record.get("name", ""),
    )
