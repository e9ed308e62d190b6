"""The schema registry: our JSON Schemas by name, compiled once, and violations that never repeat a value.

Theory. The validator reports structured errors. Every message here is written from the rule that was
broken and from what the schema itself says, never from the validator's text, which quotes what was
sent. Nothing is ever fetched: a reference leads to another schema of this folder or fails to compile.
All patterns run on a linear-time engine, so no input can make one slow.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any, Final, cast

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
"""Values in a document up to which all violations are collected. Beyond it only the first one is,
because the validator builds every error before it returns and a hostile document has one per value."""

_UNKNOWN_MEMBER: Final = ("additionalProperties", "unevaluatedProperties")
_COMBINED: Final = ("allOf", "anyOf", "oneOf")
MAX_SUGGESTIONS: Final = 5
"""Unknown members of one document that are compared with the known ones."""
_SUFFIX: Final = ".schema.json"
_ENVELOPE_PREFIX: Final = "envelopes/"
_MAX_OPTIONS: Final = 24

_MESSAGES: Final[dict[str, str]] = {
    "required": 'must have the member "{property}"',
    "pattern": "must match the pattern {pattern}",
    "minLength": "needs {limit} or more characters",
    "maxLength": "takes {limit} or fewer characters",
    "minItems": "needs {limit} or more items",
    "maxItems": "takes {limit} or fewer items",
    "minProperties": "needs {limit} or more members",
    "maxProperties": "takes {limit} or fewer members",
    "minimum": "must be {limit} or more",
    "maximum": "must be {limit} or less",
    "exclusiveMinimum": "must be more than {limit}",
    "exclusiveMaximum": "must be less than {limit}",
    "multipleOf": "must be a multiple of {multiple_of}",
    "uniqueItems": "must not repeat an item",
    "contains": "holds none of the items it needs, or too many",
    "falseSchema": "is not allowed here",
    "not": "is a form that is not allowed here",
    "anyOf": "fits none of the allowed forms",
    "oneOf": "must fit exactly one of the allowed forms",
}


class Violation(msgspec.Struct, frozen=True):
    """One broken rule: where (RFC 6901), which keyword, and what would be right. Holds no submitted value."""

    pointer: str
    rule: str
    message: str
    capability: str | None = None
    """What the host would have to offer."""


def names() -> list[str]:
    """The names of all schemas but those of envelope kinds, sorted."""
    return sorted(name for name in _schema_files() if not name.startswith(_ENVELOPE_PREFIX))


def envelope_kinds() -> list[str]:
    """The kinds of envelopes that have a schema, sorted; that schema is called `envelopes/<kind>`."""
    return sorted(name.removeprefix(_ENVELOPE_PREFIX) for name in _schema_files() if name.startswith(_ENVELOPE_PREFIX))


def document(name: str) -> dict[str, Any]:
    """The schema itself, as a fresh copy."""
    return msgspec.json.decode(_schema_files()[name], type=dict[str, Any])


def check(name: str, document: Any) -> list[Violation]:
    """schema-01: what keeps `document` from fitting the schema, by pointer; empty when it fits.

    At most 50 violations; of a document with more than 1,000 values, the first one found.
    """
    return _violations(_validator(name), document, "", lambda: _schema_document(name))


def require(name: str, document: Any) -> None:
    """schema-02 (OpenWOP rest-endpoints): `validation_error` that points at the first violation and lists up to 20."""
    violations = check(name, document)
    if violations:
        raise violations_fault(name, violations)


def violations_fault(subject: str, violations: list[Violation]) -> ClientFault:
    """`validation_error` that points at the first violation and lists up to MAX_REPORTED of them."""
    first = violations[0]
    listed = [{"pointer": each.pointer, "message": each.message} for each in violations[:MAX_REPORTED]]
    end = "" if first.message.endswith("?") else "."
    return invalid(f"{subject}: the value at the pointer {first.message}{end}", first.pointer, violations=listed)


def check_payload(event_type: str, payload: Any) -> list[Violation]:
    """evt-04 (OpenWOP run-event-payloads): violations of an event's payload; other types take anything."""
    validator = _payload_validators().get(event_type)
    return [] if validator is None else _violations(validator, payload, "")


