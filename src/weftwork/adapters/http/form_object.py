"""Forms of objects: a field for each member that a schema names."""

from typing import Any, Final

import msgspec

from weftwork.adapters.http.form_field import Empty, Field, Room, field_for, numbered
from weftwork.protocol.json_value import is_array, is_object

MAX_FIELDS: Final = 50
_BEYOND: Final = frozenset(
    "allOf anyOf oneOf not if patternProperties propertyNames minProperties dependentSchemas enum const".split()
)
"""Keywords of objects that are more than a list of members: such an answer is written as JSON."""


class Members(msgspec.Struct, frozen=True):
    """The fields of an object, and the members that need no asking."""

    fields: tuple[Field, ...]
    base: dict[str, Any]


def fields_of(schema: dict[str, Any], given: dict[str, Any]) -> Members | None:
    """A field for each member of an object; None if the schema asks for something else.

    `given` are members that are known. So are those for which the schema leaves one value.
    """
    root = followed(schema, schema)
    properties = root.get("properties")
    required = root.get("required", [])
    if root.get("type") != "object" or not is_object(properties) or not 0 < len(properties) <= MAX_FIELDS:
        return None
    if _BEYOND & root.keys() or not is_array(required) or not {*required} <= {*properties, *given}:
        return None
    base, fields, room = dict(given), list[Field](), Room()
    for index, (name, inner) in enumerate(properties.items()):
        member = followed(inner, schema) if is_object(inner) else {}
        if name in given:
            continue
        if inner is False or "const" in member:
            base |= {} if inner is False else {name: member["const"]}
            continue
        title = member.get("title")
        empty: Empty = "refuse" if name in required else "omit"
        label = title if isinstance(title, str) and title.strip() else name
        fields.append(field_for(f"f{index}", label if label.strip() else "?", member, (name,), empty, room))
    return Members(numbered(fields), base)


def followed(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema with the references at its top written out; `$defs` come along for those below."""
    found, definitions = schema, root.get("$defs", {})
    for _ in range(len(definitions)):
        # There is no circle in a schema that was checked: each definition is entered once.
        if "$ref" not in found:
            break
        beside = {keyword: value for keyword, value in found.items() if keyword != "$ref"}
        target = definitions[found["$ref"].removeprefix("#/$defs/")]
        if not is_object(target) or target.keys() & beside.keys():
            break
        found = {**target, **beside}
    return {**found, "$defs": definitions} if definitions and found is not root else found
