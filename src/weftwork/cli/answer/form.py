"""The form for an interrupt that is not an approval: its fields, and the answer built from their values.

A field has a schema. It describes in words which values it accepts, and parses typed text into a value.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import click
import msgspec

from weftwork.cli.console.documents import as_list, as_object, objects
from weftwork.cli.console.option_values import json_or_text
from weftwork.cli.console.text import clean
from weftwork.cli.render.schema_text import MAX_SCHEMA_TEXT, SchemaText, schema_problems
from weftwork.protocol.json.values import is_array, is_object

YES: Final = ("y", "yes", "true")
NO: Final = ("n", "no", "false")


class InvalidAnswer(Exception):
    """The typed text is not a valid value. The message says why and is safe to print."""


class AnswerField(msgspec.Struct, frozen=True):
    """One field of a form. The name is empty if the field is the whole answer. The schema comes from the host and may
    be any JSON object."""

    name: str
    label: str = ""
    schema: dict[str, Any] = {}
    required: bool = True
    default: Any = msgspec.UNSET
    """The value of a field that is left empty."""

    @property
    def kind(self) -> str:
        """choice, boolean, text, list or any."""
        shape = self._shape
        if is_array(shape.get("enum")) and shape["enum"]:
            return "choice"
        named = shape.get("type")
        return {"boolean": "boolean", "string": "text", "array": "list"}.get(str(named), "any")

    @property
    def choices(self) -> list[Any]:
        return self._shape["enum"] if self.kind == "choice" else []

    @property
    def is_numbered(self) -> bool:
        """Whether choices can be selected by number. False if a choice is itself a number, which would be ambiguous."""
        return not any(as_text(each).strip().lstrip("-").isdigit() for each in self.choices)

    def hint(self) -> str:
        """Which values the field accepts, in words. Choices are listed separately."""
        hints = {"choice": "", "boolean": "y or n", "text": "", "list": "separated by commas, or a JSON array"}
        hint = hints.get(self.kind, clean(SchemaText(self.schema).type_text(), MAX_SCHEMA_TEXT) if self.schema else "")
        bounds = (
            clean(SchemaText(self.schema).type_text(), MAX_SCHEMA_TEXT).partition(", ")[2]
            if self.kind in ("text", "list")
            else ""
        )
        notes = [hint, bounds, "" if self.required else "optional"]
        if self.default is not msgspec.UNSET:
            notes.append(f"default: {clean(as_text(self.default), 80)}")
        return "; ".join(each for each in notes if each and each != "any")

    def parse(self, text: str, by_number: bool = False) -> Any:
        """The value of the typed text. Raises InvalidAnswer."""
        value = self._parse_choice(text, by_number) if self.kind == "choice" else self._parse_text(text)
        if problems := schema_problems(self.schema, value):
            raise InvalidAnswer("; ".join(problems))
        return value

    def _parse_choice(self, text: str, by_number: bool) -> Any:
        typed = text.strip()
        for each in self.choices:
            if typed in (as_text(each), json.dumps(each)) or (each is not None and text == each):
                return each
        if by_number and self.is_numbered and typed.isascii() and typed.isdigit() and len(typed) < 6:
            number = int(typed)
            if 1 <= number <= len(self.choices):
                return self.choices[number - 1]
        raise InvalidAnswer("not one of the choices")

    def _parse_text(self, text: str) -> Any:
        typed = text.strip()
        if self.kind == "text":
            return text
        if self.kind == "boolean":
            if typed.lower() in (*YES, *NO):
                return typed.lower() in YES
            raise InvalidAnswer("enter y or n")
        if self.kind == "list" and not typed.startswith("["):
            items = self._shape.get("items")
            each = AnswerField("", schema=subschema(self.schema, items) if is_object(items) else {})
            return [each.parse(piece.strip()) for piece in typed.split(",")] if typed else []
        try:
            return json_or_text("it", text.encode("utf-8", "surrogateescape"))
        except click.UsageError as error:
            raise InvalidAnswer(error.message) from None

    @property
    def _shape(self) -> dict[str, Any]:
        return SchemaText(self.schema).shape


def as_text(value: Any) -> str:
    """A value as a person would type it: a string unquoted, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def subschema(root: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """A nested schema with the `$defs` of its root, so that its references resolve."""
    return {**part, "$defs": root["$defs"]} if "$defs" in root and "$defs" not in part else part


_WHOLE_ANSWER: Final = "the answer"
TEXT_SCHEMA: Final = {"type": "string"}
"""The schema of an answer if the interrupt has none, as on the answer page: `36` and `true` are text."""
_TEXT_KINDS: Final = ("conversation.exchange", "custom")
"""Kinds whose answer is text if the interrupt has no schema."""


class AnswerForm(msgspec.Struct, frozen=True):
    """The fields in the order of prompting, and where their values go in the answer."""

    fields: tuple[AnswerField, ...]
    schema: dict[str, Any] = {}
    """The schema of the whole answer."""
    constants: dict[str, Any] = {}
    """Members of the answer that have a fixed value and need no prompt."""
    nested_under: str = ""
    """The member of the answer that holds the values; empty if the values are the answer's own members."""
    is_open: bool = False
    """Whether the answer may have members that the form does not name."""

    @property
    def is_whole(self) -> bool:
        """Whether the only field is the whole answer."""
        return len(self.fields) == 1 and not self.fields[0].name

    def field(self, name: str) -> AnswerField:
        """The field with this name. Raises InvalidAnswer if there is no such field."""
        for each in self.fields:
            if each.name == name and name:
                return each
        if self.is_open and name:
            return AnswerField(name)
        names = ", ".join(clean(each.name, 60) for each in self.fields[:20] if each.name)
        expected = f"its fields are {names}" if names else "it expects a single value; pass it with --value"
        raise InvalidAnswer(f"the interrupt has no field {clean(name, 60)}; {expected}")

    def answer(self, values: Mapping[str, Any]) -> Any:
        """The value to send, built from the values of the fields."""
        if self.is_whole and "" in values:
            value = values[""]
            return {**self.constants, **value} if self.constants and is_object(value) else value
        return (
            {**self.constants, self.nested_under: dict(values)} if self.nested_under else {**self.constants, **values}
        )


def build_form(interrupt: dict[str, Any]) -> AnswerForm:
    """The form for an interrupt of any kind from any OpenWOP host."""
    data, schema = as_object(interrupt.get("data")), as_object(interrupt.get("resumeSchema"))
    kind = interrupt.get("kind")
    if kind == "clarification":
        rows = [each for each in objects(data.get("questions")) if isinstance(each.get("id"), str) and each["id"]]
        schemas = [each["schema"] if is_object(each.get("schema")) else TEXT_SCHEMA for each in rows]
        if rows:
            texts = [str(each.get("question", "")) for each in rows]
            fields = map(AnswerField, [each["id"] for each in rows], texts, schemas)
            return AnswerForm(tuple(fields), schema, nested_under="answers")
    if kind == "conversation.exchange" and is_object(data.get("outcomeSchema")):
        schema = schema or data["outcomeSchema"]
    if kind == "external-event" and is_object(data.get("correlation")):
        return _event_form(data["correlation"], schema)
    fields, constants = _members(schema)
    if fields:
        return AnswerForm(fields, schema, constants, is_open=SchemaText(schema).is_open)
    if kind in _TEXT_KINDS and not schema:
        label = f"{_WHOLE_ANSWER}, as text (pass JSON with --value)"
        return AnswerForm((AnswerField("", label, TEXT_SCHEMA),))
    ratified = kind == "low-confidence" and "decision" in data and not _is_hidden(data["decision"])
    default = data["decision"] if ratified else msgspec.UNSET
    return AnswerForm((AnswerField("", _WHOLE_ANSWER, schema, default=default),), schema)


def _is_hidden(value: Any) -> bool:
    """Whether the host has redacted part of the value, so that it must not be sent back."""
    return "[REDACTED:" in json.dumps(value)


def _event_form(correlation: dict[str, Any], schema: dict[str, Any]) -> AnswerForm:
    """The form for an external event. The correlation comes from the interrupt; the other members are prompted for."""
    if _is_hidden(correlation):
        return AnswerForm(
            (AnswerField("", "the event with its correlation, as a JSON object", {"type": "object"}),), schema
        )
    members, constants = _members(schema)
    fields = tuple(each for each in members if each.name not in correlation)
    if fields:
        return AnswerForm(fields, schema, {**constants, **correlation}, is_open=SchemaText(schema).is_open)
    rest = AnswerField("", "the other members of the event, as a JSON object", {"type": "object"}, default={})
    return AnswerForm((rest,), schema, correlation, is_open=True)


def _members(schema: dict[str, Any]) -> tuple[tuple[AnswerField, ...], dict[str, Any]]:
    """The fields of an object schema, and its members with a `const` value. Both are empty for any other schema."""
    shape = SchemaText(schema).shape
    if shape.get("type") != "object":
        return (), {}
    required = as_list(shape.get("required"))
    fields: list[AnswerField] = []
    constants: dict[str, Any] = {}
    for name, part in as_object(shape.get("properties")).items():
        member_schema = subschema(schema, part) if is_object(part) else {}
        inner = SchemaText(member_schema)
        if "const" in inner.shape:
            constants[name] = inner.shape["const"]
        elif name:
            default = inner.shape.get("default", msgspec.UNSET)
            fields.append(AnswerField(name, inner.description(), member_schema, name in required, default))
    return tuple(fields), constants
