"""Kinds of envelopes: names, versions and payload schemas; those of the protocol, and how others are registered.

A kind comes from the settings, from a Python package or from a workflow. Kinds of the first two hold for the whole
host and are advertised; kinds of a workflow hold for that workflow alone. A kind may be registered in several
versions: the highest one is used, and an envelope that was written for an older one is checked against it, as the gate
does with every kind.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from weftwork.protocol.envelopes.validator import DocumentValidator
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.caller_schema import check_caller_schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object

CLARIFICATION_KIND: Final = "clarification.request"
SCHEMA_REQUEST_KIND: Final = "schema.request"
SCHEMA_RESPONSE_KIND: Final = "schema.response"
ERROR_KIND: Final = "error"
UNIVERSAL_KINDS: Final[tuple[str, ...]] = (CLARIFICATION_KIND, SCHEMA_REQUEST_KIND, SCHEMA_RESPONSE_KIND, ERROR_KIND)
"""env-01 (RFC 0021, RFC 0094 F): every host that accepts envelopes accepts these, under any contract of a node."""
MEDIA_KINDS: Final[tuple[str, ...]] = ("media.image", "media.audio", "media.file")
SURFACE_KIND: Final = "ui.a2ui-surface"
DISPLAY_KINDS: Final[tuple[str, ...]] = (*MEDIA_KINDS, SURFACE_KIND)
"""Kinds that a user interface displays. A host without one records them only."""


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
        """env-44: the kinds that pass the gate and that discovery lists: all that this host can display."""

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


MAX_NAME: Final = 256
"""Characters, as many as the `type` of an envelope takes."""

METADATA_MEMBER: Final = "envelopeKinds"
"""The member of a definition's `metadata` that holds the kinds of a workflow."""
MAX_VERSION: Final = 1_000_000
MAX_KINDS: Final = 16
"""Kinds of one workflow."""
MAX_BYTES: Final = 131_072
"""Their schemas together, in a workflow; and the schema of one kind of a package."""
OPEN_PREFIXES: Final = ("vendor.", "community.", "private.", "local.")
"""What the name of a kind that is not of the protocol begins with."""
RESERVED_PREFIXES: Final = ("openwop.", "core.", "media.", "ui.", "vendor.weftwork.")
"""Names below these are of the protocol, or of this host."""
LEGACY_KINDS: Final = frozenset({"prd.create", "theme.create", "tasks.create"})
"""Kinds from before there were prefixes, which an operator may still serve."""

_SEGMENT: Final = "[a-z][a-zA-Z0-9_-]*"
_KIND_NAME: Final = re.compile(
    rf"(?:vendor|community|private)\.[a-z][a-z0-9_-]*(?:\.{_SEGMENT})+|local(?:\.{_SEGMENT})+", re.ASCII
)

_ENTRY_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["schema"],
    "properties": {"version": {"type": "integer", "minimum": 1, "maximum": MAX_VERSION}, "schema": {"type": "object"}},
    "additionalProperties": False,
}

BUILTIN_KINDS: Final = KindSet(
    {
        name: KindDefinition(name, 1, schema.document(f"envelopes/{name}"), own_schema=True)
        for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS)
    }
)
"""env-03 (RFC 0021, RFC 0055, RFC 0102): the eight of them, each at version 1."""


class KindRegistration(msgspec.Struct, frozen=True):
    """A kind, and where it was found, in words for those who can change it."""

    kind: KindDefinition
    place: str


class KindRefused(Exception):
    """A kind that cannot be registered; the message names the place and what is wrong there."""


def register_kinds(kinds: KindSet, found: Iterable[KindRegistration], legacy: bool = False) -> KindSet:
    """env-41 (RFC 0021, versions): the kinds with those that were found, each in its highest version.

    Raises KindRefused for a kind that is not well formed, and for a version that is there with another schema.
    """
    versions: dict[tuple[str, int], KindRegistration] = {}
    highest: dict[str, KindDefinition] = {}
    for each in found:
        kind = each.kind
        if wrong := check_kind(kind, legacy):
            pointer = f" at {wrong[0].pointer}" if wrong[0].pointer else ""
            raise KindRefused(f"{each.place}: the kind {kind.name!r} cannot be registered:{pointer} {wrong[0].message}")
        other = versions.setdefault((kind.name, kind.version), each)
        if encode_stored(other.kind.schema) != encode_stored(kind.schema):
            raise KindRefused(
                f"{each.place}: version {kind.version} of the kind {kind.name!r} is registered with another schema "
                f"by {other.place}; a schema that changes gets a higher version"
            )
        if kind.name not in highest or highest[kind.name].version < kind.version:
            highest[kind.name] = kind
    return kinds.with_kinds(highest.values())


