"""Patches between surfaces."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.surfaces import delta
from weftwork.protocol.surfaces.delta import OPERATIONS, apply_patch, make_patch

LONG = [{"component": "text", "text": f"Paragraph {index} of the form."} for index in range(20)]


def payload(*components: Any, **more: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"title": "Trip", "components": list(components)}, **more}


@pytest.mark.rule("surf-52")
def test_paths_start_at_the_payload() -> None:
    target = payload(*LONG[:3], {"component": "text", "text": "Changed."}, *LONG[4:])
    assert make_patch(payload(*LONG), target) == [
        {"op": "replace", "path": "/surface/components/3/text", "value": "Changed."}
    ]


@pytest.mark.rule("surf-52")
@each_case(
    "base, target",
    (payload(*LONG), payload(*LONG)),
    (payload(*LONG), {**payload(*LONG), "catalogVersion": "1.0"}),
    (payload(*LONG), payload(LONG[0])),
    (payload(), payload(*LONG)),
)
def test_a_patch_that_saves_nothing_is_not_made(base: Any, target: Any) -> None:
    assert make_patch(base, target) is None


class WrongPatch:
    """A patch that forgets one operation."""

    def __init__(self, base: Any, target: Any) -> None:
        self.patch = jsonpatch.JsonPatch.from_diff(base, target).patch[:-1]


CHANGED = payload({"component": "text", "text": "First."}, *LONG[1:-1], {"component": "text", "text": "Last."})


def claims_to_apply(_base: Any, _patch: Any) -> Any:
    return CHANGED


@pytest.mark.rule("surf-52")
@fails_without(delta, "apply_patch", claims_to_apply)
def test_a_wrong_patch_is_not_sent() -> None:
    assert len(make_patch(payload(*LONG), CHANGED) or ()) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta.jsonpatch, "make_patch", WrongPatch)
        assert make_patch(payload(*LONG), CHANGED) is None


def test_a_value_of_another_json_type_is_a_change() -> None:
    box = {"component": "field.checkbox", "id": "a", "label": "A"}
    for old, new in ((1, True), (False, 0), (1, 1.0)):
        base, target = payload(*LONG, {**box, "default": old}), payload(*LONG, {**box, "default": new})
        patch = make_patch(base, target)
        assert patch is None or encode_stored(apply_patch(base, patch)) == encode_stored(target)
        assert patch != []


@each_case(
    "patch",
    [{"op": "remove", "path": "/surface/components/99"}],
    [{"op": "replace", "path": "/nothing/here", "value": 1}],
    [{"op": "explode", "path": ""}],
    [{"op": "add"}],
    [{"op": "add", "path": "surface", "value": 1}],
)
def test_a_patch_that_does_not_apply_gives_nothing(patch: list[dict[str, Any]]) -> None:
    base = payload(*LONG)
    before = copy.deepcopy(base)
    assert apply_patch(base, patch) is None
    assert base == before


NAMES = st.text('ab/~"é', max_size=4)
COMPONENTS = st.lists(
    st.fixed_dictionaries(
        {"component": st.sampled_from(["text", "heading"]), "text": NAMES}, optional={"level": st.integers(1, 6)}
    )
    | st.fixed_dictionaries({"id": NAMES, "default": st.booleans()})
    | st.fixed_dictionaries({"options": st.lists(st.fixed_dictionaries({"value": NAMES, "label": NAMES}), max_size=4)}),
    max_size=8,
)


@pytest.mark.rule("surf-52")
@settings(max_examples=300)
@given(st.lists(COMPONENTS, min_size=2, max_size=5))
def test_the_patches_of_any_surfaces_give_exactly_the_surfaces(states: list[list[Any]]) -> None:
    held = payload(*LONG, *states[0])
    for state in states[1:]:
        target = payload(*state, *LONG)
        patch = make_patch(held, target)
        if patch is not None:
            assert {each["op"] for each in patch} <= OPERATIONS
            held = apply_patch(held, patch)
        else:
            held = target
        assert encode_stored(held) == encode_stored(target)
