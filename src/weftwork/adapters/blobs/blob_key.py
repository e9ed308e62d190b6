"""The keys of blobs: TENANT/aa/bb/DIGEST-SUFFIX, where aabb are the first digits of the digest.

TENANT is a hash of the partition and SUFFIX is random. A key contains no text from a caller, so no such text becomes a
file name.
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
    """A new unique key."""
    tenant = hashlib.sha256(partition.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{tenant}/{sha256[:2]}/{sha256[2:4]}/{sha256}-{ids.secret(SUFFIX_BYTES).hex()}"


def split_key(key: str) -> tuple[str, str, str, str] | None:
    """The three folders and the file name of a key, or None if the text is not a key."""
    match = _KEY_PATTERN.fullmatch(key)
    return (match[1], match[2], match[3], match[4]) if match is not None else None
