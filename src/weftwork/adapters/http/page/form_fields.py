"""The fields of a form, chosen by the JSON Schema of the answer, with hints in words for the person who fills them in.

A schema only decides how something is asked. Whether the answer fits it is checked when the form comes back.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.adapters.http.page.markup import json_text, shorten
from weftwork.protocol.json.values import is_array, is_object

Control = Literal["line", "text", "date", "email", "url", "number", "choice", "several", "json", "free"]
EmptyMeaning = Literal["refuse", "omit", "null", "list"]
"""What a field that was left empty means: nothing that can be sent, no member, null, an empty list."""

MAX_DESCRIPTION: Final = 1_000
_LIMIT_HINTS: Final = (
    ("minLength", "At least {} characters."),
    ("maxLength", "At most {} characters."),
    ("pattern", "Must match the pattern {}"),
    ("minItems", "Choose at least {}."),
    ("maxItems", "Choose at most {}."),
)
_TEXT_KEYWORDS: Final = ("minLength", "maxLength", "pattern")
_NUMBER_HINTS: Final = (
    ("minimum", "{} or more"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "{} or less"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
)
_LIST_KEYWORDS: Final = ("minItems", "maxItems")
_KEYWORDS_BY_CONTROL: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("line", "text", "date", "email", "url"), _TEXT_KEYWORDS),
    "several": _LIST_KEYWORDS,
}
_JSON_HINT: Final = "Write JSON: a text stands in double quotes, a list in [ ], an object in { }."
SHORT_TEXT: Final = 120
"""Characters up to which a text is asked for in one line."""
MAX_OPTIONS: Final = 500
MAX_FORM_OPTIONS: Final = 1_000
"""Options of a whole form: a view of the page costs the host time, and takes a link only."""
MAX_LABEL: Final = 2_000
MAX_OPTION_LABEL: Final = 300
_FORMATS: Final[dict[str, Control]] = {"date": "date", "email": "email", "uri": "url"}
_TYPES: Final[dict[str, Control]] = {"integer": "number", "number": "number"}
MAX_OBJECT_FIELDS: Final = 50
_UNSUPPORTED_KEYWORDS: Final = frozenset(
    "allOf anyOf oneOf not if patternProperties propertyNames minProperties dependentSchemas enum const".split()
)
"""Keywords of objects that are more than a list of members: such an answer is written as JSON."""


class Option(msgspec.Struct, frozen=True):
    """One of several answers. The form sends its place in the list, so any value can be one."""

    label: str
    value: Any


class FormField(msgspec.Struct, frozen=True):
    """One thing to fill in."""

    name: str
    """In the form, and as id in the page."""
    label: str
    control: Control
    path: tuple[str, ...] = ()
    """Where its value stands in the answer; `()` is the answer itself."""
    schema: dict[str, Any] | None = None
    empty: EmptyMeaning = "refuse"
    hint: str = ""
    options: tuple[Option, ...] = ()
    value: str = ""
    """What stands in it at first."""
    is_from_workflow: bool = False
    """Whether the label is the workflow's text."""
    number: int = 0
    """Its place among several questions; 0 if it is the only one, or one of the host's."""

    @property
    def is_integer(self) -> bool:
        return _type(self.schema or {})[0] == "integer"

    @property
    def subject(self) -> str:
        """How the host speaks of what is filled in: without the words of the workflow."""
        if not self.is_from_workflow:
            return f"“{self.label}”"
        return f"The answer to question {self.number}" if self.number else "Your answer"


def with_numbers(fields: list[FormField]) -> tuple[FormField, ...]:
    """The fields, each with its number if there are several."""
    if len(fields) < 2:
        return tuple(fields)
    return tuple(msgspec.structs.replace(field, number=number) for number, field in enumerate(fields, 1))


class OptionBudget:
    """How many options a form may still list. What is beyond it is written and not chosen."""

    def __init__(self, options: int = MAX_FORM_OPTIONS) -> None:
        self._remaining = options

    def options(self, schema: Any) -> list[Option]:
        """The options of a schema, if there is room for all of them."""
        found = options_of(schema, min(MAX_OPTIONS, self._remaining))
        self._remaining -= len(found)
        return found


def field_for(
    name: str,
    label: str,
    schema: dict[str, Any],
    path: tuple[str, ...],
    empty: EmptyMeaning,
    budget: OptionBudget | None = None,
) -> FormField:
    """The field for a value of this schema, a label of the workflow above it."""
    budget = budget or OptionBudget()
    kind, nullable = _type(schema)
    options = budget.options(schema)
    control = "choice" if options else _control(schema, kind)
    if control == "several":
        options = budget.options(schema["items"])
        control = "several" if options else "json"
        if options and empty == "refuse" and not nullable and schema.get("minItems", 0) < 1:
            empty = "list"
    return FormField(
        name,
        shorten(label, MAX_LABEL),
        control,
        path,
        schema,
        "null" if nullable and empty == "refuse" else empty,
        hint_of(schema, control),
        tuple(options),
        is_from_workflow=True,
    )


