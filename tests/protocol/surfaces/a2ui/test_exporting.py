"""The messages of a surface: what is in them, who states what, and when buttons do not work."""

from typing import Any

import pytest
from hypothesis import given

from tests.harness.cases import each_case, fails_without
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, Json, surfaces
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces.a2ui import (
    BASIC_CATALOG_ID,
    OPENWOP_CATALOG_ID,
    exporting,
    from_messages,
    openwop_catalog,
    to_messages,
)
from weftwork.protocol.surfaces.a2ui.vocabulary import NEVER
from weftwork.protocol.surfaces.surface import COMPONENTS, Surface


def bodies(messages: list[Json]) -> dict[str, Any]:
    return {name: body for each in messages for name, body in each.items() if name != "version"}


def components(messages: list[Json]) -> list[Json]:
    return bodies(messages)["updateComponents"]["components"]


def buttons(messages: list[Json]) -> list[Json]:
    return [each for each in components(messages) if each["component"] in ("Button", "action.button")]


@pytest.mark.rule("surf-40")
def test_a_surface_is_created_then_filled_then_given_values() -> None:
    messages = to_messages(PAYLOAD, surface_id="env-1")
    assert [next(name for name in each if name != "version") for each in messages] == [
        "createSurface",
        "updateComponents",
        "updateDataModel",
    ]
    assert {each["version"] for each in messages} == {"v0.9.1"}
    assert {each["version"] for each in to_messages(PAYLOAD, surface_id="s", version="0.9")} == {"v0.9"}
    found = bodies(messages)
    assert all(each["surfaceId"] == "env-1" for each in found.values())
    assert found["createSurface"]["catalogId"] == BASIC_CATALOG_ID
    assert found["updateDataModel"]["value"]["values"] == {"guest": "", "arrival": "", "room": [], "breakfast": True}
    assert "createSurface" not in bodies(to_messages(PAYLOAD, surface_id="env-1", create=False))


@pytest.mark.rule("surf-40")
def test_a_button_sends_its_id_and_all_values() -> None:
    actions = [each["action"]["event"] for each in buttons(to_messages(PAYLOAD, surface_id="s"))]
    assert [each["name"] for each in actions] == ["openwop.resume", "openwop.exchange"]
    assert [each["context"] for each in actions] == [
        {"actionId": name, "values": {"path": "/values"}} for name in ("book", "ask")
    ]


@pytest.mark.rule("surf-40")
def test_the_reasoning_of_a_model_is_not_exported() -> None:
    messages = to_messages({**PAYLOAD, "reasoning": "the-reason"}, surface_id="s")
    assert "the-reason" not in str(messages)
    assert messages == to_messages(PAYLOAD, surface_id="s")


@each_case("catalog", "basic", "openwop")
@pytest.mark.rule("surf-42")
def test_no_button_of_a_partial_surface_works(catalog: Any) -> None:
    def check() -> None:
        messages = to_messages(PAYLOAD, surface_id="s", catalog=catalog, partial=True)
        assert "updateDataModel" not in bodies(messages)
        found = buttons(messages)
        assert found
        for each in found:
            checks = [{"condition": NEVER, "message": exporting.ARRIVING}]
            assert each.get("checks") == checks or each.get("disabledReason") == exporting.ARRIVING
        assert from_messages(messages)[0] is None

    check()
    if catalog == "basic":
        original = exporting._BasicComponents._button  # pyright: ignore[reportPrivateUsage]

        def working(self: Any, button: Any, name: str) -> Any:
            self._disabled = {}
            return original(self, button, name)

        fails_without(exporting._BasicComponents, "_button", working)(check)()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.rule("surf-42")
def test_a_button_whose_action_is_refused_says_why() -> None:
    ask, book = "This button belongs to a conversation.", "book"
    for catalog in ("basic", "openwop"):
        found = buttons(to_messages(PAYLOAD, surface_id="s", catalog=catalog, disabled_actions={"ask": ask}))
        assert len(found) == 2
        assert ask not in str(found[0])
        assert book in str(found[0])
        assert ask in str(found[1])


@pytest.mark.rule("surf-47")
@each_case(
    "catalog, name, trust, theme",
    ("basic", None, None, None),
    ("basic", "Planner", None, {"agentDisplayName": "Planner"}),
    ("basic", "Planner", "trusted", {"agentDisplayName": "Planner"}),
    ("basic", "Planner", "untrusted", {"agentDisplayName": "Planner (untrusted content)"}),
    ("basic", None, "untrusted", {"agentDisplayName": "Agent (untrusted content)"}),
    ("openwop", "Planner", "untrusted", {"agentDisplayName": "Planner", "contentTrust": "untrusted"}),
    ("openwop", None, None, None),
)
def test_the_host_states_who_sent_a_surface(catalog: Any, name: str | None, trust: Any, theme: Json | None) -> None:
    messages = to_messages(PAYLOAD, surface_id="s", catalog=catalog, agent_display_name=name, content_trust=trust)
    assert bodies(messages)["createSurface"].get("theme") == theme


def test_what_is_not_a_surface_is_not_exported() -> None:
    with pytest.raises(ValueError, match=r"catalogue version 0\.9\.1"):
        to_messages({"catalogVersion": "1.0", "surface": {"components": []}}, surface_id="s")
    with pytest.raises(ValueError, match=r"0\.9, 0\.9\.1"):
        to_messages(PAYLOAD, surface_id="s", version="1.0")  # type: ignore[arg-type]


@pytest.mark.rule("surf-46")
def test_the_catalogue_of_openwop_has_the_components_of_a_surface_and_they_are_closed() -> None:
    document = openwop_catalog()
    names: list[str] = [each.__struct_config__.tag for each in COMPONENTS]  # type: ignore[misc]
    assert list(document["components"]) == ["surface", *names]
    assert document["catalogId"] == OPENWOP_CATALOG_ID
    assert document["functions"] == []

    def closed(value: Any) -> bool:
        if isinstance(value, list):
            return all(map(closed, value))
        if not isinstance(value, dict):
            return True
        return (value.get("type") != "object" or value.get("additionalProperties") is False) and all(
            map(closed, value.values())
        )

    assert closed(document["components"])
    assert closed(document["$defs"])
    document["components"].clear()
    assert openwop_catalog()["components"]


@pytest.mark.rule("surf-46")
@given(surfaces)
def test_an_export_matches_the_catalogue_of_openwop(surface: Surface) -> None:
    document = openwop_catalog()
    for each in components(to_messages(surface, surface_id="s", catalog="openwop")):
        definition = {**document["components"][each["component"]], "$defs": document["$defs"]}
        assert schema.check_inline(definition, each, "") == []
