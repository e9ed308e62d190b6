"""Payloads at the gate: their form, their version, and what no schema says."""

from typing import Any

import pytest

from tests.protocol.envelopes.sample_envelopes import (
    ABSENT,
    COMPONENTS,
    PAYLOADS,
    PLAN,
    accept_outcome,
    envelope,
    refusal_of,
    rules,
    with_value,
)
from weftwork.protocol.envelopes.gate import UNCHECKED_WARNING
from weftwork.protocol.envelopes.kinds import UNIVERSAL_KINDS, KindDefinition
from weftwork.protocol.envelopes.outcome import Accepted, Invalid, outcome_document

SURFACE = "ui.a2ui-surface"


@pytest.mark.rule("env-06")
@pytest.mark.parametrize(
    ("kind", "pointer", "value", "place"),
    [
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
    ],
)
def test_a_payload_that_does_not_fit_its_kind(kind: str, pointer: str, value: Any, place: str) -> None:
    outcome = refusal_of(envelope(kind, with_value(PAYLOADS[kind], pointer, value)))
    assert outcome.code == "envelope_invalid"
    assert outcome.reason.startswith(f"envelope_invalid: {place} ")
    assert {each.instance_path for each in outcome.details} == {place}
    assert outcome.details[0].schema_path.startswith("#/")


@pytest.mark.rule("env-06")
def test_a_payload_of_a_registered_kind() -> None:
    good = envelope(PLAN, {"steps": ["go"]}, schemaVersion=2)
    assert isinstance(accept_outcome(good), Accepted)
    assert refusal_of(with_value(good, "/payload/steps/0", 7)).details[0].instance_path == "/payload/steps/0"
    assert refusal_of(with_value(good, "/payload/77", 7)).details[0].instance_path == "/payload"


@pytest.mark.rule("env-06")
def test_a_kind_with_a_broken_schema_takes_nothing() -> None:
    for own in (True, False):
        broken = rules().kinds.with_kinds([KindDefinition("vendor.broken", 1, {"type": "nothing"}, own)])
        outcome = refusal_of(envelope("vendor.broken", {}), rules(kinds=broken))
        assert outcome.reason == "envelope_invalid: /payload does not fit its schema"


@pytest.mark.rule("env-06")
@pytest.mark.parametrize("payload", [{"a": [1]}, None, "text", 0, False, []])
def test_a_kind_without_a_schema_passes_with_a_warning(payload: Any) -> None:
    outcome = accept_outcome({**envelope("vendor.any"), "payload": payload, "schemaVersion": 9})
    assert isinstance(outcome, Accepted)
    assert outcome.payload == payload
    assert outcome.warnings == (UNCHECKED_WARNING,)
    warning = {"field": "/payload", "reason": UNCHECKED_WARNING, "originalShape": "unknown"}
    assert outcome_document(outcome)["normalizerWarnings"] == [warning]


@pytest.mark.rule("env-07")
@pytest.mark.parametrize(
    ("version", "advertised", "strict", "taken", "drift"),
    [
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
    ],
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
def test_an_older_version_is_held_to_the_advertised_schema() -> None:
    assert refusal_of(envelope(payload={"code": "c"}, schemaVersion=0)).code == "envelope_invalid"


@pytest.mark.rule("env-07")
def test_a_version_of_a_kind_without_a_schema_is_held_to_what_is_advertised() -> None:
    held = rules(versions={"vendor.any": 3})
    assert refusal_of(envelope("vendor.any", 1, schemaVersion=4), held).code == "unknown_schema_version"
    assert isinstance(accept_outcome(envelope("vendor.any", 1, schemaVersion=3), held), Accepted)


@pytest.mark.rule("env-07")
def test_another_catalog_is_another_version() -> None:
    other = with_value(PAYLOADS[SURFACE], "/catalogVersion", "1.0.0")
    outcome = refusal_of(envelope(SURFACE, with_value(other, "/surface/components/0/component", "hologram")))
    assert outcome.code == "unknown_schema_version"
    assert [each.instance_path for each in outcome.details] == ["/payload/catalogVersion"]
    assert refusal_of(envelope("error", {"catalogVersion": "1.0.0"})).code == "envelope_invalid"
    assert refusal_of(envelope(SURFACE, ["1.0.0"])).code == "envelope_invalid"


@pytest.mark.rule("env-19")
@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("action", False),
        ("openwop.x", False),
        ("openwop.", False),
        ("openwop", True),
        ("Action", True),
        ("actions", True),
    ],
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
@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({}, "/payload"),
        ({"url": "https://a.example/b", "base64": "AAAA"}, "/payload"),
        ({"url": "/relative"}, "/payload/url"),
        ({"url": ""}, "/payload/url"),
        ({"url": "https://a.example/a b"}, "/payload/url"),
        ({"url": "https://a.example/\n"}, "/payload/url"),
    ],
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