def options_of(schema: Any, most: int = MAX_OPTIONS) -> list[Option]:
    """The answers among which a schema leaves the choice; none if it does not list them, or more than so many."""
    if not is_object(schema):
        return []
    if "const" in schema:
        listed = [(schema.get("title"), schema["const"])]
    elif is_array(schema.get("enum")):
        listed = [(None, value) for value in schema["enum"]]
    elif alternatives := _titled_options(schema):
        listed = alternatives
    elif _type(schema)[0] == "boolean":
        return [Option("Yes", True), Option("No", False)]
    else:
        return []
    if len(listed) > most:
        return []
    labels = [_label(title, value) for title, value in listed]
    if len(set(labels)) < len(labels):
        labels = [shorten(json_text(value, None), MAX_OPTION_LABEL) for _, value in listed]
    return [Option(label, value) for label, (_, value) in zip(labels, listed, strict=True)]


def _titled_options(schema: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The usual way to give options a title: alternatives that are one value each."""
    listed = schema.get("oneOf", schema.get("anyOf"))
    if not is_array(listed) or not all(is_object(each) and "const" in each for each in listed):
        return []
    return [(each.get("title"), each["const"]) for each in listed]


def _label(title: Any, value: Any) -> str:
    for text in (title, value):
        if isinstance(text, str) and text.strip():
            return shorten(text, MAX_OPTION_LABEL)
    return shorten(json_text(value, None), MAX_OPTION_LABEL)


def _type(schema: dict[str, Any]) -> tuple[str, bool]:
    """The one type that a schema asks for, or "", and whether null will do as well."""
    named = schema.get("type")
    listed = [each for each in named if each != "null"] if is_array(named) else [named]
    nullable = is_array(named) and "null" in named
    return (listed[0] if len(listed) == 1 and isinstance(listed[0], str) else ""), nullable


def _control(schema: dict[str, Any], kind: str) -> Control:
    """How a value is asked for that is not one of a few; several if each of a list may be."""
    if kind == "array":
        return "json" if {"prefixItems", "contains"} & schema.keys() or "items" not in schema else "several"
    listed: Any = schema.get("enum")
    if not kind and is_array(listed) and all(isinstance(each, str) for each in listed):
        # Too many to choose from, but each is a text.
        return "line"
    if kind != "string":
        return _TYPES.get(kind, "json")
    named = _FORMATS.get(str(schema.get("format")))
    if named is not None:
        return named
    longest: Any = schema.get("maxLength")
    if longest is not None:
        return "json" if longest < 1 else "line" if longest <= SHORT_TEXT else "text"
    return "line" if "pattern" in schema else "text"


class ObjectFields(msgspec.Struct, frozen=True):
    """The fields of an object, and the members that need no asking."""

    fields: tuple[FormField, ...]
    base: dict[str, Any]


def object_fields(schema: dict[str, Any], given: dict[str, Any]) -> ObjectFields | None:
    """A field for each member of an object; None if the schema asks for something else.

    `given` are members that are known. So are those for which the schema leaves one value.
    """
    root = resolve_refs(schema, schema)
    properties = root.get("properties")
    required = root.get("required", [])
    if root.get("type") != "object" or not is_object(properties) or not 0 < len(properties) <= MAX_OBJECT_FIELDS:
        return None
    if _UNSUPPORTED_KEYWORDS & root.keys() or not is_array(required) or not {*required} <= {*properties, *given}:
        return None
    base = dict(given)
    fields: list[FormField] = []
    budget = OptionBudget()
    for index, (name, inner) in enumerate(properties.items()):
        member = resolve_refs(inner, schema) if is_object(inner) else {}
        if name in given:
            continue
        if inner is False:
            continue
        if "const" in member:
            base[name] = member["const"]
            continue
        title = member.get("title")
        empty: EmptyMeaning = "refuse" if name in required else "omit"
        label = title if isinstance(title, str) and title.strip() else name
        fields.append(field_for(f"f{index}", label if label.strip() else "?", member, (name,), empty, budget))
    return ObjectFields(with_numbers(fields), base)


def resolve_refs(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
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


def hint_of(schema: dict[str, Any], control: str) -> str:
    """What the schema says of itself, and its bounds. The browser is told of few of them: see the page's reference."""
    said: list[str] = []
    description = schema.get("description")
    if isinstance(description, str) and description.strip():
        said.append(shorten(description.strip(), MAX_DESCRIPTION))
    known = _KEYWORDS_BY_CONTROL.get(control, ())
    said += [
        text.format(_format_number(schema[name])) for name, text in _LIMIT_HINTS if name in known and name in schema
    ]
    if control == "number":
        said.append(_range(schema))
    if schema.get("format") == "date-time" and control in ("line", "text"):
        said.append("A date and time such as 2026-01-31T08:05:00Z.")
    if control == "json":
        said.append(_JSON_HINT + _members(schema))
    return " ".join(said)


def _range(schema: dict[str, Any]) -> str:
    named = schema.get("type")
    what = "A whole number" if named == "integer" or (is_array(named) and "integer" in named) else "A number"
    between = ("minimum", "maximum") if {"minimum", "maximum"} <= schema.keys() else ()
    if between:
        what += " from {} to {}".format(*(_format_number(schema[name]) for name in between))
    rest = [
        text.format(_format_number(schema[name]))
        for name, text in _NUMBER_HINTS
        if name in schema and name not in between
    ]
    return f"{', '.join([what, *rest])}."


def _format_number(limit: Any) -> str:
    return str(int(limit)) if isinstance(limit, float) and limit.is_integer() else str(limit)


def _members(schema: dict[str, Any]) -> str:
    properties = schema.get("properties")
    if not is_object(properties) or not properties:
        return ""
    return " Members: " + shorten(", ".join(properties), 200) + "."
