"""Surfaces that are checked again when they are read: what is valid is rendered, and everything else is kept."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from tests.protocol.envelopes.sample_envelopes import COMPONENTS as SAMPLE
from tests.protocol.surfaces.spoiled_components import spoiled_components
from weftwork.protocol.envelopes.checks import check_payload
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, SURFACE_KIND
from weftwork.protocol.surfaces import stored
from weftwork.protocol.surfaces.stored import check_stored

KIND = BUILTIN_KINDS.find(SURFACE_KIND)
assert KIND is not None
VALIDATOR = KIND.validator
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
)


def payload(*components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"components": list(components)}, **more}


FIELD = {"component": "field.text", "id": "who", "label": "Name"}


@pytest.mark.rule("surf-20")
def test_a_valid_surface_is_rendered() -> None:
    found = check_stored(payload(*SAMPLE, reasoning="because"))
    assert found.surface is not None
    assert len(found.surface.components) == len(SAMPLE)
    assert found.diagnostics == ()


def no_breaches(*_: Any) -> list[Any]:
    return []


@pytest.mark.rule("surf-20")
@fails_without(stored, "check_limits", no_breaches)
@each_case(
    "document, pointer",
    (payload(FIELD, FIELD), "/surface/components/1/id"),
    (payload({**FIELD, "id": "__proto__"}), "/surface/components/0/id"),
    (payload({**FIELD, "id": "[REDACTED:x]"}), "/surface/components/0/id"),
)
def test_a_surface_that_breaches_a_limit_is_not_rendered(document: dict[str, Any], pointer: str) -> None:
    found = check_stored(document)
    assert found.surface is None
    assert [each.pointer for each in found.diagnostics] == [pointer]


@pytest.mark.rule("surf-20")
@each_case(
    "document, pointer",
    ({**payload(FIELD), "catalogVersion": "2.0.0"}, "/catalogVersion"),
    (payload(FIELD, partial=True), "/partial"),
    (payload({**FIELD, "onClick": "alert(1)"}), "/surface/components/0/onClick"),
    ({"surface": {"components": []}}, ""),
    (None, ""),
    ([FIELD], ""),
)
def test_what_is_not_a_surface_is_not_rendered_and_says_why(document: Any, pointer: str) -> None:
    found = check_stored(document)
    assert found.surface is None
    assert pointer in [each.pointer for each in found.diagnostics]


@given(JSON)
def test_no_json_makes_the_check_fail(document: Any) -> None:
    found = check_stored(document)
    assert found.surface is None
    assert found.diagnostics


@pytest.mark.parametrize("deep", [40, 200, 900, 5_000])
def test_a_deep_document_is_not_rendered(deep: int) -> None:
    document: Any = {}
    for _ in range(deep):
        document = {"surface": document}
    assert check_stored({"catalogVersion": "0.9.1", **document}).surface is None


@given(spoiled_components())
@example([{}])
def test_the_check_agrees_with_the_gate(components: list[dict[str, Any]]) -> None:
    document = payload(*components)
    refused = check_payload(SURFACE_KIND, document, VALIDATOR, None)
    assert (check_stored(document).surface is None) == (refused is not None)
