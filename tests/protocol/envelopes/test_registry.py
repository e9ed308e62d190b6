"""The registry of envelope kinds: versions, schemas, and the kinds of a workflow."""

from typing import Any

import pytest
from hypothesis import given, settings

from tests.harness.definitions import TYPES, example_count, node, workflow
from tests.protocol.json.caller_schemas import schemas
from weftwork.protocol.envelopes import kinds as module
from weftwork.protocol.envelopes.kinds import (
    BUILTIN_KINDS,
    DISPLAY_KINDS,
    MAX_BYTES,
    MAX_KINDS,
    MAX_VERSION,
    UNIVERSAL_KINDS,
    KindDefinition,
    KindRefused,
    KindRegistration,
    KindSet,
    check_kind,
    parse_kinds,
    register_kinds,
)
from weftwork.protocol.workflow.validation import parse_workflow

NAME = "vendor.acme.plan"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"steps": {"type": "array"}}, "required": ["steps"]}


def found(*kinds: KindDefinition) -> list[KindRegistration]:
    return [KindRegistration(kind, f"place {number}") for number, kind in enumerate(kinds)]


def refusal(*kinds: KindDefinition) -> str:
    with pytest.raises(KindRefused) as refused:
        register_kinds(BUILTIN_KINDS, found(*kinds))
    return str(refused.value)


@pytest.mark.rule("env-41", "env-44")
def test_the_highest_version_is_the_kind() -> None:
    versions = [KindDefinition(NAME, number, {"type": "object", "minProperties": number}) for number in (2, 10, 3)]
    kinds = register_kinds(BUILTIN_KINDS, found(*versions, KindDefinition("local.note", 1, {})))
    assert kinds.find(NAME) == versions[1]
    assert list(kinds.advertised.items()) == [
        *((name, 1) for name in UNIVERSAL_KINDS),
        ("local.note", 1),
        (NAME, 10),
    ]
    assert all(kinds.find(name) is BUILTIN_KINDS.find(name) for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS))


@pytest.mark.rule("env-41")
def test_a_version_has_one_schema() -> None:
    same = {"required": ["steps"], "type": "object", "properties": {"steps": {"type": "array"}}}
    assert (
        register_kinds(BUILTIN_KINDS, found(KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 1, same))).find(NAME)
        is not None
    )
    said = refusal(KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 1, {**SCHEMA, "required": []}))
    assert said == (
        "place 1: version 1 of the kind 'vendor.acme.plan' is registered with another schema by place 0; "
        "a schema that changes gets a higher version"
    )
    # Also behind a higher one.
    assert "version 1" in refusal(
        KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 2, SCHEMA), KindDefinition(NAME, 1, {})
    )


