"""The gate for model capabilities: its three results, its events, and what a node type may require."""

from typing import Any

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import for_all
from weftwork.protocol.json import schema
from weftwork.protocol.models import capability_gate as module
from weftwork.protocol.models.capability_gate import (
    CAPABILITY_PATTERN,
    MAX_REQUIRED,
    NO_MODELS,
    ModelCatalogue,
    ModelNeeds,
    ModelRef,
    OfferedProvider,
    capability_family,
    gate_event,
    is_capability_id,
    requirement_problem,
)
from weftwork.protocol.models.model_catalogue import RESERVED_CAPABILITIES, is_capability
from weftwork.protocol.workflow.node_types import NodeDeclaration, describe_node_type

NAMES = ("a", "b", "c", "d")
TINY, EYES, OWL = ModelRef("local", "tiny"), ModelRef("local", "eyes"), ModelRef("cloud", "owl")
CATALOGUE = ModelCatalogue(
    {
        "local": OfferedProvider(
            "tiny", {"tiny": frozenset({"reasoning"}), "eyes": frozenset({"vision-input", "x-host-acme-ocr"})}
        ),
        "cloud": OfferedProvider("owl", {"owl": frozenset({"vision-input", "reasoning"})}),
    }
)

sets = st.frozensets(st.sampled_from(NAMES))


def gate(
    required: tuple[str, ...], active: frozenset[str], other: frozenset[str] | None, substitution: bool, known: bool
) -> module.GateResult:
    offered = {TINY: active, OWL: other or frozenset()}
    return module.evaluate_gate(
        ModelNeeds(required, None if other is None else OWL),
        TINY,
        substitution=substitution,
        supported=("cloud",) if known else (),
        capabilities_of=lambda ref: offered[ref],
    )


@pytest.mark.rule("cap-02", "cap-03")
@for_all(300, st.lists(st.sampled_from(NAMES), unique=True), sets, st.none() | sets, st.booleans(), st.booleans())
def test_each_result_has_its_conditions(
    required: list[str], active: frozenset[str], other: frozenset[str] | None, substitution: bool, known: bool
) -> None:
    result = gate(tuple(required), active, other, substitution, known)
    missing = tuple(name for name in required if name not in active)
    usable = substitution and known and other is not None and set(required) <= other
    assert result.missing == missing
    assert result.route == ("dispatch" if not missing else "substitute" if usable else "refuse")
    assert result.fallback_attempted == (result.route == "refuse" and substitution and other is not None)


@each_case(
    "other, substitution, known, attempted",
    (None, True, True, False),
    (frozenset("ab"), False, True, False),
    (frozenset("ab"), True, False, True),
    (frozenset("a"), True, True, True),
)
@pytest.mark.rule("cap-03")
def test_the_four_refusals(other: frozenset[str] | None, substitution: bool, known: bool, attempted: bool) -> None:
    result = gate(("a", "b"), frozenset("a"), other, substitution, known)
    assert (result.route, result.missing, result.fallback_attempted) == ("refuse", ("b",), attempted)


def _substitutes_always(needs: ModelNeeds, active: ModelRef, **policy: Any) -> module.GateResult:
    return module.GateResult("substitute", ("a",))


@pytest.mark.rule("cap-03")
@fails_without(module, "evaluate_gate", _substitutes_always)
def test_a_fallback_must_have_all_capabilities_and_not_only_the_missing_ones() -> None:
    assert gate(("a", "b"), frozenset("a"), frozenset("b"), True, True).route == "refuse"
    assert gate(("a", "b"), frozenset("a"), frozenset("ab"), True, True).route == "substitute"


@pytest.mark.rule("cap-10")
@for_all(100, st.lists(st.sampled_from(NAMES), unique=True), sets, st.none() | sets, st.booleans(), st.booleans())
def test_the_events_are_valid_and_only_a_dispatch_has_none(
    required: list[str], active: frozenset[str], other: frozenset[str] | None, substitution: bool, known: bool
) -> None:
    result = gate(tuple(required), active, other, substitution, known)
    event = gate_event("n", TINY, None if other is None else OWL, result)
    assert (event is None) == (result.route == "dispatch")
    assume(event is not None)
    assert event is not None
    payload = event.members()
    assert schema.check_payload(event.event_type, payload) == []
    assert schema.check_payload(event.event_type, {**payload, "credentialRef": "c"}) != []
    for member in payload.keys() - {"fallbackAttempted"}:
        assert schema.check_payload(event.event_type, {k: v for k, v in payload.items() if k != member}) != []
    assert payload["missingCapabilities"] == [name for name in required if name not in active]


