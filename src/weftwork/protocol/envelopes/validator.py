"""Validates documents against a schema and explains violations without quoting the document.

Theory of operation. Nearly every document is valid, and then one compiled check is enough. The explanation of an
invalid document must not quote it, so messages are built from the schema. A member name can be a secret too, so a
pointer ends before the first name that the schema does not declare. For a tagged union (alternatives that differ in the
value of one member), only the alternative that the tag selects is explained. The compiled validator would try every
alternative, at many times the cost.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Final

from jsonschema_rs import Draft202012Validator

from weftwork.protocol.envelopes.outcome import OutcomeDetail
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.json.pointers import escape_token, split_pointer
from weftwork.protocol.json.schema import ErrorPath, compile_schema, explain_error, first_error, is_small
from weftwork.protocol.json.values import is_array, is_object

_LOCAL: Final = "#/$defs/"

Json = dict[str, Any]

_UNKNOWN_MEMBER_RULES: Final = ("additionalProperties", "unevaluatedProperties")
MAX_DETAILS: Final = 20


class DocumentValidator:
    """Validates values against one schema. `own` is false for a schema that a caller registered; such a schema is
    evaluated at a bounded cost."""

    def __init__(self, schema: dict[str, Any], own: bool = True) -> None:
        self._schema = schema
        self._own_schema = own

    def is_valid(self, value: Any) -> bool:
        """Whether the value is valid. Never raises: a value that is not JSON is invalid."""
        try:
            return self._validator.is_valid(value) if self._own_schema else not check_value(self._schema, value, "")
        except (ValueError, HostFault):
            return False

    def error_details(self, value: Any, at: str) -> tuple[OutcomeDetail, ...]:
        """env-17: the violations of an invalid value, with pointers below `at`. Always between 1 and 20."""
        try:
            details = self._own_details(value, at) if self._own_schema else self._caller_details(value, at)
        except (ValueError, HostFault):
            details = ()
        return details or (OutcomeDetail(at, "#", "schema", "does not match its schema"),)

    def _own_details(self, value: Any, at: str) -> tuple[OutcomeDetail, ...]:
        validator, origins = self._explaining_validator
        errors = validator.iter_errors(value) if is_small(value) else first_error(validator, value)
        places = islice((place for error in errors for place in explain_error(error)), MAX_DETAILS)
        details = (
            self._detail(value, at, path, _schema_pointer(where, origins), rule, message)
            for path, where, rule, message in places
        )
        return tuple(dict.fromkeys(details))

    def _caller_details(self, value: Any, at: str) -> tuple[OutcomeDetail, ...]:
        violations = check_value(self._schema, value, "")[:MAX_DETAILS]
        details = (
            self._detail(value, at, split_pointer(each.pointer), "#", each.rule, each.message) for each in violations
        )
        return tuple(dict.fromkeys(details))

    def _detail(
        self, value: Any, at: str, path: Iterable[str | int], where: str, rule: str, message: str
    ) -> OutcomeDetail:
        steps = tuple(map(str, path))
        shown = self._known_steps(value, steps)
        if len(shown) == len(steps) - 1 and rule in _UNKNOWN_MEMBER_RULES:
            message = "has a member that the schema does not allow"
        elif len(shown) < len(steps):
            message = f"has a member, not named here, with a value that {message}"
        return OutcomeDetail(at + "".join(f"/{escape_token(step)}" for step in shown), where, rule, message)

    def _known_steps(self, value: Any, steps: tuple[str, ...]) -> tuple[str, ...]:
        """The steps into the value, up to the first member name that the schema does not declare."""
        for count, step in enumerate(steps):
            # A numeric step is an index only in an array; in an object it is a member name.
            if is_array(value) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            elif step in self._names:
                value = value.get(step) if is_object(value) else None
            else:
                return steps[:count]
        return steps

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return compile_schema(self._schema)

    @cached_property
    def _explaining_validator(self) -> tuple[Draft202012Validator, dict[str, ErrorPath]]:
        """An equivalent validator with shorter explanations, and the origin of each definition that it adds."""
        expanded, origins = expand_tagged_unions(self._schema)
        return compile_schema(expanded), origins

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(_property_names(self._schema))


def _schema_pointer(where: ErrorPath, origins: dict[str, ErrorPath]) -> str:
    if len(where) > 1 and where[1] in origins:
        where = origins[str(where[1])]
    return "#" + "".join(f"/{escape_token(str(step))}" for step in where)


def _property_names(schema: Any) -> Iterator[str]:
    if is_object(schema):
        properties = schema.get("properties")
        if is_object(properties):
            yield from properties
        for each in schema.values():
            yield from _property_names(each)
    elif is_array(schema):
        for each in schema:
            yield from _property_names(each)


def expand_tagged_unions(schema: Json) -> tuple[Json, dict[str, ErrorPath]]:
    """Rewrite every tagged union of the schema as an enum of the tags with one if/then per alternative.

    The result accepts the same values. The added definitions are in `$defs`; the second result maps their names to the
    path of the `anyOf` that each one replaces.
    """
    expansion = _TagExpansion(schema)
    written = expansion.expand(schema, ())
    definitions = {**written.get("$defs", {}), **expansion.added}
    return {**written, "$defs": definitions}, expansion.origins


class _TagExpansion:
    def __init__(self, root: Json) -> None:
        self._definitions: Json = root.get("$defs", {})
        self.added: Json = {}
        self.origins: dict[str, ErrorPath] = {}

    def expand(self, schema: Any, where: ErrorPath) -> Any:
        if is_array(schema):
            return [self.expand(each, (*where, index)) for index, each in enumerate(schema)]
        if not is_object(schema):
            return schema
        written = {name: self.expand(each, (*where, name)) for name, each in schema.items()}
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
        """The member whose value differs in every form, or None if there is no such member."""
        if not is_array(forms) or not forms:
            return None
        for tag in self._resolve_form(forms[0]).get("properties", {}):
            values = self._values(forms, tag)
            if None not in values and len(set(values)) == len(forms):
                return tag
        return None

    def _values(self, forms: list[Any], tag: str) -> list[str | None]:
        return [self._value(self._resolve_form(form), tag) for form in forms]

    def _value(self, form: Json, tag: str) -> str | None:
        if form.get("type") != "object" or tag not in form.get("required", ()):
            return None
        options = form.get("properties", {}).get(tag, {}).get("enum", ())
        return options[0] if len(options) == 1 and isinstance(options[0], str) else None

    def _resolve_form(self, form: Any) -> Json:
        reference = form.get("$ref") if is_object(form) else None
        if isinstance(reference, str):
            form = self._definitions.get(reference.removeprefix(_LOCAL))
        return form if is_object(form) else {}
