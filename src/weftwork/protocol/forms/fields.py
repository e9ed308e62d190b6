"""The fields of a form, derived from the JSON Schema of the answer, with hints for the person who fills them in.

The schema only selects the control and the hint. The answer is validated when the form is submitted.
"""

from typing import Any, Final, Literal

import msgspec

from weftwork.protocol.forms.visible_text import json_text, shorten
from weftwork.protocol.json.values import is_array, is_object

Control = Literal["line", "text", "date", "email", "url", "number", "choice", "several", "json", "free"]
EmptyMeaning = Literal["refuse", "omit", "null", "list", "text"]
"""What an empty field becomes: an error, a member that is left out, null, an empty list, or an empty text."""

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
_JSON_HINT: Final = "Write JSON: text in double quotes, lists in [ ], objects in { }."
SHORT_TEXT: Final = 120
"""A string with a `maxLength` up to this gets a field with one line."""
MAX_OPTIONS: Final = 500
MAX_FORM_OPTIONS: Final = 1_000
"""Options of a whole form. Everyone with the link can request the page, so drawing it must stay cheap."""
MAX_LABEL: Final = 2_000
MAX_OPTION_LABEL: Final = 300
_FORMATS: Final[dict[str, Control]] = {"date": "date", "email": "email", "uri": "url"}
_TYPES: Final[dict[str, Control]] = {"integer": "number", "number": "number"}
MAX_OBJECT_FIELDS: Final = 50
_UNSUPPORTED_KEYWORDS: Final = frozenset(
    "allOf anyOf oneOf not if patternProperties propertyNames minProperties dependentSchemas enum const".split()
)
"""Object keywords that separate fields cannot express. An answer with such a schema is entered as JSON."""


class Option(msgspec.Struct, frozen=True):
    """One option of a field. The form sends its index in the list, so the value can be any JSON value."""

    label: str
    value: Any


class FormField(msgspec.Struct, frozen=True):
    name: str
    """Both the `name` and the `id` attribute."""
    label: str
    control: Control
    path: tuple[str | int, ...] = ()
    """The path of the value in the answer, as names of members and positions; `()` is the whole answer."""
    schema: dict[str, Any] | None = None
    empty: EmptyMeaning = "refuse"
    hint: str = ""
    options: tuple[Option, ...] = ()
    value: str = ""
    """The initial text."""
    is_from_workflow: bool = False
    """Whether the label is text from the workflow."""
    number: int = 0
    """The number shown before the label, from 1; 0 for the only question and for fields of the host."""
    part_of: str = ""
    """For a field with one part of a value that can be edited: the name of the value."""

    @property
    def is_integer(self) -> bool:
        return _type(self.schema or {})[0] == "integer"

    @property
    def subject(self) -> str:
        """The subject of error messages. It never contains text from the workflow."""
        if not self.is_from_workflow:
            return f"“{self.label}”"
        if self.part_of:
            return f"Field {self.number} of “{self.part_of}”"
        return f"The answer to question {self.number}" if self.number else "Your answer"


def with_numbers(fields: list[FormField]) -> tuple[FormField, ...]:
    """The fields, numbered from 1 if there are at least two."""
    if len(fields) < 2:
        return tuple(fields)
    return tuple(msgspec.structs.replace(field, number=number) for number, field in enumerate(fields, 1))


class OptionBudget:
    """The number of options that a form may still list. A field over the budget becomes a text or JSON field."""

    def __init__(self, options: int = MAX_FORM_OPTIONS) -> None:
        self._remaining = options

    def options(self, schema: Any) -> list[Option]:
        """The options of a schema, or none if they exceed the budget."""
        listed = options_of(schema, min(MAX_OPTIONS, self._remaining))
        self._remaining -= len(listed)
        return listed


def field_for(
    name: str,
    label: str,
    schema: dict[str, Any],
    path: tuple[str | int, ...],
    empty: EmptyMeaning,
    budget: OptionBudget | None = None,
) -> FormField:
    """The field for a value of this schema, labelled with text from the workflow."""
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


def options_of(schema: Any, limit: int = MAX_OPTIONS) -> list[Option]:
    """The values that a schema lists (const, enum, titled alternatives, boolean); none if there are over `limit`."""
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
    if len(listed) > limit:
        return []
    labels = [_label(title, value) for title, value in listed]
    if len(set(labels)) < len(labels):
        labels = [shorten(json_text(value, None), MAX_OPTION_LABEL) for _, value in listed]
    return [Option(label, value) for label, (_, value) in zip(labels, listed, strict=True)]


