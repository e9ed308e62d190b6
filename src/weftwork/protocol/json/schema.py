"""The registry of the host's JSON Schemas, compiled once, and violations that never repeat a submitted value.

Theory of operation. The validator reports structured errors. Messages are built from the violated keyword and the
schema, never from the validator's text, which quotes the submitted value. Schemas are never fetched: a reference to a
schema outside this package does not compile. All patterns run on a linear-time engine, so no input can make one slow.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any, Final

import jsonschema_rs
import msgspec
from jsonschema_rs import Draft202012Validator, ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from weftwork.protocol.errors import ClientFault, HostFault, invalid
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token, split_pointer
from weftwork.protocol.json.values import is_array, is_object
from weftwork.protocol.spelling import did_you_mean

MAX_VIOLATIONS: Final = 50
MAX_REPORTED: Final = 20
MAX_DETAILED: Final = 1_000
"""Maximum number of values in a document for which all violations are collected. For larger documents only the first
violation is reported: the validator builds every error before it returns, and a hostile document has one per value."""

_UNKNOWN_MEMBER: Final = ("additionalProperties", "unevaluatedProperties")
_CONTAINERS: Final = (dict, list)
_COMBINED: Final = ("allOf", "anyOf", "oneOf")
MAX_SUGGESTIONS: Final = 5
"""Maximum number of unknown members in one document for which a known member is suggested."""
_SUFFIX: Final = ".schema.json"
_ENVELOPE_PREFIX: Final = "envelopes/"
_MAX_OPTIONS: Final = 24

_MESSAGES: Final[dict[str, str]] = {
    "required": 'must have the member "{property}"',
    "pattern": "must match the pattern {pattern}",
    "minLength": "must have {limit} or more characters",
    "maxLength": "must have {limit} or fewer characters",
    "minItems": "must have {limit} or more items",
    "maxItems": "must have {limit} or fewer items",
    "minProperties": "must have {limit} or more members",
    "maxProperties": "must have {limit} or fewer members",
    "minimum": "must be {limit} or more",
    "maximum": "must be {limit} or less",
    "exclusiveMinimum": "must be greater than {limit}",
    "exclusiveMaximum": "must be less than {limit}",
    "multipleOf": "must be a multiple of {multiple_of}",
    "uniqueItems": "must not contain an item twice",
    "contains": "has too few or too many items of the required kind",
    "falseSchema": "is not allowed here",
    "not": "has a form that is not allowed here",
    "anyOf": "must match one of the allowed forms",
    "oneOf": "must match exactly one of the allowed forms",
}


class Violation(msgspec.Struct, frozen=True):
    """One violation: the JSON pointer, the violated keyword or rule, and a message. Contains no submitted value.

    The message continues a sentence that starts with the place, such as "must be of type string".
    """

    pointer: str
    rule: str
    message: str
    capability: str | None = None
    """The capability that the host would need."""


def names() -> list[str]:
    """The names of all schemas except those of envelope kinds, sorted."""
    return sorted(name for name in _schema_files() if not name.startswith(_ENVELOPE_PREFIX))


def envelope_kinds() -> list[str]:
    """The envelope kinds that have a schema, sorted. The name of the schema is `envelopes/<kind>`."""
    return sorted(name.removeprefix(_ENVELOPE_PREFIX) for name in _schema_files() if name.startswith(_ENVELOPE_PREFIX))


def document(name: str) -> dict[str, Any]:
    """A new copy of the schema."""
    return msgspec.json.decode(_schema_files()[name], type=dict[str, Any])


def check(name: str, document: Any) -> list[Violation]:
    """schema-01: the violations of `document`, sorted by pointer; empty if it matches the schema.

    Returns at most 50 violations, and only the first one for a document with more than 1,000 values.
    """
    validator = _validator(name)
    return [] if validator.is_valid(document) else _violations(validator, document, "", _schema_document(name))


def require(name: str, document: Any) -> None:
    """schema-02 (OpenWOP rest-endpoints): raises a `validation_error` that points at the first violation and lists up
    to 20 of them."""
    violations = check(name, document)
    if violations:
        raise violations_fault(name, violations)


def violations_fault(subject: str, violations: list[Violation]) -> ClientFault:
    """A `validation_error` that points at the first violation and lists up to MAX_REPORTED of them."""
    first = violations[0]
    listed = [{"pointer": each.pointer, "message": each.message} for each in violations[:MAX_REPORTED]]
    end = "" if first.message.endswith("?") else "."
    # The message does not contain the pointer, because member names in it may come from the sender.
    return invalid(f"{subject}: the value at the pointer {first.message}{end}", first.pointer, violations=listed)


def check_payload(event_type: str, payload: Any) -> list[Violation]:
    """evt-04 (OpenWOP run-event-payloads): the violations of an event's payload. Types without a schema accept any
    payload."""
    validator = _payload_validators().get(event_type)
    return [] if validator is None or validator.is_valid(payload) else _violations(validator, payload, "")


def check_part(name: str, definition: str, document: Any, at: str) -> list[Violation]:
    """Like `check`, against a definition in `$defs` of the schema. `at` is the pointer of `document` in the request."""
    validator = _part_validator(name, definition)
    return [] if validator.is_valid(document) else _violations(validator, document, at)


def check_inline(schema: dict[str, Any], document: Any, at: str) -> list[Violation]:
    """Like `check`, against a schema from this package or from the author of a node type, never from a client.

    `at` is the pointer of `document` in the request. Raises HostFault if the schema is invalid.
    """
    validator = _inline_validator(encode_stored(schema))
    return [] if validator.is_valid(document) else _violations(validator, document, at, schema)


@cache
def _schema_files() -> dict[str, bytes]:
    folder = files("weftwork.protocol").joinpath("schemas", "v1")
    return {
        prefix + entry.name.removesuffix(_SUFFIX): entry.read_bytes()
        for prefix in ("", _ENVELOPE_PREFIX)
        for entry in folder.joinpath(prefix).iterdir()
        if entry.name.endswith(_SUFFIX)
    }


@cache
def _registry() -> jsonschema_rs.Registry:
    documents = [document(name) for name in _schema_files()]
    return jsonschema_rs.Registry([(each["$id"], each) for each in documents])


def compile_schema(schema: dict[str, Any]) -> Draft202012Validator:
    """A validator for a schema from this package or from the author of a node type, never from a client.

    Raises HostFault if the schema is invalid.
    """
    try:
        return Draft202012Validator(
            schema,
            registry=_registry(),
            offline=True,
            validate_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(),
            mask="(masked)",
        )
    except ValidationError as error:
        where = _pointer(error.instance_path)
        raise HostFault(f"invalid JSON Schema at '{where}': {str(error).splitlines()[0]}") from None


@cache
def _schema_document(name: str) -> dict[str, Any]:
    return document(name)


@cache
def _validator(name: str) -> Draft202012Validator:
    return compile_schema(document(name))


@cache
def _part_validator(name: str, definition: str) -> Draft202012Validator:
    return compile_schema({"$ref": f"{_schema_document(name)['$id']}#/$defs/{definition}"})


@cache
def _payload_validators() -> dict[str, Draft202012Validator]:
    schema = document("run-event-payloads")
    index: dict[str, dict[str, str]] = schema["$defs"]["_typeIndex"]["properties"]
    return {name: compile_schema({"$ref": schema["$id"] + entry["$ref"]}) for name, entry in index.items()}


@lru_cache(maxsize=256)
def _inline_validator(schema: bytes) -> Draft202012Validator:
    return compile_schema(msgspec.json.decode(schema))


ErrorPath = tuple[str | int, ...]


def _violations(validator: Draft202012Validator, document: Any, at: str, schema: Any = None) -> list[Violation]:
    """The violations of an invalid document. `schema` is the schema document, for suggestions of misspelt members."""
    errors = validator.iter_errors(document) if is_small(document) else first_error(validator, document)
    return violations_from(errors, at, schema)


def violations_from(errors: Iterable[ValidationError], at: str, schema: Any = None) -> list[Violation]:
    """The validator's errors as violations below the pointer `at`, without duplicates; at most 50."""
    places = list(islice((place for error in errors for place in explain_error(error)), MAX_VIOLATIONS))
    places.sort(key=lambda place: [(isinstance(token, str), token) for token in place[0]])
    found: dict[Violation, None] = {}
    suggestions = 0
    for path, where, rule, message in places:
        if rule in _UNKNOWN_MEMBER and suggestions < MAX_SUGGESTIONS:
            suggestions += 1
            message += did_you_mean(str(path[-1]), _known_members(schema, where))
        found[Violation(at + _pointer(path), rule, message)] = None
    return list(found)


