"""Envelope kinds: names that may be registered, versions, schemas, and the contract of a node."""

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import TYPES, for_all, node, workflow
from tests.protocol.json.test_dialect import schemas
from tests.protocol.workflow.bad_definitions import with_changes
from weftwork.protocol.envelopes import kinds as kinds_module
from weftwork.protocol.envelopes.gate import accept
from weftwork.protocol.envelopes.gate_rules import MAX_KIND, OPEN_CONTRACT, EnvelopeContract, GateRules, parse_contract
from weftwork.protocol.envelopes.gate_rules import MAX_KINDS as MAX_CONTRACT_KINDS
from weftwork.protocol.envelopes.kinds import (
    BUILTIN_KINDS,
    DISPLAY_KINDS,
    LEGACY_KINDS,
    MAX_BYTES,
    MAX_KINDS,
    MAX_NAME,
    MAX_VERSION,
    UNIVERSAL_KINDS,
    KindDefinition,
    KindRefused,
    KindRegistration,
    KindSet,
    check_kind,
    check_kind_name,
    parse_kinds,
    register_kinds,
)
from weftwork.protocol.envelopes.outcome import Accepted, EnvelopeOutcome, Gated, Invalid
from weftwork.protocol.workflow import validation as module
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
@fails_without(kinds_module, "encode_stored", lambda value: b"")
def test_a_version_has_one_schema() -> None:
    same = {"required": ["steps"], "type": "object", "properties": {"steps": {"type": "array"}}}
    assert (
        register_kinds(BUILTIN_KINDS, found(KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 1, same))).find(NAME)
        is not None
    )
    said = refusal(KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 1, {**SCHEMA, "required": []}))
    assert said == (
        "place 1: place 0 already registers version 1 of the kind 'vendor.acme.plan' with another schema; "
        "give the changed schema a higher version"
    )
    # Also behind a higher one.
    assert "version 1" in refusal(
        KindDefinition(NAME, 1, SCHEMA), KindDefinition(NAME, 2, SCHEMA), KindDefinition(NAME, 1, {})
    )


@pytest.mark.rule("env-44")
def test_what_nobody_shows_is_not_advertised() -> None:
    assert set(BUILTIN_KINDS.advertised) == set(UNIVERSAL_KINDS)
    assert KindSet({}).advertised == {}


@pytest.mark.rule("env-42")
@each_case("version", 0, -1, MAX_VERSION + 1, 1.0, "1", None, True, 2**70)
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
@each_case("schema", *HOSTILE, {"$defs": {"a": {"$ref": "#/$defs/a"}}}, {"$dynamicRef": "#a"}, [], None)
def test_schemas_of_others_that_cannot_be_used(schema: Any) -> None:
    assert check_kind(KindDefinition(NAME, 1, schema)) != []
    assert "cannot be registered" in refusal(KindDefinition(NAME, 1, schema))


@pytest.mark.rule("env-42")
@each_case("schema", *HOSTILE, {"enum": ["x" * MAX_BYTES]})
def test_schemas_of_packages_that_cannot_be_used(schema: Any) -> None:
    (wrong,) = check_kind(KindDefinition(NAME, 1, schema, own_schema=True))
    assert wrong.pointer == "/schema"
    assert "example.org" not in wrong.message


@pytest.mark.rule("env-42")
def test_a_package_may_be_recursive() -> None:
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert check_kind(KindDefinition(NAME, 1, tree, own_schema=True)) == []
    assert check_kind(KindDefinition(NAME, 1, tree)) != []


@for_all(100, schemas())
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
@fails_without(kinds_module, "check_caller_schema", lambda schema, at: [], match=r"\$ref")
@each_case(
    "given, places",
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
)
def test_kinds_of_a_workflow_that_are_none(given: Any, places: list[tuple[str, str]]) -> None:
    expected = [(f"/metadata/envelopeKinds{pointer}", rule) for pointer, rule in places]
    assert kinds_of(given) == ((), expected)
    parsed, violations = parse_workflow(workflow([node("a")], metadata={"envelopeKinds": given}), TYPES)
    assert parsed is None
    assert [(each.pointer, each.rule) for each in violations] == expected


@pytest.mark.rule("env-43")
def test_a_run_that_has_such_a_workflow_goes_on() -> None:
    document = workflow([node("a")], metadata={"envelopeKinds": "as it was before"})
    parsed, violations = parse_workflow(document, TYPES, pinned=True)
    assert parsed is not None, violations
    assert parsed.envelope_kinds == ()


