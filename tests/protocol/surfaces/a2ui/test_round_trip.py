"""What is exported can be imported again: the same surface, except for the documented losses."""

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.protocol.surfaces.a2ui.surfaces import PAYLOAD, payload_of, surfaces
from weftwork.protocol.surfaces import limits
from weftwork.protocol.surfaces.a2ui import export_losses, from_messages, to_messages
from weftwork.protocol.surfaces.a2ui.streams import MAX_BYTES
from weftwork.protocol.surfaces.surface import Heading, Surface, parse_surface


def without_losses(surface: Surface) -> Surface:
    """A surface as the basic catalogue can say it."""
    components = [
        Heading(text=each.text, level=min(each.level, 5)) if isinstance(each, Heading) else each
        for each in surface.components
    ]
    return msgspec.structs.replace(surface, components=tuple(components))


@pytest.mark.rule("surf-40")
@given(surfaces, st.sampled_from(["0.9", "0.9.1"]), st.sampled_from(["markdown", "none"]))
def test_a_surface_comes_back_from_the_basic_catalogue(surface: Surface, version: str, escape: str) -> None:
    payload = payload_of(surface)
    messages = to_messages(payload, surface_id="s1", version=version, escape=escape)  # type: ignore[arg-type]
    assume(len(msgspec.json.encode(messages)) <= MAX_BYTES)
    # Without escapes, a text that looks like a heading is one.
    imported, diagnostics = from_messages(messages, escape=escape)  # type: ignore[arg-type]
    assert diagnostics == []
    assert parse_surface(imported) == without_losses(surface)
    lost = {each.path.rpartition("/")[2] for each in export_losses(payload, surface_id="s1")}
    assert lost <= {"level", "placeholder", "text", "label"}


@pytest.mark.rule("surf-46")
@given(surfaces)
def test_a_surface_comes_back_whole_from_the_catalogue_of_openwop(surface: Surface) -> None:
    messages = to_messages(surface, surface_id="s1", catalog="openwop")
    assert export_losses(surface, surface_id="s1", catalog="openwop") == []
    imported, diagnostics = from_messages(messages)
    assert diagnostics == []
    assert imported == payload_of(surface)


@given(surfaces)
def test_a_partial_surface_becomes_a_whole_one(surface: Surface) -> None:
    begun = to_messages(surface, surface_id="s1", partial=True)
    whole = to_messages(surface, surface_id="s1", create=False)
    imported, diagnostics = from_messages(begun + whole)
    assert diagnostics == []
    assert parse_surface(imported) == without_losses(surface)
    unfinished, diagnostics = from_messages(begun)
    if surface.buttons:
        assert unfinished is None
        assert any("disabled" in each.message for each in diagnostics)


def test_a_surface_at_the_limit_of_components_comes_back() -> None:
    button = PAYLOAD["surface"]["components"][-1]
    many = [{**button, "id": str(number)} for number in range(limits.MAX_COMPONENTS)]
    payload = {**PAYLOAD, "surface": {"title": "Many", "components": many}}
    for catalog in ("basic", "openwop"):
        assert from_messages(to_messages(payload, surface_id="s1", catalog=catalog)) == (payload, [])
