"""One thing that is to be answered: what it takes, how that is said, and how what somebody writes becomes a value."""

import json
from typing import Any, Final

import click
import msgspec

from weftwork.cli.pairs import json_or_text
from weftwork.cli.plain import shown
from weftwork.cli.schema_words import Schema
from weftwork.protocol.json_value import is_array, is_object

_YES: Final = ("y", "yes", "true")
_NO: Final = ("n", "no", "false")
_WORDS: Final = 300
_PROBLEMS: Final = 5


class Unfit(Exception):
    """What was written cannot be the answer; the text says why, and can be printed."""


class Field(msgspec.Struct, frozen=True):
    """What is asked under a name, which is empty for the answer itself. The schema is whatever a host sent."""

    name: str
    words: str = ""
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
        return not any(written(each).strip().lstrip("-").isdigit() for each in self.choices)

    def hint(self) -> str:
        """What may be written, as far as it is not shown as choices."""
        said = {"choice": "", "boolean": "y or n", "text": "", "list": "separated by commas, or a JSON array"}
        words = said.get(self.kind, shown(Schema(self.schema).words(), _WORDS) if self.schema else "")
        bounds = shown(Schema(self.schema).words(), _WORDS).partition(", ")[2] if self.kind in ("text", "list") else ""
        notes = [words, bounds, "" if self.required else "may be left out"]
        if self.default is not msgspec.UNSET:
            notes.append(f"{shown(written(self.default), 80)} if nothing is written")
        return "; ".join(each for each in notes if each and each != "any")

    def read(self, text: str, by_number: bool = False) -> Any:
        """The value of what somebody wrote. Raises Unfit."""
        value = self._chosen(text, by_number) if self.kind == "choice" else self._written(text)
        if wrong := problems(self.schema, value):
            raise Unfit("; ".join(wrong))
        return value

    def _chosen(self, text: str, by_number: bool) -> Any:
        said = text.strip()
        for each in self.choices:
            if said in (written(each), json.dumps(each)) or (each is not None and text == each):
                return each
        if by_number and self.is_numbered and said.isascii() and said.isdigit() and len(said) < 6:
            place = int(said)
            if 1 <= place <= len(self.choices):
                return self.choices[place - 1]
        raise Unfit("that is none of the choices")

    def _written(self, text: str) -> Any:
        said = text.strip()
        if self.kind == "text":
            return text
        if self.kind == "boolean":
            if said.lower() in (*_YES, *_NO):
                return said.lower() in _YES
            raise Unfit("answer y or n")
        if self.kind == "list" and not said.startswith("["):
            items = self._shape.get("items")
            each = Field("", schema=part_of(self.schema, items) if is_object(items) else {})
            return [each.read(piece.strip()) for piece in said.split(",")] if said else []
        try:
            return json_or_text("it", text.encode("utf-8", "surrogateescape"))
        except click.UsageError as error:
            raise Unfit(error.message) from None

    @property
    def _shape(self) -> dict[str, Any]:
        return Schema(self.schema).shape


def written(value: Any) -> str:
    """A value as somebody would write it: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def part_of(root: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """A schema inside another, with the definitions that it may refer to."""
    return {**part, "$defs": root["$defs"]} if "$defs" in root and "$defs" not in part else part


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    """What keeps a value from fitting, in words to print; nothing where only the host can say."""
    # Imported late: `weftwork --help` needs none of it.
    from weftwork.protocol.caller_schema import check_caller_schema, check_value

    if not schema or check_caller_schema(schema, ""):
        return []
    wrong = check_value(schema, value, "")
    return [
        f"{f'{shown(each.pointer, 200)} ' if each.pointer else 'it '}{shown(each.message, _WORDS)}"
        for each in wrong[:_PROBLEMS]
    ]