@pytest.mark.rule("env-43")
def test_a_kind_of_the_host_stays_what_it_is() -> None:
    host = KindSet({NAME: KindDefinition(NAME, 2, {"type": "object"})})
    for own, taken in (
        (KindDefinition(NAME, 2, {"type": "object"}), False),
        (KindDefinition(NAME, 2, {}), True),
        (KindDefinition(NAME, 3, {"type": "object"}), True),
        (KindDefinition("local.other", 1, {}), False),
    ):
        found = [(each.pointer, each.rule) for each in kinds_module.check_host_kinds(host, [own])]
        assert found == ([(f"/metadata/envelopeKinds/{NAME}", "taken")] if taken else [])
        assert host.with_missing([own]).find(NAME) is host.find(NAME)
        assert host.with_missing([own]).find(own.name) is not None


GOOD = [
    *("vendor.acme.plan", "vendor.acme-2.plan_v2", "vendor.a.b.c.d", "vendor.acme.planOfRecord"),
    *("community.ada.plan", "private.intranet.plan", "local.plan", "local.team.plan"),
    f"local.{'a' * (MAX_NAME - 6)}",
]


def near_misses() -> list[str]:
    """Names that are one step away from a good one, or from one of the protocol."""
    found: set[str] = set()
    for name in (*UNIVERSAL_KINDS, *DISPLAY_KINDS):
        found |= {name, f"{name}.", f".{name}", f"{name} ", f" {name}", f"{name}\n", name.upper(), name.title()}
        found |= {name.replace(".", ".."), name.replace("e", "\u0435"), f"{name}\u200b"}
        found |= {f"{name}.v2", f"openwop.{name}", f"core.{name}", f"vendor.weftwork.{name}"}
    for name in ("vendor.acme.plan", "community.ada.plan", "private.host.plan", "local.plan"):
        prefix, _, rest = name.partition(".")
        found |= {
            prefix,
            f"{prefix}.",
            f"{prefix}..{rest}",
            f"{name}.",
            f".{name}",
            f"{name}\n",
            f"\n{name}",
            f"{name}\0",
        }
        found |= {
            name.upper(),
            prefix.title() + "." + rest,
            name.replace(".", "/"),
            name.replace(".", ":"),
            f"{name} x",
        }
        found |= {f"{prefix}s.{rest}", f"{prefix[:-1]}.{rest}", f"x{name}", f"{prefix}.1{rest}", f"{prefix}.-{rest}"}
        found |= {
            f"{name}/../x",
            f"{name}%2e",
            f"{name}.schema.json/x",
            f"{name}.é",
            f"{name}.\uff41",
            f"{name}#1",
            f"{name}?x",
        }
    found |= {
        f"{taken}{rest}"
        for taken, rest in product(kinds_module.RESERVED_PREFIXES, ("plan", "acme.plan", "a2ui-surface"))
    }
    found |= {"vendor.acme", "community.ada", "private.host", "local", "", ".", "..", "vendor.Acme.plan", "plan"}
    found |= {
        *LEGACY_KINDS,
        "prd.creates",
        "prd",
        "prd.create.v2",
        f"local.{'a' * (MAX_NAME - 5)}",
        "vendor.acme.plan.1",
    }
    return sorted(found - {"vendor.acme.plan.v2"})


@pytest.mark.rule("env-40")
@each_case("name", *GOOD)
def test_good_names(name: str) -> None:
    assert check_kind_name(name) is None


@pytest.mark.rule("env-40")
def test_names_that_almost_are_one_are_refused_by_the_registry_and_by_the_gate() -> None:
    names = near_misses()
    assert len(names) >= 200
    assert [name for name in names if check_kind_name(name) is None] == []
    nothing = KindSet({})
    for name in names:
        with pytest.raises(KindRefused, match="cannot be registered"):
            register_kinds(nothing, [KindRegistration(KindDefinition(name, 1, {}), "here")])
    """A host that takes the kinds that they are near to takes none of them."""
    known = BUILTIN_KINDS.with_kinds(
        KindDefinition(name, 1, {}) for name in ("vendor.acme.plan", "community.ada.plan", "local.plan")
    )
    rules = GateRules(known, frozenset(known.advertised))
    meta = {"source": "ai-generation", "ts": "2026-01-01T00:00:00Z"}

    def outcome(name: str) -> EnvelopeOutcome:
        sent = {"type": name, "schemaVersion": 1, "envelopeId": "e", "correlationId": "c", "payload": {}, "meta": meta}
        return accept(sent, rules).outcome

    assert isinstance(outcome("vendor.acme.plan"), Accepted)
    near = [name for name in near_misses() if name not in UNIVERSAL_KINDS]
    assert len(near) >= 200
    assert [name for name in near if not isinstance(outcome(name), Gated | Invalid)] == []
    assert sum(isinstance(outcome(name), Gated) for name in near) >= 200


