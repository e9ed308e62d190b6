"""A JSON Schema as text: one line per member, and a sample value. Accepts any value that a host may send."""

from collections.abc import Iterator
from json import dumps
from typing import Any, Final

from weftwork.cli.console.text import clean
from weftwork.protocol.json.values import is_array, is_object

MAX_DEPTH: Final = 4
_RANGES: Final = {
    ("minimum", "maximum"): "",
    ("minLength", "maxLength"): " characters",
    ("minItems", "maxItems"): " items",
}


class SchemaText:
    """A schema; its `$ref`s are resolved only within the `$defs` of the root schema."""

    def __init__(self, shape: Any, root: Any = None) -> None:
        self._root: dict[str, Any] = (root if root is not None else shape) if is_object(shape) else {}
        self.shape = self._resolve(shape)
        """The schema with its `$ref` resolved."""

    def rows(self, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str, str, str]]:
        """Name, type with bounds, default or `required`, and description of each member, nested members included."""
        required = self._get("required", list)
        for name, shape in self._get("properties", dict).items():
            inner = SchemaText(shape, self._root)
            default = "required" if name in required else ""
            if "default" in inner.shape:
                default = dumps(inner.shape["default"], ensure_ascii=False)
            yield f"{prefix}{name}", inner.type_text(), default, inner.description()
            if depth < MAX_DEPTH:
                yield from inner.rows(f"{prefix}{name}.", depth + 1)
        items = self.shape.get("items")
        if is_object(items) and prefix and depth < MAX_DEPTH:
            yield from SchemaText(items, self._root).rows(f"{prefix.rstrip('.')}[].", depth + 1)

    @property
    def is_open(self) -> bool:
        """Whether additional members are allowed."""
        return self.shape.get("additionalProperties", True) is not False

    def description(self) -> str:
        return str(self.shape.get("description") or "")

    def type_text(self, depth: int = 0) -> str:
        """The type in words."""
        if "const" in self.shape:
            return dumps(self.shape["const"], ensure_ascii=False)
        if choices := self._get("enum", list):
            return " or ".join(dumps(value, ensure_ascii=False) for value in choices)
        branches = self._get("anyOf", list) or self._get("oneOf", list)
        if branches and depth < MAX_DEPTH:
            return " or ".join(dict.fromkeys(SchemaText(each, self._root).type_text(depth + 1) for each in branches))
        type_name = self.shape.get("type", "any")
        text = " or ".join(map(str, type_name)) if is_array(type_name) else str(type_name)
        items = self.shape.get("items")
        if type_name == "array" and is_object(items) and depth < MAX_DEPTH:
            text = f"array of {SchemaText(items, self._root).type_text(depth + 1)}"
        return ", ".join([text, *self._bounds()])

    def sample(self, depth: int = 0) -> Any:
        """A value that fits: an example, enum value, default or const of the schema, or a small value of its type."""
        for keyword in ("examples", "enum"):
            if values := self._get(keyword, list):
                return values[0]
        for keyword in ("default", "const"):
            if keyword in self.shape:
                return self.shape[keyword]
        branches = self._get("anyOf", list) or self._get("oneOf", list)
        if branches and depth < MAX_DEPTH:
            return SchemaText(branches[0], self._root).sample(depth + 1)
        kind = self.shape.get("type")
        kind = kind[0] if is_array(kind) and kind else kind
        if kind == "object" and depth < MAX_DEPTH:
            members = self._get("properties", dict)
            named = self._get("required", list) or ([] if depth else list(members)[:1])
            return {
                name: SchemaText(members.get(name, {}), self._root).sample(depth + 1)
                for name in named
                if isinstance(name, str)
            }
        if kind in ("number", "integer"):
            return self._number()
        small: dict[str, Any] = {"boolean": True, "array": [], "null": None, "object": {}}
        return small.get(str(kind), "text")

    def _number(self) -> Any:
        minimum, maximum = self.shape.get("minimum"), self.shape.get("maximum")
        if isinstance(minimum, int | float) and minimum > 1:
            return minimum
        return maximum if isinstance(maximum, int | float) and maximum < 1 else 1

    def _bounds(self) -> Iterator[str]:
        for (minimum, maximum), unit in _RANGES.items():
            low, high = self.shape.get(minimum), self.shape.get(maximum)
            if high is not None:
                yield f"{low if low is not None else 'up'} to {high}{unit}"
            elif low is not None:
                yield f"{low} or more{unit}"

    def _get(self, keyword: str, kind: type) -> Any:
        value = self.shape.get(keyword)
        return value if isinstance(value, kind) else kind()

    def _resolve(self, shape: Any) -> dict[str, Any]:
        for _ in range(MAX_DEPTH):
            reference = shape.get("$ref") if is_object(shape) else None
            if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
                break
            definitions = self._root.get("$defs")
            definition = definitions.get(reference.removeprefix("#/$defs/")) if is_object(definitions) else None
            shape = {**definition, **{k: v for k, v in shape.items() if k != "$ref"}} if is_object(definition) else {}
        return shape if is_object(shape) else {}


MAX_SCHEMA_TEXT: Final = 300
_MAX_PROBLEMS: Final = 5


def schema_problems(schema: dict[str, Any], value: Any) -> list[str]:
    """Printable violations of the schema. Empty if the value fits, or if only the host can check the schema."""
    # Imported late: it loads the JSON Schema validator.
    from weftwork.protocol.json.caller_schema import check_caller_schema, check_value

    if not schema or check_caller_schema(schema, ""):
        return []
    violations = check_value(schema, value, "")
    return [
        f"{f'{clean(each.pointer, 200)} ' if each.pointer else 'it '}{clean(each.message, MAX_SCHEMA_TEXT)}"
        for each in violations[:_MAX_PROBLEMS]
    ]
