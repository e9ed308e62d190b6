"""A surface as it was stored, checked again before it is shown or answered.

An older host may have stored a surface under other limits, a host that did not display surfaces stored it without any
check, and the redaction of a sensitive value can make one unusable. What is not valid is kept and not rendered.
"""

from typing import Any, Final

import msgspec

from weftwork.protocol.json import schema
from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_object
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.surface import CATALOG_VERSIONS, Surface, parse_surface

_SCHEMA: Final = "envelopes/ui.a2ui-surface"
NOT_RENDERED: Final = "This form is stored, but not rendered, because it is not valid on this host."
_MAX_DIAGNOSTICS: Final = 20


class CheckedSurface(msgspec.Struct, frozen=True):
    """The result of a check: a surface that can be rendered, or why it cannot be."""

    surface: Surface | None = None
    diagnostics: tuple[Violation, ...] = ()


def check_stored(payload: Any) -> CheckedSurface:
    """surf-20 (RFC 0102, degradation): the surface of a stored payload, if it still has a known catalogue version and
    matches the schema of its kind and the limits of this host. Never raises for JSON."""
    version = payload.get("catalogVersion") if is_object(payload) else None
    if isinstance(version, str) and version not in CATALOG_VERSIONS:
        text = f"must be one of: {', '.join(CATALOG_VERSIONS)}"
        return CheckedSurface(diagnostics=(Violation("/catalogVersion", "enum", text),))
    try:
        found = schema.check(_SCHEMA, payload) or check_limits(payload)
    except (ValueError, RecursionError):
        found = [Violation("", "type", "must be JSON")]
    surface = None if found else parse_surface(payload)
    if surface is None and not found:
        found = [Violation("", "type", "must be a surface of the catalogue")]
    return CheckedSurface(surface, tuple(found[:_MAX_DIAGNOSTICS]))
