"""A surface: a form as a closed, flat list of components from a catalogue (RFC 0102).

The JSON Schema `envelopes/ui.a2ui-surface` decides what a surface is; the types here are its typed view, and the source
for authors in Python. A surface contains texts and names, and nothing that could be executed or fetched.
"""

from functools import cached_property
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from weftwork.protocol.json.values import is_array, is_object

CATALOG_VERSION: Final = "0.9.1"
CATALOG_VERSIONS: Final = (CATALOG_VERSION,)
"""surf-01 (RFC 0102, catalog): the catalogue versions that a renderer of this host renders."""

Target = Literal["resume", "exchange"]


class Component(msgspec.Struct, frozen=True, kw_only=True, tag_field="component", forbid_unknown_fields=True):
    """One component. Its member `component` names its type."""


class Heading(Component, frozen=True, kw_only=True, tag="heading", omit_defaults=True):
    text: str
    level: int = 2


class Text(Component, frozen=True, kw_only=True, tag="text"):
    text: str


class TextField(Component, frozen=True, kw_only=True, tag="field.text", omit_defaults=True):
    id: str
    label: str
    placeholder: str | UnsetType = UNSET
    required: bool = False


class DateField(Component, frozen=True, kw_only=True, tag="field.date", omit_defaults=True):
    id: str
    label: str
    required: bool = False


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    value: str
    label: str


class SelectField(Component, frozen=True, kw_only=True, tag="field.select", omit_defaults=True):
    id: str
    label: str
    options: tuple[Option, ...]
    required: bool = False


class CheckboxField(Component, frozen=True, kw_only=True, tag="field.checkbox", omit_defaults=True):
    id: str
    label: str
    default: bool = False


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    target: Target


class Button(Component, frozen=True, kw_only=True, tag="action.button"):
    id: str
    label: str
    action: Action


FIELDS: Final = (TextField, DateField, SelectField, CheckboxField)
Field = TextField | DateField | SelectField | CheckboxField
AnyComponent = Heading | Text | TextField | DateField | SelectField | CheckboxField | Button
COMPONENTS: Final[tuple[type[AnyComponent], ...]] = (
    Heading,
    Text,
    TextField,
    DateField,
    SelectField,
    CheckboxField,
    Button,
)
"""surf-02 (RFC 0102, catalog): every component of the catalogue. Each renderer has one entry for each of them."""


class Surface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, dict=True):
    components: tuple[AnyComponent, ...]
    title: str | UnsetType = UNSET

    # Cached, because each check of a surface asks for them several times, and a surface never changes.
    @cached_property
    def fields(self) -> tuple[Field, ...]:
        return tuple([each for each in self.components if isinstance(each, FIELDS)])

    @cached_property
    def buttons(self) -> tuple[Button, ...]:
        return tuple([each for each in self.components if isinstance(each, Button)])


class SurfacePayload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The payload of an envelope of the kind `ui.a2ui-surface`. The reasoning of a model is not part of this view,
    because it is not shown to people."""

    catalog_version: str
    surface: Surface


def parse_surface(payload: Any) -> Surface | None:
    """The surface of a payload; None if it is not a surface of a known catalogue version. Never raises for JSON."""
    parsed = _converted(payload) or _converted(_with_whole_levels(payload))
    return parsed.surface if parsed is not None and parsed.catalog_version in CATALOG_VERSIONS else None


def _converted(payload: Any) -> SurfacePayload | None:
    try:
        return msgspec.convert(payload, SurfacePayload)
    except (msgspec.ValidationError, RecursionError):
        return None


def _with_whole_levels(payload: Any) -> Any:
    """The payload with `2.0`, which JSON Schema takes for an integer, as 2 in the levels of headings. None if it has no
    such level."""
    surface: Any = payload.get("surface") if is_object(payload) else None
    components: Any = surface.get("components") if is_object(surface) else None
    if not is_array(components):
        return None
    levels = [each.get("level") if is_object(each) else None for each in components]
    if not any(isinstance(level, float) and level.is_integer() for level in levels):
        return None
    whole = [
        {**each, "level": int(level)} if isinstance(level, float) and level.is_integer() else each
        for each, level in zip(components, levels, strict=True)
    ]
    return {**payload, "surface": {**surface, "components": whole}}


def surface_payload(surface: Surface) -> dict[str, Any]:
    """The payload of an envelope with this surface, as JSON values."""
    # Encoded and decoded, because to_builtins leaves tuples, which are no JSON values.
    return msgspec.json.decode(msgspec.json.encode(SurfacePayload(catalog_version=CATALOG_VERSION, surface=surface)))


def as_payload(document: dict[str, Any]) -> dict[str, Any]:
    """The payload of a document that is one, or that is a surface without the payload around it."""
    if "surface" in document or "catalogVersion" in document:
        return document
    return {"catalogVersion": CATALOG_VERSION, "surface": document}


def has_buttons(payload: Any) -> bool:
    """Whether a valid payload has a button, so that a person can act on it."""
    surface: Any = payload.get("surface") if is_object(payload) else None
    components: Any = surface.get("components") if is_object(surface) else None
    return is_array(components) and any(
        is_object(each) and each.get("component") == "action.button" for each in components
    )