def test_a_model_is_resolved_by_the_defaults_of_the_host() -> None:
    assert CATALOGUE.resolve("", "") == TINY
    assert CATALOGUE.resolve("", "eyes") == EYES
    assert CATALOGUE.resolve("cloud", "") == OWL
    assert CATALOGUE.resolve("other", "") == ModelRef("other", "")
    assert NO_MODELS.resolve("", "") == ModelRef("", "")
    assert CATALOGUE.capabilities_of(ModelRef("local", "unlisted")) == frozenset()
    assert CATALOGUE.has_model_with(("vision-input", "reasoning"))
    assert not CATALOGUE.has_model_with(("x-host-acme-ocr", "reasoning"))


@pytest.mark.rule("cap-04", "disc-11")
def test_discovery_has_the_capabilities_of_all_models() -> None:
    found = capability_family(CATALOGUE)
    assert found["advertised"] == ["reasoning", "vision-input", "x-host-acme-ocr"]
    assert set(found["advertised"]) == {name for ref in (TINY, EYES, OWL) for name in CATALOGUE.capabilities_of(ref)}
    assert capability_family(NO_MODELS) == {"supported": True, "advertised": [], "substitutionSupported": True}
    assert capability_family(ModelCatalogue({}, False))["substitutionSupported"] is False


@pytest.mark.rule("cap-01")
def test_a_model_claims_reserved_capabilities_or_those_of_the_host() -> None:
    assert all(map(is_capability, (*RESERVED_CAPABILITIES, "x-host-acme-ocr")))
    assert not any(map(is_capability, ("telepathy", "x-host-acme", "X-host-acme-ocr", "vision-input\n", "")))


@pytest.mark.rule("cap-05")
@each_case(
    "required, fallback, problem",
    (("vision-input", "x-host-acme-ocr", "a-later-one"), OWL, None),
    ((), None, None),
    (tuple(f"c{number}" for number in range(MAX_REQUIRED)), None, None),
    (tuple(f"c{number}" for number in range(MAX_REQUIRED + 1)), None, "up to 32"),
    (("vision-input", "vision-input"), None, "twice"),
    (("Vision",), None, "not a model capability"),
    (("vision-input\n",), None, "not a model capability"),
    (("a" * 129,), None, "not a model capability"),
    ((1,), None, "not a model capability"),
    ((), OWL, "no effect"),
    (("vision-input",), ModelRef("Cloud", "owl"), "must be a provider"),
    (("vision-input",), ModelRef("cloud", ""), "must be a provider"),
)
def test_the_requirements_of_a_node_type(required: Any, fallback: ModelRef | None, problem: str | None) -> None:
    found = requirement_problem(required, fallback)
    assert (found is None) == (problem is None)
    assert found is None or (problem or "") in found
    if problem is not None:
        with pytest.raises(ValueError, match=r"acme\.see: "):
            NodeDeclaration("acme.see", "Sees.", required_model_capabilities=required, fallback_model=fallback)
    else:
        declared = NodeDeclaration("acme.see", "Sees.", required_model_capabilities=required, fallback_model=fallback)
        described = describe_node_type(declared)
        assert schema.check("node-type", described) == []
        assert described["requiredModelCapabilities"] == list(required)
        assert described.get("fallbackModel") == (fallback.document() if fallback is not None else None)


@for_all(200, st.from_regex(CAPABILITY_PATTERN, fullmatch=True) | st.text(max_size=12))
def test_the_pattern_of_the_schema_is_that_of_the_host(name: str) -> None:
    assume(len(name) <= module.MAX_CAPABILITY)
    document = {"type": "string", "pattern": CAPABILITY_PATTERN}
    assert (schema.check_inline(document, name, "") == []) == is_capability_id(name)