def test_without_the_comparison_the_first_would_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: schemas that all look alike."""
    monkeypatch.setattr(module, "encode_stored", lambda value: b"")
    kinds = register_kinds(BUILTIN_KINDS, found(KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 1, {})))
    assert kinds.find(NAME) == KindDefinition(NAME, 1, SCHEMA)


@pytest.mark.rule("env-44")
def test_what_nobody_shows_is_not_advertised() -> None:
    assert set(BUILTIN_KINDS.advertised) == set(UNIVERSAL_KINDS)
    assert KindSet({}).advertised == {}


@pytest.mark.rule("env-42")
@pytest.mark.parametrize("version", [0, -1, MAX_VERSION + 1, 1.0, "1", None, True, 2**70])
def test_versions_that_are_none(version: Any) -> None:
    assert [each.rule for each in check_kind(KindDefinition(NAME, version, SCHEMA))] == ["version"]


HOSTILE: list[Any] = [
    {"$ref": "https://example.org/schema"},
    {"$ref": "file:///etc/passwd"},
    {"$ref": "#/$defs/none"},
    {"type": "nothing"},
    {"pattern": "(a+)+\\1"},
    {"pattern": "(?=x)y"},
    {"properties": []},
    {"required": [1]},
    {"minimum": "x"},
]


@pytest.mark.rule("env-42")
@pytest.mark.parametrize("schema", [*HOSTILE, {"$defs": {"a": {"$ref": "#/$defs/a"}}}, {"$dynamicRef": "#a"}, [], None])
def test_schemas_of_others_that_cannot_be_used(schema: Any) -> None:
    assert check_kind(KindDefinition(NAME, 1, schema)) != []
    assert "cannot be registered" in refusal(KindDefinition(NAME, 1, schema))


@pytest.mark.rule("env-42")
@pytest.mark.parametrize("schema", [*HOSTILE, {"enum": ["x" * MAX_BYTES]}])
def test_schemas_of_packages_that_cannot_be_used(schema: Any) -> None:
    (wrong,) = check_kind(KindDefinition(NAME, 1, schema, own_schema=True))
    assert wrong.pointer == "/schema"
    assert "example.org" not in wrong.message


@pytest.mark.rule("env-42")
def test_a_package_may_be_recursive() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert check_kind(KindDefinition(NAME, 1, tree, own_schema=True)) == []
    assert check_kind(KindDefinition(NAME, 1, tree)) != []


@settings(max_examples=example_count(100), deadline=None)
@given(schemas())
def test_no_schema_raises(schema: Any) -> None:
    if isinstance(schema, dict):
        check_kind(KindDefinition(NAME, 1, schema))
        check_kind(KindDefinition(NAME, 1, schema, own_schema=True))


def kinds_of(given: Any) -> tuple[tuple[KindDefinition, ...], list[tuple[str, str]]]:
    kinds, wrong = parse_kinds({"envelopeKinds": given})
    return kinds, [(each.pointer, each.rule) for each in wrong]


@pytest.mark.rule("env-43")
def test_kinds_of_a_workflow() -> None:
    given = {NAME: {"version": 3, "schema": SCHEMA}, "local.note": {"schema": {}}}
    assert kinds_of(given) == ((KindDefinition("local.note", 1, {}), KindDefinition(NAME, 3, SCHEMA)), [])
    assert parse_kinds({}) == ((), [])
    document = workflow([node("a")], metadata={"tags": ["x"], "envelopeKinds": given})
    parsed, violations = parse_workflow(document, TYPES)
    assert parsed is not None, violations
    assert parsed.envelope_kinds == kinds_of(given)[0]
    assert parsed.document == document


@pytest.mark.rule("env-43")
@pytest.mark.parametrize(
    ("given", "places"),
    [
        ([], [("", "type")]),
        (7, [("", "type")]),
        ({NAME: {}}, [(f"/{NAME}", "required")]),
        ({NAME: {"schema": {}, "own": True}}, [(f"/{NAME}/own", "additionalProperties")]),
        ({NAME: {"schema": {}, "version": 0}}, [(f"/{NAME}/version", "minimum")]),
        ({NAME: {"schema": True}}, [(f"/{NAME}/schema", "type")]),
        ({"media.image": {"schema": {}}}, [("/media.image", "name")]),
        ({"error": {"schema": {}}}, [("/error", "name")]),
        ({"prd.create": {"schema": {}}}, [("/prd.create", "name")]),
        ({"a/b~": {"schema": {}}}, [("/a~1b~0", "name")]),
        ({NAME: {"schema": {"items": {"$ref": "#"}}}}, [(f"/{NAME}/schema/items/$ref", "$ref")]),
        ({f"local.k{number}": {"schema": {}} for number in range(MAX_KINDS + 1)}, [("", "maxProperties")]),
        ({NAME: {"schema": {"description": "x" * MAX_BYTES}}}, [("", "size")]),
    ],
)
def test_kinds_of_a_workflow_that_are_none(given: Any, places: list[tuple[str, str]]) -> None:
    expected = [(f"/metadata/envelopeKinds{pointer}", rule) for pointer, rule in places]
    assert kinds_of(given) == ((), expected)
    document = workflow([node("a")], metadata={"envelopeKinds": given})
    parsed, violations = parse_workflow(document, TYPES)
    assert parsed is None
    assert [(each.pointer, each.rule) for each in violations] == expected


@pytest.mark.rule("env-43")
def test_a_run_that_has_such_a_workflow_goes_on() -> None:
    document = workflow([node("a")], metadata={"envelopeKinds": "as it was before"})
    parsed, violations = parse_workflow(document, TYPES, pinned=True)
    assert parsed is not None, violations
    assert parsed.envelope_kinds == ()


def test_without_the_dialect_a_circle_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: schemas of workflows that nobody looks at."""
    monkeypatch.setattr(module, "check_caller_schema", lambda schema, at: [])
    assert kinds_of({NAME: {"schema": {"items": {"$ref": "#"}}}})[1] == []


@pytest.mark.rule("env-43")
def test_a_kind_of_the_host_stays_what_it_is() -> None:
    host = KindSet({NAME: KindDefinition(NAME, 2, {"type": "object"})})
    for own, taken in (
        (KindDefinition(NAME, 2, {"type": "object"}), False),
        (KindDefinition(NAME, 2, {}), True),
        (KindDefinition(NAME, 3, {"type": "object"}), True),
        (KindDefinition("local.other", 1, {}), False),
    ):
        found = [(each.pointer, each.rule) for each in module.check_host_kinds(host, [own])]
        assert found == ([(f"/metadata/envelopeKinds/{NAME}", "taken")] if taken else [])
        assert host.with_missing([own]).find(NAME) is host.find(NAME)
        assert host.with_missing([own]).find(own.name) is not None
