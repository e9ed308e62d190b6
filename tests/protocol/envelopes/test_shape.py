"""Envelopes and payloads at the gate: members, depth, time, version, and refusals that repeat nothing that was sent."""

from typing import Any

import pytest

from tests.harness.cases import each_case, present
from tests.protocol.envelopes.sample_envelopes import (
    ABSENT,
    CANARY,
    COMPONENTS,
    PAYLOADS,
    PLAN,
    Json,
    accept_outcome,
    envelope,
    refusal_of,
    rules,
    with_meta,
    with_value,
)
from weftwork.protocol.envelopes import validator as module
from weftwork.protocol.envelopes.checks import is_instant
from weftwork.protocol.envelopes.gate import UNCHECKED_WARNING, accept
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, UNIVERSAL_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import Accepted, Invalid, outcome_document
from weftwork.protocol.envelopes.validator import MAX_DETAILS, DocumentValidator, expand_tagged_unions


@pytest.mark.rule("env-04")
@each_case(
    "document, place, keyword",
    (None, "", "type"),
    ([], "", "type"),
    ("text", "", "type"),
    (envelope(meta=ABSENT), "", "required"),
    (envelope(extra=1), "", "additionalProperties"),
    (envelope(type=7), "/type", "type"),
    (envelope(schemaVersion="1.0"), "/schemaVersion", "type"),
    (envelope(partial=True), "/partial", "type"),
    (with_meta(source="tool"), "/meta/source", "enum"),
    (with_meta(**{"acme.key": 1}), "/meta", "additionalProperties"),
    (envelope(payload={"bad": "\ud800"}), "", "type"),
    (envelope(payload={1, 2}), "", "schema"),
    (envelope(payload=object()), "", "type"),
)
def test_a_document_that_is_no_envelope(document: Any, place: str, keyword: str) -> None:
    outcome = refusal_of(document)
    assert outcome.code == "invalid_envelope_shape"
    assert outcome.reason.startswith("invalid_envelope_shape: ")
    assert (place, keyword) in [(each.instance_path, each.keyword) for each in outcome.details]
    shown = outcome_document(outcome)
    assert shown["status"] == "invalid"
    assert set(shown["details"][0]) == {"instancePath", "schemaPath", "keyword", "message"}


@pytest.mark.rule("env-04")
@each_case("levels, taken", (62, True), (63, True), (64, False), (500, False), (100_000, False))
def test_depth_is_bounded_as_the_decoder_bounds_it(levels: int, taken: bool) -> None:
    nested: Any = "deep"
    for _ in range(levels):
        nested = [nested]
    assert isinstance(accept_outcome(envelope("vendor.any", nested)), Accepted) is taken


TIMES = """
    2026-01-31T08:05:09Z 2026-01-31T08:05:09.1Z 2026-01-31T08:05:09.123456789Z 2026-01-31T08:05:09+01:00
    2026-01-31T08:05:09.5-23:59 2024-02-29T00:00:00Z 2000-02-29T00:00:00Z
""".split()
NO_TIMES = """
    2025-02-29T00:00:00Z 1900-02-29T00:00:00Z 2026-02-30T00:00:00Z 2026-04-31T00:00:00Z 2026-13-01T00:00:00Z
    2026-00-01T00:00:00Z 2026-01-00T00:00:00Z 2026-01-31T24:00:00Z 2026-01-31T08:60:09Z 2026-01-31T08:05:60Z
    2026-01-31T08:05:09.Z 2026-01-31T08:05:09.1234567890Z 2026-01-31T08:05:09 2026-01-31T08:05Z
    2026-01-31T08:05:09+24:00 2026-01-31T08:05:09+0100 ٢٠٢٦-01-31T08:05:09Z yesterday 1738310709
""".split()


@pytest.mark.rule("env-05")
def test_a_time_of_an_envelope() -> None:
    for text in TIMES:
        assert is_instant(text), text
        assert isinstance(accept_outcome(with_meta(ts=text)), Accepted), text
    for text in (*NO_TIMES, "2026-01-31 08:05:09Z", "2026-01-31T08:05:09Z\n", ""):
        assert not is_instant(text), text
        outcome = refusal_of(with_meta(ts=text))
        assert "ISO 8601" in outcome.reason, text
        assert [each.instance_path for each in outcome.details] == ["/meta/ts"], text


