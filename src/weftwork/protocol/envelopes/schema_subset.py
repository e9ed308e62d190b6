"""The subset of JSON Schema that the structured outputs of all large model providers accept (RFC 0030).

Discovery states how the schemas of the advertised kinds relate to this subset, in `envelopes.tierOneSubsetCompliance`.
The value is computed from the schemas that the host serves. The schemas of the universal kinds, whose content the
protocol fixes, are outside the subset: they have optional members and lengths of strings.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from weftwork.protocol.json.schema import Violation
from weftwork.protocol.json.values import is_array, is_object

Compliance = Literal["strict", "warn", "off"]
"""`off`: the host makes no statement, because it serves no schemas of envelope kinds."""
LOAD_BEARING_KEYWORDS: Final = frozenset(
    "oneOf allOf not if then else dependencies dependentRequired dependentSchemas prefixItems propertyNames".split()
)
"""Keywords without which a schema accepts other documents, and which providers ignore or refuse."""
BOUNDS: Final = frozenset(
    """format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems
    uniqueItems contains minContains maxContains minProperties maxProperties patternProperties unevaluatedProperties
    unevaluatedItems""".split()
)
"""Keywords that bound strings, numbers, arrays and objects."""
MAX_DEPTH: Final = 5
"""Levels of objects and arrays, the root included."""
MAX_PROPERTIES: Final = 100
"""Properties of all objects of a schema together. References are expanded."""
_DEFINITIONS: Final = "#/$defs/"


def subset_compliance(violations: Mapping[str, list[Violation]]) -> Compliance:
    """disc-10 (RFC 0030 B): `strict` if no schema has a violation. Otherwise `warn`: the host serves the schemas and
    logs the violations. `violations` has the result of `check_subset` for each kind; empty if there are no kinds."""
    if not violations:
        return "off"
    return "warn" if any(violations.values()) else "strict"


def check_subset(document: dict[str, Any]) -> list[Violation]:
    """disc-10 (RFC 0030 B): the first violation of the subset in each part of a schema, in the order of the document.

    Stops at the first violation of the depth or of the number of properties, so the cost is bounded.
    """
    walk = _Walk(document)
    found = list(walk.part(document, "", 1, ()))
    if document.get("type") != "object":
        found.insert(0, Violation("", "type", "must be of type object"))
    return found


class _Walk:
    """One pass over a schema with its references expanded."""

    def __init__(self, document: dict[str, Any]) -> None:
        definitions: Any = document.get("$defs")
        self._definitions: dict[str, Any] = definitions if is_object(definitions) else {}
        self._properties = 0
        self._stopped = False

    def part(self, part: Any, at: str, depth: int, references: tuple[str, ...]) -> Iterator[Violation]:
        if self._stopped or not is_object(part):
            return
        if (violation := self._check_part(part, at, depth)) is not None:
            yield violation
        if self._stopped:
            return
        properties: Any = part.get("properties")
        for name, each in properties.items() if is_object(properties) else ():
            yield from self.part(each, f"{at}/properties/{name}", depth + 1, references)
        yield from self.part(part.get("items"), f"{at}/items", depth + 1, references)
        branches: Any = part.get("anyOf")
        for index, each in enumerate(branches if is_array(branches) else ()):
            yield from self.part(each, f"{at}/anyOf/{index}", depth, references)
        target: Any = part.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFINITIONS) and target not in references:
            yield from self.part(self._definitions.get(target[len(_DEFINITIONS) :]), at, depth, (*references, target))
        elif target is not None:
            yield Violation(f"{at}/$ref", "$ref", "must refer to a definition of this schema, and not to itself")

    def _check_part(self, part: dict[str, Any], at: str, depth: int) -> Violation | None:
        properties: dict[str, Any] = part.get("properties", {})
        self._properties += len(properties)
        if depth > MAX_DEPTH or self._properties > MAX_PROPERTIES:
            self._stopped = True
            return Violation(at, "size", f"has more than {MAX_DEPTH} levels or {MAX_PROPERTIES} properties")
        for keyword in part:
            if keyword in LOAD_BEARING_KEYWORDS or keyword in BOUNDS:
                return Violation(f"{at}/{keyword}", keyword, "is a keyword outside the subset")
        if part.get("type") == "object" or properties:
            if part.get("additionalProperties") is not False:
                return Violation(at, "additionalProperties", "must be closed with additionalProperties false")
            optional = [name for name in properties if name not in part.get("required", ())]
            if optional:
                return Violation(f"{at}/properties/{optional[0]}", "required", "must be a required property")
        return None
