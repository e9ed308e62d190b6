"""Tagged forms: a choice of forms of which each has its own value in one member."""

from typing import Any, Final

from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.schema import Path

_LOCAL: Final = "#/$defs/"

Json = dict[str, Any]


def with_tags(schema: Json) -> tuple[Json, dict[str, Path]]:
    """The schema with every choice of tagged forms written as: one of the tags, and the form that goes with it.

    It takes and refuses the same values. What was added stands in `$defs`, under names that are given with the place
    of the choice they stand for.
    """
    made = _Writing(schema)
    written = made.write(schema, ())
    definitions = {**written.get("$defs", {}), **made.added}
    return {**written, "$defs": definitions}, made.origins


class _Writing:
    def __init__(self, root: Json) -> None:
        self._definitions: Json = root.get("$defs", {})
        self.added: Json = {}
        self.origins: dict[str, Path] = {}

    def write(self, schema: Any, where: Path) -> Any:
        if is_array(schema):
            return [self.write(each, (*where, index)) for index, each in enumerate(schema)]
        if not is_object(schema):
            return schema
        written = {name: self.write(each, (*where, name)) for name, each in schema.items()}
        tag = self._tag(schema.get("anyOf"))
        if tag is None or "allOf" in schema:
            return written
        name = f"tagged-{len(self.added)}"
        self.origins[name] = (*where, "anyOf")
        forms: dict[str | None, Any] = dict(zip(self._values(schema["anyOf"], tag), written.pop("anyOf"), strict=True))
        chosen = {"type": "object", "required": [tag]}
        self.added[name] = {
            **chosen,
            "properties": {tag: {"enum": list(forms)}},
            "allOf": [
                {"if": {**chosen, "properties": {tag: {"const": value}}}, "then": form} for value, form in forms.items()
            ],
        }
        return {**written, "allOf": [{"$ref": f"{_LOCAL}{name}"}]}

    def _tag(self, forms: Any) -> str | None:
        """The member by which all the forms are told apart, if there is one."""
        if not is_array(forms) or not forms:
            return None
        for tag in self._form(forms[0]).get("properties", {}):
            values = self._values(forms, tag)
            if None not in values and len(set(values)) == len(forms):
                return tag
        return None

    def _values(self, forms: list[Any], tag: str) -> list[str | None]:
        return [self._value(self._form(form), tag) for form in forms]

    def _value(self, form: Json, tag: str) -> str | None:
        if form.get("type") != "object" or tag not in form.get("required", ()):
            return None
        options = form.get("properties", {}).get(tag, {}).get("enum", ())
        return options[0] if len(options) == 1 and isinstance(options[0], str) else None

    def _form(self, form: Any) -> Json:
        reference = form.get("$ref") if is_object(form) else None
        if isinstance(reference, str):
            form = self._definitions.get(reference.removeprefix(_LOCAL))
        return form if is_object(form) else {}
