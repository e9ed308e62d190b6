"""The keys of blobs: the tenant's folder, two folders by the first digits of the digest, the digest, and a mark.

Nothing that a caller says stands in a key, so no name of anybody's reaches a file system.
"""

import hashlib
import re
from typing import Final

from weftwork.ports.ids import Ids

SUFFIX_BYTES: Final = 12

_KEY_PATTERN: Final = re.compile(
    r"([0-9a-f]{32})/([0-9a-f]{2})/([0-9a-f]{2})/(\2\3[0-9a-f]{60}-[0-9a-f]{24})", re.ASCII
)


def new_key(partition: str, sha256: str, ids: Ids) -> str:
    """A key that nobody has used before."""
    tenant = hashlib.sha256(partition.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{tenant}/{sha256[:2]}/{sha256[2:4]}/{sha256}-{ids.secret(SUFFIX_BYTES).hex()}"


def split_key(key: str) -> tuple[str, str, str, str] | None:
    """Three folders and a name, or None for what is no key."""
    found = _KEY_PATTERN.fullmatch(key)
    return (found[1], found[2], found[3], found[4]) if found is not None else None
