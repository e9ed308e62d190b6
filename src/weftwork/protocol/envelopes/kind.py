"""Kinds of envelopes: names, versions and payload schemas."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.validator import Mould

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

    __slots__ = ("_kinds", "_shown", "taken")

    def __init__(self, kinds: Mapping[str, Kind], shown: tuple[str, ...] = ()) -> None:
        self._kinds = dict(kinds)
        self._shown = shown
        self.taken = frozenset(name for name in self._kinds if name not in SHOWN or name in shown)
        """env-44: what passes the gate, and what discovery speaks of: all but those that nobody shows here."""

    def find(self, name: str) -> Kind | None:
        return self._kinds.get(name)

    def with_kinds(self, more: Iterable[Kind]) -> "Kinds":
        """These and more. A kind that is there already is replaced, except one of the protocol."""
        added = {kind.name: kind for kind in more if kind.name not in UNIVERSAL and kind.name not in SHOWN}
        return Kinds({**self._kinds, **added}, self._shown)

    def showing(self, shown: tuple[str, ...]) -> "Kinds":
        """These, on a host that shows those kinds of the protocol."""
        return Kinds(self._kinds, shown)

    def beside(self, others: Iterable[Kind]) -> "Kinds":
        """These, and of the others those that are not there already."""
        added = [kind for kind in others if kind.name not in self._kinds]
        return self.with_kinds(added) if added else self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    @property
    def advertised(self) -> dict[str, int]:
        """env-44 (RFC 0021, RFC 0094 F): kinds that discovery shows, with their versions: the universal ones, those of
        the protocol that are shown here, then those of others by name."""
        others = sorted(self.taken.difference(UNIVERSAL, SHOWN))
        named = [name for name in (*UNIVERSAL, *self._shown, *others) if name in self._kinds]
        return {name: self._kinds[name].version for name in named}

    @property
    def versions(self) -> dict[str, int]:
        return {name: kind.version for name, kind in self._kinds.items()}
