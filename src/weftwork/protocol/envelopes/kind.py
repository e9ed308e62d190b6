"""Kinds of envelopes: names, versions and payload schemas."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.validator import DocumentValidator

CLARIFICATION_KIND: Final = "clarification.request"
SCHEMA_REQUEST_KIND: Final = "schema.request"
SCHEMA_RESPONSE_KIND: Final = "schema.response"
ERROR_KIND: Final = "error"
UNIVERSAL_KINDS: Final[tuple[str, ...]] = (CLARIFICATION_KIND, SCHEMA_REQUEST_KIND, SCHEMA_RESPONSE_KIND, ERROR_KIND)
"""env-01 (RFC 0021, RFC 0094 F): every host that takes envelopes takes these, whatever a node's contract says."""
MEDIA_KINDS: Final[tuple[str, ...]] = ("media.image", "media.audio", "media.file")
SURFACE_KIND: Final = "ui.a2ui-surface"
DISPLAY_KINDS: Final[tuple[str, ...]] = (*MEDIA_KINDS, SURFACE_KIND)
"""Kinds of the protocol that need somebody to show them; kept without being shown where nobody does."""


class KindDefinition(msgspec.Struct, frozen=True, dict=True):
    """A kind of envelope. The schema of one that a caller registers is held to the dialect for such schemas."""

    name: str
    version: int
    schema: dict[str, Any]
    own_schema: bool = False
    """Whether the schema was written with this host, or by the author of a package that it loads."""

    @cached_property
    def validator(self) -> DocumentValidator:
        """What a payload of the kind has to fit; made once, because that is costly."""
        return DocumentValidator(self.schema, self.own_schema)


class KindSet:
    """The kinds whose payloads can be checked. Immutable; those of the protocol are always among them."""

    __slots__ = ("_displayed", "_kinds", "accepted")

    def __init__(self, kinds: Mapping[str, KindDefinition], shown: tuple[str, ...] = ()) -> None:
        self._kinds = dict(kinds)
        self._displayed = shown
        self.accepted = frozenset(name for name in self._kinds if name not in DISPLAY_KINDS or name in shown)
        """env-44: what passes the gate, and what discovery speaks of: all but those that nobody shows here."""

    def find(self, name: str) -> KindDefinition | None:
        return self._kinds.get(name)

    def with_kinds(self, more: Iterable[KindDefinition]) -> "KindSet":
        """These and more. A kind that is there already is replaced, except one of the protocol."""
        added = {
            kind.name: kind for kind in more if kind.name not in UNIVERSAL_KINDS and kind.name not in DISPLAY_KINDS
        }
        return KindSet({**self._kinds, **added}, self._displayed)

    def with_displayed(self, shown: tuple[str, ...]) -> "KindSet":
        """These, on a host that shows those kinds of the protocol."""
        return KindSet(self._kinds, shown)

    def with_missing(self, others: Iterable[KindDefinition]) -> "KindSet":
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
        others = sorted(self.accepted.difference(UNIVERSAL_KINDS, DISPLAY_KINDS))
        named = [name for name in (*UNIVERSAL_KINDS, *self._displayed, *others) if name in self._kinds]
        return {name: self._kinds[name].version for name in named}

    @property
    def versions(self) -> dict[str, int]:
        return {name: kind.version for name, kind in self._kinds.items()}
