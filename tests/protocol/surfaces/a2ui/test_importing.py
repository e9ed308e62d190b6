"""Streams of A2UI messages as closed surfaces: what is read, what is lost, what is refused."""

import copy
from typing import Any

import pytest

from tests.harness.cases import each_case, fails_without
from tests.protocol.surfaces.a2ui import streams
from tests.protocol.surfaces.a2ui.streams import (
    PROFILE,
    STREAMS,
    TABLE_BOOKING,
    button,
    column,
    components,
    created,
    model,
    required,
    text,
)
from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, Json, message
from weftwork.protocol.surfaces.a2ui import basic_tree, from_messages, to_messages
from weftwork.protocol.surfaces.a2ui.streams import MAX_BYTES, MAX_MESSAGES, MAX_TREE_COMPONENTS


def imported(*messages: Any) -> list[Json]:
    """The components of a stream that is imported."""
    payload, diagnostics = from_messages(messages)
    assert payload is not None, diagnostics
    return payload["surface"]["components"]


def shown(*listed: Json) -> tuple[Json | None, list[str]]:
    """A surface whose root is a column with all these components, and the places of its diagnostics."""
    root = column(*(each["id"] for each in listed if "-" not in each["id"]))
    payload, diagnostics = from_messages([created(), components(root, *listed)])
    return payload, [each.path for each in diagnostics]


def test_a_stream_with_layout_and_bindings_becomes_a_form() -> None:
    before = copy.deepcopy(TABLE_BOOKING)
    payload, diagnostics = from_messages(TABLE_BOOKING)
    assert before == TABLE_BOOKING
    assert payload == {
        "catalogVersion": "0.9.1",
        "surface": {
            "components": [
                {"component": "heading", "text": "The Quay", "level": 2},
                {"component": "text", "text": "[Image not shown: The terrace]"},
                {"component": "field.text", "id": "form.party", "label": "Guests", "required": True},
                {"component": "field.date", "id": "form.day", "label": "Day"},
                {
                    "component": "field.select",
                    "id": "form.area",
                    "label": "Area",
                    "required": True,
                    "options": [{"value": "in", "label": "Inside"}, {"value": "out", "label": "Terrace"}],
                },
                {"component": "field.text", "id": "form.notes", "label": "Notes"},
                {"component": "field.checkbox", "id": "form.terms", "label": "I *agree*", "default": True},
                {
                    "component": "action.button",
                    "id": "book_table",
                    "label": "Book *now*",
                    "action": {"target": "resume"},
                },
                {
                    "component": "action.button",
                    "id": "ask_later",
                    "label": "Ask me later",
                    "action": {"target": "resume"},
                },
            ]
        },
    }
    assert all(each.is_loss and each.surface_id == "s1" for each in diagnostics)
    assert [each.path for each in diagnostics] == [
        "/0/createSurface/theme",
        "/2/updateComponents/components/1",
        "/2/updateComponents/components/2",
        "/2/updateComponents/components/3",
        "/2/updateComponents/components/4/variant",
        "/3/updateComponents/components/0/min",
        "/3/updateComponents/components/1",
        "/3/updateComponents/components/3/variant",
        "/3/updateComponents/components/7",
    ]
    assert diagnostics[0].document() == {
        "code": "VALIDATION_FAILED",
        "surfaceId": "s1",
        "path": "/0/createSurface/theme",
        "message": diagnostics[0].message,
    }


def test_a_surface_without_fields_is_read() -> None:
    assert imported(*PROFILE) == [
        {"component": "heading", "text": "Ann", "level": 1},
        {"component": "text", "text": "3"},
        {"component": "text", "text": "true"},
        {"component": "text", "text": "b"},
        {"component": "heading", "text": "New notes", "level": 2},
    ]


