"""The typed view of a surface, and the limits of the host."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.protocol.envelopes.sample_envelopes import COMPONENTS as SAMPLE
from tests.protocol.surfaces.spoiled_components import spoiled_components
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, SURFACE_KIND
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.limits import check_limits
from weftwork.protocol.surfaces.surface import (
    CATALOG_VERSION,
    CATALOG_VERSIONS,
    COMPONENTS,
    Action,
    Button,
    Component,
    Heading,
    Option,
    SelectField,
    Surface,
    TextField,
    has_buttons,
    parse_surface,
    surface_payload,
)

KIND = BUILTIN_KINDS.find(SURFACE_KIND)
assert KIND is not None
VALIDATOR = KIND.validator


def payload(*components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"catalogVersion": CATALOG_VERSION, "surface": {"components": list(components), **more}}


def text_field(name: str = "who", **more: Any) -> dict[str, Any]:
    return {"component": "field.text", "id": name, "label": "Name", **more}


@pytest.mark.rule("surf-02")
def test_the_types_and_the_schema_have_the_same_components() -> None:
    names: list[str] = [each.__struct_config__.tag for each in COMPONENTS]  # type: ignore[misc]
    in_schema = [
        each["properties"]["component"]["enum"][0]
        for each in KIND.schema["$defs"].values()  # type: ignore[union-attr]
        if "component" in each.get("properties", {})
    ]
    assert names == in_schema == [each["component"] for each in SAMPLE[:7]]
    for each in COMPONENTS:
        definition = next(
            found
            for found in KIND.schema["$defs"].values()  # type: ignore[union-attr]
            if found.get("properties", {}).get("component", {}).get("enum") == [each.__struct_config__.tag]
        )
        fields = {found.encode_name: found.required for found in msgspec.structs.fields(each)}
        assert {*fields, "component"} == set(definition["properties"])
        assert {name for name, required in fields.items() if required} | {"component"} == set(definition["required"])


@pytest.mark.rule("surf-01")
def test_the_schema_and_the_parser_know_the_same_catalogue_versions() -> None:
    assert list(CATALOG_VERSIONS) == KIND.schema["properties"]["catalogVersion"]["enum"]  # type: ignore[union-attr]
    document = payload(text_field())
    assert parse_surface(document) is not None
    assert parse_surface({**document, "catalogVersion": "1.0.0"}) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    )
)
def test_what_is_not_a_surface_is_never_parsed(document: Any) -> None:
    assert parse_surface(document) is None
    assert not has_buttons(document)


@given(spoiled_components())
@example([{}])
def test_the_parser_accepts_what_the_schema_accepts(components: list[dict[str, Any]]) -> None:
    document = payload(*components)
    # The schema bounds the level of a heading, and the number of options; the types do not.
    if VALIDATOR.is_valid(document):
        assert parse_surface(document) is not None
    elif all(component.get("level") != 7 for component in components):
        assert parse_surface(document) is None


@each_case("level, parsed", (2.0, 2), (1e0, 1), (2.5, None), ("2", None), (True, None))
def test_a_level_may_be_written_with_a_point(level: Any, parsed: int | None) -> None:
    heading = {"component": "heading", "text": "When?", "level": level}
    document = payload(heading, text_field())
    surface = parse_surface(document)
    assert VALIDATOR.is_valid(document) is (parsed is not None)
    assert (surface and surface.components[0]) == (parsed and Heading(text="When?", level=parsed))
    assert heading["level"] is level


def test_a_surface_that_is_written_in_python_is_valid() -> None:
    surface = Surface(
        title="A trip",
        components=(
            Heading(text="When?"),
            TextField(id="who", label="Name", required=True),
            SelectField(id="room", label="Room", options=(Option("a", "By the river"),)),
            Button(id="book", label="Book", action=Action("resume")),
        ),
    )
    document = msgspec.json.decode(msgspec.json.encode(surface_payload(surface)))
    assert VALIDATOR.is_valid(document)
    assert check_limits(document) == []
    assert parse_surface(document) == surface
    assert has_buttons(document)
    assert not has_buttons(payload(text_field()))


def test_there_is_no_component_that_is_not_in_the_table() -> None:
    assert set(Component.__subclasses__()) == set(COMPONENTS)


MANY = [{"value": str(number), "label": "x"} for number in range(limits.MAX_OPTIONS)]


def select(name: str, options: list[dict[str, str]]) -> dict[str, Any]:
    return {"component": "field.select", "id": name, "label": "Room", "options": options}


@pytest.mark.rule("surf-03")
@each_case(
    "document, pointer",
    (payload(*({"component": "text", "text": ""} for _ in range(201))), "/surface/components"),
    (payload(title="x" * 301), "/surface/title"),
    (payload(text_field(label="x" * 501)), "/surface/components/0/label"),
    (payload(text_field(placeholder="x" * 501)), "/surface/components/0/placeholder"),
    (payload({"component": "text", "text": "x" * 10_001}), "/surface/components/0/text"),
    (payload(*({"component": "text", "text": "x" * 10_000} for _ in range(5)), title="x"), "/surface"),
    (payload(text_field(), text_field()), "/surface/components/1/id"),
    (payload(text_field(""), text_field("ok")), "/surface/components/0/id"),
    (payload(text_field("a b")), "/surface/components/0/id"),
    (payload(text_field("x" * 129)), "/surface/components/0/id"),
    (payload(text_field("__proto__")), "/surface/components/0/id"),
    (payload(select("a", [*MANY, {"value": "more", "label": "x"}])), "/surface/components/0/options"),
    (payload(*(select(str(number), MANY[:167]) for number in range(6))), "/surface/components"),
    (payload(select("a", [MANY[0], MANY[0]])), "/surface/components/0/options/1/value"),
    (payload(select("a", [{"value": "x" * 1_001, "label": "x"}])), "/surface/components/0/options/0/value"),
    (payload(select("a", [{"value": "x", "label": "x" * 501}])), "/surface/components/0/options/0/label"),
)
def test_a_breach_has_a_diagnostic_at_its_place(document: dict[str, Any], pointer: str) -> None:
    assert VALIDATOR.is_valid(document)
    found = check_limits(document, "/payload")
    assert [each.pointer for each in found] == [f"/payload{pointer}"]
    assert all(each.message.startswith("must ") for each in found)


@pytest.mark.rule("surf-03")
def test_a_surface_at_every_limit_is_accepted() -> None:
    texts = [{"component": "text", "text": "x" * 200} for _ in range(190)]
    fields = [select(str(number), MANY) for number in range(5)]
    document = payload(*texts, *fields, text_field("x" * 128), title="x" * 300)
    assert VALIDATOR.is_valid(document)
    assert check_limits(document) == []


LENGTHS = st.sampled_from([0, 1, 10, 300, 301, 500, 501, 1_000, 1_001, 10_000, 10_001])
IDS = st.sampled_from(["a", "b", "c", "action", "openwop.x", "", "a b", "x" * 129])


@st.composite
def components_near_the_limits(draw: st.DrawFn) -> dict[str, Any]:
    label = "x" * draw(LENGTHS)
    match draw(st.sampled_from(["text", "field", "select", "button"])):
        case "text":
            return {"component": "text", "text": label}
        case "field":
            return text_field(draw(IDS), label=label, placeholder="x" * draw(LENGTHS))
        case "button":
            return {"component": "action.button", "id": draw(IDS), "label": label, "action": {"target": "resume"}}
        case _:
            values = draw(st.lists(st.sampled_from(["p", "q", "r", "x" * 1_000, "x" * 1_001]), min_size=1, max_size=3))
            return select(draw(IDS), [{"value": each, "label": label} for each in values])


@pytest.mark.rule("surf-03")
@given(st.lists(components_near_the_limits(), max_size=6), LENGTHS)
def test_the_quick_check_finds_no_surface_good_that_breaches_a_limit(listed: Any, title: int) -> None:
    document = payload(*listed, title="x" * title)
    surface = document["surface"]
    breaches = list(limits._breaches(surface, "/surface"))  # pyright: ignore[reportPrivateUsage]
    assert check_limits(document) == breaches


@pytest.mark.rule("surf-03")
@each_case("name, valid", (".", False), ("..", False), ("...", True), (".a", True), ("a.", True))
def test_an_id_is_not_a_step_of_a_path(name: str, valid: bool) -> None:
    """A client resolves `actions/..` to another path before it sends the request."""
    assert (check_limits(payload(text_field(name))) == []) is valid
