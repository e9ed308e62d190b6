"""Envelope kinds: their names, versions and payload schemas, and the registration of custom kinds.

A custom kind comes from the settings, a Python package or a workflow. Kinds from settings and packages apply to the
whole host and are advertised. Kinds of a workflow apply only to that workflow. A kind may be registered in several
versions. The gate uses the highest one, also for envelopes of an older version.
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
"""env-01 (RFC 0021, RFC 0094 F): every host that supports envelopes accepts these kinds under every node contract."""
MEDIA_KINDS: Final[tuple[str, ...]] = ("media.image", "media.audio", "media.file")
SURFACE_KIND: Final = "ui.a2ui-surface"
DISPLAY_KINDS: Final[tuple[str, ...]] = (*MEDIA_KINDS, SURFACE_KIND)
"""Kinds for a user interface. A host that cannot display them only records them."""


class KindDefinition(msgspec.Struct, frozen=True, dict=True):
    """An envelope kind with its payload schema."""

    name: str
    version: int
    schema: dict[str, Any]
    own_schema: bool = False
    """Whether the schema is part of this host or of a package that it loads. Any other schema must stay within the
    dialect for callers' schemas."""

    @cached_property
    def validator(self) -> DocumentValidator:
        """The validator for payloads. Cached, because compiling a schema is expensive."""
        return DocumentValidator(self.schema, self.own_schema)


class KindSet:
    """The kinds that have a payload schema. Immutable. A kind of the protocol cannot be replaced."""

    __slots__ = ("_displayed", "_kinds", "accepted")

    def __init__(self, kinds: Mapping[str, KindDefinition], displayed: tuple[str, ...] = ()) -> None:
        self._kinds = dict(kinds)
        self._displayed = displayed
        self.accepted = frozenset(name for name in self._kinds if name not in DISPLAY_KINDS or name in displayed)
        """env-44: the kinds that the gate accepts and discovery lists: every kind except the display kinds that this
        host does not display."""

    def find(self, name: str) -> KindDefinition | None:
        return self._kinds.get(name)

    def with_kinds(self, more: Iterable[KindDefinition]) -> "KindSet":
        """A set with these kinds and `more`. A kind of the same name is replaced, except a kind of the protocol."""
        added = {
            kind.name: kind for kind in more if kind.name not in UNIVERSAL_KINDS and kind.name not in DISPLAY_KINDS
        }
        return KindSet({**self._kinds, **added}, self._displayed)

    def with_displayed(self, displayed: tuple[str, ...]) -> "KindSet":
        """A set with these kinds for a host that displays the given display kinds."""
        return KindSet(self._kinds, displayed)

    def with_missing(self, others: Iterable[KindDefinition]) -> "KindSet":
        """A set with these kinds and those of `others` whose name is not yet in the set."""
        added = [kind for kind in others if kind.name not in self._kinds]
        return self.with_kinds(added) if added else self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    @property
    def advertised(self) -> dict[str, int]:
        """env-44 (RFC 0021, RFC 0094 F): the kinds that discovery lists, with their versions. The order is: universal
        kinds, displayed kinds, then custom kinds by name."""
        others = sorted(self.accepted.difference(UNIVERSAL_KINDS, DISPLAY_KINDS))
        names = [name for name in (*UNIVERSAL_KINDS, *self._displayed, *others) if name in self._kinds]
        return {name: self._kinds[name].version for name in names}

    @property
    def versions(self) -> dict[str, int]:
        return {name: kind.version for name, kind in self._kinds.items()}


MAX_NAME: Final = 256
"""Characters in the name of a kind: the limit of an envelope's `type`."""

METADATA_MEMBER: Final = "envelopeKinds"
"""The member of a definition's `metadata` that holds the kinds of a workflow."""
MAX_VERSION: Final = 1_000_000
MAX_KINDS: Final = 16
"""Kinds of one workflow."""
MAX_BYTES: Final = 131_072
"""Size limit of all kinds of a workflow together, and of the schema of one kind of a package."""
OPEN_PREFIXES: Final = ("vendor.", "community.", "private.", "local.")
"""Prefixes for the names of custom kinds."""
RESERVED_PREFIXES: Final = ("openwop.", "core.", "media.", "ui.", "vendor.weftwork.")
"""Prefixes reserved for the protocol and this host."""
LEGACY_KINDS: Final = frozenset({"prd.create", "theme.create", "tasks.create"})
"""Kinds that are older than the prefixes. An operator may still register them."""

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
"""env-03 (RFC 0021, RFC 0055, RFC 0102): the eight kinds of the protocol, each at version 1."""


class KindRegistration(msgspec.Struct, frozen=True):
    """A kind and the place that defines it, such as a file or a package. Errors name the place."""

    kind: KindDefinition
    place: str


class KindRefused(Exception):
    """A kind that cannot be registered. The message names the place and the violation."""


