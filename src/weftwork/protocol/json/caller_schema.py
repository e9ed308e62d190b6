"""JSON Schemas from callers: a dialect of JSON Schema whose validation cost is bounded.

Theory of operation. References lead only to `$defs` and never form a cycle, so each subschema, after expanding the
references, is applied to each value at most once. Validation therefore takes at most (number of subschemas after
expansion) x (number of values) steps, and both numbers are known before validation starts. Keywords that break this
bound (`unevaluatedProperties`, `$dynamicRef`) are not in the dialect. The cost of a pattern depends on the length of
the string and on the size of the compiled automaton, even in an engine without backtracking, so patterns have a
separate bound.

The validator's errors are expensive to build, and an error of `anyOf` or `oneOf` contains the errors of every branch.
All violations are therefore listed only for cheap checks. For more expensive checks the result is the first violation,
or only the fact that the value is invalid.
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
from weftwork.protocol.json.schema import MAX_VIOLATIONS, Violation, first_error, is_small, violations_from
from weftwork.protocol.json.values import is_array, is_object

MAX_STEPS: Final = 1_000_000
"""Limit on (steps per value) x (values) of one check."""
MAX_PATTERN_WORK: Final = 524_288
"""Limit on (KiB of compiled patterns) x (characters) of one check."""
MAX_DETAILED: Final = 10_000
"""A check of at most this many steps lists every violation."""
MAX_MESSAGE: Final = 300
_CACHED_SCHEMAS: Final = 128
_PATTERN_CACHE: Final = 262_144


def check_caller_schema(document: Any, at: str) -> list[Violation]:
    """schema-03: the violations of a caller's JSON Schema at the pointer `at`; empty if the host can use it.

    Rejects schemas that are too large or too deep, keywords outside the dialect, references other than to `$defs` of
    the same schema, cyclic references, patterns that cannot be matched in linear time, and documents that are not
    schemas.
    """
    if is_object(document) and is_small(document) and _is_known(document):
        return []
    found = analyze_schema(document, at)
    if found.violations:
        return found.violations[:MAX_VIOLATIONS]
    try:
        _compile_caller_schema(encode_stored(document))
    except ValidationError as error:
        return _truncate_messages(violations_from([error], at))
    return []


def _is_known(document: dict[str, Any]) -> bool:
    """Whether the schema is valid, at the cost of its encoding if it was checked before: a form is checked whenever its
    node is called."""
    try:
        _compile_caller_schema(encode_stored(document))
    except (HostFault, ValidationError, ValueError, TypeError, RecursionError):
        return False
    return True


def check_value(schema: dict[str, Any], value: Any, at: str, max_steps: int | None = None) -> list[Violation]:
    """schema-04: the violations of a value at the pointer `at` against a schema that passed `check_caller_schema`.

    A value whose check would need more than `max_steps` steps, by default MAX_STEPS, is rejected without a check.
    Messages never repeat the value.
    """
    validator, cost = _compile_caller_schema(encode_stored(schema))
    values, characters = measure_value(value)
    steps = cost.steps_per_value * (values + characters // 64)
    if steps > (MAX_STEPS if max_steps is None else max_steps):
        return [Violation(at, "size", "is too large to be checked against its schema")]
    if cost.pattern_kib * characters > MAX_PATTERN_WORK:
        return [Violation(at, "size", "has too much text for the patterns of its schema")]
    # Each branch validates the value once, because patterns can be slow.
    if steps <= MAX_DETAILED:
        return _truncate_messages(violations_from(validator.iter_errors(value), at))
    if not cost.has_choices:
        return _truncate_messages(violations_from(first_error(validator, value), at))
    if validator.is_valid(value):
        return []
    return [Violation(at, "schema", "does not match its schema, and is too large to list the violations")]


def measure_value(value: Any) -> tuple[int, int]:
    """The number of values and member names in a value, and the number of characters in its strings and names."""
    values = characters = 0
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        values += 1
        if isinstance(item, str):
            characters += len(item)
        elif is_array(item):
            stack += item
        elif is_object(item):
            stack += item
            stack += item.values()
    return values, characters


def _truncate_messages(violations: list[Violation]) -> list[Violation]:
    """Shortens messages: they quote the schema, which may contain long strings."""
    return [msgspec.structs.replace(each, message=each.message[:MAX_MESSAGE]) for each in violations]


MAX_BYTES: Final = 32_768
MAX_DEPTH: Final = 32
"""Levels of nested subschemas, counted through references."""
MAX_SUBSCHEMAS: Final = 500
MAX_STEPS_PER_VALUE: Final = 10_000
MAX_OPTIONS: Final = 500
MAX_OPTION_BYTES: Final = 4_096
MAX_PATTERN: Final = 256
MAX_PATTERNS: Final = 32
MAX_PATTERN_KIB: Final = 128
"""Total size of a schema's compiled patterns in KiB, which stay in memory while the schema is cached."""
_PATTERN_SIZES_KIB: Final = (1, 2, 4, 8, 16, 32, 64)
"""Sizes to which a compiled pattern is rounded up. A pattern larger than the last one is rejected."""
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
"""Keywords without effect on validation. Names that start with `x-` have none either."""


