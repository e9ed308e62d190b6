"""Kinds of envelopes: names, versions and payload schemas."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from weftwork.protocol.envelope.mould import Mould

CLARIFICATION: Final = "clarification.request"
SCHEMA_REQUEST: Final = "schema.request"
SCHEMA_RESPONSE: Final = "schema.response"
ERROR: Final = "error"
UNIVERSAL: Final[tuple[str, ...]] = (CLARIFICATION, SCHEMA_REQUEST, SCHEMA_RESPONSE, ERROR)
"""env-01 (RFC 0021, RFC 0094 F): every host that takes envelopes takes these, whatever a node's contract says."""
MEDIA: Final[tuple[str, ...]] = ("media.image", "media.audio", "media.file")
SURFACE: Final = "ui.a2ui-surface"
SHOWN: Final[tuple[str, ...]] = (*MEDIA, SURFACE)
"""Kinds of the protocol that need somebody to show them; kept without being shown where nobody does."""


class Kind(msgspec.Struct, frozen=True, dict=True):
    """A kind of envelope. The schema of one that a caller registers is held to the dialect for such schemas."""

    name: str
    version: int
    schema: dict[str, Any]
    own: bool = False
    """Whether the schema was written with this host, or by the author of a package that it loads."""

    @cached_property
    def mould(self) -> Mould:
        """What a payload of the kind has to fit; made once, because that is costly."""
        return Mould(self.schema, self.own)


class Kinds:
    """The kinds whose payloads can be checked. Immutable; those of the protocol are always among them."""

    __slots__ = ("_kinds",)

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = dict(kinds)

    def find(self, name: str) -> Kind | None:
        return self._kinds.get(name)

    def with_kinds(self, more: Iterable[Kind]) -> "Kinds":
        """These and more. A kind that is there already is replaced, except one of the protocol."""
        added = {kind.name: kind for kind in more if kind.name not in UNIVERSAL and kind.name not in SHOWN}
        return Kinds({**self._kinds, **added})

    def beside(self, others: Iterable[Kind]) -> "Kinds":
        """These, and of the others those that are not there already."""
        added = [kind for kind in others if kind.name not in self._kinds]
        return self.with_kinds(added) if added else self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    @property
    def advertised(self) -> dict[str, int]:
        """env-44 (RFC 0021, RFC 0094 F): kinds that discovery shows, with their versions: the universal ones, then
        those of others by name. Kinds that somebody has to show are not among them."""
        others = sorted(name for name in self._kinds if name not in UNIVERSAL and name not in SHOWN)
        return {name: self._kinds[name].version for name in (*UNIVERSAL, *others) if name in self._kinds}

    @property
    def versions(self) -> dict[str, int]:
        return {name: kind.version for name, kind in self._kinds.items()}
