"""An action of an A2UI client becomes the id of a button and values, which become one answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, Json, surfaces
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.surfaces.a2ui import fold_action
from weftwork.protocol.surfaces.actions import BoundSurface, resolve_action
from weftwork.protocol.surfaces.surface import Surface, parse_surface

VALUES: Json = {"guest": "Ann", "arrival": "2026-11-20", "room": ["r2"], "breakfast": False}


def action(values: Any = VALUES, action_id: Any = "book", **more: Any) -> Json:
    return {
        "name": "openwop.resume",
        "surfaceId": "env-1",
        "sourceComponentId": "c7",
        "timestamp": "2026-11-19T12:00:00Z",
        "context": {"actionId": action_id, "values": values},
        **more,
    }


@pytest.mark.rule("surf-48")
@each_case(
    "sent",
    action(),
    {"version": "v0.9", "action": action()},
    action(name="openwop.exchange"),
    action({**VALUES, "more": 1, "action": "ask", "__proto__": {}, "actionId": "ask"}),
    action({**VALUES, "arrival": "2026-11-20T00:00:00.000Z"}),
    action({**VALUES, "room": "r2"}),
)
def test_an_action_becomes_one_answer(sent: Json) -> None:
    action_id, values = fold_action(PAYLOAD, sent, surface_id="env-1")
    expected = {"guest": "Ann", "arrival": "2026-11-20", "room": "r2", "breakfast": False}
    assert (action_id, values) == ("book", expected)
    surface = parse_surface(PAYLOAD)
    assert surface is not None
    assert fold_action(surface, sent) == (action_id, values)
    answer = resolve_action(BoundSurface(surface, "custom"), action_id, values)
    assert answer == {**expected, "action": "book"}


@pytest.mark.rule("surf-48")
def test_an_empty_field_has_no_value() -> None:
    empty = {"guest": "", "arrival": "", "room": [], "breakfast": False}
    assert fold_action(PAYLOAD, action(empty)) == ("book", {"breakfast": False})
    assert fold_action(PAYLOAD, {"context": {"actionId": "ask"}}) == ("ask", {})


@pytest.mark.rule("surf-48")
@each_case(
    "sent, pointer",
    (None, ""),
    ([], ""),
    ({}, "/context"),
    (action(surfaceId="env-2"), "/surfaceId"),
    ({"action": action(surfaceId=["env-1"])}, "/action/surfaceId"),
    (action(context=[]), "/context"),
    (action(action_id="reject"), "/context/actionId"),
    (action(action_id=None), "/context/actionId"),
    (action(action_id=["book"]), "/context/actionId"),
    (action(action_id="guest"), "/context/actionId"),
    (action([]), "/context/values"),
)
def test_a_malformed_action_is_refused(sent: Any, pointer: str) -> None:
    sid = "env-1" if sent and "surfaceId" in str(sent) else None
    with pytest.raises(ClientFault) as caught:
        fold_action(PAYLOAD, sent, surface_id=sid)
    assert (caught.value.code, (caught.value.details or {})["pointer"]) == ("validation_error", pointer)


@pytest.mark.rule("surf-48")
def test_several_choices_are_not_one_value() -> None:
    surface = parse_surface(PAYLOAD)
    assert surface is not None
    action_id, values = fold_action(surface, action({**VALUES, "room": ["r1", "r2"]}))
    with pytest.raises(ClientFault) as caught:
        resolve_action(BoundSurface(surface, "custom"), action_id, values)
    assert (caught.value.details or {})["pointer"] == "/values/room"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["context", "values", "actionId", "action", "surfaceId", "a"]), inner, max_size=4
        )
    ),
)


@given(surfaces, anything)
def test_any_action_is_folded_or_refused(surface: Surface, sent: Any) -> None:
    try:
        action_id, values = fold_action(surface, sent)
    except ClientFault:
        return
    assert action_id in {each.id for each in surface.buttons}
    assert values.keys() <= {each.id for each in surface.fields}