def register_kinds(kinds: KindSet, registrations: Iterable[KindRegistration], legacy: bool = False) -> KindSet:
    """env-41 (RFC 0021, versions): add the registered kinds to the set, each in its highest version.

    Raises KindRefused for a malformed kind, and for two registrations of one version with different schemas.
    """
    versions: dict[tuple[str, int], KindRegistration] = {}
    highest: dict[str, KindDefinition] = {}
    for each in registrations:
        kind = each.kind
        if violations := check_kind(kind, legacy):
            first = violations[0]
            pointer = f" at {first.pointer}" if first.pointer else ""
            raise KindRefused(f"{each.place}: the kind {kind.name!r} cannot be registered:{pointer} {first.message}")
        other = versions.setdefault((kind.name, kind.version), each)
        if encode_stored(other.kind.schema) != encode_stored(kind.schema):
            raise KindRefused(
                f"{each.place}: {other.place} already registers version {kind.version} of the kind {kind.name!r} with "
                "another schema; give the changed schema a higher version"
            )
        if kind.name not in highest or highest[kind.name].version < kind.version:
            highest[kind.name] = kind
    return kinds.with_kinds(highest.values())


def check_kind(kind: KindDefinition, legacy: bool = False, at: str = "") -> list[Violation]:
    """env-42 (RFC 0021, naming, readings, Vendor kinds): the violations in the definition of a kind at the pointer
    `at`."""
    violations: list[Violation] = []
    if (name_error := check_kind_name(kind.name, legacy)) is not None:
        violations.append(Violation(at, "name", f"the name {name_error}"))
    if not _is_version(kind.version):
        violations.append(Violation(f"{at}/version", "version", f"must be an integer from 1 to {MAX_VERSION}"))
    return [
        *violations,
        *(_check_own_schema(kind, at) if kind.own_schema else check_caller_schema(kind.schema, f"{at}/schema")),
    ]


def check_kind_name(name: str, legacy: bool = False) -> str | None:
    """env-40 (RFC 0021, naming): why a custom kind cannot have this name, or None if it can. The text never contains
    the name. With `legacy`, the names in LEGACY_KINDS are valid too."""
    if legacy and name in LEGACY_KINDS:
        return None
    if name in UNIVERSAL_KINDS or name in DISPLAY_KINDS:
        return "is a kind of the protocol"
    if name.startswith(RESERVED_PREFIXES):
        return f"has a reserved prefix ({' '.join(RESERVED_PREFIXES)})"
    if len(name) > MAX_NAME:
        return f"must have at most {MAX_NAME} characters"
    if _KIND_NAME.fullmatch(name) is None:
        return (
            "must be like vendor.acme.plan, community.acme.plan, private.acme.plan or local.plan: "
            "segments of letters, digits, '-' and '_', each starting with a lower-case letter"
        )
    return None


def _is_version(version: Any) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and 1 <= version <= MAX_VERSION


def _check_own_schema(kind: KindDefinition, at: str) -> list[Violation]:
    """Check the schema of a package, whose code is trusted. It may be recursive, but it must compile without fetching
    references."""
    if len(encode_stored(kind.schema)) > MAX_BYTES:
        return [Violation(f"{at}/schema", "size", f"is larger than {MAX_BYTES} bytes")]
    try:
        schema.check_inline(kind.schema, None, "")
    except HostFault:
        text = "is not a usable JSON Schema: a keyword is misused, or a reference points outside the schema"
        return [Violation(f"{at}/schema", "schema", text)]
    return []


def parse_kinds(metadata: dict[str, Any], at: str = "/metadata") -> tuple[tuple[KindDefinition, ...], list[Violation]]:
    """env-43 (readings, Vendor kinds): the kinds of a workflow, sorted by name. If there are violations, no kinds."""
    entries: Any = metadata.get(METADATA_MEMBER)
    if entries is None:
        return (), []
    pointer = f"{at}/{METADATA_MEMBER}"
    if not is_object(entries):
        return (), [Violation(pointer, "type", "must be of type object")]
    if len(entries) > MAX_KINDS:
        return (), [Violation(pointer, "maxProperties", f"must have at most {MAX_KINDS} members")]
    if len(encode_stored(entries)) > MAX_BYTES:
        return (), [Violation(pointer, "size", f"is larger than {MAX_BYTES} bytes")]
    kinds: list[KindDefinition] = []
    violations: list[Violation] = []
    for name in sorted(entries):
        entry_pointer = f"{pointer}/{printable_token(name)}"
        entry_violations = schema.check_inline(_ENTRY_SCHEMA, entries[name], entry_pointer)
        if not entry_violations:
            kind = KindDefinition(name, entries[name].get("version", 1), entries[name]["schema"])
            entry_violations = check_kind(kind, at=entry_pointer)
            kinds.append(kind)
        violations += entry_violations
    return ((), violations) if violations else (tuple(kinds), [])


def check_host_kinds(kinds: KindSet, own: Iterable[KindDefinition], at: str = "/metadata") -> list[Violation]:
    """env-43: a workflow may repeat a kind of the host only with the same version and schema."""
    violations: list[Violation] = []
    for kind in own:
        host_kind = kinds.find(kind.name)
        if host_kind is not None and (host_kind.version, encode_stored(host_kind.schema)) != (
            kind.version,
            encode_stored(kind.schema),
        ):
            text = f"is already a kind of this host (version {host_kind.version}), with another version or schema"
            violations.append(Violation(f"{at}/{METADATA_MEMBER}/{printable_token(kind.name)}", "taken", text))
    return violations
