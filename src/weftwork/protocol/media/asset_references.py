"""How documents name an asset: by a mediaRef, or by a URL with a signed token.

    v1 "." key id "." base64url(MessagePack) "." base64url(signature)

The same asset of the same run always has the same token, as long as the host signs with the same key, so a run that is
replayed records the same URLs. Each token has exactly one text, as tokens of interrupts do. Signing is the engine's.

An asset lives as long as a run whose log names it. References are therefore read from what is committed and from
nothing else: however a reference came into a run (by its inputs, a node, a person or a parent run), it counts.

A token is random letters, and some tokens look like the beginning of a credential or like long base64. With one letter
changed a token opens nothing, so tokens are set aside while a text is rewritten, and put back afterwards.

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
"""What stands in every document that names one."""

ASSET_TOKEN_PURPOSE: Final = "asset"
"""What the signatures of these tokens are for: none of them opens an interrupt."""
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
"""A token ends where its signature does, whatever a text goes on with. In a text that is JSON itself slashes may have
backslashes before them."""
_INLINE: Final = re.compile(rb'"base64":"([A-Za-z0-9+/=]*)"')

_TOKEN_MARK: Final = "/assets/v1."
_TOKEN_IN_URL: Final = re.compile(f"(?<=/assets/){_TOKEN}(?![A-Za-z0-9_-])")
_PLACEHOLDER: Final = re.compile("\0([0-9]+)\0")
"""No text of a document holds NUL, and no rule of those who rewrite takes it for part of anything."""


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

    def is_expired(self, now: int) -> bool:
        return self.expires_at is not None and now >= self.expires_at + LEEWAY_MS


_decoder: Final = msgspec.msgpack.Decoder(AssetToken)


def signed_bytes(kid: str, token: AssetToken) -> bytes:
    return b"%b.%b" % (kid.encode(), msgspec.msgpack.encode(token))


def encode_asset_token(kid: str, token: AssetToken, signature: bytes) -> str:
    """media-03: the text of a token, safe in a path."""
    return f"{TOKEN_VERSION}.{kid}.{base64url(msgspec.msgpack.encode(token))}.{base64url(signature)}"


def decode_asset_token(text: str) -> tuple[AssetToken, str, bytes] | None:
    """media-03: what a text says, the id of the key and the signature; None if it is no text of a token.

    Nothing in it may be believed before the signature is checked.
    """
    if len(text) > MAX_TOKEN_LENGTH or (found := _TOKEN_TEXT.fullmatch(text)) is None:
        return None
    kid, payload, mark = found.groups()
    try:
        data, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in (payload, mark))
        token = _decoder.decode(data)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    fits = len(token.sha256) == 32 and encode_asset_token(kid, token, signature) == text
    return (token, kid, signature) if fits else None


def media_ref(sha256: str) -> str:
    """media-01 (RFC 0091): the handle of an asset. It opens nothing by itself: who uses it is asked for a tenant."""
    return f"{MEDIA_REF_SCHEME}{sha256}"


def media_ref_digest(ref: object) -> str | None:
    """The sha256 that a mediaRef names; None for anything else."""
    return ref[len(MEDIA_REF_SCHEME) :] if isinstance(ref, str) and _REF.fullmatch(ref) is not None else None


def find_asset_tokens(text: str) -> list[str]:
    """The tokens of all asset URLs in a text, whatever host they name."""
    return [token.decode() for _, token in _ASSET_REFERENCE.findall(text.encode("utf-8", "replace")) if token]


def referenced_assets(document: bytes, partition: str, inline: bool = False) -> frozenset[str]:
    """media-02 (RFC 0055 C, retention): the sha256 of every asset that an encoded document names, by its mediaRef or by
    a URL that was made for this partition. With `inline`, media that stand in it count as well."""
    # By find: `in` first tries to take the bytes for a number, which costs more than the search.
    if ASSET_WORD not in document and not inline:
        return frozenset()
    found: set[str] = set()
    for ref, text in set(_ASSET_REFERENCE.findall(document)):
        if ref:
            found.add(ref.decode())
        elif (opened := decode_asset_token(text.decode())) is not None and opened[0].partition == partition:
            found.add(opened[0].sha256.hex())
    if inline:
        for text in _INLINE.findall(document):
            try:
                found.add(hashlib.sha256(b64decode(text, validate=True)).hexdigest())
            except binascii.Error:
                continue
    return frozenset(found)


def rewrite_around_tokens(text: str, change: Callable[[str], str]) -> str:
    """media-55 (RFC 0055 C): the text as `change` makes it, with every token of an asset in it as it was."""
    if _TOKEN_MARK not in text or "\0" in text:
        return change(text)
    tokens: list[str] = []

    def aside(found: re.Match[str]) -> str:
        # What only looks like a token may be a credential in disguise.
        if decode_asset_token(found[0]) is None:
            return found[0]
        tokens.append(found[0])
        return f"\0{len(tokens) - 1}\0"

    changed = change(_TOKEN_IN_URL.sub(aside, text))
    return _PLACEHOLDER.sub(lambda place: tokens[int(place[1])], changed)