SURFACE = "ui.a2ui-surface"


@pytest.mark.rule("env-06")
@each_case(
    "kind, pointer, value, place",
    ("clarification.request", "/questions", [], "/payload/questions"),
    ("clarification.request", "/questions/1/id", "", "/payload/questions/1/id"),
    ("error", "/code", ABSENT, "/payload"),
    ("schema.response", "/ack", False, "/payload/ack"),
    ("media.file", "/bytes", -1, "/payload/bytes"),
    (SURFACE, "/surface/components/3/id", 5, "/payload/surface/components/3/id"),
    (SURFACE, "/surface/components/3/component", "video", "/payload/surface/components/3/component"),
    (SURFACE, "/surface/components/4/options/1/value", 5, "/payload/surface/components/4/options/1/value"),
    (SURFACE, "/surface/components/6/action/target", "x", "/payload/surface/components/6/action/target"),
    (SURFACE, "/catalogVersion", 9, "/payload/catalogVersion"),
)
def test_a_payload_that_does_not_fit_its_kind(kind: str, pointer: str, value: Any, place: str) -> None:
    outcome = refusal_of(envelope(kind, with_value(PAYLOADS[kind], pointer, value)))
    assert outcome.code == "envelope_invalid"
    assert outcome.reason.startswith(f"envelope_invalid: {place} ")
    assert {each.instance_path for each in outcome.details} == {place}
    assert outcome.details[0].schema_path.startswith("#/")


@pytest.mark.rule("env-06")
def test_a_payload_is_held_to_the_schema_of_its_kind_even_if_that_is_broken() -> None:
    good = envelope(PLAN, {"steps": ["go"]}, schemaVersion=2)
    assert isinstance(accept_outcome(good), Accepted)
    assert refusal_of(with_value(good, "/payload/steps/0", 7)).details[0].instance_path == "/payload/steps/0"
    assert refusal_of(with_value(good, "/payload/77", 7)).details[0].instance_path == "/payload"
    for own in (True, False):
        broken = rules().kinds.with_kinds([KindDefinition("vendor.broken", 1, {"type": "nothing"}, own)])
        outcome = refusal_of(envelope("vendor.broken", {}), rules(kinds=broken))
        assert outcome.reason == "envelope_invalid: /payload does not match its schema"


@pytest.mark.rule("env-06")
@each_case("payload", {"a": [1]}, None, "text", 0, False, [])
def test_a_kind_without_a_schema_passes_with_a_warning(payload: Any) -> None:
    outcome = accept_outcome({**envelope("vendor.any"), "payload": payload, "schemaVersion": 9})
    assert isinstance(outcome, Accepted)
    assert outcome.payload == payload
    assert outcome.warnings == (UNCHECKED_WARNING,)
    warning = {"field": "/payload", "reason": UNCHECKED_WARNING, "originalShape": "unknown"}
    assert outcome_document(outcome)["normalizerWarnings"] == [warning]


@pytest.mark.rule("env-07")
@each_case(
    "version, advertised, strict, taken, drift",
    (1, None, False, True, False),
    (ABSENT, None, False, True, True),
    (ABSENT, None, True, False, False),
    (0, None, True, False, False),
    (2, None, False, False, False),
    (2, None, True, False, False),
    (1.0, None, True, True, False),
    (1, 2, False, True, True),
    (1, 2, True, False, False),
    (2, 2, True, True, False),
    (1, 0, False, False, False),
    (10**40, None, False, False, False),
)
def test_versions(version: Any, advertised: int | None, strict: bool, taken: bool, drift: bool) -> None:
    versions = None if advertised is None else {"error": advertised}
    outcome = accept_outcome(envelope(schemaVersion=version), rules(versions=versions, strict=strict))
    assert isinstance(outcome, Accepted) is taken
    if isinstance(outcome, Accepted):
        assert outcome.drift is drift
    else:
        assert isinstance(outcome, Invalid)
        assert outcome.code == "unknown_schema_version"
        assert "unknown_schema_version" in outcome.reason
        newer = isinstance(version, int) and version > (1 if advertised is None else advertised)
        keyword = "maximum" if newer else "minimum"
        assert [(each.instance_path, each.keyword) for each in outcome.details] == [("/schemaVersion", keyword)]


