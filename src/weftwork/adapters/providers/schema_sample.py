"""Makes a small value for a JSON Schema: the answer of the scripted provider to a request for structured output."""

import math
from collections.abc import Mapping
from typing import Any, Final

from weftwork.protocol.json.values import is_array, is_object

SAMPLE_TEXT: Final = "scripted"
MAX_VALUES: Final = 500
MAX_ITEMS: Final = 100
MAX_DEPTH: Final = 32
MAX_LENGTH: Final = 4096
_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "email": "scripted@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def sample_value(schema: Mapping[str, Any]) -> Any:
    """A deterministic value for a schema: its const, default, first example or first enum value, else the smallest
    value of the type, with only the required members.

    Patterns, `not`, conditions and contradictions are ignored, so the value may not match the schema.
    """
    return _Sampler(schema).value(schema, 0)


class _Sampler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._values_left = MAX_VALUES

    def value(self, schema: Any, depth: int) -> Any:
        self._values_left -= 1
        if not is_object(schema) or depth > MAX_DEPTH or self._values_left < 0:
            return None
        schema = self._merged_schema(schema, depth)
        if "const" in schema:
            return schema["const"]
        if "default" in schema:
            return schema["default"]
        for name in ("examples", "enum"):
            listed = schema.get(name)
            if is_array(listed) and listed:
                return listed[0]
        return self._of_type(schema, depth)

    def _merged_schema(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """The schema merged with its $ref, all of allOf, and the first of anyOf and oneOf."""
        parts: list[Any] = []
        reference = schema.get("$ref")
        if isinstance(reference, str):
            parts.append(self._definition(reference))
        for name in ("allOf", "anyOf", "oneOf"):
            listed = schema.get(name)
            if is_array(listed):
                parts += listed if name == "allOf" else listed[:1]
        merged = {name: value for name, value in schema.items() if name not in ("$ref", "allOf", "anyOf", "oneOf")}
        for part in parts:
            self._values_left -= 1
            if is_object(part) and depth <= MAX_DEPTH and self._values_left > 0:
                merged = _merge(merged, self._merged_schema(part, depth + 1))
        return merged

    def _definition(self, reference: str) -> Any:
        target: Any = self._root
        for token in reference.removeprefix("#").split("/")[1:]:
            target = target.get(token.replace("~1", "/").replace("~0", "~")) if is_object(target) else None
        return target

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        match _type_of(schema):
            case "object":
                properties = schema.get("properties")
                members: dict[str, Any] = properties if is_object(properties) else {}
                required = schema.get("required")
                names = [name for name in required if isinstance(name, str)] if is_array(required) else []
                return {name: self.value(members.get(name, {}), depth + 1) for name in names[:MAX_VALUES]}
            case "array":
                prefix_items = schema.get("prefixItems")
                first: list[Any] = prefix_items if is_array(prefix_items) else []
                count = min(_integer_bound(schema, "minItems", 0), MAX_ITEMS)
                shapes = [first[index] if index < len(first) else schema.get("items", {}) for index in range(count)]
                return [self.value(shape, depth + 1) for shape in shapes]
            case "string":
                return _sample_text(schema)
            case "integer":
                return math.ceil(_minimum(schema, 1))
            case "number":
                return _minimum(schema, 0.5)
            case "boolean":
                return True
            case _:
                return None


def _merge(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    merged = {**other, **one}
    if is_object(one.get("properties")) and is_object(other.get("properties")):
        merged["properties"] = {**other["properties"], **one["properties"]}
    if is_array(one.get("required")) and is_array(other.get("required")):
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def _type_of(schema: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if is_array(kind):
        return next((each for each in kind if each != "null"), "null")
    if kind is None and ("properties" in schema or "required" in schema):
        return "object"
    return "string" if kind is None else kind


def _sample_text(schema: dict[str, Any]) -> str:
    text = _FORMATS.get(str(schema.get("format")), SAMPLE_TEXT)
    least = min(_integer_bound(schema, "minLength", 0), MAX_LENGTH)
    most = _integer_bound(schema, "maxLength", MAX_LENGTH)
    return text.ljust(least, ".")[: max(most, 0)]


def _minimum(schema: dict[str, Any], step: float) -> int | float:
    """The smallest value, 0 without bounds. `step` is added to an exclusive minimum; 1 means integers."""
    if (bound := _bound(schema, "exclusiveMinimum")) is not None:
        return math.floor(bound) + 1 if step == 1 else bound + step
    if (bound := _bound(schema, "minimum")) is not None:
        return bound
    if (bound := _bound(schema, "maximum")) is not None and bound < 0:
        return math.floor(bound) if step == 1 else bound
    return 0


def _bound(schema: dict[str, Any], name: str) -> int | float | None:
    value = schema.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integer_bound(schema: dict[str, Any], name: str, default: int) -> int:
    value = _bound(schema, name)
    return default if value is None else int(value)
