"""A surface as A2UI messages."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.json.pointers import escape_token
from weftwork.protocol.surfaces.a2ui.markdown import escape_markdown
from weftwork.protocol.surfaces.a2ui.vocabulary import (
    BASIC_CATALOG_ID,
    EVENTS,
    NEVER,
    OPENWOP_CATALOG_ID,
    ROOT,
    TITLE,
    VALUES,
    VERSIONS,
    Catalog,
    Diagnostic,
    Escape,
    Version,
)
from weftwork.protocol.surfaces.surface import (
    Button,
    CheckboxField,
    DateField,
    Field,
    Heading,
    SelectField,
    Surface,
    Text,
    TextField,
    parse_surface,
)

Json = dict[str, Any]
MAX_HEADING: Final = 5
"""The basic catalogue has headings h1 to h5."""
ARRIVING: Final = "This form is still arriving."
"""Why the buttons of a partial surface do not work."""
REQUIRED: Final = "This field must be filled in."


def to_messages(
    payload: Json | Surface,
    *,
    surface_id: str,
    version: Version = "0.9.1",
    catalog: Catalog = "basic",
    escape: Escape = "markdown",
    agent_display_name: str | None = None,
    content_trust: Literal["trusted", "untrusted"] | None = None,
    disabled_actions: Mapping[str, str] | None = None,
    partial: bool = False,
    create: bool = True,
) -> list[Json]:
    """surf-40 (A2UI 0.9.1): the messages that make a client show a surface: create, components, values.

    `payload` is the payload of an envelope of the kind `ui.a2ui-surface`, within the limits of the host. Its reasoning
    is not exported. Raises ValueError if it is not a surface of a known catalogue version.

    `agent_display_name` and `content_trust` come from the host, never from the payload. `disabled_actions` has the
    reason for each button that does not work, by the id of the button. With `partial`, no button works and there are no
    values; when the surface is complete, send its messages with `create=False`, because A2UI refuses to create a
    surface twice.
    """
    surface = payload if isinstance(payload, Surface) else parse_surface(payload)
    if surface is None:
        raise ValueError("The payload is not a surface of the catalogue version 0.9.1.")
    if version not in VERSIONS:
        raise ValueError(f"The version must be one of {', '.join(VERSIONS)}.")
    disabled = {each.id: ARRIVING for each in surface.buttons} if partial else dict(disabled_actions or {})
    basic = catalog == "basic"
    wire = f"v{version}"
    messages: list[Json] = []
    if create:
        created: Json = {
            "surfaceId": surface_id,
            "catalogId": BASIC_CATALOG_ID if basic else OPENWOP_CATALOG_ID,
        }
        theme = _basic_theme(agent_display_name, content_trust) if basic else _theme(agent_display_name, content_trust)
        messages.append({"version": wire, "createSurface": {**created, "theme": theme} if theme else created})
    components = _BasicComponents(surface, escape, disabled).build() if basic else _components(surface, disabled)
    messages.append({"version": wire, "updateComponents": {"surfaceId": surface_id, "components": components}})
    if not partial:
        values = {"values": {each.id: _initial_value(each) for each in surface.fields}}
        messages.append({"version": wire, "updateDataModel": {"surfaceId": surface_id, "path": "/", "value": values}})
    return messages


def export_losses(
    payload: Json | Surface, *, surface_id: str, catalog: Catalog = "basic", escape: Escape = "markdown"
) -> list[Diagnostic]:
    """What a client of this catalogue shows differently: headings of level 6, placeholders, texts with escapes.

    `path` of a loss is a pointer into the payload. The catalogue `openwop` loses nothing.
    """
    surface = payload if isinstance(payload, Surface) else parse_surface(payload)
    if surface is None or catalog == "openwop":
        return []
    found: list[Diagnostic] = []

    def lose(index: int, member: str, message: str) -> None:
        found.append(Diagnostic(surface_id, f"/surface/components/{index}/{member}", message, is_loss=True))

    for index, each in enumerate(surface.components):
        if isinstance(each, Heading) and each.level > MAX_HEADING:
            lose(index, "level", f"The basic catalogue has no heading of this level; it became level {MAX_HEADING}.")
        elif isinstance(each, TextField) and each.placeholder is not msgspec.UNSET:
            lose(index, "placeholder", "The basic catalogue has no placeholder; it became the accessible description.")
        elif isinstance(each, Text | Button):
            text = each.text if isinstance(each, Text) else each.label
            member = "text" if isinstance(each, Text) else "label"
            if escape == "markdown" and escape_markdown(text) != text:
                lose(index, member, "The text has Markdown escapes, which a renderer without Markdown shows.")
            if escape == "none" and escape_markdown(text) != text:
                lose(index, member, "The text has no Markdown escapes, so a renderer with Markdown can change it.")
    return found


def field_path(field_id: str) -> str:
    """Where the data model has the value of a field."""
    return f"{VALUES}/{escape_token(field_id)}"


class _BasicComponents:
    """The components of a surface in the basic catalogue: a column of them, in their order."""

    def __init__(self, surface: Surface, escape: Escape, disabled: Mapping[str, str]) -> None:
        self._surface = surface
        self._escape: Callable[[str], str] = escape_markdown if escape == "markdown" else str
        self._disabled = disabled
        self._missing = [_required_check(each) for each in surface.fields if _is_required(each)]

    def build(self) -> list[Json]:
        built: list[Json] = []
        if isinstance(self._surface.title, str):
            built.append({"id": TITLE, "component": "Text", "text": self._surface.title, "variant": "h3"})
        children = [each["id"] for each in built]
        for number, component in enumerate(self._surface.components, 1):
            name = f"c{number}"
            children.append(name)
            built += self._convert(component, name)
        return [{"id": ROOT, "component": "Column", "children": children}, *built]

    def _convert(self, component: Any, name: str) -> list[Json]:
        match component:
            case Heading(text=text, level=level):
                # Renderers show headings without Markdown, so there is nothing to escape.
                return [{"id": name, "component": "Text", "text": text, "variant": f"h{min(level, MAX_HEADING)}"}]
            case Text(text=text):
                return [{"id": name, "component": "Text", "text": self._escape(text), "variant": "body"}]
            case Button():
                return self._button(component, name)
            case _:
                return [self._field(component, name)]

    def _field(self, field: Field, name: str) -> Json:
        common: Json = {"id": name, "label": field.label, "value": {"path": field_path(field.id)}}
        if _is_required(field):
            common["checks"] = [_required_check(field)]
        match field:
            case TextField(placeholder=placeholder):
                if isinstance(placeholder, str):
                    common["accessibility"] = {"description": placeholder}
                return {"component": "TextField", "variant": "shortText", **common}
            case DateField():
                return {"component": "DateTimeInput", "enableDate": True, "enableTime": False, **common}
            case SelectField(options=options):
                listed = [{"label": each.label, "value": each.value} for each in options]
                return {"component": "ChoicePicker", "variant": "mutuallyExclusive", "options": listed, **common}
            case CheckboxField():
                return {"component": "CheckBox", **common}

    def _button(self, button: Button, name: str) -> list[Json]:
        label = {"id": f"{name}-label", "component": "Text", "text": self._escape(button.label), "variant": "body"}
        checks = list(self._missing)
        if (reason := self._disabled.get(button.id)) is not None:
            # surf-42: a check that never holds is how A2UI disables a button.
            checks = [{"condition": NEVER, "message": reason}]
        built: Json = {
            "id": name,
            "component": "Button",
            "child": label["id"],
            "action": _action(button),
            "variant": "primary" if button.action.target == "resume" else "default",
        }
        return [{**built, "checks": checks} if checks else built, label]


def _components(surface: Surface, disabled: Mapping[str, str]) -> list[Json]:
    """surf-46: the components in the catalogue of OpenWOP, which has the same members."""
    root: Json = {"id": ROOT, "component": "surface", "children": []}
    if isinstance(surface.title, str):
        root["title"] = surface.title
    built: list[Json] = [root]
    for number, each in enumerate(surface.components, 1):
        name = f"c{number}"
        root["children"].append(name)
        members: Json = msgspec.to_builtins(each)
        match each:
            case Heading() | Text():
                pass
            case Button():
                del members["id"]
                members["action"] = _action(each)
                if (reason := disabled.get(each.id)) is not None:
                    members["disabledReason"] = reason
            case _:
                members["fieldId"] = members.pop("id")
                if isinstance(each, SelectField):
                    members["options"] = list(members["options"])
                members["value"] = {"path": field_path(each.id)}
        built.append({**members, "id": name})
    return built


def _action(button: Button) -> Json:
    context = {"actionId": button.id, "values": {"path": VALUES}}
    return {"event": {"name": EVENTS[button.action.target], "context": context}}


def _is_required(field: Field) -> bool:
    return not isinstance(field, CheckboxField) and field.required


def _required_check(field: Field) -> Json:
    condition = {"call": "required", "args": {"value": {"path": field_path(field.id)}}, "returnType": "boolean"}
    return {"condition": condition, "message": REQUIRED}


def _initial_value(field: Field) -> Any:
    match field:
        case CheckboxField(default=default):
            return default
        case SelectField():
            return []
        case _:
            return ""


def _theme(name: str | None, trust: str | None) -> Json:
    theme: Json = {} if name is None else {"agentDisplayName": name}
    return theme if trust is None else {**theme, "contentTrust": trust}


def _basic_theme(name: str | None, trust: str | None) -> Json:
    """surf-47: the identity that the host states. The basic catalogue can state trust only in the name of the agent."""
    if trust == "untrusted":
        name = f"{name or 'Agent'} (untrusted content)"
    return {} if name is None else {"agentDisplayName": name}
