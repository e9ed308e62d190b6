"""Recognises credentials by their form, such as API keys and tokens of common services, and masks them.

Theory of operation. The log hides values that are known to be secret. A credential that a caller put anywhere else is
not known to be secret, but most credentials can be recognised by their prefix. Every rule is a literal followed by a
run of characters that can match in only one way, so the time is linear in the length of the text. Documents are first
scanned for the literals alone, because most contain none.

Masking is irreversible. It is a last line of defence: a credential of an unknown form is not found.
"""

import re
from functools import partial
from typing import Any, Final

from weftwork.protocol.json.values import map_texts
from weftwork.protocol.media.asset_references import rewrite_around_tokens

MARKER: Final = "[REDACTED:credential]"

_WORD: Final = "[A-Za-z0-9]"
_KEY: Final = "[A-Za-z0-9_-]"
_TOKEN: Final = f"{_KEY}{{8,}}[.]{_KEY}{{8,}}(?:[.]{_KEY}*)?"
_PEM: Final = "(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY-----)?"

_RULES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    # Literal prefixes; characters that must not precede the prefix; the pattern behind it.
    (("sk-",), _WORD, f"{_KEY}{{12,}}"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_", "hk_live_", "hk_test_"), _WORD, f"{_KEY}{{8,}}"),
    (("AKIA", "ASIA"), _WORD, "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("AIza",), _WORD, f"{_KEY}{{30,}}"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), _WORD, "[A-Za-z0-9_]{20,}"),
    (("glpat-", "npm_", "hf_"), _WORD, f"{_KEY}{{20,}}"),
    (("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"), _WORD, "[A-Za-z0-9-]{10,}"),
    # A JSON Web Token. The lookbehind excludes the token's own characters, so its first segment is read only once.
    (("eyJ",), _KEY, _TOKEN),
    (("Bearer ", "bearer ", "BEARER "), _WORD, "[ ]{0,8}[A-Za-z0-9._~+/=-]{16,}"),
    (("Basic ", "basic ", "BASIC "), _WORD, "[ ]{0,8}[A-Za-z0-9+/]{20,}={0,2}"),
    # A PEM private key; without an end line, everything behind its first line.
    ((" PRIVATE KEY-----",), "-", _PEM),
    # User name and password in a URL.
    (("://",), "/", "[^\\s/@:\"'<>]{0,128}:[^\\s/@\"'<>]{1,128}@"),
    # Canaries, which tests plant to detect leaks.
    (("CANARY", "secret-canary", "secret:canary", "secret_canary"), "/", "[-_:][A-Za-z0-9_.:-]{4,}"),
)


def _pattern(prefix: str, before: str, behind: str) -> re.Pattern[str]:
    # The literal comes first, so that `re` searches for it with its fast literal search.
    literal = re.escape(prefix)
    return re.compile(f"{literal}(?<!{before}{literal}){behind}")


_PATTERNS: Final = tuple(
    (prefix, _pattern(prefix, before, behind)) for prefixes, before, behind in _RULES for prefix in prefixes
)
_PREFIXES: Final = tuple(prefix.encode() for prefix, _ in _PATTERNS)


def may_hold_credential(data: bytes) -> bool:
    """Whether a text of this JSON may contain a credential. False is certain."""
    return any(prefix in data for prefix in _PREFIXES)


def mask_credentials_in_text(text: str) -> str:
    """bundle-02 (OpenWOP debug-bundle): the text with everything masked that looks like a credential."""
    for prefix, pattern in _PATTERNS:
        if prefix in text:
            text = rewrite_around_tokens(text, partial(pattern.sub, MARKER))
    return text


def mask_credentials(value: Any) -> Any:
    """A copy of a JSON value with the credentials in its texts and member names masked. Members keep their order."""
    return map_texts(value, mask_credentials_in_text)