def _titled_options(schema: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The (title, value) pairs of a `oneOf` or `anyOf` in which each alternative is a `const`."""
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
    """The only type besides null, or "" if there are several or none; and whether null is allowed."""
    declared = schema.get("type")
    types = [each for each in declared if each != "null"] if is_array(declared) else [declared]
    nullable = is_array(declared) and "null" in declared
    return (types[0] if len(types) == 1 and isinstance(types[0], str) else ""), nullable


def _control(schema: dict[str, Any], kind: str) -> Control:
    """The control for a schema without options. `several` is only right if the items have options."""
    if kind == "array":
        return "json" if {"prefixItems", "contains"} & schema.keys() or "items" not in schema else "several"
    listed: Any = schema.get("enum")
    if not kind and is_array(listed) and all(isinstance(each, str) for each in listed):
        # More options than the budget allows, but all are strings.
        return "line"
    if kind != "string":
        return _TYPES.get(kind, "json")
    control = _FORMATS.get(str(schema.get("format")))
    if control is not None:
        return control
    max_length: Any = schema.get("maxLength")
    if max_length is not None:
        return "json" if max_length < 1 else "line" if max_length <= SHORT_TEXT else "text"
    return "line" if "pattern" in schema else "text"


class ObjectFields(msgspec.Struct, frozen=True):
    fields: tuple[FormField, ...]
    base: dict[str, Any]
    """The members without a field, whose values are known."""


def object_fields(schema: dict[str, Any], known_members: dict[str, Any]) -> ObjectFields | None:
    """One field for each member of an object; None if the schema is not an object that fields can express.

    `known_members` and members with a `const` get no field.
    """
    root = resolve_refs(schema, schema)
    properties = root.get("properties")
    required = root.get("required", [])
    if root.get("type") != "object" or not is_object(properties) or not 0 < len(properties) <= MAX_OBJECT_FIELDS:
        return None
    if _UNSUPPORTED_KEYWORDS & root.keys() or not is_array(required):
        return None
    if not {*required} <= {*properties, *known_members}:
        return None
    base = dict(known_members)
    fields: list[FormField] = []
    budget = OptionBudget()
    for index, (name, inner) in enumerate(properties.items()):
        member = resolve_refs(inner, schema) if is_object(inner) else {}
        if name in known_members:
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
    """The schema with the `$ref` at its top resolved, together with the `$defs` that references below it need.

    A reference whose target shares a keyword with its siblings stays, because merging the two would lose one.
    """
    resolved, definitions = schema, root.get("$defs", {})
    for _ in range(len(definitions)):
        # Validated schemas have no reference cycles, so each definition is entered at most once.
        if "$ref" not in resolved:
            break
        siblings = {keyword: value for keyword, value in resolved.items() if keyword != "$ref"}
        target = definitions[resolved["$ref"].removeprefix("#/$defs/")]
        if not is_object(target) or target.keys() & siblings.keys():
            break
        resolved = {**target, **siblings}
    return {**resolved, "$defs": definitions} if definitions and resolved is not root else resolved


def hint_of(schema: dict[str, Any], control: str) -> str:
    """The description of the schema and its limits, as text.

    The browser does not check most of these limits (docs/reference/answer-page.md says why), so the hint states them.
    """
    sentences: list[str] = []
    description = schema.get("description")
    if isinstance(description, str) and description.strip():
        sentences.append(shorten(description.strip(), MAX_DESCRIPTION))
    keywords = _KEYWORDS_BY_CONTROL.get(control, ())
    sentences += [
        text.format(_format_number(schema[name])) for name, text in _LIMIT_HINTS if name in keywords and name in schema
    ]
    if control == "number":
        sentences.append(_range(schema))
    if schema.get("format") == "date-time" and control in ("line", "text"):
        sentences.append("A date and time such as 2026-01-31T08:05:00Z.")
    if control == "json":
        sentences.append(_JSON_HINT + _members(schema))
    return " ".join(sentences)


def _range(schema: dict[str, Any]) -> str:
    declared = schema.get("type")
    what = "A whole number" if declared == "integer" or (is_array(declared) and "integer" in declared) else "A number"
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