def check_inline(schema: dict[str, Any], document: Any, at: str) -> list[Violation]:
    """Like `check`, against a schema written by us or by the author of a node, never by a client.

    `at` is the pointer of `document` in what the caller sent. Raises HostFault if the schema is broken.
    """
    return _violations(_inline_validator(encode_stored(schema)), document, at, lambda: schema)


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
    """A validator for a schema written by us or by the author of a package, never by a client.

    Raises HostFault if the schema is broken.
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
        raise HostFault(f"a schema does not compile at '{where}': {str(error).splitlines()[0]}") from None


@cache
def _schema_document(name: str) -> dict[str, Any]:
    return document(name)


@cache
def _validator(name: str) -> Draft202012Validator:
    return compile_schema(document(name))


@cache
def _payload_validators() -> dict[str, Draft202012Validator]:
    schema = document("run-event-payloads")
    index: dict[str, dict[str, str]] = schema["$defs"]["_typeIndex"]["properties"]
    return {name: compile_schema({"$ref": schema["$id"] + entry["$ref"]}) for name, entry in index.items()}


@lru_cache(maxsize=256)
def _inline_validator(schema: bytes) -> Draft202012Validator:
    return compile_schema(msgspec.json.decode(schema))


ErrorPath = tuple[str | int, ...]


def _violations(
    validator: Draft202012Validator, document: Any, at: str, schema: Callable[[], Any] = lambda: None
) -> list[Violation]:
    """`schema` is called only if there are violations; it gives the names that misspelt members are compared with."""
    if validator.is_valid(document):
        return []
    errors = validator.iter_errors(document) if is_small(document) else first_error(validator, document)
    return violations_from(errors, at, schema())


def violations_from(errors: Iterable[ValidationError], at: str, schema: Any = None) -> list[Violation]:
    """The violations that errors of the validator stand for, below the pointer `at`; at most 50."""
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
    """The members that the schema names at the place of `where`, which ends with the keyword that was broken."""
    place = schema
    for token in where[:-1]:
        # A path leads through references: `$ref` is followed by the path inside what it refers to.
        place = _referenced(schema, place) if token == "$ref" else _child(place, token)
    return _member_names(schema, place, depth=4)


def _member_names(schema: Any, place: Any, depth: int) -> list[str]:
    """Names of `properties` here, behind a reference, and in the parts of an `allOf`, `anyOf` or `oneOf`."""
    if not depth or not is_object(place):
        return []
    names = list(place.get("properties", ()))
    parts = [_referenced(schema, place), *(part for word in _COMBINED for part in place.get(word, ()))]
    return [*names, *(name for part in parts for name in _member_names(schema, part, depth - 1))]


def _referenced(schema: Any, place: Any) -> Any:
    """What the `$ref` of a schema leads to inside the same document; None if it leads elsewhere."""
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
    """Whether a document has so few values that all its violations may be listed."""
    budget = MAX_DETAILED
    stack: list[Any] = [document]
    while stack:
        value = stack.pop()
        members: Iterable[Any] = ()
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            members = cast("list[Any]", value)
        before = len(stack)
        stack.extend(islice(members, budget + 1))
        budget -= len(stack) - before
        if budget < 0:
            return False
    return True


def first_error(validator: Draft202012Validator, document: Any) -> list[ValidationError]:
    """The error that the validator meets first; it goes no further."""
    try:
        validator.validate(document)
    except ValidationError as error:
        return [error]
    return []


def explain_error(error: ValidationError) -> Iterator[tuple[ErrorPath, ErrorPath, str, str]]:
    """Path in the document, path in the schema, rule and message of an error; of the branch that was meant where a
    choice of forms failed. Path and message are safe to show but for member names that the sender chose."""
    kind = error.kind
    path, where = tuple(error.instance_path), tuple(error.schema_path)
    if isinstance(kind, Kind.AdditionalProperties | Kind.UnevaluatedProperties):
        for name in kind.unexpected:
            yield (*path, name), where, kind.name, "is not a known member"
    elif isinstance(kind, Kind.PropertyNames):
        yield (*path, str(kind.error.instance)), where, kind.name, f"has a name that {_message(kind.error.kind)}"
    elif isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid) and (meant := _intended_branch(kind.context, len(path))):
        for inner in meant:
            yield from explain_error(inner)
    else:
        yield path, where, kind.name, _message(kind)


def _intended_branch(branches: list[list[ValidationError]], depth: int) -> list[ValidationError] | None:
    """The branch whose type and whose fixed members (such as a `type` tag) the value has, if it is one."""
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
    return f"breaks the rule {kind.name}" if text is None else text.format(**kind.as_dict())
