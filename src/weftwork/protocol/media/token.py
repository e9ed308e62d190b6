"""Tokens of assets: what a URL of an asset says, and how it stands in a path. Signing is the engine's.

    v1 "." key id "." base64url(MessagePack) "." base64url(signature)

Theory. The same asset of the same run always has the same token, as long as the host signs with the same key, so that
a run that is replayed says the same. Each token has exactly one text, as with those of interrupts. Sources: RFC 0055 C,
readings (Asset tokens).
"""

import binascii
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec

PURPOSE: Final = "asset"
"""What the signatures of these tokens are for: none of them opens an interrupt."""
VERSION: Final = "v1"
MAX_TOKEN: Final = 2048
LEEWAY_MS: Final = 5_000

_TEXT: Final = re.compile(r"v1\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{4,1900})\.([A-Za-z0-9_-]{43})")


class AssetToken(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, forbid_unknown_fields=True):
    """media-03 (RFC 0055 C, readings): one asset of one tenant, and how it is shown.

    The media type and the name are said here because the same bytes may be sent under different ones.
    """

    partition: str
    sha256: bytes
    run_id: str
    """The run that it was made for; empty for an upload."""
    media_type: str
    name: str = ""
    expires_at: int | None = None
    """None: as long as a run refers to the asset."""

    def expired(self, now: int) -> bool:
        return self.expires_at is not None and now >= self.expires_at + LEEWAY_MS


_decoder: Final = msgspec.msgpack.Decoder(AssetToken)


def signed_part(kid: str, token: AssetToken) -> bytes:
    """The bytes that are signed."""
    return b"%b.%b" % (kid.encode(), msgspec.msgpack.encode(token))


def join(kid: str, token: AssetToken, signature: bytes) -> str:
    """media-03: the text of a token, safe in a path."""
    return f"{VERSION}.{kid}.{_encode(msgspec.msgpack.encode(token))}.{_encode(signature)}"


def split(text: str) -> tuple[AssetToken, str, bytes] | None:
    """media-03: what a text says, the id of the key and the signature; None if it is no text of a token.

    Nothing in it may be believed before the signature is checked.
    """
    if len(text) > MAX_TOKEN or (found := _TEXT.fullmatch(text)) is None:
        return None
    kid, payload, mark = found.groups()
    try:
        data, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in (payload, mark))
        token = _decoder.decode(data)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return (token, kid, signature) if len(token.sha256) == 32 and join(kid, token, signature) == text else None


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
