"""The builder of surfaces: what it makes passes the gate, and what the gate refuses it refuses with a message."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weftwork.surface
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import example_count
from weftwork import surface
from weftwork.protocol.envelopes.checks import check_payload
from weftwork.protocol.envelopes.kinds import BUILTIN_KINDS, SURFACE_KIND
from weftwork.protocol.surfaces.limits import MAX_LABEL, MAX_TITLE
from weftwork.protocol.surfaces.surface import COMPONENTS, Target, parse_surface

TEXTS = st.text(max_size=8) | st.just("x" * (MAX_LABEL + 1))
IDS = st.sampled_from(["who", "when", "go", "action", "openwop.x", "a b", "ä", "x" * 129])
OPTIONS = st.dictionaries(TEXTS, TEXTS, max_size=3) | st.lists(TEXTS, max_size=3)
DOCUMENT = {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": "Hello"}]}}


def accepts(payload: Any) -> bool:
    """Whether the gate accepts the payload."""
    kind = BUILTIN_KINDS.find(SURFACE_KIND)
    assert kind is not None
    return check_payload(SURFACE_KIND, payload, kind.validator, None) is None


@st.composite
def components(draw: st.DrawFn) -> Any:
    name, label = draw(IDS), draw(TEXTS)
    return draw(
        st.sampled_from(
            [
                lambda: surface.heading(label, draw(st.integers(0, 7))),
                lambda: surface.text(label),
                lambda: surface.text_field(
                    name, label, placeholder=draw(st.none() | TEXTS), required=draw(st.booleans())
                ),
                lambda: surface.date_field(name, label, required=True),
                lambda: surface.select(name, label, draw(OPTIONS)),
                lambda: surface.checkbox(name, label, default=draw(st.booleans())),
                lambda: surface.button(name, label, target=draw(st.sampled_from(surface.TARGETS))),
            ]
        )
    )


@pytest.mark.rule("surf-30", "surf-03")
@fails_without(weftwork.surface, "_checked", parse_surface)
@settings(max_examples=example_count(150), deadline=None)
@given(st.lists(components(), max_size=4), st.none() | st.just("x" * (MAX_TITLE + 1)) | TEXTS)
def test_a_built_surface_passes_the_gate(makers: list[Any], title: str | None) -> None:
    try:
        made = surface.form(*(make() for make in makers), title=title)
    except surface.SurfaceError:
        return
    payload = surface.to_json(made)
    assert accepts(payload)
    assert surface.from_json(payload) == surface.from_json(payload["surface"]) == made


def test_every_component_can_be_built() -> None:
    made = surface.form(
        surface.heading("Trip", 1),
        surface.text("Two facts."),
        surface.text_field("who", "Who?", placeholder="Name", required=True),
        surface.date_field("start", "First day"),
        surface.select("class", "Class", {"eco": "Economy"}, required=True),
        surface.checkbox("window", "Window seat", default=True),
        surface.button("book", "Book"),
        title="Your trip",
    )
    assert tuple(type(each) for each in made.components) == COMPONENTS
    assert accepts(surface.to_json(made))
    assert get_args(Target) == surface.TARGETS


@pytest.mark.rule("surf-30")
@each_case(
    "make, told",
    (lambda: surface.form(surface.text_field("action", "A")), "component 1 ('action'): id must not be one of"),
    (lambda: surface.form(surface.text("a"), surface.button("a b", "A")), "component 2 ('a b'): id must have 1 to 128"),
    (lambda: surface.form(surface.text("x" * 10_001)), "component 1: text must have 10000 or fewer characters"),
    (lambda: surface.form(title="x" * 301), "title must have 300 or fewer"),
    (lambda: surface.form(surface.select("a", "A", ["x", "x"])), "component 1 ('a'): options.1.value must differ"),
    (lambda: surface.form([surface.text("a")]), "Pass the components one by one"),  # type: ignore[arg-type]
    (lambda: surface.form(title=1), "form: title must be a text, not int"),  # type: ignore[arg-type]
    (lambda: surface.heading("A", 7), "level must be a number from 1 to 6, not 7"),
    (lambda: surface.heading("A", True), "level must be a number"),
    (lambda: surface.text(None), "text: text must be a text, not NoneType"),  # type: ignore[arg-type]
    (lambda: surface.text_field("", "A"), "text_field: give it an id"),
    (lambda: surface.select("a", "A", []), "select 'a': give at least one option"),
    (lambda: surface.select("a", "A", "xy"), "select 'a': options must be labels by value"),
    (lambda: surface.button("a", "A", target="post"), "button 'a': target must be one of resume, exchange"),  # type: ignore[arg-type]
    (lambda: surface.from_json([]), "A surface must be an object with components, not list"),
    (lambda: surface.from_json({"title": "A"}), 'surface must have the member "components"'),
    (lambda: surface.from_json({**DOCUMENT, "catalogVersion": "1.0"}), "must be one of: 0.9.1"),
    (lambda: surface.from_json({**DOCUMENT, "html": "<b>"}), "html is not a known member"),
)
def test_a_mistake_is_refused_with_what_to_write(make: Any, told: str) -> None:
    with pytest.raises(surface.SurfaceError) as refused:
        make()
    assert told in str(refused.value)


def test_a_surface_of_a_model_can_be_read() -> None:
    made = surface.from_json({**DOCUMENT, "reasoning": "Why not."})
    assert surface.to_json(made) == DOCUMENT