def test_without_the_check_they_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: a pattern that takes anything, and a name that is not compared."""
    monkeypatch.setattr(kinds_module, "_KIND_NAME", re.compile(".*", re.DOTALL))
    monkeypatch.setattr(kinds_module, "RESERVED_PREFIXES", ())
    assert len([name for name in near_misses() if check_kind_name(name) is None]) >= 150


@pytest.mark.rule("env-40")
def test_old_names_are_for_operators() -> None:
    for name in LEGACY_KINDS:
        assert check_kind_name(name) is not None
        assert check_kind_name(name, legacy=True) is None
    assert check_kind_name("prd.delete", legacy=True) is not None
    assert check_kind_name("clarification.request", legacy=True) is not None


@given(st.text(max_size=40))
def test_no_text_raises_and_what_passes_can_stand_in_a_path(name: str) -> None:
    if check_kind_name(name) is None:
        assert re.fullmatch("[A-Za-z0-9._-]+", name)
        assert ".." not in name


@given(st.sampled_from(("vendor", "community", "private")), st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True))
def test_every_organisation_has_its_own(prefix: str, organisation: str) -> None:
    expected = prefix == "vendor" and organisation == "weftwork"
    assert (check_kind_name(f"{prefix}.{organisation}.plan") is not None) is expected


AT = "/nodes/0/envelopeContract"
TICKET = "vendor.example.ticket"

READ: list[tuple[dict[str, Any], EnvelopeContract]] = [
    ({}, OPEN_CONTRACT),
    ({"accepts": []}, EnvelopeContract(frozenset())),
    ({"accepts": [TICKET, TICKET, "error"]}, EnvelopeContract(frozenset({TICKET, "error"}))),
    ({"refusalMode": "discard-and-warn"}, EnvelopeContract(None, "discard-and-warn")),
    ({"alwaysAccepted": list(UNIVERSAL_KINDS)}, OPEN_CONTRACT),
    ({"alwaysAccepted": []}, OPEN_CONTRACT),
    ({"artifacts": [TICKET]}, EnvelopeContract(None, artifacts=frozenset({TICKET}))),
    (
        {"accepts": [TICKET], "artifacts": [TICKET]},
        EnvelopeContract(frozenset({TICKET}), artifacts=frozenset({TICKET})),
    ),
    ({"accepts": ["x" * MAX_KIND] * MAX_CONTRACT_KINDS}, EnvelopeContract(frozenset({"x" * MAX_KIND}))),
]

REFUSED: list[tuple[Any, str, str]] = [
    ({"accept": [TICKET]}, "/accept", "additionalProperties"),
    ({"accepts": TICKET}, "/accepts", "type"),
    ({"accepts": [""]}, "/accepts/0", "minLength"),
    ({"accepts": ["x" * (MAX_KIND + 1)]}, "/accepts/0", "maxLength"),
    ({"accepts": ["x"] * (MAX_CONTRACT_KINDS + 1)}, "/accepts", "maxItems"),
    ({"accepts": [1]}, "/accepts/0", "type"),
    ({"refusalMode": "ignore"}, "/refusalMode", "enum"),
    ({"alwaysAccepted": ["error", TICKET]}, "/alwaysAccepted/1", "enum"),
    ({"artifacts": ["clarification.request"]}, "/artifacts/0", "not"),
    ({"accepts": [TICKET], "artifacts": [TICKET, "vendor.example.bill"]}, "/artifacts/1", "reference"),
]


@pytest.mark.rule("ai-01")
@each_case("document, contract", *READ)
def test_a_contract_is_read(document: dict[str, Any], contract: EnvelopeContract) -> None:
    assert parse_contract(document, AT) == (contract, [])
    parsed, found = parse_workflow(with_changes({AT: document}), TYPES)
    assert parsed is not None, found
    assert parsed.nodes[0].contract == contract
    assert parsed.nodes[1].contract is OPEN_CONTRACT


@pytest.mark.rule("ai-01")
@fails_without(module, "parse_contract", lambda document, at: (OPEN_CONTRACT, []))
@each_case("document, pointer, rule", *REFUSED)
def test_a_contract_is_refused_at_its_place(document: Any, pointer: str, rule: str) -> None:
    contract, found = parse_contract(document, AT)
    assert contract is OPEN_CONTRACT
    assert [(each.pointer, each.rule) for each in found] == [(AT + pointer, rule)]
    parsed, refused = parse_workflow(with_changes({AT: document}), TYPES)
    assert parsed is None
    assert refused == found


@pytest.mark.rule("ai-01")
def test_a_run_goes_on_with_a_contract_that_was_taken_once() -> None:
    """Members that nobody heeded before must not end a run that has them."""
    parsed, found = parse_workflow(with_changes({AT: {"note": "x"}}), TYPES, pinned=True)
    assert parsed is not None, found
    assert parsed.nodes[0].contract is OPEN_CONTRACT


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_document_breaks_the_reader(document: Any) -> None:
    contract, found = parse_contract(document, AT)
    assert (contract is OPEN_CONTRACT) or not found
    assert all(each.pointer.startswith(AT) for each in found)
