"""The fields of an interrupt that is not an approval: what each one takes, and the answer made of them.

A field knows its schema, says in words what it takes, and turns what a person writes into a value.
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

_YES: Final = ("y", "yes", "true")
_NO: Final = ("n", "no", "false")


class InvalidAnswer(Exception):
    """What was written cannot be the answer; the text says why, and can be printed."""


class AnswerField(msgspec.Struct, frozen=True):
    """What is asked under a name, which is empty for the answer itself. The schema is whatever a host sent."""

    name: str
    label: str = ""
    schema: dict[str, Any] = {}
    required: bool = True
    default: Any = msgspec.UNSET
    """What counts if nothing is written."""

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
        """Whether choices can be picked by their place: not where a number could be meant as a choice."""
        return not any(as_text(each).strip().lstrip("-").isdigit() for each in self.choices)

    def hint(self) -> str:
        """What may be written, as far as it is not shown as choices."""
        said = {"choice": "", "boolean": "y or n", "text": "", "list": "separated by commas, or a JSON array"}
        words = said.get(self.kind, clean(SchemaText(self.schema).type_text(), MAX_SCHEMA_TEXT) if self.schema else "")
        bounds = (
            clean(SchemaText(self.schema).type_text(), MAX_SCHEMA_TEXT).partition(", ")[2]
            if self.kind in ("text", "list")
            else ""
        )
        notes = [words, bounds, "" if self.required else "may be left out"]
        if self.default is not msgspec.UNSET:
            notes.append(f"{clean(as_text(self.default), 80)} if nothing is written")
        return "; ".join(each for each in notes if each and each != "any")

    def parse(self, text: str, by_number: bool = False) -> Any:
        """The value of what somebody wrote. Raises Unfit."""
        value = self._parse_choice(text, by_number) if self.kind == "choice" else self._parse_text(text)
        if wrong := schema_problems(self.schema, value):
            raise InvalidAnswer("; ".join(wrong))
        return value

    def _parse_choice(self, text: str, by_number: bool) -> Any:
        said = text.strip()
        for each in self.choices:
            if said in (as_text(each), json.dumps(each)) or (each is not None and text == each):
                return each
        if by_number and self.is_numbered and said.isascii() and said.isdigit() and len(said) < 6:
            place = int(said)
            if 1 <= place <= len(self.choices):
                return self.choices[place - 1]
        raise InvalidAnswer("that is none of the choices")

    def _parse_text(self, text: str) -> Any:
        said = text.strip()
        if self.kind == "text":
            return text
        if self.kind == "boolean":
            if said.lower() in (*_YES, *_NO):
                return said.lower() in _YES
            raise InvalidAnswer("answer y or n")
        if self.kind == "list" and not said.startswith("["):
            items = self._shape.get("items")
            each = AnswerField("", schema=subschema(self.schema, items) if is_object(items) else {})
            return [each.parse(piece.strip()) for piece in said.split(",")] if said else []
        try:
            return json_or_text("it", text.encode("utf-8", "surrogateescape"))
        except click.UsageError as error:
            raise InvalidAnswer(error.message) from None

    @property
    def _shape(self) -> dict[str, Any]:
        return SchemaText(self.schema).shape


def as_text(value: Any) -> str:
    """A value as somebody would write it: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def subschema(root: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """A schema inside another, with the definitions that it may refer to."""
    return {**part, "$defs": root["$defs"]} if "$defs" in root and "$defs" not in part else part


_WHOLE_ANSWER: Final = "the answer"
TEXT_SCHEMA: Final = {"type": "string"}
"""What somebody writes who is asked without a schema, as on the page: whoever writes 36 or true means these words."""
_TEXT_KINDS: Final = ("conversation.exchange", "custom")
"""Kinds that somebody answers in words, where no schema says otherwise."""


class AnswerForm(msgspec.Struct, frozen=True):
    """The fields in the order in which they are asked, and where their values go."""

    fields: tuple[AnswerField, ...]
    schema: dict[str, Any] = {}
    """What the whole answer has to fit."""
    constants: dict[str, Any] = {}
    """Members of the answer that nobody has to write."""
    nested_under: str = ""
    """The member of the answer that holds the values; empty if the answer does itself."""
    is_open: bool = False
    """Whether there may be members that it does not name."""

    @property
    def is_whole(self) -> bool:
        """Whether the one field is the answer itself."""
        return len(self.fields) == 1 and not self.fields[0].name

    def field(self, name: str) -> AnswerField:
        """The field of that name. Raises Unfit."""
        for each in self.fields:
            if each.name == name and name:
                return each
        if self.is_open and name:
            return AnswerField(name)
        names = ", ".join(clean(each.name, 60) for each in self.fields[:20] if each.name)
        wanted = f"it asks for {names}" if names else "it asks for one value: give it with --value"
        raise InvalidAnswer(f"the question has no {clean(name, 60)}; {wanted}")

    def answer(self, values: Mapping[str, Any]) -> Any:
        """The value to send for what was filled in."""
        if self.is_whole and "" in values:
            value = values[""]
            return {**self.constants, **value} if self.constants and is_object(value) else value
        return (
            {**self.constants, self.nested_under: dict(values)} if self.nested_under else {**self.constants, **values}
        )


def build_form(question: dict[str, Any]) -> AnswerForm:
    """The form for a question of any kind, of any host."""
    about, schema = as_object(question.get("data")), as_object(question.get("resumeSchema"))
    kind = question.get("kind")
    if kind == "clarification":
        rows = [each for each in objects(about.get("questions")) if isinstance(each.get("id"), str) and each["id"]]
        own = [each["schema"] if is_object(each.get("schema")) else TEXT_SCHEMA for each in rows]
        if rows:
            texts = [str(each.get("question", "")) for each in rows]
            asked = map(AnswerField, [each["id"] for each in rows], texts, own)
            return AnswerForm(tuple(asked), schema, nested_under="answers")
    if kind == "conversation.exchange" and is_object(about.get("outcomeSchema")):
        schema = schema or about["outcomeSchema"]
    if kind == "external-event" and is_object(about.get("correlation")):
        return _event_form(about["correlation"], schema)
    fields, known = _members(schema)
    if fields:
        return AnswerForm(fields, schema, known, is_open=SchemaText(schema).is_open)
    if kind in _TEXT_KINDS and not schema:
        return AnswerForm((AnswerField("", f"{_WHOLE_ANSWER}, as text; anything else goes with --value", TEXT_SCHEMA),))
    ratified = kind == "low-confidence" and "decision" in about and not _is_hidden(about["decision"])
    default = about["decision"] if ratified else msgspec.UNSET
    return AnswerForm((AnswerField("", _WHOLE_ANSWER, schema, default=default),), schema)


def _is_hidden(value: Any) -> bool:
    """Whether a marker stands somewhere in it for what the host does not show: that is nothing to send back."""
    return "[REDACTED:" in json.dumps(value)


def _event_form(correlation: dict[str, Any], schema: dict[str, Any]) -> AnswerForm:
    """Which event it is stands in the question; what else it says is asked."""
    if _is_hidden(correlation):
        return AnswerForm(
            (AnswerField("", "the event with its correlation, as a JSON object", {"type": "object"}),), schema
        )
    members, known = _members(schema)
    fields = tuple(each for each in members if each.name not in correlation)
    if fields:
        return AnswerForm(fields, schema, {**known, **correlation}, is_open=SchemaText(schema).is_open)
    rest = AnswerField("", "what else the event says, as a JSON object", {"type": "object"}, default={})
    return AnswerForm((rest,), schema, correlation, is_open=True)


def _members(schema: dict[str, Any]) -> tuple[tuple[AnswerField, ...], dict[str, Any]]:
    """A field for each member of an object, and those that can have one value only; none if it is something else."""
    shape = SchemaText(schema).shape
    if shape.get("type") != "object":
        return (), {}
    needed = as_list(shape.get("required"))
    found: list[AnswerField] = []
    constants: dict[str, Any] = {}
    for name, part in as_object(shape.get("properties")).items():
        own = subschema(schema, part) if is_object(part) else {}
        inner = SchemaText(own)
        if "const" in inner.shape:
            constants[name] = inner.shape["const"]
        elif name:
            default = inner.shape.get("default", msgspec.UNSET)
            found.append(AnswerField(name, inner.description(), own, name in needed, default))
    return tuple(found), constants
