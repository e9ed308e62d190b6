"""A stream of A2UI messages as a closed surface.

What cannot be converted is a diagnostic. If the result would be another form, the whole surface is refused: an input or
a button that a surface cannot have, a function, or a component that never arrived. If only looks, hints or client-side
checks are missing, the rest is converted. Nothing is fetched: an image becomes a notice with its description.

The result is validated by the schema of the envelope kind and by the limits of the host, as the payload of a model is.
"""

from collections.abc import Iterable
from typing import Any, Final

from weftwork.protocol.json import schema
from weftwork.protocol.json.values import is_array
from weftwork.protocol.surfaces.a2ui.basic_tree import BasicTree
from weftwork.protocol.surfaces.a2ui.streams import Diagnostics, LiveSurface, fold_stream
from weftwork.protocol.surfaces.a2ui.vocabulary import (
    DISABLED,
    EXCHANGE,
    OPENWOP_CATALOG_ID,
    ROOT,
    Diagnostic,
    Escape,
    openwop_catalog,
)
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.surface import CATALOG_VERSION

Json = dict[str, Any]
Placed = list[tuple[Json, str]]
"""Components of a surface, each with the pointer of its origin in the messages."""
SCHEMA: Final = "envelopes/ui.a2ui-surface"
_OPENWOP: Final = openwop_catalog()


def from_messages(
    messages: Iterable[Any], *, surface_id: str | None = None, escape: Escape = "markdown"
) -> tuple[Json | None, list[Diagnostic]]:
    """surf-45 (A2UI 0.9.1): the payload that a stream of messages builds, and what was lost on the way.

    `messages` are decoded JSON values: createSurface, updateComponents, updateDataModel, deleteSurface. `surface_id`
    selects one of several surfaces. `escape` says whether the texts of body components are Markdown.

    If a diagnostic is more than a loss, the result has no payload. Otherwise the payload matches the schema of
    `ui.a2ui-surface` and the limits of the host. Never raises for JSON values, and never changes them.
    """
    diagnostics = Diagnostics()
    surface = fold_stream(messages, surface_id, diagnostics)
    if surface is None:
        return None, diagnostics.found
    diagnostics.surface_id = surface.surface_id
    if ROOT not in surface.components:
        text = f"The surface has no component with the id {ROOT}, so it is not complete."
        diagnostics.refuse(surface.created_at, text)
        return None, diagnostics.found
    if surface.catalog_id == OPENWOP_CATALOG_ID:
        title, placed = _read_openwop(surface, diagnostics)
    else:
        title, placed = BasicTree(surface, escape, diagnostics).read()
    content: Json = {"components": [each for each, _ in placed]}
    if title is not None:
        content["title"] = title
    payload: Json = {"catalogVersion": CATALOG_VERSION, "surface": content}
    if not diagnostics.is_refused:
        for breach in schema.check(SCHEMA, payload) or check_limits(payload):
            place = _place_of(breach.pointer, surface, placed)
            diagnostics.refuse(place, f"The imported value {breach.message}.")
    return (None if diagnostics.is_refused else payload), diagnostics.found


def _place_of(pointer: str, surface: LiveSurface, placed: Placed) -> str:
    """The place in the messages for a pointer into the payload."""
    parts = pointer.split("/")
    if parts[1:3] == ["surface", "components"] and len(parts) > 3:
        return "/".join([placed[int(parts[3])][1], *parts[4:]])
    return surface.places[ROOT]


def _read_openwop(surface: LiveSurface, diagnostics: Diagnostics) -> tuple[str | None, Placed]:
    """surf-46: the title and the components in the catalogue of OpenWOP, each checked against its closed schema."""
    root = surface.components[ROOT]
    children: Any = root.get("children")
    names = [ROOT, *(each for each in children if isinstance(each, str))] if is_array(children) else [ROOT]
    placed: Placed = []
    seen: set[str] = set()
    for name in names:
        component = surface.components.get(name)
        if component is None or name in seen:
            text = "Each child must be a component that has arrived, and must be listed once."
            diagnostics.refuse(surface.places[ROOT], text)
            continue
        seen.add(name)
        at, kind = surface.places[name], component["component"]
        if (kind == "surface") != (name == ROOT) or kind not in _OPENWOP["components"]:
            diagnostics.refuse(f"{at}/component", "The catalogue has no such component at this place.")
            continue
        definition = {**_OPENWOP["components"][kind], "$defs": _OPENWOP["$defs"]}
        breaches = schema.check_inline(definition, component, at)
        for breach in breaches:
            diagnostics.refuse(breach.pointer, f"The value {breach.message}.")
        if not breaches and name != ROOT:
            if "disabledReason" in component:
                diagnostics.refuse(f"{at}/disabledReason", DISABLED)
            placed.append((_openwop_component(component), at))
    for name in surface.components.keys() - seen:
        diagnostics.refuse(surface.places[name], "The component is not part of the surface.")
    return root.get("title"), placed


def _openwop_component(component: Json) -> Json:
    """A component of a surface, from a valid one of the catalogue of OpenWOP."""
    outside = ("id", "fieldId", "value", "action", "disabledReason")
    members = {name: value for name, value in component.items() if name not in outside}
    if "action" in component:
        event = component["action"]["event"]
        target = "exchange" if event["name"] == EXCHANGE else "resume"
        return {**members, "id": event["context"]["actionId"], "action": {"target": target}}
    return {**members, "id": component["fieldId"]} if "fieldId" in component else members
