"""Tokens of interrupt links: what a link to one interrupt says, and its form in a path. Signing is the engine's.

    base64url(JSON) "." base64url(signature)

Each token has exactly one text: a text that decodes but is not what this host would have written is no token. A text
that was changed anywhere, even in bits that mean nothing, is therefore refused. Sources: OpenWOP interrupt (signed
tokens), RFC 0093.
"""

import binascii
import re
from base64 import urlsafe_b64decode
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json.canonical import base64url

Intent = Literal["resolve", "inspect"]

PURPOSE: Final = "interrupt"
MAX_TOKEN: Final = 2048
"""Characters. The longest names of nodes and people that are allowed fit."""
MAX_PERSON_NAME: Final = 100
"""Characters of the name of somebody a link is made for."""
READ_TOKEN_MS: Final = 30 * 60_000
"""tok-03 (readings, Interrupt tokens): how long a token lasts that came with a read."""
LEEWAY_MS: Final = 5_000
"""How far the clock may have been set back or forth between making a token and seeing it."""
SIGNATURE_BYTES: Final = 32

TOKEN_PATTERN: Final = "^([A-Za-z0-9_-]{4,2004})[.]([A-Za-z0-9_-]{43})$"

_TOKEN: Final = re.compile(TOKEN_PATTERN[1:-1])
_TOKEN_IN_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{4,}(?:\.|%2[Ee])[A-Za-z0-9_-]{43}")
_PERSON_NAME: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,100}")


class InterruptToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """tok-01: one interrupt of one run, what may be done with it, and until when.

    The node is not named beside the interrupt, whose id begins with it (int-02).
    """

    kid: str
    tenant: str
    """The partition."""
    run_id: str
    interrupt_id: str
    intent: Intent
    expires_at: int
    jti: str
    person: str | None = msgspec.field(name="for", default=None)
    """Who it was made for, if for somebody."""

    @property
    def node_id(self) -> str:
        return self.interrupt_id.rpartition(".")[0]

    def is_expired(self, now: int) -> bool:
        """tok-03: the clocks of making and checking may differ a little."""
        return now >= self.expires_at + LEEWAY_MS


_decoder: Final = msgspec.json.Decoder(InterruptToken)


def is_person_name(text: Any) -> bool:
    return isinstance(text, str) and _PERSON_NAME.fullmatch(text) is not None


def signed_bytes(token: InterruptToken) -> bytes:
    return msgspec.json.encode(token)


def encode_token(payload: bytes, signature: bytes) -> str:
    """tok-01: the text of a token, safe in a path."""
    return f"{base64url(payload)}.{base64url(signature)}"


def decode_token(text: str) -> tuple[InterruptToken, bytes, bytes] | None:
    """tok-01: what a text says, the bytes that were signed and the signature; None if it is no text of a token.

    Nothing in it may be believed before the signature is checked.
    """
    if len(text) > MAX_TOKEN or (found := _TOKEN.fullmatch(text)) is None:
        return None
    try:
        payload, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in found.groups())
        token = _decoder.decode(payload)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return (token, payload, signature) if encode_token(signed_bytes(token), signature) == text else None


def token_expiry(now: int, lasts: int, due: int | None) -> int:
    """tok-03 (readings, Interrupt tokens): when a token ends; never after the interrupt itself."""
    return now + lasts if due is None else min(now + lasts, due)


def unknown_token_fault() -> ClientFault:
    """tok-04 (readings, Answering an interrupt): the one answer to a token that leads nowhere, for whatever reason."""
    return ClientFault("interrupt_not_found", "This link leads to no question. Was it copied whole?")


def expired_token_fault() -> ClientFault:
    return ClientFault("interrupt_expired", "This link has expired. Ask for a new one.")


def mask_tokens(text: str) -> str:
    """tok-07 (readings, Interrupt tokens): a text for the log, with nothing in it that opens anything."""
    return _TOKEN_IN_TEXT.sub("(token)", text)
