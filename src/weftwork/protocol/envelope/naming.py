"""Names of envelope kinds: whose they are, and which of them somebody may register."""

import re
from typing import Final

from weftwork.protocol.envelope.kind import SHOWN, UNIVERSAL

MAX_NAME: Final = 256
"""Characters, as many as the `type` of an envelope takes."""
OPEN: Final = ("vendor.", "community.", "private.", "local.")
"""What the name of a kind that is not of the protocol begins with."""
TAKEN: Final = ("openwop.", "core.", "media.", "ui.", "vendor.weftwork.")
"""Names below these are of the protocol, or of this host."""
LEGACY: Final = frozenset({"prd.create", "theme.create", "tasks.create"})
"""Kinds from before there were prefixes, which an operator may still serve."""

_SEGMENT: Final = "[a-z][a-zA-Z0-9_-]*"
_NAME: Final = re.compile(
    rf"(?:vendor|community|private)\.[a-z][a-z0-9_-]*(?:\.{_SEGMENT})+|local(?:\.{_SEGMENT})+", re.ASCII
)


def check_name(name: str, legacy: bool = False) -> str | None:
    """env-40 (RFC 0021, naming): what keeps a kind from having this name, None if nothing does. `legacy`: those of
    LEGACY are good too. Never repeats the name."""
    if legacy and name in LEGACY:
        return None
    if name in UNIVERSAL or name in SHOWN:
        return "is a kind of the protocol"
    if name.startswith(TAKEN):
        return f"is taken: names in {' '.join(TAKEN)} are not for others"
    if len(name) > MAX_NAME:
        return f"takes {MAX_NAME} or fewer characters"
    if _NAME.fullmatch(name) is None:
        return (
            "must be like vendor.acme.plan, community.acme.plan, private.acme.plan or local.plan: "
            "parts of letters, digits, '-' and '_', each of which begins with a small letter"
        )
    return None
