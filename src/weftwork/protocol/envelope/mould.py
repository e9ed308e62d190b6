"""Moulds: what a document has to fit, and what is said of one that does not.

Theory. Nearly every document fits, and then one compiled check is all. Where one does not, what is said must not
repeat a word of it: messages come from the schema, and of the names on the way to the place only those that the
schema knows are shown, for a name can be a secret too: the pointer ends before any other one. A choice of forms that
are told apart by a tag is explained by the form that the tag names, which the validator would find by trying all of
them, at many times the cost.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Final

from jsonschema_rs import Draft202012Validator

from weftwork.protocol.caller_schema import check_value
from weftwork.protocol.envelope.outcome import Detail
from weftwork.protocol.envelope.tagged import with_tags
from weftwork.protocol.errors import HostFault
from weftwork.protocol.json_value import is_array, is_object
from weftwork.protocol.pointer import token, tokens
from weftwork.protocol.schema import Path, compiled, explain, first_error, is_small

_UNKNOWN: Final = ("additionalProperties", "unevaluatedProperties")
MAX_DETAILS: Final = 20


class Mould:
    """One schema. That of a kind a caller has registered is checked at a bounded cost."""

    def __init__(self, schema: dict[str, Any], own: bool = True) -> None:
        self._schema = schema
        self._own = own

    def fits(self, value: Any) -> bool:
        """Whether the value fits. Never raises: what is no JSON does not fit."""
        try:
            return self._validator.is_valid(value) if self._own else not check_value(self._schema, value, "")
        except (ValueError, HostFault):
            return False

    def details(self, value: Any, at: str) -> tuple[Detail, ...]:
        """env-17: what keeps a value that does not fit from fitting, below the pointer `at`. From 1 to 20 places."""
        try:
            found = self._own_details(value, at) if self._own else self._foreign_details(value, at)
        except (ValueError, HostFault):
            found = ()
        return found or (Detail(at, "#", "schema", "does not fit its schema"),)

    def _own_details(self, value: Any, at: str) -> tuple[Detail, ...]:
        validator, origins = self._telling
        errors = validator.iter_errors(value) if is_small(value) else first_error(validator, value)
        places = islice((place for error in errors for place in explain(error)), MAX_DETAILS)
        found = (
            self._detail(value, at, path, _written(where, origins), rule, message)
            for path, where, rule, message in places
        )
        return tuple(dict.fromkeys(found))

    def _foreign_details(self, value: Any, at: str) -> tuple[Detail, ...]:
        found = check_value(self._schema, value, "")[:MAX_DETAILS]
        details = (self._detail(value, at, tokens(each.pointer), "#", each.rule, each.message) for each in found)
        return tuple(dict.fromkeys(details))

    def _detail(self, value: Any, at: str, path: Iterable[str | int], where: str, rule: str, message: str) -> Detail:
        steps = tuple(map(str, path))
        shown = self._shown(value, steps)
        if len(shown) == len(steps) - 1 and rule in _UNKNOWN:
            message = "has a member that is not known here"
        elif len(shown) < len(steps):
            message = f"has a member, not named here, with a value that {message}"
        return Detail(at + "".join(f"/{token(step)}" for step in shown), where, rule, message)

    def _shown(self, value: Any, steps: tuple[str, ...]) -> tuple[str, ...]:
        """The steps into the value, up to the first name that is not one of the schema."""
        for count, step in enumerate(steps):
            # What looks like a number is a name where it stands in an object.
            if is_array(value) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            elif step in self._names:
                value = value.get(step) if is_object(value) else None
            else:
                return steps[:count]
        return steps

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return compiled(self._schema)

    @cached_property
    def _telling(self) -> tuple[Draft202012Validator, dict[str, Path]]:
        """A validator that refuses the same values and says why in fewer words, and where its own parts come from."""
        told, origins = with_tags(self._schema)
        return compiled(told), origins

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(_property_names(self._schema))


def _written(where: Path, origins: dict[str, Path]) -> str:
    if len(where) > 1 and where[1] in origins:
        where = origins[str(where[1])]
    return "#" + "".join(f"/{token(str(step))}" for step in where)


def _property_names(schema: Any) -> Iterator[str]:
    if is_object(schema):
        properties = schema.get("properties")
        if is_object(properties):
            yield from properties
        for each in schema.values():
            yield from _property_names(each)
    elif is_array(schema):
        for each in schema:
            yield from _property_names(each)
