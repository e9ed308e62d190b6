"""Texts with formats, templates over lists, and tabs: what is dynamic in A2UI is fixed in a surface."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.protocol.surfaces.a2ui.streams import button, column, components, created, model, required, text
from tests.protocol.surfaces.a2ui.surfaces import Json
from weftwork.protocol.surfaces.a2ui import from_messages
from weftwork.protocol.surfaces.a2ui.streams import MAX_TREE_COMPONENTS, path_tokens
from weftwork.protocol.surfaces.a2ui.texts import EMPTY, UNFORMATTED, NotText, resolve_text

MODEL: Json = {"name": "Ann", "price": 12.5, "count": 1, "many": 3, "day": "2026-11-20", "list": ["x"], "on": True}


def value_at(path: str) -> Any:
    value: Any = MODEL
    for token in path_tokens(path):
        value = value.get(token) if isinstance(value, dict) else None
    return value


def call(name: str, value: Any, **more: Any) -> Json:
    return {"call": name, "args": {"value": value, **more}, "returnType": "string"}


@each_case(
    "value, shown, losses",
    ("plain ${/name}", "plain ${/name}", []),
    ({"path": "/name"}, "Ann", []),
    ({"path": "/on"}, "true", []),
    ({"path": "/nothing"}, "", [EMPTY]),
    (call("formatNumber", {"path": "/many"}), "3", [UNFORMATTED]),
    (call("formatNumber", 7), "7", [UNFORMATTED]),
    (call("formatCurrency", {"path": "/price"}, currency="EUR"), "12.5 EUR", [UNFORMATTED]),
    (call("formatCurrency", {"path": "/nothing"}, currency="EUR"), "", [UNFORMATTED, EMPTY]),
    (call("formatDate", {"path": "/day"}, format="EEEE"), "2026-11-20", [UNFORMATTED]),
    (call("formatString", "Hello ${/name}, ${ /many } new"), "Hello Ann, 3 new", []),
    (call("formatString", "${name}${name}"), "AnnAnn", []),
    (call("formatString", "a \\${/name} ${/none}b"), "a ${/name} b", [EMPTY]),
    (call("formatString", "${formatDate(value: ${/day}, format: 'E, MMM d')}!"), "2026-11-20!", [UNFORMATTED]),
    (call("formatString", "${formatCurrency(value: ${/price}, currency: 'USD')}"), "12.5 USD", [UNFORMATTED]),
    (call("formatString", "${/many} ${pluralize(value: ${/many}, one: 'day', other: 'days')}"), "3 days", []),
    (call("formatString", "${pluralize(value: ${/count}, one: 'day', other: 'days')}"), "day", []),
)
def test_a_dynamic_text_becomes_a_plain_one(value: Any, shown: str, losses: list[str]) -> None:
    resolved = resolve_text(value, value_at)
    assert (resolved.text, resolved.losses) == (shown, losses)


@pytest.mark.rule("surf-44")
@each_case(
    "value",
    None,
    7,
    ["a"],
    {},
    {"path": ["/name"]},
    {"path": "/name", "call": "formatString"},
    {"path": "/list"},
    call("openUrl", "https://evil.example/"),
    call("now", ""),
    {"call": "formatString", "args": "x"},
    call("formatString", {"path": "/name"}),
    call("formatNumber", ["x"]),
    call("formatNumber", call("formatNumber", 1)),
    call("formatString", "${/name"),
    call("formatString", "${}"),
    call("formatString", "${openUrl(value: ${/name})}"),
    call("formatString", "${openUrl(url: 'x')}"),
    call("formatString", "${formatDate(value: ${/day}"),
    call("formatString", "${pluralize(value: ${/many}, one: 'x')}"),
    call("formatString", "${/list}"),
    call("formatString", "${1 + 1}"),
)
def test_what_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(NotText):
        resolve_text(value, value_at)
    payload, diagnostics = from_messages([created(), model(MODEL), components(text("root", value))])
    assert payload is None
    assert diagnostics


@given(
    st.lists(st.sampled_from(["${", "}", "/name", "\\", "formatDate(", "value:", ")", " ", "'", "x", ","])).map("".join)
)
def test_any_template_is_read_or_refused(template: str) -> None:
    try:
        shown = resolve_text(call("formatString", template), value_at).text
    except NotText:
        return
    assert isinstance(shown, str)
    if "$" not in template:
        assert shown == template


def imported(*listed: Json, data: Any) -> tuple[list[Json] | None, list[str]]:
    payload, diagnostics = from_messages([created(), model(data), components(*listed)])
    return None if payload is None else payload["surface"]["components"], [
        each.message for each in diagnostics if not each.is_loss
    ]


def template(name: str, path: str, child: str) -> Json:
    return {"id": name, "component": "List", "children": {"componentId": child, "path": path}}


def test_a_template_gives_one_child_for_each_item() -> None:
    listed = [
        column("rooms", "go"),
        template("rooms", "/rooms", "room"),
        column("name", "tags", "guests", "pick", name="room"),
        text("name", {"path": "name"}, "h3"),
        template("tags", "tags", "tag"),
        text("tag", call("formatString", "${/city}: ${label}")),
        {
            "id": "guests",
            "component": "TextField",
            "label": "Guests",
            "value": {"path": "guests"},
            "checks": [required("guests")],
        },
        button("pick", "pick-text", "pick"),
        text("pick-text", "Pick"),
        button("go", "go-text", "go"),
        text("go-text", "Go"),
    ]
    data = {
        "city": "Rome",
        "rooms": [{"name": "A", "tags": [{"label": "x"}, {"label": "y"}]}, {"name": "B", "tags": []}],
    }
    found, errors = imported(*listed, data=data)
    assert errors == []
    assert found is not None
    assert [each.get("id") or each["text"] for each in found] == [
        "A",
        "Rome: x",
        "Rome: y",
        "rooms.0.guests",
        "pick.rooms.0",
        "B",
        "rooms.1.guests",
        "pick.rooms.1",
        "go",
    ]
    assert all(each["required"] for each in found if each["component"] == "field.text")


@pytest.mark.rule("surf-43")
def test_templates_cannot_grow_without_bound() -> None:
    for listed in (
        [template("root", "/items", "x"), text("x", "")],
        [template("root", "/items", "root")],
        [template("root", "/items", "a"), template("a", "/items", "b"), template("b", "/items", "a")],
    ):
        found, errors = imported(*listed, data={"items": [{}] * (MAX_TREE_COMPONENTS + 1)})
        assert found is None
        assert any("more than" in each or "cycles" in each for each in errors)
    found, errors = imported(column("a"), template("a", "/items", "root"), data={"items": [{}] * 3})
    assert found is None


def test_tabs_become_headings() -> None:
    tabs = {
        "id": "root",
        "component": "Tabs",
        "tabs": [{"title": "One", "child": "a"}, {"title": {"path": "/t"}, "child": "b"}],
    }
    found, errors = imported(tabs, text("a", "x"), text("b", "y"), data={"t": "Two"})
    assert errors == []
    assert found == [
        {"component": "heading", "text": "One", "level": 3},
        {"component": "text", "text": "x"},
        {"component": "heading", "text": "Two", "level": 3},
        {"component": "text", "text": "y"},
    ]
