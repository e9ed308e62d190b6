"""Envelope kinds that a Python module declares."""

import inspect
from typing import Any

import msgspec

from weftwork.adapters.python.declaration.signature import is_record, object_schema
from weftwork.protocol.envelopes.kinds import KindDefinition, check_kind_name
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.values import is_object


class EnvelopeKind:
    """Declares an envelope kind: `plan = weftwork.EnvelopeKind("vendor.acme.plan", schema={...})`.

    The schema is a JSON Schema, or a struct, dataclass or TypedDict from which the schema is made. A host that loads
    the module accepts envelopes of this kind and advertises it. Raises TypeError or ValueError, with file and line.
    """

    __slots__ = ("kind", "module", "place")

    def __init__(self, name: str, *, schema: Any, version: int = 1) -> None:
        here = inspect.currentframe()
        around = here.f_back if here is not None else None
        self.place = f"{around.f_code.co_filename}:{around.f_lineno}" if around is not None else ""
        self.module: str = around.f_globals.get("__name__", "") if around is not None else ""
        """The name of the module that declares the kind."""
        del here, around
        _check(name, version, self.place)
        self.kind = KindDefinition(name, version, self._document(name, schema), own_schema=True)

    def _document(self, name: str, schema: Any) -> dict[str, Any]:
        """A copy of the schema as JSON, so that later changes by the author have no effect."""
        try:
            source = object_schema(schema) if is_record(schema) else schema
            document: Any = msgspec.json.decode(encode_stored(source))
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.place}: the schema of the kind {name!r} is not JSON: {error}") from None
        if not is_object(document):
            raise TypeError(f"{self.place}: the schema of the kind {name!r} is not an object")
        return document

    def __repr__(self) -> str:
        return f"<EnvelopeKind {self.kind.name} {self.kind.version}>"


def _check(name: Any, version: Any, place: str) -> None:
    if not isinstance(name, str):
        raise TypeError(
            f'{place}: an envelope kind needs a name: weftwork.EnvelopeKind("vendor.acme.plan", schema=...)'
        )
    if (problem := check_kind_name(name)) is not None:
        raise ValueError(f"{place}: {name!r} cannot be the name of an envelope kind: it {problem}")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError(f"{place}: the version of the kind {name!r} must be an integer of 1 or more, not {version!r}")
