"""Resolves images, audio and documents in the messages of a model request, when a model is actually called.

Theory. A node that is called again gets its recorded answers without a model call, and its media are not resolved
either: an image that was deleted, or a limit that has changed, cannot undo an answer. Messages carry their parts
unchanged until the engine knows the provider. Then all checks run in the order of RFC 0091, fetching is last, and the
provider gets parts that it only has to translate. Bytes that came with the request or were fetched stay in memory as
long as the request; bytes of assets are read when the provider needs them.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec

from weftwork.engine.media.assets import Assets, BytesMissing, retry_store
from weftwork.ports.models import (
    Message,
    ModelMarkerPart,
    ModelMediaPart,
    ModelRequest,
    ModelTextPart,
    UnresolvedMessage,
)
from weftwork.ports.node_outcome import Failed, StepFailed
from weftwork.ports.outbound import FetchFailed, FetchRefused, Outbound, OutboundRequest
from weftwork.ports.storage.assets import StoredAsset
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.values import is_object
from weftwork.protocol.media.asset_references import media_ref
from weftwork.protocol.media.media_types import SNIFF_BYTES, sniff_media_type
from weftwork.protocol.media.media_urls import find_url_secret
from weftwork.protocol.media.message_parts import (
    MAX_TOTAL_BYTES,
    AssetInput,
    InputPart,
    MediaInput,
    Modality,
    PartError,
    TextInput,
    check_declared_type,
    parse_contents,
    resolve_asset_part,
)
from weftwork.protocol.privacy.credential_redaction import mask_credentials_in_text
from weftwork.protocol.privacy.secret_matcher import SecretMatcher
from weftwork.protocol.privacy.trust import MEDIA_CLOSING, MEDIA_OPENING

T = TypeVar("T")

RUN_ERROR_CODES: Final = {"validation_error": "node_config_invalid", "payload_too_large": "media_too_large"}
"""Error codes of requests, and the codes that runs use instead."""
ASSET_NOT_FOUND: Final = "There is no such asset."
THREAD_PARSE_CHARS: Final = 2**21
"""More base64 than this is decoded in a thread, so that it does not block the event loop."""
_RETRYABLE_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class MessageMedia(msgspec.Struct, eq=False):
    """Resolves media for one partition. Without `_wait_for_store`, StoreUnavailable is raised instead of a retry."""

    _assets: Assets | None
    _outbound: Outbound | None
    _partition: str
    _max_part_bytes: int
    _wait_for_store: Callable[[], Awaitable[None]] | None = None
    _secrets: SecretMatcher | None = None
    """Knows the secrets of the run."""

    async def resolve(self, request: ModelRequest, offered: frozenset[Modality]) -> ModelRequest:
        """media-45 (RFC 0091, order of checks): the request with all parts resolved for a model that accepts `offered`.
        Raises StepFailed, whose details have the pointer of the part."""
        unresolved = [(at, each) for at, each in enumerate(request.messages) if isinstance(each, UnresolvedMessage)]
        if not unresolved:
            return request
        if not all(message.resolved for _, message in unresolved):
            contents = [(f"/messages/{at}/content", list(message.parts)) for at, message in unresolved]
            parsed = await self._parse(contents, offered)
            if isinstance(parsed, PartError):
                raise StepFailed(part_failure(parsed))
            assets = await self._identify_assets(parsed, offered)
            media = [part for parts in parsed for part in parts if isinstance(part, MediaInput)]
            room = MAX_TOTAL_BYTES - sum(len(part.value) for part in media if part.source == "data")
            for (_, message), parts in zip(unresolved, parsed, strict=True):
                resolved: list[ModelTextPart | ModelMediaPart] = []
                for part in parts:
                    if isinstance(part, TextInput):
                        resolved.append(ModelTextPart(part.text))
                        continue
                    media_input = assets[part.pointer] if isinstance(part, AssetInput) else part
                    media_part = await self._resolve_part(media_input, room)
                    room -= media_part.size if media_input.source != "data" else 0
                    if room < 0:
                        raise _request_too_large(media_input)
                    resolved.append(media_part)
                message.resolved[:] = [Message(message.role, _fence_media(resolved))]
        messages = [each.resolved[0] if isinstance(each, UnresolvedMessage) else each for each in request.messages]
        return msgspec.structs.replace(request, messages=tuple(messages))

    async def _parse(
        self, contents: list[tuple[str, Any]], offered: frozenset[Modality]
    ) -> list[tuple[InputPart, ...]] | PartError:
        # Decoding megabytes of base64 on the event loop would block all other requests.
        parts = (part for _, listed in contents for part in listed if is_object(part))
        texts = (part.get(name) for part in parts for name in ("data", "dataBase64"))
        if sum(len(text) for text in texts if isinstance(text, str)) > THREAD_PARSE_CHARS:
            return await asyncio.to_thread(
                parse_contents, contents, offered, self._max_part_bytes, self._find_url_secret
            )
        return parse_contents(contents, offered, self._max_part_bytes, self._find_url_secret)

    def _find_url_secret(self, url: str) -> str | None:
        secrets = self._secrets
        return find_url_secret(
            url,
            lambda text: secrets is not None and secrets.mask(text) != text,
            lambda text: mask_credentials_in_text(text) != text,
        )

    async def _identify_assets(
        self, parsed: list[tuple[InputPart, ...]], offered: frozenset[Modality]
    ) -> dict[str, MediaInput]:
        """media-50 (host): assets that were given by reference without a type, by the pointers of their parts.

        Their modality is known only after a lookup, so they are checked after all other parts have passed the checks
        that fetch nothing. If several fail, an unsupported modality is reported first.
        """
        identified: dict[str, MediaInput] = {}
        failures: list[Failed] = []
        for part in (part for parts in parsed for part in parts if isinstance(part, AssetInput)):
            asset = await self._find_asset(part.media_ref)
            resolved = None if asset is None else resolve_asset_part(part, asset.media_type, offered)
            if isinstance(resolved, MediaInput):
                identified[part.pointer] = resolved
            else:
                failures.append(
                    part_failure(resolved)
                    if resolved
                    else _part_error("media_not_found", ASSET_NOT_FOUND, part).failure
                )
        if failures:
            raise StepFailed(min(failures, key=lambda failure: failure.code != "unsupported_modality"))
        return identified

    async def _resolve_part(self, part: MediaInput, room: int) -> ModelMediaPart:
        if isinstance(part.value, bytes):
            return _loaded_part(part, part.value)
        if part.source == "url":
            if (own := await self._resolve_own_url(part, part.value)) is not None:
                return own
            return _loaded_part(part, await self._fetch(part, part.value, min(self._max_part_bytes, room)))
        return await self._resolve_asset(part, part.value)

    async def _resolve_asset(self, part: MediaInput, ref: str) -> ModelMediaPart:
        """media-46 (RFC 0091, mediaRef): an asset of the partition. An asset of another partition gives the same error
        as one that does not exist."""
        asset = await self._find_asset(ref)
        if self._assets is None or asset is None:
            raise _part_error("media_not_found", ASSET_NOT_FOUND, part)
        return await self._lazy_part(part, self._assets, asset)

    async def _find_asset(self, ref: str) -> StoredAsset | None:
        assets = self._assets
        return None if assets is None else await self._retry_store(lambda: assets.find(self._partition, ref))

    async def _resolve_own_url(self, part: MediaInput, url: str) -> ModelMediaPart | None:
        """media-53 (RFC 0055 C, tenant scope): a URL of this host is resolved without a request, and only to an asset
        of the partition, even if its token is valid for another one. None for URLs of other hosts."""
        assets = self._assets
        if assets is None or not assets.base:
            return None
        prefix_used = next((prefix for prefix in assets.prefixes if url.startswith(assets.base + prefix)), None)
        if prefix_used is None:
            return None
        try:
            token, asset = await self._retry_store(
                lambda: assets.open_token(url.removeprefix(assets.base + prefix_used))
            )
        except ClientFault:
            raise _part_error("media_not_found", ASSET_NOT_FOUND, part) from None
        if token.partition != self._partition:
            raise _part_error("media_not_found", ASSET_NOT_FOUND, part)
        return await self._lazy_part(part, assets, asset)

    async def _lazy_part(self, part: MediaInput, assets: Assets, asset: StoredAsset) -> ModelMediaPart:
        _require_type(part, asset.media_type, "the asset is")
        if asset.size > self._max_part_bytes:
            message = f"A part may have at most {self._max_part_bytes} bytes (`max_bytes_per_part`)."
            raise _part_error("media_too_large", message, part, limit=self._max_part_bytes)

        # Hold the asset until the provider has read it and the record of the answer refers to it.
        if await self._retry_store(lambda: assets.hold(asset)) is None:
            raise _part_error("media_not_found", ASSET_NOT_FOUND, part)

        async def read() -> bytes:
            try:
                return await self._retry_store(lambda: assets.read(asset))
            except BytesMissing:
                raise _part_error("media_not_found", ASSET_NOT_FOUND, part) from None

        return ModelMediaPart(part.modality, part.media_type, asset.size, asset.sha256, read, media_ref(asset.sha256))

    async def _fetch(self, part: MediaInput, url: str, most: int) -> bytes:
        """media-47 (RFC 0091, url; RFC 0076 B): fetch the bytes of a URL, only with the guarded client."""
        if self._outbound is None:
            raise _part_error("fetch_failed", "This host sends no requests.", part)
        if most <= 0:
            raise _request_too_large(part)
        request = OutboundRequest(url, headers=(("Accept", f"{part.media_type}, */*;q=0.1"),), max_bytes=most)
        try:
            response = await self._outbound.fetch(request)
        except FetchRefused as refused:
            raise _part_error("ssrf_blocked", str(refused), part, blocked=refused.blocked) from None
        except FetchFailed as failed:
            raise _part_error("fetch_failed", str(failed), part, retryable=True) from None
        status = response.status
        if not 200 <= status < 300 or not response.content:
            message = f"The URL of a part returned status {status} or no content."
            raise _part_error("fetch_failed", message, part, retryable=status in _RETRYABLE_STATUSES, status=status)
        sent_type = next((value for name, value in response.headers if name.lower() == "content-type"), "")
        _require_type(part, sent_type, "the server sent it as")
        _require_type(part, sniff_media_type(response.content[:SNIFF_BYTES]), "its bytes are")
        return response.content

    async def _retry_store(self, work: Callable[[], Awaitable[T]]) -> T:
        return await retry_store(work, self._wait_for_store)


def _fence_media(parts: list[ModelTextPart | ModelMediaPart]) -> tuple[ModelTextPart | ModelMediaPart, ...]:
    """media-58 (RFC 0091, trust): the parts, with markers around each run of media."""
    fenced: list[ModelTextPart | ModelMediaPart] = []
    is_within = False
    for part in parts:
        if isinstance(part, ModelMediaPart) != is_within:
            fenced.append(ModelMarkerPart(MEDIA_CLOSING if is_within else MEDIA_OPENING))
            is_within = not is_within
        fenced.append(part)
    return (*fenced, ModelMarkerPart(MEDIA_CLOSING)) if is_within else tuple(fenced)


def part_failure(error: PartError) -> Failed:
    details = {"pointer": error.pointer, **error.details}
    return Failed(RUN_ERROR_CODES.get(error.code, error.code), error.message, details, retryable=False)


def _part_error(
    code: str, message: str, part: MediaInput | AssetInput, retryable: bool = False, **details: Any
) -> StepFailed:
    return StepFailed(Failed(code, message, {"pointer": part.pointer, **details}, retryable=retryable))


def _require_type(part: MediaInput, known: str, how_known: str) -> None:
    """media-56 (RFC 0091, mimeType): raises StepFailed if the declared type contradicts the known one."""
    error = check_declared_type(part.media_type, known, how_known, part.pointer)
    if error is not None:
        raise StepFailed(part_failure(error))


def _request_too_large(part: MediaInput) -> StepFailed:
    return _part_error(
        "media_too_large", f"A request may have at most {MAX_TOTAL_BYTES} bytes of media.", part, limit=MAX_TOTAL_BYTES
    )


def _loaded_part(part: MediaInput, data: bytes) -> ModelMediaPart:
    async def read() -> bytes:
        return data

    return ModelMediaPart(part.modality, part.media_type, len(data), hashlib.sha256(data).hexdigest(), read)
