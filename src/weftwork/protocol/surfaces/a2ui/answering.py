"""An action that an A2UI client sends, as the id of a button and values by field id."""

from typing import Any, Final

from weftwork.protocol.errors import invalid
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.surfaces.surface import CheckboxField, DateField, SelectField, Surface, parse_surface

Json = dict[str, Any]
_DATE_LENGTH: Final = len("2026-01-31")


def fold_action(surface: Json | Surface, action: Any, *, surface_id: str | None = None) -> tuple[str, Json]:
    """surf-48 (A2UI 0.9.1, action): the id of the pressed button and the values of the fields.

    `surface` is the stored surface or its payload, and decides alone what an action can be: the name of the event is
    not looked at, and values without a field are dropped. `action` is the object that a client sends, or the message
    around it. With `surface_id`, an action of another surface is refused. Raises a `validation_error` for a malformed
    action and for a button that the surface does not have; `resolve_action` checks the values.
    """
    stored = surface if isinstance(surface, Surface) else parse_surface(surface)
    if stored is None:
        raise ValueError("The payload is not a surface of the catalogue version 0.9.1.")
    at = ""
    if is_object(action) and is_object(action.get("action")):
        action, at = action["action"], "/action"
    if not is_object(action):
        raise invalid("The action must be an object.", at)
    if surface_id is not None and action.get("surfaceId") != surface_id:
        raise invalid("The action belongs to another surface.", f"{at}/surfaceId")
    context = action.get("context")
    if not is_object(context):
        raise invalid("The context of the action must be an object.", f"{at}/context")
    action_id = context.get("actionId")
    names = [each.id for each in stored.buttons]
    if not isinstance(action_id, str) or action_id not in names:
        raise invalid("The form has no button with this id.", f"{at}/context/actionId", supported=names)
    values = context.get("values", {})
    if not is_object(values):
        raise invalid("The values must be an object, by the id of the field.", f"{at}/context/values")
    read: Json = {}
    for field in stored.fields:
        value = values.get(field.id)
        if isinstance(field, SelectField) and is_array(value) and len(value) < 2:
            # A2UI has a list for every choice, also where only one option can be chosen.
            value = value[0] if value else None
        if isinstance(field, DateField) and isinstance(value, str) and value[_DATE_LENGTH : _DATE_LENGTH + 1] == "T":
            value = value[:_DATE_LENGTH]
        if value is None or (value == "" and not isinstance(field, CheckboxField)):
            continue
        read[field.id] = value
    return action_id, read
