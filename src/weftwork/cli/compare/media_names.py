"""Media in a value as one readable name: type, picture size, number of bytes, and the beginning of the digest.

URLs of assets, inline bytes and references to media are long, and URLs of the same bytes differ between two runs.
"""

import binascii
import hashlib
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final

from weftwork.cli.compare.picture_size import HEAD_BYTES, picture_size
from weftwork.cli.console.units import format_size
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.media.asset_references import AssetToken, media_ref_digest, rename_asset_tokens

DIGEST_LENGTH: Final = 12
MAX_PICTURES: Final = 20
"""Pictures whose first bytes are requested from the host."""
_MIN_INLINE: Final = 64
"""Shorter texts are not taken for inline bytes."""
_INLINE_MEMBERS: Final = ("base64", "data", "bytes")
_MEDIA_URL: Final = re.compile(r"\Ahttps?://[^\s<>]{1,300}/assets/(<[^<>]+>)\Z")
"""A text that is a URL and nothing else is replaced as a whole, without the address of the host."""
_DATA_URL: Final = re.compile(r"data:([\w.+-]{1,80}/[\w.+-]{1,80})(?:;[\w=-]{1,40})?;base64,")


class MediaNames:
    """Names media. `read_head` gets an asset token and a number of bytes, and returns the beginning of the asset, or
    None."""

    def __init__(self, read_head: Callable[[str, int], bytes | None]) -> None:
        self._read_head = read_head
        self._sizes: dict[str, tuple[int, int] | None] = {}

    def readable(self, value: Any) -> Any:
        """The value with each URL, reference and inline text of media replaced by the name of the media."""
        if isinstance(value, str):
            return self._text(value)
        if is_array(value):
            return [self.readable(each) for each in value]
        if not is_object(value):
            return value
        media_type = next((value[name] for name in ("mimeType", "mediaType") if isinstance(value.get(name), str)), None)
        return {
            name: _inline(media_type, member)
            if media_type is not None and name in _INLINE_MEMBERS and isinstance(member, str)
            else self.readable(member)
            for name, member in value.items()
        }

    def _text(self, text: str) -> str:
        if (match := _DATA_URL.match(text)) is not None:
            data = text[match.end() :]
            name = _inline(match[1], data)
            return text if name == data else name
        if (digest := media_ref_digest(text)) is not None:
            return _name("media", None, None, digest)
        return _MEDIA_URL.sub(r"\1", rename_asset_tokens(text, self._asset_name))

    def _asset_name(self, token: str, asset: AssetToken) -> str:
        """The name of an asset. Its picture size costs a request for each different picture."""
        digest = asset.sha256.hex()
        if not asset.media_type.startswith("image/"):
            return _name(asset.media_type, None, None, digest)
        if digest not in self._sizes and len(self._sizes) < MAX_PICTURES:
            head = self._read_head(token, HEAD_BYTES)
            self._sizes[digest] = None if head is None else picture_size(head)
        return _name(asset.media_type, self._sizes.get(digest), None, digest)


def _inline(media_type: str, text: str) -> str:
    """The name of media whose bytes are this base64 text; the text itself if it is not base64."""
    if len(text) < _MIN_INLINE:
        return text
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text
    return _name(media_type, picture_size(data), len(data), hashlib.sha256(data).hexdigest())


def _name(media_type: str, size: tuple[int, int] | None, count: int | None, digest: str) -> str:
    parts = [media_type, f"{size[0]}x{size[1]}" if size is not None else "", format_size(count) if count else ""]
    return f"<{' '.join([*filter(None, parts), f'sha256:{digest[:DIGEST_LENGTH]}'])}>"