def _known_members(schema: Any, where: ErrorPath) -> list[str]:
    """The members that the schema names at the path `where`, whose last token is the violated keyword."""
    place = schema
    for token in where[:-1]:
        # After the token `$ref` the path continues inside the referenced schema.
        place = _referenced(schema, place) if token == "$ref" else _child(place, token)
    return _member_names(schema, place, depth=4)


def _member_names(schema: Any, place: Any, depth: int) -> list[str]:
    """The names in `properties`, including those of a reference and of the parts of `allOf`, `anyOf` and `oneOf`."""
    if not depth or not is_object(place):
        return []
    names = list(place.get("properties", ()))
    parts = [_referenced(schema, place), *(part for word in _COMBINED for part in place.get(word, ()))]
    return [*names, *(name for part in parts for name in _member_names(schema, part, depth - 1))]


def _referenced(schema: Any, place: Any) -> Any:
    """The target of the `$ref` of a schema inside the same document; None if it has none or refers elsewhere."""
    target = place.get("$ref") if is_object(place) else None
    if not isinstance(target, str) or not target.startswith("#/"):
        return None
    for token in split_pointer(target[1:]):
        schema = _child(schema, token)
    return schema


def _child(place: Any, token: str | int) -> Any:
    if is_object(place):
        return place.get(str(token))
    return place[token] if is_array(place) and isinstance(token, int) and token < len(place) else None