def test_one_of_several_surfaces_is_selected_and_a_deleted_one_is_gone() -> None:
    other = [
        {**each, name: {**body, "surfaceId": "s2"}}
        for each in PROFILE
        for name, body in each.items()
        if name != "version"
    ]
    assert from_messages([*PROFILE, *other], surface_id="s2")[0] == from_messages(PROFILE)[0]
    payload, (diagnostic,) = from_messages([*PROFILE, *other])
    assert payload is None
    assert "several" in diagnostic.message
    assert from_messages([*PROFILE, *other, message("deleteSurface")])[0] == from_messages(PROFILE)[0]
    again = [*PROFILE, message("deleteSurface"), *PROFILE]
    assert from_messages(again)[0] == from_messages(PROFILE)[0]
    for messages in ([], [*PROFILE, message("deleteSurface")]):
        assert from_messages(messages)[0] is None
    assert from_messages(PROFILE, surface_id="s9")[0] is None


FIELD = {"id": "f", "component": "TextField", "label": "Name", "value": {"path": "/values/f"}}
CHOICE = {
    "id": "f",
    "component": "ChoicePicker",
    "label": "Room",
    "options": [{"label": "A", "value": "a"}],
    "value": {"path": "/values/f"},
}
DATE = {"id": "f", "component": "DateTimeInput", "label": "Day", "value": "", "enableDate": True}
BUTTON = button("b", "b-text")
LABEL = text("b-text", "Send")


@pytest.mark.rule("surf-44")
@each_case(
    "component, place",
    ({**FIELD, "variant": "obscured"}, "/variant"),
    ({**FIELD, "variant": "x"}, "/variant"),
    ({**FIELD, "label": {"call": "now", "args": {"value": "${/a}"}}}, "/label"),
    ({**FIELD, "value": {"call": "now"}}, "/value"),
    ({**BUTTON, "action": {"functionCall": {"call": "openUrl", "args": {"url": "javascript:alert(1)"}}}}, ""),
    ({**BUTTON, "action": {"functionCall": {"call": "required"}}}, ""),
    ({**BUTTON, "action": {"event": {"name": "x", "context": {"a": {"call": "openUrl"}}}}}, ""),
    ({**BUTTON, "action": {"event": {"name": "x"}, "other": 1}}, "/action"),
    ({**BUTTON, "action": {"event": {}}}, "/action"),
    ({**BUTTON, "action": []}, "/action"),
    ({**BUTTON, "checks": [{"condition": False, "message": "No."}]}, "/checks/0"),
    ({**BUTTON, "checks": [{"condition": {"call": "openUrl", "args": {"url": "https://x.example"}}}]}, ""),
    ({**FIELD, "checks": [{"condition": {"call": "fetch"}}]}, "/checks/0"),
    ({**FIELD, "checks": [{"condition": {"call": ["required"]}}]}, "/checks/0"),
    ({**FIELD, "checks": "required"}, "/checks/0"),
    ({**CHOICE, "variant": "multipleSelection"}, "/variant"),
    ({**CHOICE, "options": {"path": "/options"}}, "/options"),
    ({**CHOICE, "options": [{"label": "A"}]}, "/options/0"),
    ({**DATE, "enableTime": True}, ""),
    ({**DATE, "enableDate": False}, ""),
    ({"id": "f", "component": "Slider", "max": 3, "value": 1}, "/component"),
    ({"id": "f", "component": "Tabs", "tabs": "x"}, "/tabs/0"),
    ({"id": "f", "component": "Tabs", "tabs": [{"title": "x"}]}, "/tabs/0"),
    ({"id": "f", "component": "Tabs", "tabs": [{"title": "x", "child": "none"}]}, ""),
    ({"id": "f", "component": "Modal", "trigger": "a", "content": "b"}, "/component"),
    ({"id": "f", "component": "Html", "html": "<script>"}, "/component"),
    ({"id": "f", "component": "List", "children": {"componentId": "x", "path": "/items"}}, "/children"),
    ({"id": "f", "component": "List", "children": {"componentId": "x", "path": []}}, "/children"),
    ({"id": "f", "component": "List", "children": {"componentId": "x"}}, "/children"),
    ({"id": "f", "component": "Card", "child": ["x"]}, "/child"),
    ({"id": "f", "component": "Text", "text": {"path": 1}}, "/text"),
    ({"id": "f", "component": "Text", "text": "x", "variant": "h6"}, "/variant"),
    ({"id": "f", "component": "Text", "text": "x", "onClick": {"call": "openUrl"}}, ""),
    ({"id": "f", "component": "Image", "url": {"call": "openUrl"}}, ""),
)
def test_what_a_surface_cannot_have_is_refused(component: Json, place: str) -> None:
    payload, places = shown(component, *([LABEL] if component["component"] == "Button" else []))
    assert payload is None
    assert f"/1/updateComponents/components/1{place}" in places


