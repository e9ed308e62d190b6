"""Packs the media of a run into its debug bundle, so that another host can show them.

Only assets of the host that sent the bundle are downloaded, by their paths at that host. A URL of any other server is
left as it is.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client
from weftwork.protocol.media.asset_references import ASSET_TOKEN_PATTERN, decode_asset_token
from weftwork.protocol.wire.v1.paths import path_for, path_prefix

MAX_PACKED_BYTES: Final = 3_145_728
"""Bytes of all media in a bundle. A host refuses to import more."""
MAX_PACKED: Final = 100
"""Media in a bundle."""

_PREFIXES: Final = "|".join(map(re.escape, (path_prefix("getAsset"), path_prefix("getSampleAsset"))))
_ASSET_PATH: Final = re.compile(rf"(?:{_PREFIXES})({ASSET_TOKEN_PATTERN[1:-1]})(?![A-Za-z0-9_-])")
_SCHEMES: Final = ("https://", "http://")
_MAX_ORIGIN: Final = 300
"""Characters of a URL before the path of the asset."""
_NOT_IN_URL: Final = frozenset(' "\\<>()\n\r\t')


class PackedBundle(msgspec.Struct, frozen=True):
    data: bytes
    packed: int
    """Media in the bundle."""
    missing: int
    """Media that do not fit, or that the host does not serve any more."""


def pack_media(client: Client, data: bytes, on_progress: Callable[[int], None]) -> PackedBundle:
    """The bundle with its media in the member `media`. Raises HostUnreachable."""
    media: list[dict[str, Any]] = []
    size = missing = 0
    for url, token in _asset_urls(data):
        content = None if len(media) >= MAX_PACKED else _download(client, token, on_progress)
        asset = decode_asset_token(token)
        if content is None or asset is None or size + len(content) > MAX_PACKED_BYTES:
            missing += 1
            continue
        digest = hashlib.sha256(content)
        if digest.digest() != asset[0].sha256:
            missing += 1
            continue
        size += len(content)
        media.append(
            {
                "url": url,
                "sha256": digest.hexdigest(),
                "mimeType": asset[0].media_type,
                "name": asset[0].name,
                "base64": b64encode(content).decode(),
            }
        )
    document = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    document["media"] = msgspec.Raw(msgspec.json.encode(media))
    return PackedBundle(msgspec.json.encode(document), len(media), missing)


def _asset_urls(data: bytes) -> Iterator[tuple[str, str]]:
    """Each different URL of an asset in the bundle, with its token."""
    seen: set[str] = set()
    text = data.decode("utf-8", "replace")
    for match in _ASSET_PATH.finditer(text):
        url = _origin(text[max(0, match.start() - _MAX_ORIGIN) : match.start()]) + match[0]
        if url not in seen:
            seen.add(url)
            yield url, match[1]


def _origin(before: str) -> str:
    """The part of a URL before the path, which ends this text; empty for a URL that is only a path."""
    start = max(before.rfind(scheme) for scheme in _SCHEMES)
    return "" if start < 0 or not _NOT_IN_URL.isdisjoint(before[start:]) else before[start:]


def _download(client: Client, token: str, on_progress: Callable[[int], None]) -> bytes | None:
    try:
        return client.download(path_for("getAsset", token=token), on_progress)
    except RequestRefused:
        return None
