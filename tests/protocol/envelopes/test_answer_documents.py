"""Documents in an answer: universal envelopes beside or instead of a value, and ids that two kinds share."""

import json
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.protocol.envelopes.sample_envelopes import PAYLOADS
from weftwork.protocol.envelopes.answer_documents import (
    UniversalEnvelope,
    check_answer_id,
    declares_envelope,
    read_value,
)
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS
from weftwork.protocol.envelopes.outcome import Invalid
from weftwork.protocol.envelopes.reassembly import EnvelopeOrigin, reassemble

ORIGIN = EnvelopeOrigin("run", "node", "pieces", 0, 0, "trusted")
SHAPE = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
VALUE = {"n": 1}
LOOSE: dict[str, Any] = {"type": "object"}
ENTRY = {"type": "object", "properties": {"type": {"type": "string"}, "payload": {}}, "required": ["type"]}
ASKS, WANTS, KNOWS, FAILS = ({"type": kind, "payload": PAYLOADS[kind]} for kind in UNIVERSAL_KINDS)


def read(*documents: Any, schema: dict[str, Any] = SHAPE) -> tuple[list[Any], list[Any]]:
    """The universal envelopes in these documents, and the rest."""
    found = read_value("\n".join(f"```json\n{json.dumps(each)}\n```" for each in documents), schema, ORIGIN)
    assert found is not None
    universal = [each.document for each in found.documents if isinstance(each, UniversalEnvelope)]
    return universal, [each for each in found.documents if not isinstance(each, UniversalEnvelope)]


@pytest.mark.rule("env-28")
@each_case("schema", SHAPE, LOOSE, {})
@each_case(
    "documents, universal, values",
    ([VALUE], [], [VALUE]),
    ([ASKS], [ASKS], []),
    ([FAILS], [FAILS], []),
    ([ASKS, VALUE], [ASKS], []),
    ([VALUE, WANTS], [WANTS], []),
    ([KNOWS, VALUE], [KNOWS], [VALUE]),
    ([VALUE, FAILS], [FAILS], [VALUE]),
    ([[WANTS, FAILS]], [WANTS, FAILS], []),
    ([{"type": "error", "payload": {}}], [{"type": "error", "payload": {}}], []),
)
def test_a_universal_envelope_is_never_the_value(
    documents: list[Any], universal: list[Any], values: list[Any], schema: dict[str, Any]
) -> None:
    assert read(*documents, schema=schema) == (universal, values)


@pytest.mark.rule("env-28")
def test_beside_an_error_only_a_value_that_matches_counts() -> None:
    assert read(FAILS, {"n": "?"}) == ([FAILS], [])
    assert read(KNOWS, {"n": "?"}) == ([KNOWS], [{"n": "?"}])
    assert read({"type": "info", "payload": 1}, schema=LOOSE) == ([], [{"type": "info", "payload": 1}])
    assert read_value("No payload.", SHAPE, ORIGIN) is None


@pytest.mark.rule("env-28")
@each_case(
    "schema",
    ENTRY,
    {"anyOf": [SHAPE, ENTRY]},
    {"$defs": {"entry": ENTRY}, "$ref": "#/$defs/entry"},
    {"allOf": [{"oneOf": [ENTRY]}]},
)
def test_a_schema_that_declares_the_members_of_an_envelope_decides(schema: dict[str, Any]) -> None:
    assert declares_envelope(schema)
    assert read(FAILS, schema=schema) == ([], [FAILS])
    strict = {**ENTRY, "properties": {**ENTRY["properties"], "type": {"const": "info"}}}
    assert read(FAILS, schema=strict) == ([FAILS], [])
    array = {"type": "array", "items": schema} if "$defs" not in schema else {**schema, "type": "array"}
    assert declares_envelope(array)


@pytest.mark.rule("env-28")
def test_a_dotted_kind_without_a_payload_is_an_envelope_unless_the_schema_declares_its_type() -> None:
    flat = {"type": "schema.request", "envelopeType": "error"}
    report = {"type": "error", "message": "The line is busy."}
    assert read(flat, schema=LOOSE) == ([flat], [])
    assert read(report, schema=LOOSE) == ([], [report])
    typed = {"type": "object", "properties": {"type": {"type": "string"}}}
    assert read(flat, schema=typed) == ([], [flat])
    assert read([flat], schema={"type": "array", "items": typed}) == ([], [[flat]])
    assert read({**flat, "payload": {}}, schema=typed) == ([{**flat, "payload": {}}], [])


@each_case(
    "schema", SHAPE, LOOSE, {}, True, {"properties": {"type": {}}}, {"properties": {"a": ENTRY}}, {"$ref": "#/$defs/a"}
)
def test_other_schemas_do_not(schema: Any) -> None:
    assert not declares_envelope(schema)


def test_schemas_are_searched_within_a_bound() -> None:
    nested: dict[str, Any] = ENTRY
    for _ in range(2_000):
        nested = {"items": nested}
    assert not declares_envelope(nested)


@pytest.mark.rule("env-29")
@each_case(
    "envelopes, conflicts",
    ([("1", "error"), ("1", "error")], [False, False]),
    ([("1", "error"), ("2", "schema.request")], [False, False]),
    ([("1", "error"), ("1", "schema.request"), ("1", "error")], [False, True, False]),
    ([(None, "error"), (None, "schema.request"), (7, "x"), (7, "y")], [False] * 4),
)
def test_an_id_belongs_to_one_kind_of_an_answer(envelopes: list[Any], conflicts: list[bool]) -> None:
    seen: dict[str, str] = {}
    found = [check_answer_id({"correlationId": name, "type": kind}, seen) for name, kind in envelopes]
    assert [each is not None for each in found] == conflicts
    assert {each.code for each in found if each is not None} <= {"envelope_correlation_conflict"}
    assert check_answer_id({"type": "error"}, seen) is None


def part(index: int, text: str, last: bool = False, **more: Any) -> dict[str, Any]:
    place = {"isPartial": not last, "index": index, "total": -1}
    return {"type": "error", "correlationId": "p", "payload": text, "partial": place, **more}


@pytest.mark.rule("env-16")
def test_pieces_of_an_answer_are_joined_where_the_last_one_is() -> None:
    first, last = part(0, '{"code": "c",'), part(1, '"message": "m"}', True)
    value, whole, other = reassemble((first, VALUE, first, last, last, first, FAILS), ORIGIN)
    assert (value, other) == (VALUE, FAILS)
    assert not isinstance(whole, Invalid)
    assert (whole["correlationId"], whole["payload"]) == ("p", {"code": "c", "message": "m"})


@pytest.mark.rule("env-16")
def test_pieces_that_cannot_be_joined_are_replaced_by_the_reason() -> None:
    bare = {"partial": True, "n": 1}
    wrong = part(0, "x", partial=False)
    (kept, malformed, missing) = reassemble((bare, wrong, part(0, "x")), ORIGIN)
    assert kept is bare
    assert isinstance(malformed, Invalid)
    assert [(each.instance_path, each.keyword) for each in malformed.details] == [("/partial", "type")]
    assert isinstance(missing, Invalid)
    assert [each.keyword for each in missing.details] == ["required"]
