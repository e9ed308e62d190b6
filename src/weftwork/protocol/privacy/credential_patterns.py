"""Recognises credentials by their form, such as API keys and tokens of common services.

Theory of operation. A credential that a caller sends is not known to be secret, but most credentials can be recognised
by their prefix. Every rule is a literal followed by a run of characters that can match in only one way, so the time is
linear in the length of the text. Texts are first scanned for all literals at once, by an Aho-Corasick automaton,
because most texts contain none. A credential of an unknown form is not found.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.privacy.secret_matcher import literal_search

CREDENTIAL: Final = "credential"
"""The name in the marker that replaces a credential."""
MARKER: Final = f"[REDACTED:{CREDENTIAL}]"
MIN_PART: Final = 8
"""Characters of the shortest password or token that is also recognised without what precedes it."""
_SHORT: Final = 1024
"""Characters of a text up to which one search for all literals is quicker than one search for each, even if there are
very many of them."""
_MANY: Final = 4
"""Literals in a piece of a long text on average, above which one search for each literal is quicker."""
_PIECE: Final = 16_384
"""Bytes per search, because a search returns all matches and a hostile text can have very many."""

_WORD: Final = "[A-Za-z0-9]"
_KEY: Final = "[A-Za-z0-9_-]"
_TOKEN: Final = f"{_KEY}{{8,}}[.]{_KEY}{{8,}}(?:[.]{_KEY}*)?"
_PEM: Final = "(?:[^-]|-(?!----))*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY-----)?"

_RULES: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    # Literal prefixes; characters that must not precede the prefix; the pattern after it.
    (("sk-",), _WORD, f"{_KEY}{{12,}}"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_", "hk_live_", "hk_test_"), _WORD, f"{_KEY}{{8,}}"),
    (("AKIA", "ASIA"), _WORD, "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("AIza",), _WORD, f"{_KEY}{{30,}}"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), _WORD, "[A-Za-z0-9_]{20,}"),
    (("glpat-", "npm_", "hf_"), _WORD, f"{_KEY}{{20,}}"),
    (("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-1-"), _WORD, "[A-Za-z0-9-]{10,}"),
    # Names of models and of programs begin like these keys, but contain hyphens or underscores.
    (("gsk_", "r8_", "xai-", "pplx-", "dop_v1_"), _WORD, "[A-Za-z0-9]{30,}"),
    (("shpat_", "shpss_", "shpca_", "shppa_", "dckr_pat_", "sq0atp-", "sq0csp-", "pypi-AgE"), _WORD, f"{_KEY}{{20,}}"),
    (("hvs.", "hvb.", "ya29."), _WORD, f"{_KEY}{{20,}}"),
    (("whsec_",), _WORD, "[A-Za-z0-9+/_-]{20,}={0,2}"),
    (("SG.",), _WORD, f"{_KEY}{{16,}}[.]{_KEY}{{16,}}"),
    (("AGE-SECRET-KEY-1",), _WORD, "[A-Z0-9]{30,}"),
    # The address of an incoming webhook is all that is needed to post.
    (("hooks.slack.com/services/",), _WORD, "[A-Za-z0-9/]{16,}"),
    # A JSON Web Token. The lookbehind excludes the token's own characters, so its first segment is read only once.
    (("eyJ",), _KEY, _TOKEN),
    (("Bearer ", "bearer ", "BEARER "), _WORD, "[ ]{0,8}[A-Za-z0-9._~+/=-]{16,}"),
    (("Basic ", "basic ", "BASIC "), _WORD, "[ ]{0,8}[A-Za-z0-9+/]{20,}={0,2}"),
    # A PEM private key; without an end line, everything after its first line.
    ((" PRIVATE KEY-----",), "-", _PEM),
    # User name and password in a URL.
    (("://",), "/", "[^\\s/@:\"'<>]{0,128}:[^\\s/@\"'<>]{1,128}@"),
    # Canaries, which tests plant to detect leaks.
    (("CANARY", "secret-canary", "secret:canary", "secret_canary"), "/", "[-_:][A-Za-z0-9_.:-]{4,}"),
)


def _pattern(prefix: str, before: str, after: str) -> re.Pattern[str]:
    # The literal comes first, so that `re` searches for it with its fast literal search.
    literal = re.escape(prefix)
    return re.compile(f"{literal}(?<!{before}{literal}){after}")


_PATTERNS: Final = tuple(
    (prefix, _pattern(prefix, before, after)) for prefixes, before, after in _RULES for prefix in prefixes
)
_LONGEST: Final = max(len(prefix) for prefix, _ in _PATTERNS)
_find_prefixes: Final = literal_search([prefix.encode() for prefix, _ in _PATTERNS])


def may_hold_credential(data: bytes) -> bool:
    """Whether a text of this JSON may contain a credential. False is certain."""
    if len(data) <= _PIECE:
        return _find_prefixes(data) != []
    return any(_find_prefixes(data[at : at + _PIECE + _LONGEST]) for at in range(0, len(data), _PIECE))


def patterns_in(text: str) -> list[re.Pattern[str]]:
    """The patterns that can match in a text, because it contains their literals."""
    encoded = text.encode("utf-8", "surrogatepass")
    if len(text) > _SHORT:
        return [_PATTERNS[index][1] for index in sorted(_find_in_pieces(encoded))]
    found = {index for index, _, _ in _find_prefixes(encoded)}
    return [pattern for index, (_, pattern) in enumerate(_PATTERNS) if index in found] if found else []


def _find_in_pieces(text: bytes) -> set[int]:
    """The indexes of the literals in a long text."""
    found: set[int] = set()
    left = _MANY * (1 + len(text) // _PIECE)
    for at in range(0, len(text), _PIECE):
        matches = _find_prefixes(text[at : at + _PIECE + _LONGEST], overlapping=True)
        found.update(index for index, _, _ in matches)
        left -= len(matches)
        if left < 0:
            return {index for index, (prefix, _) in enumerate(_PATTERNS) if prefix.encode() in text}
    return found


def find_credentials(value: Any) -> Iterator[str]:
    """The credentials in the texts and member names of a JSON value, in the order of its members. The token of an
    `Authorization` header and the password of a URL follow as credentials of their own, because they are also used
    alone."""
    if isinstance(value, str):
        for pattern in patterns_in(value):
            for match in pattern.finditer(value):
                yield match[0]
                part = match[0].removesuffix("@").rpartition(":" if match[0].startswith("://") else " ")[2]
                if MIN_PART <= len(part) < len(match[0]) and "-----" not in part:
                    yield part
    elif is_object(value):
        for name, each in value.items():
            yield from find_credentials(name)
            yield from find_credentials(each)
    elif is_array(value):
        for each in value:
            yield from find_credentials(each)
