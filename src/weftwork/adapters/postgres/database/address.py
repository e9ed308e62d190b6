"""Where the store is: the URL of the server, the schema, and what is derived from them.

Passwords are masked in everything that is shown: the URL, and any text that contains the password as it was written or
percent-encoded. Advisory locks and channels belong to the whole database, so their names contain the schema; several
hosts can then share a database.
"""

import hashlib
import ipaddress
import os
import re
from typing import Final
from urllib.parse import parse_qs, quote, quote_plus, unquote, urlsplit

from weftwork.protocol.errors import HostFault

SCHEMES: Final = ("postgres", "postgresql")
DEFAULT_SCHEMA: Final = "weftwork"
MASK: Final = "***"

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class StoreAddress:
    """The URL of a database and the schema in it. Raises HostFault if one of them cannot be used."""

    def __init__(self, url: str, schema: str = DEFAULT_SCHEMA) -> None:
        if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
            raise HostFault(
                "the name of the schema may have lower-case letters, digits and underscores, 63 characters at most; "
                "it does not begin with a digit or with pg_"
            )
        try:
            parts = urlsplit(url)
            hosts = parts.netloc.rpartition("@")[2]
        except ValueError:
            raise HostFault("the URL of the store cannot be read") from None
        if parts.scheme not in SCHEMES:
            raise HostFault(f"the URL of the store begins with {SCHEMES[0]}://")
        self.url = url
        self.schema = schema
        options = parse_qs(parts.query)
        userinfo = parts.netloc.rpartition("@")[0]
        written = userinfo.partition(":")[2]
        self._secrets = _spellings(written, *options.get("password", ()), os.environ.get("PGPASSWORD", ""))
        self.has_password = bool(written or options.get("password"))
        """Whether the password is in the URL, where other users of the machine may see it."""
        self.sslmode = options.get("sslmode", [os.environ.get("PGSSLMODE", "")])[-1]
        self.names_session = "target_session_attrs" in options
        self._hosts = [each.rpartition(":")[0] or each for each in hosts.split(",") if each] or options.get("host", [])

    def __repr__(self) -> str:
        return f"StoreAddress({self.masked_url}, {self.schema})"

    @property
    def masked_url(self) -> str:
        return self.mask(self.url)

    @property
    def is_local(self) -> bool:
        """Whether every host is this machine."""
        return all(_is_local(each) for each in self._hosts)

    def mask(self, text: str) -> str:
        """The text without the password."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def lock_key(self, *names: object) -> int:
        """The key of an advisory lock: 64 bits of a digest of the schema and the names."""
        text = "\0".join(map(str, ("weftwork", self.schema, *names)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)

    @property
    def channel(self) -> str:
        """The channel for hints. A name of PostgreSQL has at most 63 bytes."""
        return f"weftwork_{hashlib.sha256(self.schema.encode()).hexdigest()[:16]}"


def _spellings(*passwords: str) -> list[str]:
    """The passwords in each of the forms in which they may be written, longest first."""
    found: set[str] = set()
    for written in passwords:
        plain = unquote(written)
        found |= {written, plain, quote(plain, safe=""), quote_plus(plain), quote(plain)}
    return sorted(found - {""}, key=len, reverse=True)


def _is_local(host: str) -> bool:
    host = host.strip("[]")
    if host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
