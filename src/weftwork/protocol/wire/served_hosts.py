"""The host names for which a host answers requests.

A page on the web can let its own name resolve to the address of a host in a private network, and then send requests to
it from the browser of a visitor (DNS rebinding). The `Host` header of these requests has the name of the page.
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

ANY_HOST: Final = "*"
"""In the list of allowed hosts: every name."""
_NAME: Final = r"[a-z0-9](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\]"
_ALLOWED: Final = re.compile(_NAME)
_HEADER: Final = re.compile(rf"({_NAME})(?::[0-9]{{1,5}})?")
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")


def is_allowed_host(text: str) -> bool:
    """Whether the text can be in the list of allowed hosts: a name or an address without a port, or ANY_HOST."""
    return text == ANY_HOST or _ALLOWED.fullmatch(text.lower()) is not None


def served_hosts(allowed: Iterable[str], urls: Iterable[str]) -> frozenset[str] | None:
    """The names in the list and in the URLs under which clients reach the host; None if every name is served."""
    names = [each.lower().removesuffix(".") for each in allowed]
    for url in urls:
        host = urlsplit(url).hostname if url else None
        if host:
            names.append(f"[{host}]" if ":" in host else host.removesuffix("."))
    return None if not names or ANY_HOST in names else frozenset(names)


def is_served(names: frozenset[str], header: str) -> bool:
    """wire-05 (host): whether a request with this Host header is answered. Loopback names always are: no resolver
    lets the page of another site have them."""
    match = _HEADER.fullmatch(header.lower())
    if match is None:
        return False
    name = match[1].removesuffix(".")
    return name in names or _LOOPBACK.fullmatch(name) is not None
