"""Tokens of interrupt links: their content and their encoding. The engine signs them.

    base64url(JSON) "." base64url(signature)

Each token has exactly one valid text. A text that decodes but differs from the encoding of its content is rejected, so
a change of any character is detected, even in the unused bits of base64.

Sources: OpenWOP interrupt (signed tokens), RFC 0093.
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
"""Maximum length of a token, enough for node ids and names of people of the maximum length."""
MAX_PERSON_NAME: Final = 100
"""Maximum length of the name of the person for whom a link is created."""
READ_TOKEN_MS: Final = 30 * 60_000
"""tok-03 (readings, Interrupt tokens): how long the tokens in responses to reads are valid."""
LEEWAY_MS: Final = 5_000
"""Tolerance for clock changes between the creation and the check of a token."""
SIGNATURE_BYTES: Final = 32

TOKEN_PATTERN: Final = "^([A-Za-z0-9_-]{4,2004})[.]([A-Za-z0-9_-]{43})$"

_TOKEN: Final = re.compile(TOKEN_PATTERN[1:-1])
_TOKEN_IN_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{4,}+((?:\.|%2[Ee])[A-Za-z0-9_-]{43})?|[A-Za-z0-9_-]++")
"""Every run of the letters of tokens, with what makes it a token, if that follows. A pattern that matched only tokens
would start again at each letter of a long run."""
_PERSON_NAME: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,100}")


class InterruptToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """tok-01: the content of a token: one interrupt of one run, the permitted operation, and the expiry time.

    There is no member for the node, because the id of the interrupt starts with the node's id (int-02).
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
    """The person for whom the link was created, if any."""
    key_names: tuple[str, ...] = msgspec.field(name="by", default=())
    """appr-03: the id and the label of the key that created the link, except `person`, if that key may not answer as
    another person."""

    @property
    def names(self) -> tuple[str, ...]:
        """appr-03: the names of the person or key to whom an answer by this link is attributed. They have one vote."""
        return (*([] if self.person is None else [self.person]), *self.key_names)

    @property
    def voter(self) -> str:
        """The first of `names`, else the link itself."""
        return next(iter(self.names), self.principal)

    @property
    def principal(self) -> str:
        """The link as the sender of an answer."""
        return f"link:{self.jti}"

    @property
    def node_id(self) -> str:
        return self.interrupt_id.rpartition(".")[0]

    def is_expired(self, now: int) -> bool:
        """tok-03: whether the token has expired, with a tolerance of LEEWAY_MS."""
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
    """tok-01: the content of a token, the signed bytes and the signature; None if the text is not a token.

    The content must not be trusted before the signature is verified.
    """
    if len(text) > MAX_TOKEN or (found := _TOKEN.fullmatch(text)) is None:
        return None
    try:
        payload, signature = (urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in found.groups())
        token = _decoder.decode(payload)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return (token, payload, signature) if encode_token(signed_bytes(token), signature) == text else None


def token_expiry(now: int, lifetime_ms: int, due: int | None) -> int:
    """tok-03 (readings, Interrupt tokens): the expiry time of a token, at most the timeout `due` of the interrupt."""
    return now + lifetime_ms if due is None else min(now + lifetime_ms, due)


def unknown_token_fault() -> ClientFault:
    """tok-04 (readings, Answering an interrupt): the same error for every token that is not valid, so that callers
    cannot tell why."""
    return ClientFault("interrupt_not_found", "This link is not valid. Check that it was copied completely.")


def expired_token_fault() -> ClientFault:
    return ClientFault("interrupt_expired", "This link has expired. Ask for a new link.")


def as_token_fault(fault: ClientFault) -> ClientFault:
    """tok-04: the error for the bearer of a link. The run may have been deleted, or the store restored from a backup
    without it; then it is the error of a forged token."""
    return unknown_token_fault() if fault.code in ("not_found", "interrupt_not_found") else fault


def mask_tokens(text: str) -> str:
    """tok-07 (readings, Interrupt tokens): the text with every token replaced by `(token)`, for logs."""
    if "." not in text and "%2" not in text:
        return text
    return _TOKEN_IN_TEXT.sub(lambda match: "(token)" if match[1] else match[0], text)
