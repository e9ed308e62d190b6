"""The envelope kinds of a host: those of the protocol, and those that the settings and packages bring."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from weftwork.adapters.python.declaration.envelope_kind import EnvelopeKind
from weftwork.adapters.python.declaration.node_discovery import NodeLoadError, find_envelope_kinds
from weftwork.protocol.envelopes.kinds import (
    BUILTIN_KINDS,
    MAX_BYTES,
    KindDefinition,
    KindRefused,
    KindRegistration,
    KindSet,
    check_kind,
    register_kinds,
)
from weftwork.protocol.json.values import is_object
from weftwork.settings import Settings, SettingsError
from weftwork.wiring.document_file import DocumentFileError, read_document

SCHEMA_SUFFIX: Final = ".schema.json"
VERSION_MEMBER: Final = "x-version"
"""The member of such a file that holds the version of the kind. JSON Schema leaves names like it to its users."""


def load_kinds(settings: Settings, given: Iterable[EnvelopeKind] = ()) -> KindSet:
    """All kinds that this host knows: of the protocol, of the files that the settings name, of the modules that nodes
    come from, and these. Raises SettingsError."""
    found = [each for path in settings.envelope_kinds for each in _load_path(Path(path))]
    try:
        declared = list(dict.fromkeys([*find_envelope_kinds(settings.nodes), *given]))
        found += [KindRegistration(each.kind, each.place) for each in declared]
        return register_kinds(BUILTIN_KINDS, found, legacy=True)
    except (NodeLoadError, KindRefused) as error:
        raise SettingsError(str(error)) from None


def _load_path(path: Path) -> Iterator[KindRegistration]:
    place = f"--envelope-kinds {path}"
    if path.is_dir():
        files = sorted(path.glob(f"*{SCHEMA_SUFFIX}"))
        if not files:
            raise SettingsError(f"{place}: there is no *{SCHEMA_SUFFIX} in this folder")
        for file in files:
            yield _load_file(file, f"--envelope-kinds {file}")
    elif path.name.endswith(SCHEMA_SUFFIX):
        yield _load_file(path, place)
    else:
        raise SettingsError(f"{place}: name a folder, or a file such as vendor.acme.plan{SCHEMA_SUFFIX}")


def _load_file(file: Path, place: str) -> KindRegistration:
    """The name of the file is the name of the kind. An `$id` is left out: the host serves the schema under its own."""
    try:
        document = read_document(file, MAX_BYTES)
    except DocumentFileError as error:
        raise SettingsError(f"{place}: {error}") from None
    if not is_object(document):
        raise SettingsError(f"{place}: a schema of a kind is an object")
    schema = {name: value for name, value in document.items() if name not in (VERSION_MEMBER, "$id")}
    kind = KindDefinition(file.name.removesuffix(SCHEMA_SUFFIX), document.get(VERSION_MEMBER, 1), schema)
    if wrong := check_kind(kind, legacy=True):
        # Where it is in the file, which is the schema and has the version in it.
        pointer = wrong[0].pointer
        inside = f"/{VERSION_MEMBER}" if pointer == "/version" else pointer.removeprefix("/schema")
        location = f" at {inside}" if inside else ""
        raise SettingsError(f"{place}: this cannot be a kind:{location} {wrong[0].message}")
    return KindRegistration(kind, place)
