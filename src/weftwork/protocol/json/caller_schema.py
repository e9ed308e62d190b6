"""Schemas that come from callers: accepted if they are within the dialect, and used at a bounded cost.

Errors of the validator are costly to make, and one error about a choice of forms holds those of every form. So
places are listed only where few steps are enough; beyond that the first place is named, or only that the value
does not fit.
"""

from functools import lru_cache
from typing import Any, Final

import jsonschema_rs
import msgspec
from jsonschema_rs import Draft202012Validator, ValidationError

from weftwork.protocol.errors import HostFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.schema import MAX_VIOLATIONS, Violation, first_error, violations_from
from weftwork.protocol.json.schema_dialect import MAX_COMPILED_PATTERN, analyze_schema
from weftwork.protocol.json.values import is_array, is_object

MAX_STEPS: Final = 1_000_000
"""Weight of the schema times size of the value."""
MAX_PATTERN_WORK: Final = 524_288
"""KiB of compiled patterns times characters."""
MAX_DETAILED: Final = 10_000
"""Steps up to which every violation is listed."""
MAX_MESSAGE: Final = 300
_CACHED_SCHEMAS: Final = 128
_PATTERN_CACHE: Final = 262_144


class _CompiledSchema(msgspec.Struct, frozen=True):
    validator: Draft202012Validator
    steps_per_value: int
    pattern_kib: int
    has_choices: bool


def check_caller_schema(document: Any, at: str) -> list[Violation]:
    """schema-03: what keeps a caller's JSON Schema from being used; `at` is the pointer where it stands.

    Refuses what is too large or too deep, keywords outside the dialect, references other than to `$defs` of the
    schema itself, circles of references, patterns that are not matched in linear time, and what is no schema.
    """
    found = analyze_schema(document, at)
    if found.violations:
        return found.violations[:MAX_VIOLATIONS]
    try:
        _compile_caller_schema(encode_stored(document))
    except ValidationError as error:
        return _truncate_messages(violations_from([error], at))
    return []


def check_value(schema: dict[str, Any], value: Any, at: str, most: int | None = None) -> list[Violation]:
    """schema-04: what keeps a value from fitting a schema that passed `check_caller_schema`, below the pointer `at`.

    Takes a bounded number of steps, or the `most` that is given: a value that would need more is refused unread. Never
    repeats the value.
    """
    compiled = _compile_caller_schema(encode_stored(schema))
    values, characters = measure_value(value)
    steps = compiled.steps_per_value * (values + characters // 64)
    if steps > (MAX_STEPS if most is None else most):
        return [Violation(at, "size", "is too large to be checked against its schema")]
    if compiled.pattern_kib * characters > MAX_PATTERN_WORK:
        return [Violation(at, "size", "holds too much text for the patterns of its schema")]
    # One pass over the value in each case: patterns can be slow.
    if steps <= MAX_DETAILED:
        return _truncate_messages(violations_from(compiled.validator.iter_errors(value), at))
    if not compiled.has_choices:
        return _truncate_messages(violations_from(first_error(compiled.validator, value), at))
    if compiled.validator.is_valid(value):
        return []
    return [Violation(at, "schema", "does not fit its schema, and is too large to say where")]


def measure_value(value: Any) -> tuple[int, int]:
    """The number of values and member names in a value, and the characters in its texts and names."""
    values = characters = 0
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        values += 1
        if isinstance(item, str):
            characters += len(item)
        elif is_array(item):
            stack.extend(item)
        elif is_object(item):
            stack.extend(item)
            stack.extend(item.values())
    return values, characters


def _truncate_messages(violations: list[Violation]) -> list[Violation]:
    """Messages quote the schema, whose author may have written long texts into it."""
    return [msgspec.structs.replace(each, message=each.message[:MAX_MESSAGE]) for each in violations]


@lru_cache(maxsize=_CACHED_SCHEMAS)
def _compile_caller_schema(schema: bytes) -> _CompiledSchema:
    document = msgspec.json.decode(schema)
    found = analyze_schema(document, "")
    if found.violations:
        raise HostFault("a schema of a caller was not checked before its use")
    validator = Draft202012Validator(
        document,
        offline=True,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED_PATTERN, dfa_size_limit=_PATTERN_CACHE),
        mask="(masked)",
    )
    return _CompiledSchema(validator, found.steps_per_value, found.pattern_kib, found.has_choices)
