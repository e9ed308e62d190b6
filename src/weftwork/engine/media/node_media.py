"""Media that one entry of a node emits or reads: stored as assets of the run's tenant, and referred to in envelopes."""

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

NO_MEDIA_STORE: Final = Failed("host_capability_missing", "This host stores no media.", retryable=False)
MEDIA_NOT_FOUND: Final = Failed("media_not_found", "There is no such asset.", retryable=False)
THREAD_SCAN_CHARS: Final = 262_144
"""Answers longer than this are scanned in a thread, so that they do not block the event loop."""


class EntryMediaStore:
    """media-85 (host): the log gets references to media. It gets the bytes only if the node asked for inline media and
    they are within `max_inline_media_bytes`."""

    __slots__ = ("_partition", "_redactor", "_run_id", "_runtime")

    def __init__(self, runtime: Runtime, state: RunState, redactor: Redactor | None) -> None:
        self._runtime = runtime
        self._partition = state.header.partition
        self._run_id = state.header.run_id
        self._redactor = redactor

    async def make_payload(self, sent: OutgoingMedia) -> dict[str, Any]:
        """Store the media of a node; returns the payload of its envelope. Raises StepFailed."""
        source = sent.source
        asset = await (self._put(source) if isinstance(source, bytes) else self.find(source, held=True))
        payload = await self._payload(asset, sent.media_type, sent.name, sent.inline)
        if sent.alt:
            payload["alt"] = self._masked(sent.alt)
        if sent.kind == "audio" and sent.duration_seconds is not None:
            payload["durationSeconds"] = sent.duration_seconds
        if sent.kind == "file" and (name := self._safe_name(sent.name)):
            payload["name"] = name
        return payload

    async def read(self, ref: object, most: int) -> MediaBytes:
        """The bytes of the asset of a mediaRef, at most `most`. Raises StepFailed."""
        asset = await self.find(ref)
        if asset.size > most:
            message = f"The asset has {asset.size} bytes, and the limit is {most}."
            raise StepFailed(Failed("media_too_large", message, {"bytes": asset.size, "limit": most}, retryable=False))
        data = await self._retry_store(lambda: self._assets.read(asset))
        return MediaBytes(data, asset.media_type, asset.sha256)

    async def find(self, ref: object, held: bool = False) -> StoredAsset:
        """media-04 (RFC 0091): an asset of the run's tenant; `held` extends its hold. Raises the same StepFailed for an
        asset that does not exist and one of another tenant."""
        asset = await self._retry_store(lambda: self._assets.find(self._partition, ref))
        if asset is not None and held:
            unheld = asset
            asset = await self._retry_store(lambda: self._assets.hold(unheld))
        if asset is None:
            raise StepFailed(MEDIA_NOT_FOUND)
        return asset

    async def record_of_generated(self, piece: GeneratedMedia) -> dict[str, Any]:
        """Store media that a model made; returns their entry in the record of the answer."""
        asset = await self._put(piece.data)
        media_type = self._safe_media_type(resolve_media_type(piece.media_type, asset.media_type))
        labels = {"mimeType": media_type, "alt": self._masked(piece.alt), "name": self._safe_name(piece.name)}
        present = {name: text for name, text in labels.items() if text}
        return {"kind": piece.kind, "mediaRef": media_ref(asset.sha256), "bytes": asset.size, **present}

    async def externalise(self, text: str, whole: bool) -> str:
        """media-84 (RFC 0055 C, inline cap): the text of an answer for its record, with media above the cap replaced by
        URLs of assets.

        An answer that was cut off (`whole` is false) is not used, so its media are truncated and not stored.
        """
        cap = self._inline_cap
        if not whole or self._runtime.assets is None:
            return truncate_inline_media(text, cap, everywhere=not whole)
        # The scan parses all JSON documents in the text, which would block the event loop for a long text.
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
        """The envelope with its media by URL, if `externalise` has replaced its base64 by a URL."""
        if not is_object(document) or document.get("type") not in MEDIA_KINDS or self._runtime.assets is None:
            return document
        return {**document, "payload": with_url_member(document.get("payload"))}

    async def store_inline(self, document: Any) -> Any:
        """media-86 (RFC 0055 C, inline cap): store the media of an envelope from a model as an asset. The media stay
        inline if they were sent inline and are small enough, else the envelope gets their URL; size and type are
        corrected. Other documents are returned unchanged."""
        payload = document.get("payload") if is_object(document) and document.get("type") in MEDIA_KINDS else None
        if not is_object(payload) or self._runtime.assets is None:
            return document
        declared = str(payload.get("mimeType", ""))
        if isinstance(payload.get("base64"), str):
            data = decode_base64(payload["base64"])
            if data is None:
                return document
            asset, inline = await self._put(data), len(data) <= self._inline_cap
            stored = await self._payload(asset, declared, str(payload.get("name", "")), inline, data)
        elif (own := await self._own_asset_payload(payload.get("url"), declared)) is not None:
            stored = own
        else:
            return document
        others = {name: value for name, value in payload.items() if name not in ("base64", "url", "bytes", "mimeType")}
        return {**document, "payload": {**others, **stored}}

    def is_foreign(self, document: Any) -> bool:
        """media-87 (RFC 0055 C, tenant scope): whether a media envelope has an asset URL of this host that is invalid
        or belongs to another tenant."""
        payload = document.get("payload") if is_object(document) and document.get("type") in MEDIA_KINDS else None
        url = payload.get("url") if is_object(payload) else None
        if not isinstance(url, str) or self._runtime.assets is None:
            return False
        tokens = [token for text in find_asset_tokens(url) if (token := self._assets.verify_token(text)) is not None]
        if not tokens:
            at = url.lower().removeprefix(self._assets.base.lower())
            return at.startswith(self._assets.prefixes)
        return any(token.partition != self._partition for token in tokens)

    async def _own_asset_payload(self, url: object, declared: str) -> dict[str, Any] | None:
        """The payload of an asset of the run's tenant, given by its URL on this host; None for other URLs. The payload
        has a new URL without expiry, because media of a run do not expire."""
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
        facts: dict[str, Any] = {"bytes": asset.size, "mimeType": media_type}
        inline = inline and asset.size <= self._runtime.limits.max_inline_media_bytes
        if data is None and (inline or self._redactor is not None):
            data = await self._retry_store(lambda: self._assets.read(asset))
        if data is not None and self._redactor is not None and self._redactor.hides_media(asset.sha256, data):
            inline = False
        if inline and data is not None:
            encoded = b64encode(data).decode()
            if self._masked(encoded, len(encoded)) == encoded:
                return {"base64": encoded, **facts}
            # The base64 happens to contain the text of a sensitive value. A mask would break it, so the URL is used.
        return {"url": self._assets.url(asset, media_type, self._run_id, self._safe_name(name)), **facts}

    def _masked(self, text: str, most: int = MAX_ALT) -> str:
        """The text with secrets masked. It is masked before it is truncated, so that no part of a secret is left."""
        return (text if self._redactor is None else self._redactor.matcher.mask(text))[:most]

    def _safe_name(self, name: str) -> str:
        """A file name for a token, in which secrets cannot be masked later. Removing characters may join the parts of a
        secret, so the name is masked again after that."""
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
        """Retry while the store is unavailable: an outage is no failure of the node, so it waits like its run does."""
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
    """The contract of the node does not accept these media. A warning is recorded, and the node continues."""


def emitted_media(accepted: Accepted, partition: str, title: str) -> EmittedMedia:
    """The result of `emit_media`, from the recorded outcome of its envelope."""
    payload: dict[str, Any] = accepted.payload
    named = sorted(referenced_assets(encode_stored(payload), partition, inline=True))
    hint = rendering_hint(accepted.type, payload, title)
    return EmittedMedia(accepted.envelope_id, media_ref(named[0]) if named else "", payload, hint)


def media_envelope(kind: str, payload: dict[str, Any], title: str = "") -> dict[str, Any]:
    """The envelope for media of a node."""
    hint = {"title": title} if title else {}
    meta = {"source": "system", "rendering": hint}
    return {"type": f"media.{kind}", "schemaVersion": 1, "payload": payload, "meta": meta}


def media_of_record(record: dict[str, Any]) -> OutgoingMedia:
    """Media that a model made, from the record of its answer."""
    return OutgoingMedia(
        record["kind"],
        record["mediaRef"],
        record.get("mimeType", ""),
        record.get("alt", ""),
        name=record.get("name", ""),
    )