@pytest.mark.rule("surf-44")
def test_the_proof_fails_if_calls_are_not_looked_for() -> None:
    def check() -> None:
        sneaky = {**BUTTON, "action": {"event": {"name": "x", "context": {"a": {"path": "/a", "call": "openUrl"}}}}}
        assert shown(sneaky, LABEL)[0] is None
        plain = {"id": "t", "component": "Text", "text": "x", "weight": {"functionCall": {"call": "openUrl"}}}
        assert shown(plain)[0] is None

    fails_without(basic_tree, "_calls_out", lambda component: False)(check)()


@pytest.mark.rule("surf-44")
@each_case("kind, notice", ("Image", "Image"), ("Video", "Video"), ("AudioPlayer", "Audio"))
def test_no_address_of_media_is_kept(kind: str, notice: str) -> None:
    payload, places = shown({"id": "m", "component": kind, "url": "https://cdn.example/tracker"})
    assert payload is not None
    assert "cdn.example" not in str(payload)
    assert payload["surface"]["components"] == [{"component": "text", "text": f"[{notice} not shown]"}]
    assert places == ["/1/updateComponents/components/1"]


@pytest.mark.rule("surf-45")
@each_case(
    "listed, place",
    ([FIELD, {**FIELD, "id": "g"}], "2/id"),
    ([{**FIELD, "value": {"path": "/values/action"}}], "1/id"),
    ([{**FIELD, "value": {"path": "/openwop.secret"}}], "1/id"),
    ([{**FIELD, "value": {"path": "/values/constructor"}}], "1/id"),
    ([{**FIELD, "label": "x" * 501}], "1/label"),
    ([text("t", "x" * 10_001)], "1/text"),
    ([{**CHOICE, "options": []}], "1/options"),
    ([{**CHOICE, "options": [{"label": "A", "value": "a"}] * 2}], "1/options/1/value"),
    ([text(f"t{number}") for number in range(201)], "0"),
)
def test_the_gate_judges_what_is_imported(listed: list[Json], place: str) -> None:
    payload, places = shown(*listed)
    assert payload is None
    assert places == [f"/1/updateComponents/components/{place}"]


@each_case(
    "component, place, member",
    ({**FIELD, "placeholder": "p"}, "/placeholder", {}),
    ({**FIELD, "accessibility": {"description": "d"}}, None, {"placeholder": "d"}),
    ({**FIELD, "accessibility": {"description": "d" * 501}}, "/accessibility/description", {}),
    ({**FIELD, "validationRegexp": "^a+$"}, "/validationRegexp", {}),
    ({**FIELD, "value": "Ann"}, "/value", {"id": "f"}),
    ({**FIELD, "checks": [{"condition": {"call": "email", "args": {}}, "message": "m"}]}, "/checks/0", {}),
    ({**FIELD, "checks": [required("/values/g")]}, "/checks/0", {}),
    ({**FIELD, "checks": [required("/values/f")]}, None, {"required": True}),
    ({**FIELD, "value": {"path": "/a b"}}, None, {"id": "f"}),
    ({**FIELD, "value": {"path": "/values/x.y:z"}}, None, {"id": "x.y:z"}),
    ({**FIELD, "value": {"path": "/values"}}, None, {"id": "values"}),
    ({**CHOICE, "label": None}, None, None),
    ({"id": "f", "component": "CheckBox", "label": "x", "value": True}, None, {"default": True}),
    ({"id": "f", "component": "CheckBox", "label": "x", "value": "yes"}, None, {"component": "field.checkbox"}),
    (
        {"id": "f", "component": "CheckBox", "label": "x", "value": {"path": "/f"}, "checks": [required("/f")]},
        "/checks",
        {"id": "f"},
    ),
    ({"id": "f", "component": "DateTimeInput", "value": "", "enableDate": True}, "", {"label": "f"}),
    ({**DATE, "accessibility": {"label": "Arrival"}}, None, {"label": "Day"}),
    ({"id": "f", "component": "Text", "text": {"path": "/none"}}, "/text", {"text": ""}),
    ({"id": "f", "component": "Text", "text": "\\*a\\* **b**"}, None, {"text": "*a* **b**"}),
    ({"id": "f", "component": "Text", "text": "\\*a\\*", "variant": "caption"}, None, {"text": "\\*a\\*"}),
)
def test_what_is_only_looks_or_hints_is_a_loss(component: Json, place: str | None, member: Json | None) -> None:
    payload, places = shown(component)
    if member is None:
        assert payload is None
        return
    assert payload is not None
    (found,) = payload["surface"]["components"]
    assert found.items() >= member.items()
    assert places == ([] if place is None else [f"/1/updateComponents/components/1{place}"])