def check_kind(kind: KindDefinition, legacy: bool = False, at: str = "") -> list[Violation]:
    """env-42 (RFC 0021, naming, readings, Vendor kinds): what keeps a kind from being one; schemas stand at
    `{at}/schema`."""
    found: list[Violation] = []
    if (wrong := check_kind_name(kind.name, legacy)) is not None:
        found.append(Violation(at, "name", f"the name {wrong}"))
    if not _is_version(kind.version):
        found.append(Violation(f"{at}/version", "version", f"must be a whole number from 1 to {MAX_VERSION}"))
    return [
        *found,
        *(_check_own_schema(kind, at) if kind.own_schema else check_caller_schema(kind.schema, f"{at}/schema")),
    ]


def check_kind_name(name: str, legacy: bool = False) -> str | None:
    """env-40 (RFC 0021, naming): what keeps a kind from having this name, None if nothing does. `legacy`: those of
    LEGACY_KINDS are valid too. Never repeats the name."""
    if legacy and name in LEGACY_KINDS:
        return None
    if name in UNIVERSAL_KINDS or name in DISPLAY_KINDS:
        return "is a kind of the protocol"
    if name.startswith(RESERVED_PREFIXES):
        return f"is taken: names in {' '.join(RESERVED_PREFIXES)} are not for others"
    if len(name) > MAX_NAME:
        return f"takes {MAX_NAME} or fewer characters"
    if _KIND_NAME.fullmatch(name) is None:
        return (
            "must be like vendor.acme.plan, community.acme.plan, private.acme.plan or local.plan: "
            "parts of letters, digits, '-' and '_', each of which begins with a small letter"
        )
    return None


def _is_version(version: Any) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and 1 <= version <= MAX_VERSION


def _check_own_schema(kind: KindDefinition, at: str) -> list[Violation]:
    """The schema of somebody whose code runs here. It may be recursive, but it must compile, and fetch nothing."""
    if len(encode_stored(kind.schema)) > MAX_BYTES:
        return [Violation(f"{at}/schema", "size", f"is larger than {MAX_BYTES} bytes")]
    try:
        schema.check_inline(kind.schema, None, "")
    except HostFault:
        text = "is no JSON Schema that can be used: a keyword is misused, or a reference leads out of it"
        return [Violation(f"{at}/schema", "schema", text)]
    return []


def parse_kinds(metadata: dict[str, Any], at: str = "/metadata") -> tuple[tuple[KindDefinition, ...], list[Violation]]:
    """env-43 (readings, Vendor kinds): the kinds of a workflow, by name, or what is wrong with them."""
    given: Any = metadata.get(METADATA_MEMBER)
    if given is None:
        return (), []
    place = f"{at}/{METADATA_MEMBER}"
    if not is_object(given):
        return (), [Violation(place, "type", "must be of type object")]
    if len(given) > MAX_KINDS:
        return (), [Violation(place, "maxProperties", f"takes {MAX_KINDS} or fewer members")]
    if len(encode_stored(given)) > MAX_BYTES:
        return (), [Violation(place, "size", f"is larger than {MAX_BYTES} bytes")]
    kinds: list[KindDefinition] = []
    found: list[Violation] = []
    for name in sorted(given):
        where = f"{place}/{printable_token(name)}"
        wrong = schema.check_inline(_ENTRY_SCHEMA, given[name], where)
        if not wrong:
            kind = KindDefinition(name, given[name].get("version", 1), given[name]["schema"])
            wrong = check_kind(kind, at=where)
            kinds.append(kind)
        found += wrong
    return ((), found) if found else (tuple(kinds), [])


def check_host_kinds(kinds: KindSet, own: Iterable[KindDefinition], at: str = "/metadata") -> list[Violation]:
    """env-43: a kind of the host is the same in every workflow; one that says otherwise is refused."""
    found: list[Violation] = []
    for kind in own:
        known = kinds.find(kind.name)
        if known is not None and (known.version, encode_stored(known.schema)) != (
            kind.version,
            encode_stored(kind.schema),
        ):
            text = f"is a kind of this host, in version {known.version} and with a schema of its own"
            found.append(Violation(f"{at}/{METADATA_MEMBER}/{printable_token(kind.name)}", "taken", text))
    return found
