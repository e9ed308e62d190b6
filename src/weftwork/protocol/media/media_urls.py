"""Secrets in the URLs of media that the host fetches for a model.

A URL is recorded by servers and proxies on its way, and the log of the run shows it. It must therefore contain no
secret: no user name or password, no secret of the run, and no credential in its query. A presigned URL is allowed. It
gives access to one object for a limited time, and is the usual way to share a private object. Source: RFC 0091 (parts
encode no secrets).
"""

import re
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_plus

TextCheck = Callable[[str], bool]

TOKEN_PARAMETERS: Final = frozenset(
    "access_key access_token api_key api_token auth auth_token authorization bearer client_secret id_token jwt "
    "oauth_token passwd password private_token pwd refresh_token secret secret_access_key secret_key session_token "
    "subscription_key token x_api_key".split()
)
"""Parameters whose value is a credential. The case of letters, hyphens and underscores do not matter."""
PRESIGNED_PARAMETERS: Final = frozenset(
    "awsaccesskeyid googleaccessid x_amz_credential x_amz_security_token x_goog_credential".split()
)
"""Parameters of presigned URLs that look like credentials: they name the signer, and open only the signed object."""

_SEPARATORS: Final = str.maketrans("", "", "-_")
_BARE_NAMES: Final = {name.translate(_SEPARATORS): name for name in (*TOKEN_PARAMETERS, *PRESIGNED_PARAMETERS)}
_AUTHORITY_END: Final = re.compile(r"[/\\?#]")
_PAIR_END: Final = re.compile("[&;]")


def find_url_secret(url: str, is_secret: TextCheck, looks_like_credential: TextCheck) -> str | None:
    """media-57 (RFC 0091, url): what a URL contains that is secret, in words that quote nothing of it; None if it
    contains nothing secret. `is_secret` finds the secrets of the run in a text."""
    rest = url.partition("://")[2]
    if "@" in _AUTHORITY_END.split(rest, maxsplit=1)[0]:
        return "a user name or a password"
    if any(map(is_secret, _readings(rest))):
        return "a secret of the run"
    for pair in _PAIR_END.split(rest.partition("#")[0].partition("?")[2]):
        name, _, value = pair.partition("=")
        parameter = _BARE_NAMES.get(unquote_plus(name).lower().translate(_SEPARATORS))
        if parameter in TOKEN_PARAMETERS and value:
            return f"the parameter {parameter}"
        if parameter not in PRESIGNED_PARAMETERS and any(map(looks_like_credential, _readings(pair))):
            return "text that looks like a credential"
    return None


def _readings(text: str) -> Iterator[str]:
    """The text as it is, and decoded once and twice, because a parameter may contain another URL."""
    for _ in range(3):
        yield text
        text = unquote_plus(text)