def test_a_field_that_only_some_buttons_need_is_optional() -> None:
    needing = {**BUTTON, "checks": [required("/values/f")]}
    payload, places = shown(FIELD, needing, LABEL, button("c", "c-text", "other"), text("c-text"))
    assert payload is not None
    assert "required" not in payload["surface"]["components"][0]
    assert places == ["/1/updateComponents/components/2/checks"]


@each_case(
    "buttons, ids",
    ([button("b", "b-text", "approve"), button("c", "c-text", "reject")], ["approve", "reject"]),
    ([button("b", "b-text", "pick"), button("c", "c-text", "pick")], ["b", "c"]),
    ([button("b", "b-text", "Send it!"), button("c", "c-text", "openwop.resume")], ["b", "c"]),
)
def test_the_id_of_a_button_is_the_name_of_its_event_if_no_other_has_it(buttons: list[Json], ids: list[str]) -> None:
    payload, _ = shown(*buttons, LABEL, text("c-text"))
    assert payload is not None
    assert [each["id"] for each in payload["surface"]["components"]] == ids


@each_case(
    "child, label",
    ({"id": "b-text", "component": "Icon", "name": "send"}, None),
    ({"id": "b-text", "component": "TextField", "label": "x"}, None),
    ({"id": "b-text", "component": "Row", "children": {"componentId": "x", "path": "/"}}, None),
    ({"id": "b-text", "component": "Row", "children": ["b-text"]}, None),
    ({"id": "b-other", "component": "Text", "text": "x"}, None),
)
def test_a_button_without_a_text_is_refused(child: Json, label: None) -> None:
    assert shown(BUTTON, child)[0] is label
    named = {**BUTTON, "accessibility": {"label": "Send"}}
    if child["component"] == "Icon":
        payload, _ = shown(named, child)
        assert payload is not None
        assert payload["surface"]["components"][0]["label"] == "Send"


