"""Surfaces that are read while a model still writes them."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.envelopes import partial_surface
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.envelopes.partial_surface import MAX_PREFACE, MAX_TEXT, MAX_UNDECIDED, PartialSurface
from weftwork.protocol.json import schema
from weftwork.protocol.surfaces.limits import MAX_COMPONENTS, check_limits

HEADING = {"component": "heading", "text": 'A "trip" } to {Rome}', "level": 2}
SELECT = {
    "component": "field.select",
    "id": "s",
    "label": "Seat",
    "options": [{"value": "a", "label": "Aisle"}, {"value": "w", "label": "Window"}],
}
BUTTON = {"component": "action.button", "action": {"target": "resume"}, "id": "go", "label": "Go"}
TEXT = {"component": "text", "text": "x\\"}
ALL = (HEADING, SELECT, BUTTON, TEXT)


def payload(*components: Any, **more: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"title": "Trip", "components": list(components)}, **more}


def envelope(*components: Any, **more: Any) -> dict[str, Any]:
    return {"type": SURFACE_KIND, "payload": payload(*components), **more}


def shown(text: str, step: int = 1, preface: str = "") -> list[Any]:
    """All payloads that are shown while the text arrives in parts of this length. The last is None if it is voided."""
    partial = PartialSurface()
    whole = preface + text
    parts = [whole[at : at + step] for at in range(0, len(whole), step)]
    return [partial.payload for part in parts if partial.add(part)]


def counts(payloads: list[Any]) -> list[int | None]:
    return [None if each is None else len(each["surface"]["components"]) for each in payloads]


@pytest.mark.rule("surf-50")
@each_case(
    "text, preface",
    (json.dumps(envelope(*ALL)), ""),
    (json.dumps(envelope(*ALL), indent=2), "Here is the form:\n```json\n"),
    (json.dumps([envelope(*ALL)]), ""),
    (json.dumps([{"type": "clarification.request", "payload": {"questions": []}}, envelope(*ALL)]), ""),
    (json.dumps(payload(*ALL)), "\n"),
    (json.dumps({**payload(*ALL), "reasoning": "}{"}), ""),
)
def test_a_component_is_shown_as_soon_as_it_is_complete(text: str, preface: str) -> None:
    found = shown(text, preface=preface)
    assert counts(found) == [1, 2, 3, 4]
    assert [each["surface"]["components"] for each in found] == [list(ALL[:count]) for count in (1, 2, 3, 4)]
    assert all(each.keys() == {"catalogVersion", "surface"} for each in found)
    assert found[0]["surface"]["title"] == "Trip"


def test_the_reasoning_is_not_shown() -> None:
    found = shown(json.dumps({"type": SURFACE_KIND, "payload": {"reasoning": "Why", **payload(*ALL)}}))
    assert counts(found) == [1, 2, 3, 4]
    assert "Why" not in json.dumps(found)


@each_case(
    "text",
    "A text without any object. " * 100,
    json.dumps({"type": "clarification.request", "payload": {"questions": [{"id": "a", "question": "b"}]}}),
    json.dumps({"catalogVersion": "0.9.1", "other": [{"a": 1}]}),
    json.dumps({"type": "vendor.acme.form", "payload": payload(*ALL)}),
    json.dumps([1, 2]),
    json.dumps({"partial": {"isPartial": True, "index": 0, "total": 2}, **envelope(*ALL)}),
    json.dumps({"payload": payload(*ALL)}),
    '{"catalogVersion": NaN, "surface": {"components": [{}, {}]}}',
    '{"catalogVersion" "0.9.1"}',
    "[" * 1000 + '{"catalogVersion": 1}',
)
def test_what_is_no_surface_is_never_shown(text: str) -> None:
    assert shown(text) == []


HOSTILE = (
    {"component": "html", "text": "<script>"},
    {**TEXT, "onclick": "x"},
    {**HEADING, "level": 9},
    {"component": "field.text", "id": "action", "label": "x"},
    {"component": "field.text", "id": "s", "label": "a second field with this id"},
    {**BUTTON, "action": {"target": "https://example.com"}},
    None,
    "text",
    {**TEXT, "text": "x" * 10_001},
)


def without_schema(*_: Any) -> list[Any]:
    return []


@pytest.mark.rule("surf-50")
@fails_without(partial_surface.schema, "check", without_schema)
@fails_without(partial_surface, "check_limits", without_schema)
def test_a_surface_that_will_be_refused_is_voided_before_its_bad_component_is_shown() -> None:
    for bad in HOSTILE:
        found = shown(json.dumps(envelope(SELECT, bad, TEXT)))
        assert counts(found) == [1, None], bad
    surface = {"onload": "x", "components": list(ALL)}
    for members in ({"catalogVersion": "9"}, {"script": "x"}, {"surface": surface}):
        assert shown(json.dumps({**members, **payload(*ALL), **members})) == []


def test_nothing_is_shown_again_after_it_was_voided() -> None:
    partial = PartialSurface()
    assert partial.add(json.dumps(envelope(TEXT, SELECT, TEXT)))
    assert partial.close()
    assert not partial.close()
    assert (partial.add(json.dumps(envelope(*ALL))), partial.payload, partial.size) == (False, None, 0)


def test_memory_is_bounded() -> None:
    prose, undecided, long = PartialSurface(), PartialSurface(), PartialSurface()
    for _ in range(MAX_PREFACE):
        prose.add("some ")
    assert (prose.is_closed, prose.size) == (True, 0)
    undecided.add('{"reasoning": "')
    for _ in range(MAX_UNDECIDED):
        undecided.add("a {} ")
    assert (undecided.is_closed, undecided.size) == (True, 0)
    whole = json.dumps(envelope(TEXT, TEXT, TEXT))
    assert long.add(whole[:-4]) is True
    assert long.add(" " * MAX_TEXT) is True
    assert (long.payload, long.size) == (None, 0)


def test_the_work_is_linear_in_the_length_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = 0
    parse = partial_surface._parse

    def counted(text: str) -> Any:
        nonlocal parsed
        parsed += len(text)
        return parse(text)

    monkeypatch.setattr(partial_surface, "_parse", counted)
    fields = [{"component": "text", "text": f"{index} " + "}" * 200} for index in range(MAX_COMPONENTS)]
    text = json.dumps(envelope(*fields))
    found = counts(shown(text))
    assert found[:3] == [1, 2, 3]
    assert found[-1] is not None
    assert found[-1] > 0.9 * MAX_COMPONENTS
    assert parsed < 40 * len(text)


TEXTS = st.text(max_size=20) | st.sampled_from(['"', "}", "{", ']},{"', "\\", "\\u", '","component":"text"', "null"])


@st.composite
def components(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True), unique=True, max_size=8))
    made: list[dict[str, Any]] = []
    for name in names:
        option = {"value": draw(TEXTS), "label": draw(TEXTS)}
        made.append(
            draw(
                st.sampled_from(
                    [
                        {"component": "text", "text": draw(TEXTS)},
                        {"component": "field.select", "label": draw(TEXTS), "options": [option], "id": f"f{name}"},
                        {
                            "action": {"target": "resume"},
                            "label": draw(TEXTS),
                            "id": name,
                            "component": "action.button",
                        },
                        {"component": "field.checkbox", "id": f"f{name}", "label": draw(TEXTS), "default": True},
                    ]
                )
            )
        )
    return made


@pytest.mark.rule("surf-50")
@settings(max_examples=150)
@given(components(), st.integers(1, 40), st.booleans())
def test_what_is_shown_is_always_a_valid_beginning_of_the_surface(
    made: list[dict[str, Any]], step: int, is_ascii: bool
) -> None:
    for each in shown(json.dumps(envelope(*made), ensure_ascii=is_ascii), step):
        assert each["surface"]["components"] == made[: len(each["surface"]["components"])]
        assert schema.check(f"envelopes/{SURFACE_KIND}", each) == []
        assert check_limits(each) == []


@settings(max_examples=150)
@given(
    st.lists(
        TEXTS | st.sampled_from(['{"catalogVersion":"0.9.1","surface":{"components":[', '{"component":']), max_size=12
    )
)
def test_no_text_raises(parts: list[str]) -> None:
    partial = PartialSurface()
    for part in parts:
        partial.add(part)