@pytest.mark.rule("env-07")
def test_every_version_is_held_to_what_is_advertised() -> None:
    assert refusal_of(envelope(payload={"code": "c"}, schemaVersion=0)).code == "envelope_invalid"
    held = rules(versions={"vendor.any": 3})
    assert refusal_of(envelope("vendor.any", 1, schemaVersion=4), held).code == "unknown_schema_version"
    assert isinstance(accept_outcome(envelope("vendor.any", 1, schemaVersion=3), held), Accepted)
    other = with_value(PAYLOADS[SURFACE], "/catalogVersion", "1.0.0")
    outcome = refusal_of(envelope(SURFACE, with_value(other, "/surface/components/0/component", "hologram")))
    assert outcome.code == "unknown_schema_version"
    assert [each.instance_path for each in outcome.details] == ["/payload/catalogVersion"]
    assert refusal_of(envelope("error", {"catalogVersion": "1.0.0"})).code == "envelope_invalid"
    assert refusal_of(envelope(SURFACE, ["1.0.0"])).code == "envelope_invalid"


@pytest.mark.rule("surf-03")
@each_case(
    "name, taken",
    ("action", False),
    ("openwop.x", False),
    ("openwop.", False),
    ("openwop", True),
    ("Action", True),
    ("actions", True),
)
def test_ids_that_no_field_may_have(name: str, taken: bool) -> None:
    for index in (2, 3, 4, 5):
        outcome = accept_outcome(
            envelope(SURFACE, with_value(PAYLOADS[SURFACE], f"/surface/components/{index}/id", name))
        )
        assert isinstance(outcome, Accepted) is taken
        if isinstance(outcome, Invalid):
            assert outcome.code == "envelope_invalid"
            assert outcome.details[0].instance_path == f"/payload/surface/components/{index}/id"
    assert COMPONENTS[6]["component"] == "action.button"
    button = envelope(SURFACE, with_value(PAYLOADS[SURFACE], "/surface/components/6/id", name))
    assert isinstance(accept_outcome(button), Accepted)


@pytest.mark.rule("env-06")
@each_case(
    "members, place",
    ({}, "/payload"),
    ({"url": "https://a.example/b", "base64": "AAAA"}, "/payload"),
    ({"url": "/relative"}, "/payload/url"),
    ({"url": ""}, "/payload/url"),
    ({"url": "https://a.example/a b"}, "/payload/url"),
    ({"url": "https://a.example/\n"}, "/payload/url"),
)
def test_media_come_by_one_address_or_in_place(members: dict[str, Any], place: str) -> None:
    for kind in ("media.image", "media.audio", "media.file"):
        outcome = refusal_of(envelope(kind, {"bytes": 1, **members}))
        assert (outcome.code, outcome.details[0].instance_path) == ("envelope_invalid", place)
        assert isinstance(accept_outcome(envelope(kind, {"bytes": 1, "url": "https://a.example/b"})), Accepted)
        assert isinstance(accept_outcome(envelope(kind, {"bytes": 1, "base64": ""})), Accepted)


@pytest.mark.rule("env-06")
def test_a_schema_is_asked_for_only_of_kinds_that_are_taken() -> None:
    asking = envelope("schema.request", {"envelopeType": "vendor.acme.theme"})
    assert isinstance(accept_outcome(asking), Accepted)
    outcome = refusal_of(asking, rules(supported=frozenset({PLAN})))
    assert outcome.code == "unknown_envelope_kind"
    assert outcome.details[0].instance_path == "/payload/envelopeType"
    for name in (PLAN, *UNIVERSAL_KINDS):
        held = rules(supported=frozenset({PLAN}))
        assert isinstance(accept_outcome(envelope("schema.request", {"envelopeType": name}), held), Accepted)


ANIMALS: Json = {
    "type": "object",
    "properties": {
        "pet": {
            "anyOf": [
                {"$ref": "#/$defs/cat"},
                {
                    "type": "object",
                    "required": ["kind", "barks"],
                    "properties": {"kind": {"type": "string", "enum": ["dog"]}, "barks": {"type": "boolean"}},
                },
            ]
        },
        "size": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 3}]},
    },
    "patternProperties": {"^n-": {"type": "integer"}},
    "additionalProperties": False,
    "$defs": {
        "cat": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string", "enum": ["cat"]}, "lives": {"type": "integer"}},
            "additionalProperties": False,
        }
    },
}