class SchemaAnalysis(msgspec.Struct, frozen=True):
    """The violations of a schema or, if there are none, the cost of a check against it with all references expanded.

    steps_per_value: subschemas and literals that are applied to one value. pattern_kib: KiB of compiled patterns that
    each character may pass through. has_choices: whether the schema has `anyOf` or `oneOf`.
    """

    violations: list[Violation]
    steps_per_value: int
    pattern_kib: int
    has_choices: bool


class _PartCost(msgspec.Struct):
    """The cost of the root or of one definition without its references, and the references with their depth."""

    steps_per_value: int = 0
    pattern_kib: int = 0
    depth: int = 0
    references: list[tuple[str, int]] = msgspec.field(default_factory=list[tuple[str, int]])


def analyze_schema(document: Any, at: str) -> SchemaAnalysis:
    """schema-03: checks that the schema at the pointer `at` is within the dialect, and computes its cost."""
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
        walk.refuse("", "size", f"is larger than the limit of {MAX_BYTES:,} bytes")
        return walk.result(root)
    return walk.result(_expand_references(root, walk))


class _SchemaWalk:
    """One walk over a schema, which does not descend beyond the limits."""

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
            self.refuse("", "size", f"has more than {MAX_SUBSCHEMAS} subschemas")
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
            self.refuse(where, "keyword", "is not a supported JSON Schema keyword at this place")

    def _value(self, keyword: str, value: Any, where: str, part: _PartCost) -> None:
        size, fits = measure_literal(value)
        if not fits:
            self.refuse(where, "depth", f"is nested deeper than {MAX_DEPTH} levels")
            return
        # The validator compares the items of a short list pairwise.
        part.steps_per_value += 8 if keyword == "uniqueItems" else size
        if keyword == "pattern" and isinstance(value, str):
            self._pattern(value, where, part)
        elif keyword == "enum" and is_array(value) and len(value) > MAX_OPTIONS:
            self.refuse(where, "enum", f"must have at most {MAX_OPTIONS} values")
        elif keyword in ("enum", "const"):
            options = value if keyword == "enum" and is_array(value) else [value]
            if any(len(encode_stored(option)) > MAX_OPTION_BYTES for option in options):
                self.refuse(where, keyword, f"has a value larger than {MAX_OPTION_BYTES:,} bytes")

    def _pattern(self, pattern: str, where: str, part: _PartCost) -> None:
        self._patterns += 1
        if self._patterns > MAX_PATTERNS:
            self.refuse("", "pattern", f"has more than {MAX_PATTERNS} patterns")
            return
        size = compiled_pattern_kib(pattern) if len(pattern) <= MAX_PATTERN else None
        if size is None:
            text = (
                f"must be a regular expression of at most {MAX_PATTERN} characters, without lookaround or "
                f"backreferences, that compiles to at most {_PATTERN_SIZES_KIB[-1]} KiB"
            )
            self.refuse(where, "pattern", text)
            return
        part.pattern_kib += size
        self._pattern_kib += size
        if self._pattern_kib > MAX_PATTERN_KIB:
            self.refuse("", "pattern", f"has patterns that compile to more than {MAX_PATTERN_KIB} KiB")

    def _reference(self, target: Any, where: str, depth: int, part: _PartCost) -> None:
        match = _REFERENCE.fullmatch(target) if isinstance(target, str) else None
        if match is None:
            self.refuse(where, "$ref", "must be #/$defs/NAME, where NAME has only letters, digits, '.', '_' and '-'")
        elif match[1] not in self.definitions:
            self.refuse(where, "$ref", "refers to a definition that is not in $defs")
        else:
            part.references.append((match[1], depth))


def _expand_references(root: _PartCost, walk: _SchemaWalk) -> _PartCost:
    """Adds the cost of every reference to the root. Rejects cyclic references and schemas that exceed a limit once
    expanded."""
    parts = walk.definitions
    graph = {name: {target for target, _ in part.references} for name, part in parts.items()}
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        walk.refuse(
            f"/$defs/{printable_token(error.args[1][0])}",
            "$ref",
            "refers to itself, directly or through other definitions",
        )
        return root
    for part in (*(parts[name] for name in order), root):
        for target, depth in part.references:
            part.steps_per_value += parts[target].steps_per_value
            part.pattern_kib += parts[target].pattern_kib
            part.depth = max(part.depth, depth + parts[target].depth)
    if root.depth > MAX_DEPTH:
        walk.refuse("", "depth", f"is nested deeper than {MAX_DEPTH} levels with its references expanded")
    if root.steps_per_value > MAX_STEPS_PER_VALUE:
        text = f"has more than {MAX_STEPS_PER_VALUE:,} subschemas and values with its references expanded"
        walk.refuse("", "size", text)
    return root


def measure_literal(value: Any) -> tuple[int, bool]:
    """The number of values in a literal, where long strings count more, and whether its depth is within the limit."""
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
    """The size of a compiled pattern in KiB, rounded up. None if it is invalid, needs backtracking or is too large."""
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
        raise HostFault("a caller's schema was used without passing check_caller_schema")
    validator = Draft202012Validator(
        document,
        offline=True,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=MAX_COMPILED_PATTERN, dfa_size_limit=_PATTERN_CACHE),
        mask="(masked)",
    )
    return validator, found