@pytest.mark.rule("surf-43")
@each_case(
    "messages, place",
    ([None], "/0"),
    ([[]], "/0"),
    ([{}], "/0/version"),
    ([{**created(), "version": "v1.0"}], "/0/version"),
    ([{**created(), "version": ["v0.9"]}], "/0/version"),
    ([{"version": "v0.9"}], "/0"),
    ([{**created(), "deleteSurface": {"surfaceId": "s1"}}], "/0"),
    ([{"version": "v0.9", "callRendererFunction": {"call": "openUrl"}}], "/0"),
    ([{"version": "v0.9", "callAgentFunction": {}}], "/0"),
    ([{"version": "v0.9", "action": {}}], "/0"),
    ([{"version": "v0.9", "createSurface": []}], "/0/createSurface"),
    ([message("createSurface")], "/0/createSurface"),
    ([created(components=[])], "/0/createSurface"),
    ([created("https://x.example/catalog.json")], "/0/createSurface/catalogId"),
    ([message("createSurface", catalogId=["basic"])], "/0/createSurface/catalogId"),
    ([{"version": "v0.9", "createSurface": {"surfaceId": "", "catalogId": "x"}}], "/0/createSurface/surfaceId"),
    ([{"version": "v0.9", "createSurface": {"surfaceId": 1, "catalogId": "x"}}], "/0/createSurface/surfaceId"),
    ([created(), created()], "/1/createSurface/surfaceId"),
    ([components(text("root"))], "/0/updateComponents/surfaceId"),
    ([message("deleteSurface")], "/0/deleteSurface/surfaceId"),
    ([created()], "/0/createSurface"),
    ([created(), components()], "/1/updateComponents/components"),
    ([created(), components("x")], "/1/updateComponents/components/0"),  # type: ignore[arg-type]
    ([created(), components({"id": "root"})], "/1/updateComponents/components/0"),
    ([created(), components(text("a b"))], "/1/updateComponents/components/0/id"),
    ([created(), components(text("x" * 65))], "/1/updateComponents/components/0/id"),
    ([created(), components(text("__proto__"))], "/1/updateComponents/components/0/id"),
    ([created(), components(text("constructor"))], "/1/updateComponents/components/0/id"),
    ([created(), components(text("actionId"))], "/1/updateComponents/components/0/id"),
    ([created(), message("updateDataModel", path=1)], "/1/updateDataModel/path"),
    ([created(), model(1, "/__proto__/x")], "/1/updateDataModel/path"),
    ([created(), model(1, "/a" * 17)], "/1/updateDataModel/path"),
    ([created(), model([1]), model(1, "/x")], "/2/updateDataModel/path"),
    ([created(), model([1]), model(1, "/5")], "/2/updateDataModel/path"),
    ([created(), model("a"), model(1, "/x/y")], "/2/updateDataModel/path"),
    ([created(), model(2**53)], "/1"),
    ([created(), model(float("nan"))], "/1"),
    ([created(), model("\ud800")], "/1"),
    ([created(), model({"a\x00": 1})], "/1"),
    ([created(), model("x" * MAX_BYTES)], "/1"),
    ([created(), *[model("x" * 1000)] * 70], "/61"),
    ([created(), *[message("updateDataModel")] * MAX_MESSAGES], ""),
    ([created(), components(column("a"), column("root", name="a"))], "/1/updateComponents/components/1"),
    ([created(), components(column("root"))], "/1/updateComponents/components/0"),
    ([created(), components(column("a", "a"), text("a"))], "/1/updateComponents/components/0"),
    ([created(), components(column("a"))], "/1/updateComponents/components/0"),
    (
        [created(), *(components(text(f"t{n}", "")) for n in range(MAX_TREE_COMPONENTS + 1))],
        f"/{MAX_TREE_COMPONENTS + 1}/updateComponents/components/0",
    ),
)
def test_a_stream_that_breaks_a_rule_is_refused(messages: list[Any], place: str) -> None:
    payload, diagnostics = from_messages(messages)
    assert payload is None
    assert place in [each.path for each in diagnostics if not each.is_loss]


@pytest.mark.rule("surf-43")
def test_depth_is_limited_in_values_and_in_the_tree() -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    payload, diagnostics = from_messages([created(), model(deep)])
    assert payload is None
    assert "nested" in diagnostics[0].message
    for levels, accepted in ((15, True), (16, False)):
        nested = [column(f"n{number + 1}", name=f"n{number}" if number else "root") for number in range(levels)]
        payload, _ = from_messages([created(), components(*nested, text(f"n{levels}"))])
        assert (payload is not None) == accepted


