"""Loads the envelope kinds of a host: those of the protocol, of the settings, and of Python modules."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.adapters.python.declaration.node_discovery import NodeLoadError, find_envelope_kinds
from weftwork.protocol.envelopes.kinds import (
    BUILTIN_KINDS,
    DISPLAY_KINDS,
    MAX_BYTES,
    MEDIA_KINDS,
    SURFACE_KIND,
    UNIVERSAL_KINDS,
    KindDefinition,
    KindRefused,
    KindRegistration,
    KindSet,
    check_kind,
    register_kinds,
)
from weftwork.protocol.envelopes.schema_subset import Compliance, check_subset, subset_compliance
from weftwork.protocol.json.values import is_object
from weftwork.protocol.surfaces.surface import CATALOG_VERSIONS
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document

log = logging.getLogger("weftwork")

SCHEMA_SUFFIX: Final = ".schema.json"
VERSION_MEMBER: Final = "x-version"
"""The member of a schema file that holds the version of its kind. JSON Schema leaves `x-` names to its users."""


def displayed_kinds(settings: Settings) -> tuple[str, ...]:
    """surf-36 (RFC 0102, advertising): the display kinds that this host shows to people. The gate accepts them, and
    discovery lists them. Of other display kinds the host records the payload, and no run waits for them."""
    return (*MEDIA_KINDS, *((SURFACE_KIND,) if settings.surfaces and CATALOG_VERSIONS else ()))


def check_kind_schemas(kinds: KindSet) -> Compliance:
    """Log where the schemas of the advertised kinds leave the structured-output subset, and summarise the result. An
    operator cannot change the kinds of the protocol, so these are logged for debugging only."""
    advertised = [kind for name in kinds.advertised if (kind := kinds.find(name)) is not None]
    violations = {kind.name: check_subset(kind.schema) for kind in advertised}
    for name, found in violations.items():
        if found:
            level = logging.DEBUG if name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS) else logging.INFO
            fields = {"kind": name, "pointer": found[0].pointer, "violations": len(found)}
            log.log(level, "schema of an envelope kind is outside the structured-output subset", extra=fields)
    return subset_compliance(violations)


def load_kinds(settings: Settings, more: Iterable[EnvelopeKind] = ()) -> KindSet:
    """All kinds of this host: those of the protocol, of the files in `envelope_kinds`, of the modules in `nodes`, and
    `more`. Raises SettingsError."""
    registrations = [each for path in settings.envelope_kinds for each in _load_path(Path(path))]
    try:
        declared = list(dict.fromkeys([*find_envelope_kinds(settings.nodes), *more]))
        registrations += [KindRegistration(each.kind, each.place) for each in declared]
        return register_kinds(BUILTIN_KINDS, registrations, legacy=True)
    except (NodeLoadError, KindRefused) as error:
        raise SettingsError(str(error)) from None


def _load_path(path: Path) -> Iterator[KindRegistration]:
    place = f"--envelope-kinds {path}"
    if path.is_dir():
        files = sorted(path.glob(f"*{SCHEMA_SUFFIX}"))
        if not files:
            raise SettingsError(f"{place}: the folder has no *{SCHEMA_SUFFIX} file")
        for file in files:
            yield _load_file(file, f"--envelope-kinds {file}")
    elif path.name.endswith(SCHEMA_SUFFIX):
        yield _load_file(path, place)
    else:
        raise SettingsError(f"{place}: must be a folder, or a file such as vendor.acme.plan{SCHEMA_SUFFIX}")


def _load_file(file: Path, place: str) -> KindRegistration:
    """The kind of one schema file. The file name is the name of the kind. `$id` is dropped, because the host serves the
    schema under its own URL."""
    try:
        document = read_document(file, MAX_BYTES)
    except DocumentFileError as error:
        raise SettingsError(f"{place}: {error}") from None
    if not is_object(document):
        raise SettingsError(f"{place}: the schema of an envelope kind must be a JSON object")
    schema = {name: value for name, value in document.items() if name not in (VERSION_MEMBER, "$id")}
    kind = KindDefinition(file.name.removesuffix(SCHEMA_SUFFIX), document.get(VERSION_MEMBER, 1), schema)
    if violations := check_kind(kind, legacy=True):
        # check_kind gives pointers into {version, schema}; the file is the schema with the version as a member.
        pointer = violations[0].pointer
        inside = f"/{VERSION_MEMBER}" if pointer == "/version" else pointer.removeprefix("/schema")
        location = f" at {inside}" if inside else ""
        raise SettingsError(f"{place}: not a valid envelope kind:{location} {violations[0].message}")
    return KindRegistration(kind, place)
