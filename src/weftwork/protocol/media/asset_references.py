"""References to assets in documents: a mediaRef, or a URL with a signed token.

    v1 "." key id "." base64url(MessagePack) "." base64url(signature)

The same asset of the same run always has the same token while the host signs with the same key, so a replayed run
records the same URLs. A token has exactly one valid encoding, as tokens of interrupts do. The engine signs tokens.

An asset is kept while the log of any run refers to it. References are therefore read from committed events only. The
origin of a reference does not matter: it may come from the inputs, a node, a person or a parent run.

A token consists of random characters, so it can look like a credential or like long base64. A changed token is invalid.
Tokens are therefore replaced by placeholders while a text is redacted, and restored afterwards.

Sources: RFC 0055 C, readings (Asset tokens).
"""

import binascii
import hashlib
import re
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable
from typing import Final

import msgspec

from weftwork.protocol.json.canonical import base64url

MEDIA_REF_SCHEME: Final = "weftwork-asset:"
MEDIA_REF_PATTERN: Final = f"^{MEDIA_REF_SCHEME}[0-9a-f]{{64}}$"

ASSET_WORD: Final = b"asset"
"""Every document that refers to an asset contains these bytes. Used to skip the others quickly, with `find`: `in` for
bytes first tries them as an integer, which costs ten times as much."""

ASSET_TOKEN_PURPOSE: Final = "asset"
"""The purpose in the signatures of these tokens. It prevents an asset token from being used as an interrupt token."""
TOKEN_VERSION: Final = "v1"
MAX_TOKEN_LENGTH: Final = 2048
LEEWAY_MS: Final = 5_000

_KEY_ID: Final = "[A-Za-z0-9_-]{1,64}"
_PAYLOAD: Final = "[A-Za-z0-9_-]{4,1900}"
_SIGNATURE: Final = "[A-Za-z0-9_-]{43}"
_TOKEN: Final = f"v1[.]{_KEY_ID}[.]{_PAYLOAD}[.]{_SIGNATURE}"

ASSET_TOKEN_PATTERN: Final = f"^{_TOKEN}$"
_TOKEN_TEXT: Final = re.compile(f"v1[.]({_KEY_ID})[.]({_PAYLOAD})[.]({_SIGNATURE})")

_REF: Final = re.compile(MEDIA_REF_PATTERN[1:-1])
_ASSET_REFERENCE: Final = re.compile(rb"weftwork-asset:([0-9a-f]{64})|assets\\*/(%b)" % _TOKEN.encode())
"""The fixed length of the signature marks the end of a token, so any character may follow it. In a string that contains
JSON, slashes may be escaped with backslashes."""
_INLINE: Final = re.compile(rb'"base64":"([A-Za-z0-9+/=]*)"')

_TOKEN_MARK: Final = "/assets/v1."
_TOKEN_IN_URL: Final = re.compile(f"(?<=/assets/){_TOKEN}(?![A-Za-z0-9_-])")
_PLACEHOLDER: Final = re.compile("\0([0-9]+)\0")
"""Placeholders are delimited by NUL, which occurs in no text of a document and matches no redaction rule."""


class AssetToken(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, forbid_unknown_fields=True):
    """media-03 (RFC 0055 C, readings): one asset of one tenant, with the media type and file name to serve it under.

    The token holds the media type and the name because the same bytes may be stored under several of them.
    """

    partition: str
    sha256: bytes
    run_id: str
    """The run that the asset was created for; empty for an upload."""
    media_type: str
    name: str = ""
    expires_at: int | None = None
    """None: the token is valid while a run refers to the asset."""

    def is_expired(self, now: int) -> bool:
        return self.expires_at is not None and now >= self.expires_at + LEEWAY_MS


_decoder: Final = msgspec.msgpack.Decoder(AssetToken)


def signed_bytes(kid: str, token: AssetToken) -> bytes:
    return b"%b.%b" % (kid.encode(), msgspec.msgpack.encode(token))


def encode_asset_token(kid: str, token: AssetToken, signature: bytes) -> str:
    """media-03: the token as a string that is safe in a URL path."""
    return f"{TOKEN_VERSION}.{kid}.{base64url(msgspec.msgpack.encode(token))}.{base64url(signature)}"