def test_the_data_model_is_changed_by_pointers() -> None:
    changes = [
        model({"a": {"b": ["x", "y"]}}),
        model("z", "/a/b/1"),
        model("new", "/a/b/2"),
        model("c/d", "/e/f~1g"),
        model("gone", "/h"),
        message("updateDataModel", path="/h"),
        model("rel", "i"),
    ]
    paths = ["/a/b/0", "/a/b/1", "/a/b/2", "/e/f~1g", "i", "/a/b/9", "/h", "/a/b/x"]
    listed = [text(f"t{number}", {"path": path}) for number, path in enumerate(paths)]
    payload, diagnostics = from_messages(
        [created(), *changes, components(column(*(f"t{n}" for n in range(8))), *listed)]
    )
    assert payload is not None
    texts = [each["text"] for each in payload["surface"]["components"]]
    assert texts == ["x", "z", "new", "c/d", "rel", "", "", ""]
    assert len(diagnostics) == 3
    everything, _ = from_messages(
        [created(), model({"a": 1}), message("updateDataModel"), components(text("root", {"path": "/a"}))]
    )
    assert everything is not None
    assert everything["surface"]["components"] == [{"component": "text", "text": ""}]


@pytest.mark.rule("surf-47")
def test_the_identity_in_a_stream_is_dropped() -> None:
    payload, (diagnostic,) = from_messages([created(theme={"agentDisplayName": "Your bank"}), components(text("root"))])
    assert "bank" not in str(payload)
    assert diagnostic.path == "/0/createSurface/theme"


def test_the_title_is_the_first_text_with_its_id() -> None:
    def title(*listed: Json) -> Any:
        payload, _ = from_messages([created(), components(*listed)])
        assert payload is not None
        return payload["surface"].get("title")

    assert title(column("title"), text("title", "Trip", "h3")) == "Trip"
    assert title(column("title"), text("title", "\\*Trip\\*")) == "*Trip*"
    assert title(column("a", "title"), text("title", "Trip"), text("a")) is None
    assert title(column("title"), text("title", "x" * 301)) is None
    assert title(text("root", "Trip")) is None
    assert from_messages([created(), components(column("title", "title"), text("title"))])[0] is None


@pytest.mark.rule("surf-46")
@each_case(
    "change",
    {"onClick": "x"},
    {"component": "Image"},
    {"component": "surface"},
    {"value": {"path": "/elsewhere"}},
    {"label": 1},
    {"fieldId": "a b"},
)
def test_the_catalogue_of_openwop_is_closed(change: Json) -> None:
    messages = to_messages(PAYLOAD, surface_id="s", catalog="openwop")
    messages[1]["updateComponents"]["components"][3].update(change)
    payload, diagnostics = from_messages(messages)
    assert payload is None
    assert all(each.path.startswith("/1/updateComponents/components/3") for each in diagnostics)
    del messages[1]["updateComponents"]["components"][3]
    assert from_messages(messages)[0] is None
    added = to_messages(PAYLOAD, surface_id="s", catalog="openwop")
    added[1]["updateComponents"]["components"].append({"id": "more", "component": "text", "text": "x"})
    assert from_messages(added)[0] is None


def test_diagnostics_are_bounded_and_reasons_come_first() -> None:
    unknown = {f"x{number}": 1 for number in range(80)}
    payload, diagnostics = from_messages([created(), components({**text("root"), **unknown})])
    assert payload is not None
    assert len(diagnostics) == 50
    payload, diagnostics = from_messages(
        [created(), components(column("t", "f"), {**text("t"), **unknown}, {**FIELD, "variant": "obscured"})]
    )
    assert payload is None
    assert len(diagnostics) == 50
    assert not diagnostics[-1].is_loss


def test_the_sample_streams_use_the_whole_vocabulary() -> None:
    used = {
        each["component"]
        for each_stream in STREAMS
        for one in each_stream
        if "updateComponents" in one
        for each in one["updateComponents"]["components"]
    }
    assert used >= {
        "Text",
        "Column",
        "Row",
        "Card",
        "List",
        "Divider",
        "Icon",
        "Image",
        "TextField",
        "CheckBox",
        "ChoicePicker",
        "DateTimeInput",
        "Button",
    }
    assert streams.CATALOG_0_9_1 in str(TABLE_BOOKING)
