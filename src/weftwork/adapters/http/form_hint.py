"""Hints: what a schema asks for, in words for the person who fills in the form."""

from typing import Any, Final

from weftwork.adapters.http.page_text import short
from weftwork.protocol.json_value import is_array, is_object

MAX_DESCRIPTION: Final = 1_000
_ABOUT: Final = (
    ("minLength", "At least {} characters."),
    ("maxLength", "At most {} characters."),
    ("pattern", "Must match the pattern {}"),
    ("minItems", "Choose at least {}."),
    ("maxItems", "Choose at most {}."),
)
_TEXTS: Final = ("minLength", "maxLength", "pattern")
_NUMBERS: Final = (
    ("minimum", "{} or more"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "{} or less"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
)
_LISTS: Final = ("minItems", "maxItems")
_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("line", "text", "date", "email", "url"), _TEXTS),
    "several": _LISTS,
}
_JSON: Final = "Write JSON: a text stands in double quotes, a list in [ ], an object in { }."


def hint_of(schema: dict[str, Any], control: str) -> str:
    """What the schema says of itself, and its bounds. The browser is told of few of them: see the page's reference."""
    said: list[str] = []
    description = schema.get("description")
    if isinstance(description, str) and description.strip():
        said.append(short(description.strip(), MAX_DESCRIPTION))
    known = _KEYWORDS.get(control, ())
    said += [text.format(_number(schema[name])) for name, text in _ABOUT if name in known and name in schema]
    if control == "number":
        said.append(_range(schema))
    if schema.get("format") == "date-time" and control in ("line", "text"):
        said.append("A date and time such as 2026-01-31T08:05:00Z.")
    if control == "json":
        said.append(_JSON + _members(schema))
    return " ".join(said)


def _range(schema: dict[str, Any]) -> str:
    named = schema.get("type")
    what = "A whole number" if named == "integer" or (is_array(named) and "integer" in named) else "A number"
    between = ("minimum", "maximum") if {"minimum", "maximum"} <= schema.keys() else ()
    if between:
        what += " from {} to {}".format(*(_number(schema[name]) for name in between))
    rest = [text.format(_number(schema[name])) for name, text in _NUMBERS if name in schema and name not in between]
    return f"{', '.join([what, *rest])}."


def _number(limit: Any) -> str:
    return str(int(limit)) if isinstance(limit, float) and limit.is_integer() else str(limit)


def _members(schema: dict[str, Any]) -> str:
    properties = schema.get("properties")
    if not is_object(properties) or not properties:
        return ""
    return " Members: " + short(", ".join(properties), 200) + "."
