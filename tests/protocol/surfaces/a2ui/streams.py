"""Streams of A2UI messages as agents write them, for tests of the import."""

from typing import Any

from tests.protocol.surfaces.a2ui.surfaces import Json, message
from weftwork.protocol.surfaces.a2ui import BASIC_CATALOG_ID

CATALOG_0_9_1 = "https://a2ui.org/specification/v0_9_1/catalogs/basic/catalog.json"


def created(catalog: str = BASIC_CATALOG_ID, **more: Any) -> Json:
    return message("createSurface", catalogId=catalog, **more)


def components(*listed: Json) -> Json:
    return message("updateComponents", components=list(listed))


def model(value: Any, path: str = "/") -> Json:
    return message("updateDataModel", path=path, value=value)


def text(name: str, content: Any = "A text", variant: str | None = None) -> Json:
    return {"id": name, "component": "Text", "text": content, **({"variant": variant} if variant else {})}


def column(*children: str, name: str = "root") -> Json:
    return {"id": name, "component": "Column", "children": list(children)}


def button(name: str, child: str, event: str = "submit", **more: Any) -> Json:
    return {"id": name, "component": "Button", "child": child, "action": {"event": {"name": event}}, **more}


def required(path: str) -> Json:
    return {"condition": {"call": "required", "args": {"value": {"path": path}}}, "message": "Please fill in."}


TABLE_BOOKING: list[Json] = [
    created(CATALOG_0_9_1, theme={"primaryColor": "#ff0000", "agentDisplayName": "Your bank"}, sendDataModel=True),
    components(column("heading", "photo", "details", "send", "later")),
    components(
        text("heading", {"path": "/place/name"}, "h2"),
        {"id": "photo", "component": "Image", "url": "https://cdn.example/p.jpg", "description": "The terrace"},
        {"id": "details", "component": "Card", "child": "rows"},
        {
            "id": "rows",
            "component": "Row",
            "children": ["party", "when", "line", "area", "notes", "terms"],
            "align": "center",
        },
        {
            "id": "party",
            "component": "TextField",
            "label": "Guests",
            "variant": "number",
            "value": {"path": "/form/party"},
        },
    ),
    components(
        {
            "id": "when",
            "component": "DateTimeInput",
            "label": "Day",
            "value": {"path": "/form/day"},
            "enableDate": True,
            "min": "2026-01-01",
        },
        {"id": "line", "component": "Divider", "axis": "horizontal"},
        {
            "id": "area",
            "component": "ChoicePicker",
            "label": "Area",
            "variant": "mutuallyExclusive",
            "options": [{"label": "Inside", "value": "in"}, {"label": {"path": "/place/out"}, "value": "out"}],
            "value": {"path": "/form/area"},
            "displayStyle": "chips",
            "checks": [required("/form/area")],
        },
        {
            "id": "notes",
            "component": "TextField",
            "label": "Notes",
            "variant": "longText",
            "value": {"path": "/form/notes"},
        },
        {"id": "terms", "component": "CheckBox", "label": "I *agree*", "value": {"path": "/form/terms"}},
        button("send", "send-row", "book_table", variant="primary", checks=[required("/form/party")]),
        {"id": "send-row", "component": "Row", "children": ["send-icon", "send-text"]},
        {"id": "send-icon", "component": "Icon", "name": "send"},
        text("send-text", "Book \\*now\\*"),
        button("later", "later-text", "ask_later", checks=[required("/form/party")]),
        text("later-text", "Ask me later"),
    ),
    model({"place": {"name": "Old name"}, "form": {"terms": True}}),
    model("The Quay", "/place/name"),
    model("Terrace", "/place/out"),
    model("", "/form/notes"),
]
"""A stream with layout, media, data bindings, checks and updates, as agents write them with the basic catalogue."""

PROFILE: list[Json] = [
    created(),
    model({"user": {"name": "Ann", "visits": 3, "vip": True, "tags": ["a", "b"]}}),
    components(
        {"id": "root", "component": "Card", "child": "list"},
        {"id": "list", "component": "List", "children": ["t1", "t2", "t3", "t4", "t5"], "direction": "vertical"},
        text("t1", {"path": "/user/name"}, "h1"),
        text("t2", {"path": "/user/visits"}, "caption"),
        text("t3", {"path": "/user/vip"}),
        text("t4", {"path": "/user/tags/1"}),
        text("t5", "## Notes"),
    ),
    components(text("t5", "## New notes")),
]
"""A surface to read, without fields."""

MENU: list[Json] = [
    created(),
    components(
        {
            "id": "root",
            "component": "Tabs",
            "tabs": [{"title": "Food", "child": "food"}, {"title": "About", "child": "t1"}],
        },
        {"id": "food", "component": "List", "children": {"componentId": "dish", "path": "/dishes"}},
        column("dish-name", "dish-price", "dish-pick", name="dish"),
        text("dish-name", {"path": "name"}, "h4"),
        text("dish-price", {"call": "formatCurrency", "args": {"value": {"path": "price"}, "currency": "EUR"}}),
        button("dish-pick", "dish-text", "pick"),
        text("dish-text", "Order"),
        text(
            "t1",
            {"call": "formatString", "args": {"value": "Open until ${formatDate(value: ${/until}, format: 'h:mm')}"}},
        ),
    ),
    model({"dishes": [{"name": "Soup", "price": 4.5}, {"name": "Fish", "price": 12}], "until": "22:00"}),
]
"""Tabs, a template over a list, and formats."""

STREAMS = (TABLE_BOOKING, PROFILE, MENU)
