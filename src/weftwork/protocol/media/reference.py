"""References: how documents name an asset, and which assets a document names.

Theory. An asset lives as long as a run whose log names it. So the names are read from what is committed, and from
nothing else: whichever way a reference came into a run, by its inputs, a node, a person or a parent, it counts.
"""

import binascii
import hashlib
import re
from base64 import b64decode
from typing import Final

from weftwork.protocol.media.token import split

SCHEME: Final = "weftwork-asset:"
REF_PATTERN: Final = f"^{SCHEME}[0-9a-f]{{64}}$"
ASSETS: Final = "/v1/host/weftwork/assets/"
"""Where assets are served; what stands behind it is a token."""
SAMPLE_ASSETS: Final = "/v1/host/sample/assets/"

NAME: Final = b"asset"
"""What stands in every document that names one."""

_REF: Final = re.compile(REF_PATTERN[1:-1])
_NAMED: Final = re.compile(
    rb"weftwork-asset:([0-9a-f]{64})|assets\\*/(v1\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_-]{4,1900}\.[A-Za-z0-9_-]{43})"
)
"""A token ends where its signature does, whatever a text goes on with. In a text that is JSON itself slashes may have
backslashes before them."""
_INLINE: Final = re.compile(rb'"base64":"([A-Za-z0-9+/=]*)"')


def media_ref(sha256: str) -> str:
    """media-01 (RFC 0091): the handle of an asset. It opens nothing by itself: who uses it is asked for a tenant."""
    return f"{SCHEME}{sha256}"


def digest_of(ref: object) -> str | None:
    """The sha256 that a mediaRef names; None for anything else."""
    return ref[len(SCHEME) :] if isinstance(ref, str) and _REF.fullmatch(ref) is not None else None


def tokens_in(text: str) -> list[str]:
    """The tokens of all asset URLs in a text, whatever host they name."""
    return [token.decode() for _, token in _NAMED.findall(text.encode("utf-8", "replace")) if token]


def named_assets(document: bytes, partition: str, inline: bool = False) -> frozenset[str]:
    """media-02 (RFC 0055 C, retention): the sha256 of every asset that an encoded document names, by its mediaRef or by
    a URL that was made for this partition. With `inline`, media that stand in it count as well."""
    # By find: `in` first tries to take the bytes for a number, which costs more than the search.
    if document.find(NAME) < 0 and not inline:
        return frozenset()
    found: set[str] = set()
    for ref, text in set(_NAMED.findall(document)):
        if ref:
            found.add(ref.decode())
        elif (opened := split(text.decode())) is not None and opened[0].partition == partition:
            found.add(opened[0].sha256.hex())
    if inline:
        for text in _INLINE.findall(document):
            try:
                found.add(hashlib.sha256(b64decode(text, validate=True)).hexdigest())
            except binascii.Error:
                continue
    return frozenset(found)
