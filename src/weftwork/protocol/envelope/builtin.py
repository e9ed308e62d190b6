"""The kinds of envelopes that the protocol itself defines."""

from typing import Final

from weftwork.protocol.envelope.kind import SHOWN, UNIVERSAL, Kind, Kinds
from weftwork.protocol.schema import document

BUILTIN: Final = Kinds(
    {name: Kind(name, 1, document(f"envelopes/{name}"), own=True) for name in (*UNIVERSAL, *SHOWN)},
)
"""env-03 (RFC 0021, RFC 0055, RFC 0102): the eight of them, each at version 1."""