@pytest.mark.rule("env-17")
@each_case(
    "value, place, where, keyword",
    ({"pet": {"kind": "cat", "lives": "x"}}, "/pet/lives", "#/$defs/cat/properties/lives/type", "type"),
    ({"pet": {"kind": "dog"}}, "/pet", "#/properties/pet/anyOf", "required"),
    ({"pet": {"kind": "cow"}}, "/pet/kind", "#/properties/pet/anyOf", "enum"),
    ({"pet": {}}, "/pet", "#/properties/pet/anyOf", "required"),
    ({"pet": 1}, "/pet", "#/properties/pet/anyOf", "type"),
    (
        {"pet": {"kind": "cat", CANARY: 1}},
        "/pet",
        "#/$defs/cat/additionalProperties",
        "additionalProperties",
    ),
    ({"size": "four"}, "/size", "#/properties/size/anyOf/1/maxLength", "maxLength"),
    ({"size": None}, "/size", "#/properties/size/anyOf", "anyOf"),
    ({f"n-{CANARY}": "x"}, "", "#/patternProperties/^n-/type", "type"),
    ({"7": 1}, "", "#/additionalProperties", "additionalProperties"),
)
def test_a_place_is_named_as_the_schema_names_it(value: Any, place: str, where: str, keyword: str) -> None:
    (detail,) = DocumentValidator(ANIMALS).error_details(value, "")
    assert (detail.instance_path, detail.keyword) == (place, keyword)
    assert detail.schema_path.startswith(where)
    assert CANARY not in str(detail)


def test_forms_without_one_tag_are_left_as_they_are() -> None:
    tagless: list[Json] = [
        {"anyOf": []},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"$ref": "#/$defs/none"}]},
        {"anyOf": [{"type": "object", "properties": {"a": {"enum": ["x"]}}}]},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x", "y"]}}}]},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x"]}}}] * 2},
        {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": [1]}}}]},
        {"anyOf": [True, {"type": "object"}]},
        {"allOf": [{}], "anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"enum": ["x"]}}}]},
    ]
    for schema in tagless:
        assert expand_tagged_unions(schema) == ({**schema, "$defs": {}}, {})


def test_an_explanation_names_so_many_places_and_does_not_change_the_schema() -> None:
    found = present(BUILTIN_KINDS.find("ui.a2ui-surface"))
    before = str(found.schema)
    found.validator.error_details({}, "")
    assert str(found.schema) == before
    assert found.validator is found.validator
    many = {"surface": {"components": [{"component": "text"}] * 400}, "catalogVersion": "0.9.1"}
    found = present(BUILTIN_KINDS.find("ui.a2ui-surface"))
    assert len(found.validator.error_details(many, "")) == MAX_DETAILS
    many["surface"] = {"components": [{"component": "text"}] * 9_000}
    assert len(found.validator.error_details(many, "")) == 1


@pytest.mark.rule("env-17")
@pytest.mark.parametrize("own", [True, False])
def test_a_name_that_the_sender_chose_is_not_shown(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "integer"}}},
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    held = rules(kinds=BUILTIN_KINDS.with_kinds([KindDefinition("vendor.x", 1, schema, own)]))
    payload = {CANARY: {CANARY: CANARY}, "4711": {"0": "x"}, "list": [1, "x"]}
    outcome = outcome_document(accept(envelope("vendor.x", payload), held).outcome)
    assert {each["instancePath"] for each in outcome["details"]} == {"/payload", "/payload/list/1"}
    assert CANARY not in str(outcome)
    assert "4711" not in str(outcome)
    monkeypatch.setattr(module.DocumentValidator, "_known_steps", lambda self, value, steps: steps)
    assert CANARY in str(accept(envelope("vendor.x", payload), held).outcome)


@pytest.mark.parametrize("own", [True, False])
def test_a_value_that_is_no_json_does_not_fit(own: bool) -> None:
    made = DocumentValidator({"type": "object"}, own)
    for value in ({1: 2}, b"bytes", "\ud800", object()):
        assert not made.is_valid(value) or not own
        assert made.error_details(value, "/payload")
