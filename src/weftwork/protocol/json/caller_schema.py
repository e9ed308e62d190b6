"""Schemas that come from callers: accepted if they are within a dialect of JSON Schema, and used at a bounded cost.

Theory. Every subschema, with references followed, meets every value at most once, because references lead
to `$defs` alone and never back. So checking takes no more steps than the weight of the schema, with its
references written out, times the size of the value; both are known before anything is checked. Keywords that
would break this sum (`unevaluatedProperties`, `$dynamicRef`) are no part of the dialect. A pattern takes time by
the length of the text and by the size of its automaton, also on an engine that never backtracks, so patterns
are weighed apart.

Errors of the validator are costly to make, and one error about a choice of forms holds those of every form. So
places are listed only where few steps are enough; beyond that the first place is named, or only that the value
does not fit.
"""

import re
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

import jsonschema_rs
import msgspec
from jsonschema_rs import Draft202012Validator, ValidationError

from weftwork.protocol.errors import HostFault
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.json.pointers import printable_token
from weftwork.protocol.json.schema import MAX_VIOLATIONS, Violation, first_error, violations_from
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
    validator, cost = _compile_caller_schema(encode_stored(schema))
    values, characters = measure_value(value)
    steps = cost.steps_per_value * (values + characters // 64)
    if steps > (MAX_STEPS if most is None else most):
        return [Violation(at, "size", "is too large to be checked against its schema")]
    if cost.pattern_kib * characters > MAX_PATTERN_WORK:
        return [Violation(at, "size", "holds too much text for the patterns of its schema")]
    # One pass over the value in each case: patterns can be slow.
    if steps <= MAX_DETAILED:
        return _truncate_messages(violations_from(validator.iter_errors(value), at))
    if not cost.has_choices:
        return _truncate_messages(violations_from(first_error(validator, value), at))
    if validator.is_valid(value):
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


MAX_BYTES: Final = 32_768
MAX_DEPTH: Final = 32
"""Levels of subschemas, references followed."""
MAX_SUBSCHEMAS: Final = 500
MAX_STEPS_PER_VALUE: Final = 10_000
MAX_OPTIONS: Final = 500
MAX_OPTION_BYTES: Final = 4_096
MAX_PATTERN: Final = 256
MAX_PATTERNS: Final = 32
MAX_PATTERN_KIB: Final = 128
"""KiB that the patterns of a schema take when compiled, which is what a schema in use keeps of memory."""
_PATTERN_SIZES_KIB: Final = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of a compiled pattern, in KiB; what does not fit the last one is refused."""
_SCHEMA: Final = re.compile(r"https://json-schema\.org/draft/2020-12/schema#?")
_REFERENCE: Final = re.compile(r"#/\$defs/([A-Za-z0-9._-]+)")
_TEXT_UNIT: Final = 64

SUBSCHEMA_KEYWORDS: Final = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
)
SUBSCHEMA_LIST_KEYWORDS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SUBSCHEMA_MAP_KEYWORDS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
VALUE_KEYWORDS: Final = frozenset(
    "type enum const pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength "
    "minItems maxItems uniqueItems minContains maxContains required minProperties maxProperties "
    "dependentRequired".split()
)
ANNOTATION_KEYWORDS: Final = frozenset(
    "format title description default examples deprecated readOnly writeOnly $comment".split()
)
"""Keywords that only describe; so does every name that starts with `x-`."""


class SchemaAnalysis(msgspec.Struct, frozen=True):
    """What is wrong with a schema, or else what a check against it costs, with all references written out.

    weight: steps per value; scan: KiB of patterns that each character may meet; choices: whether one error may
    hold others.
    """

    violations: list[Violation]
    steps_per_value: int
    pattern_kib: int
    has_choices: bool


class _PartCost(msgspec.Struct):
    """The root or one definition: its own costs, and the references it makes with their depth in it."""

    steps_per_value: int = 0
    pattern_kib: int = 0
    depth: int = 0
    references: list[tuple[str, int]] = msgspec.field(default_factory=list[tuple[str, int]])


def analyze_schema(document: Any, at: str) -> SchemaAnalysis:
    """schema-03: whether a schema that stands at the pointer `at` is within the dialect, and what it costs."""
    walk = _SchemaWalk(at)
    if not is_object(document):
        walk.refuse("", "type", "must be of type object")
        return walk.result(_PartCost())
    definitions = document.get("$defs", {})
    walk.definitions = {name: _PartCost() for name in definitions} if is_object(definitions) else {}
    root = _PartCost()
    walk.subschema(document, "", 1, root)
    if walk.violations:
        return walk.result(root)
    if len(encode_stored(document)) > MAX_BYTES:
        walk.refuse("", "size", f"is larger than {MAX_BYTES} bytes")
        return walk.result(root)
    return walk.result(_expand_references(root, walk))


class _SchemaWalk:
    """One walk over a schema, which stops counting at the bounds."""

    def __init__(self, at: str) -> None:
        self.violations: list[Violation] = []
        self.definitions: dict[str, _PartCost] = {}
        self._at = at
        self._subschemas = 0
        self._patterns = 0
        self._pattern_kib = 0
        self._has_choices = False

    def refuse(self, where: str, rule: str, message: str) -> None:
        violation = Violation(self._at + where, rule, message)
        if violation not in self.violations[-1:]:
            self.violations.append(violation)

    def result(self, part: _PartCost) -> SchemaAnalysis:
        return SchemaAnalysis(self.violations, part.steps_per_value, part.pattern_kib, self._has_choices)

    def subschema(self, schema: Any, where: str, depth: int, part: _PartCost) -> None:
        self._subschemas += 1
        part.steps_per_value += 1
        part.depth = max(part.depth, depth)
        if self._subschemas > MAX_SUBSCHEMAS:
            self.refuse("", "size", f"holds more than {MAX_SUBSCHEMAS} subschemas")
        elif depth > MAX_DEPTH:
            self.refuse("", "depth", f"is nested deeper than {MAX_DEPTH} levels")
        elif is_object(schema):
            for keyword, value in schema.items():
                self._keyword(keyword, value, f"{where}/{printable_token(keyword)}", depth, part)

    def _keyword(self, keyword: str, value: Any, where: str, depth: int, part: _PartCost) -> None:
        if keyword in SUBSCHEMA_KEYWORDS:
            self.subschema(value, where, depth + 1, part)
        elif keyword in SUBSCHEMA_LIST_KEYWORDS:
            self._has_choices |= keyword in ("anyOf", "oneOf")
            for index, item in enumerate(value if is_array(value) else ()):
                self.subschema(item, f"{where}/{index}", depth + 1, part)
        elif keyword in SUBSCHEMA_MAP_KEYWORDS:
            for name, item in value.items() if is_object(value) else ():
                if keyword == "patternProperties":
                    self._pattern(name, f"{where}/{printable_token(name)}", part)
                self.subschema(item, f"{where}/{printable_token(name)}", depth + 1, part)
        elif keyword in VALUE_KEYWORDS or keyword in ANNOTATION_KEYWORDS or keyword.startswith("x-"):
            self._value(keyword, value, where, part)
        elif keyword == "$ref":
            self._reference(value, where, depth, part)
        elif where == "/$schema":
            if not isinstance(value, str) or _SCHEMA.fullmatch(value) is None:
                self.refuse(where, "$schema", "must be https://json-schema.org/draft/2020-12/schema")
        elif where == "/$defs":
            for name, item in value.items() if is_object(value) else ():
                self.subschema(item, f"{where}/{printable_token(name)}", 1, self.definitions[name])
        else:
            self.refuse(where, "keyword", "is not a keyword that a schema may use here")

    def _value(self, keyword: str, value: Any, where: str, part: _PartCost) -> None:
        size, fits = measure_literal(value)
        if not fits:
            self.refuse(where, "depth", f"is nested deeper than {MAX_DEPTH} levels")
            return
        # Short lists are compared item by item, each with each.
        part.steps_per_value += 8 if keyword == "uniqueItems" else size
        if keyword == "pattern" and isinstance(value, str):
            self._pattern(value, where, part)
        elif keyword == "enum" and is_array(value) and len(value) > MAX_OPTIONS:
            self.refuse(where, "enum", f"takes {MAX_OPTIONS} or fewer values")
        elif keyword in ("enum", "const"):
            options = value if keyword == "enum" and is_array(value) else [value]
            if any(len(encode_stored(option)) > MAX_OPTION_BYTES for option in options):
                self.refuse(where, keyword, f"holds a value larger than {MAX_OPTION_BYTES} bytes")

    def _pattern(self, pattern: str, where: str, part: _PartCost) -> None:
        self._patterns += 1
        if self._patterns > MAX_PATTERNS:
            self.refuse("", "pattern", f"holds more than {MAX_PATTERNS} patterns")
            return
        size = compiled_pattern_kib(pattern) if len(pattern) <= MAX_PATTERN else None
        if size is None:
            text = f"is no pattern of {MAX_PATTERN} or fewer characters that is matched in linear time and little space"
            self.refuse(where, "pattern", text)
            return
        part.pattern_kib += size
        self._pattern_kib += size
        if self._pattern_kib > MAX_PATTERN_KIB:
            self.refuse("", "pattern", f"holds patterns that take more than {MAX_PATTERN_KIB} KiB")

    def _reference(self, target: Any, where: str, depth: int, part: _PartCost) -> None:
        match = _REFERENCE.fullmatch(target) if isinstance(target, str) else None
        if match is None:
            self.refuse(where, "$ref", "must be #/$defs/ and a name of letters, digits, '.', '_' and '-'")
        elif match[1] not in self.definitions:
            self.refuse(where, "$ref", "leads to no definition in $defs")
        else:
            part.references.append((match[1], depth))


def _expand_references(root: _PartCost, walk: _SchemaWalk) -> _PartCost:
    """The root with the cost of every reference added. Refuses circles, and what grows too large by references."""
    parts = walk.definitions
    graph = {name: {target for target, _ in part.references} for name, part in parts.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        walk.refuse(f"/$defs/{printable_token(error.args[1][0])}", "$ref", "refers to itself, directly or by others")
        return root
    for part in (*(parts[name] for name in order), root):
        for target, depth in part.references:
            part.steps_per_value += parts[target].steps_per_value
            part.pattern_kib += parts[target].pattern_kib
            part.depth = max(part.depth, depth + parts[target].depth)
    if root.depth > MAX_DEPTH:
        walk.refuse("", "depth", f"is nested deeper than {MAX_DEPTH} levels, references followed")
    if root.steps_per_value > MAX_STEPS_PER_VALUE:
        walk.refuse("", "size", f"weighs more than {MAX_STEPS_PER_VALUE} values, references written out")
    return root


def measure_literal(value: Any) -> tuple[int, bool]:
    """How many values there are in a value, long texts counting for more; and whether it is shallow enough."""
    size = 0
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if depth > MAX_DEPTH:
            return size, False
        size += 1
        if isinstance(item, str):
            size += len(item) // _TEXT_UNIT
        elif is_array(item):
            stack.extend((inner, depth + 1) for inner in item)
        elif is_object(item):
            size += sum(1 + len(name) // _TEXT_UNIT for name in item)
            stack.extend((inner, depth + 1) for inner in item.values())
    return size, True


@lru_cache(maxsize=512)
def compiled_pattern_kib(pattern: str) -> int | None:
    """The size of a compiled pattern in KiB, rounded up. None: it is no pattern, needs backtracking or is too large."""
    for size in _PATTERN_SIZES_KIB:
        options = jsonschema_rs.RegexOptions(size_limit=size * 1024)
        try:
            Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=options, mask="(masked)")
        except ValidationError:
            continue
        return size
    return None


MAX_COMPILED_PATTERN: Final = _PATTERN_SIZES_KIB[-1] * 1024


@lru_cache(maxsize=_CACHED_SCHEMAS)
def _compile_caller_schema(schema: bytes) -> tuple[Draft202012Validator, SchemaAnalysis]:
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
    return validator, found