def decode_asset_token(text: str) -> tuple[AssetToken, str, bytes] | None:
    """media-03: the token, the key id and the signature; None if the text is not a well-formed token.

    The caller must check the signature before it uses the token.
    """
    if len(text) > MAX_TOKEN_LENGTH or (match := _TOKEN_TEXT.fullmatch(text)) is None:
        return None
    kid, *encoded = match.groups()
    try:
        data, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in encoded)
        token = _decoder.decode(data)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_canonical = len(token.sha256) == 32 and encode_asset_token(kid, token, signature) == text
    return (token, kid, signature) if is_canonical else None


def media_ref(sha256: str) -> str:
    """media-01 (RFC 0091): the mediaRef of an asset. It grants no access: the asset is looked up in the tenant of the
    caller."""
    return f"{MEDIA_REF_SCHEME}{sha256}"


def media_ref_digest(ref: object) -> str | None:
    """The SHA-256 in a mediaRef; None for any other value."""
    return ref[len(MEDIA_REF_SCHEME) :] if isinstance(ref, str) and _REF.fullmatch(ref) is not None else None


def find_asset_tokens(text: str) -> list[str]:
    """The tokens of all asset URLs in a text, for any host name."""
    return [token.decode() for _, token in _ASSET_REFERENCE.findall(text.encode("utf-8", "replace")) if token]


def referenced_assets(document: bytes, partition: str, inline: bool = False) -> frozenset[str]:
    """media-02 (RFC 0055 C, retention): the SHA-256 of every asset that an encoded document refers to, by mediaRef or
    by a URL for this partition. With `inline`, also of media whose bytes are in the document."""
    if document.find(ASSET_WORD) < 0 and not inline:
        return frozenset()
    digests: set[str] = set()
    for ref, text in set(_ASSET_REFERENCE.findall(document)):
        if ref:
            digests.add(ref.decode())
        elif (decoded := decode_asset_token(text.decode())) is not None and decoded[0].partition == partition:
            digests.add(decoded[0].sha256.hex())
    if inline:
        for text in _INLINE.findall(document):
            try:
                digests.add(hashlib.sha256(b64decode(text, validate=True)).hexdigest())
            except binascii.Error:
                continue
    return frozenset(digests)


def replace_asset_tokens(document: bytes) -> bytes:
    """An encoded document with each asset token replaced by the digest, the media type and the name of its asset. Two
    runs with the same media are equal in this form, although their tokens differ."""
    return document if document.find(ASSET_WORD) < 0 else _ASSET_REFERENCE.sub(_name_asset, document)


def rename_asset_tokens(text: str, name: Callable[[str, AssetToken], str]) -> str:
    """The text with each asset token in a URL replaced by what `name` returns for it."""
    if _TOKEN_MARK not in text:
        return text

    def rename(match: re.Match[str]) -> str:
        token = decode_asset_token(match[0])
        return match[0] if token is None else name(match[0], token[0])

    return _TOKEN_IN_URL.sub(rename, text)


def _name_asset(match: re.Match[bytes]) -> bytes:
    token = None if match[2] is None else decode_asset_token(match[2].decode())
    if token is None:
        return match[0]
    name = f"assets/{token[0].sha256.hex()} {token[0].media_type} {token[0].name}"
    return msgspec.json.encode(name)[1:-1]


def rewrite_around_tokens(text: str, change: Callable[[str], str]) -> str:
    """media-55 (RFC 0055 C): apply `change` to the text, but keep every asset token in it unchanged."""
    if _TOKEN_MARK not in text or "\0" in text:
        return change(text)
    tokens: list[str] = []

    def to_placeholder(match: re.Match[str]) -> str:
        # Text that only looks like a token could be a disguised credential, so it is not exempt from `change`.
        if decode_asset_token(match[0]) is None:
            return match[0]
        tokens.append(match[0])
        return f"\0{len(tokens) - 1}\0"

    changed = change(_TOKEN_IN_URL.sub(to_placeholder, text))
    return _PLACEHOLDER.sub(lambda match: tokens[int(match[1])], changed)