def _pointer(path: Iterable[str | int]) -> str:
    return "".join(f"/{printable_token(str(token))}" for token in path)


def is_small(document: Any) -> bool:
    """Whether a document has at most MAX_DETAILED values, so that all its violations may be listed."""
    budget = MAX_DETAILED
    stack: list[Any] = [document] if isinstance(document, _CONTAINERS) else []
    while stack:
        value: dict[str, Any] | list[Any] = stack.pop()
        budget -= len(value)
        if budget < 0:
            return False
        for each in value.values() if isinstance(value, dict) else value:
            # Texts and numbers are counted, and have no members.
            if isinstance(each, _CONTAINERS):
                stack.append(each)
    return True


def first_error(validator: Draft202012Validator, document: Any) -> list[ValidationError]:
    """The first error of the validator, which stops there; empty if the document is valid."""
    try:
        validator.validate(document)
    except ValidationError as error:
        return [error]
    return []


def explain_error(error: ValidationError) -> Iterator[tuple[ErrorPath, ErrorPath, str, str]]:
    """Path in the document, path in the schema, keyword and message of an error.

    For a failed `anyOf` or `oneOf`, yields the errors of the intended branch if it can be determined. The path may
    contain member names that the sender chose; otherwise neither path nor message contains submitted data.
    """
    kind = error.kind
    path, where = tuple(error.instance_path), tuple(error.schema_path)
    if isinstance(kind, Kind.AdditionalProperties | Kind.UnevaluatedProperties):
        for name in kind.unexpected:
            yield (*path, name), where, kind.name, "is not a known member"
    elif isinstance(kind, Kind.PropertyNames):
        yield (*path, str(kind.error.instance)), where, kind.name, f"has a name that {_message(kind.error.kind)}"
    elif isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid) and (branch := _intended_branch(kind.context, len(path))):
        for inner in branch:
            yield from explain_error(inner)
    else:
        yield path, where, kind.name, _message(kind)


def _intended_branch(branches: list[list[ValidationError]], depth: int) -> list[ValidationError] | None:
    """The errors of the only branch whose type and constant members (such as a `type` tag) match the value; None if no
    branch or several match."""
    open_branches = [branch for branch in branches if branch and not any(_rules_out(error, depth) for error in branch)]
    return open_branches[0] if len(open_branches) == 1 else None


def _rules_out(error: ValidationError, depth: int) -> bool:
    below = len(error.instance_path) - depth
    match error.kind:
        case Kind.Type():
            return below == 0
        case Kind.Constant():
            return below <= 1
        case Kind.Enum(options):
            return below == 0 or (below == 1 and len(options) == 1)
        case _:
            return False


def _message(kind: Kind) -> str:
    if isinstance(kind, Kind.Type):
        return f"must be of type {' or '.join(kind.types)}"
    if isinstance(kind, Kind.Enum | Kind.Constant):
        options = kind.options if isinstance(kind, Kind.Enum) else [kind.expected_value]
        if len(options) > _MAX_OPTIONS:
            return f"must be one of the {len(options)} values that the schema lists"
        return f"must be one of: {', '.join(msgspec.json.encode(option).decode() for option in options)}"
    text = _MESSAGES.get(kind.name)
    return f"violates the keyword {kind.name}" if text is None else text.format(**kind.as_dict())
