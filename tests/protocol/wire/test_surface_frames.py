"""Deltas between the surfaces of a run, as one reader gets them."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case, fails_without
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.limits import Limits
from weftwork.protocol.run.events import Event
from weftwork.protocol.surfaces.delta import apply_patch
from weftwork.protocol.wire import surface_frames
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document
from weftwork.protocol.wire.streams import START, Cursor, StreamMode, event_frame
from weftwork.protocol.wire.surface_frames import (
    DELTA_TYPE,
    MAX_BASE_BYTES,
    MAX_BASES,
    SurfaceDeltas,
    parse_delta,
    shows_partial_surfaces,
)

LONG = [{"component": "text", "text": f"Paragraph {index} of the form."} for index in range(20)]
UPDATES: frozenset[StreamMode] = frozenset({"updates"})


def payload(*components: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"catalogVersion": "0.9.1", "surface": {"title": "Trip", "components": [*components, *LONG]}, **more}


def text(words: str) -> dict[str, Any]:
    return {"component": "text", "text": words}


def event(sequence: int, content: dict[str, Any], node: str = "a", trust: Any = "trusted") -> Event:
    body = encode_stored(content)
    return Event("r", sequence, f"e{sequence}", SURFACE_KIND, 0, body, node, "c", content_trust=trust)


class Client:
    """A client that follows RFC 0114: it keeps the payload of each reference."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}
        self.deltas = 0

    def take(self, document: dict[str, Any]) -> Any:
        assert schema.check("run-event", document) == []
        if document["type"] == DELTA_TYPE:
            frame = document["payload"]
            assert schema.check("a2ui-surface-delta-frame", frame) == []
            assert frame.items() <= document.items()
            self.deltas += 1
            self.held[frame["surfaceRef"]] = apply_patch(self.held[frame["surfaceRef"]], frame["patch"])
            return self.held[frame["surfaceRef"]]
        self.held[document["surfaceRef"]] = document["payload"]
        return document["payload"]


@pytest.mark.rule("surf-53")
def test_the_first_surface_is_whole_and_the_next_ones_are_deltas() -> None:
    deltas, client = SurfaceDeltas(), Client()
    first, second, third = (event(at, payload(text(str(at)), reasoning=f"r{at}")) for at in range(3))
    (whole,) = deltas.frames(first, UPDATES, START)
    assert (whole.id, whole.event) == ("0", SURFACE_KIND)
    document = json.loads(whole.data)
    assert document == {**json.loads(first.document), "surfaceRef": "a"}
    assert client.take(document) == json.loads(first.payload)
    for each in (second, third):
        (frame,) = deltas.frames(each, UPDATES, START)
        assert (frame.id, frame.event) == (str(each.sequence), DELTA_TYPE)
        document = json.loads(frame.data)
        assert {**document, "type": SURFACE_KIND} == {
            **json.loads(each.document),
            **document["payload"],
            "payload": document["payload"],
        }
        assert document["payload"]["patch"][0]["path"].startswith(("/surface/", "/reasoning"))
        assert client.take(document) == json.loads(each.payload)
        assert len(frame.data) < len(each.document)


@pytest.mark.rule("surf-53")
def test_a_response_that_begins_later_begins_with_a_whole_surface() -> None:
    kept = SurfaceDeltas()
    kept.frames(event(0, payload(text("a"))), UPDATES, START)
    again = event(1, payload(text("b")))
    assert kept.copy().document(again)["type"] == DELTA_TYPE
    assert kept.document(again)["type"] == DELTA_TYPE, "a copy is independent"
    assert SurfaceDeltas().document(again)["type"] == SURFACE_KIND


@pytest.mark.rule("surf-53")
@each_case("old, new", ("trusted", "untrusted"), ("untrusted", "trusted"), (None, "untrusted"))
def test_a_surface_of_another_trust_is_whole(old: Any, new: Any) -> None:
    deltas = SurfaceDeltas()
    deltas.document(event(0, payload(text("a")), trust=old))
    document = deltas.document(event(1, payload(text("b")), trust=new))
    assert (document["type"], document["contentTrust"]) == (SURFACE_KIND, new)


def test_what_is_kept_for_a_reader_is_bounded() -> None:
    deltas = SurfaceDeltas()
    for at in range(MAX_BASES + 1):
        deltas.document(event(at, payload(text("a")), f"n{at}"))
    assert len(deltas._bases) == MAX_BASES
    assert deltas.document(event(20, payload(text("b")), "n1"))["type"] == DELTA_TYPE
    assert deltas.document(event(21, payload(text("b")), "n0"))["type"] == SURFACE_KIND
    large = SurfaceDeltas()
    for at in range(2):
        document = large.document(event(at, payload(text("x" * MAX_BASE_BYTES), text(str(at)))))
        assert (document["type"], large._bases) == (SURFACE_KIND, {})


def test_other_events_and_other_modes_are_unchanged() -> None:
    deltas = SurfaceDeltas()
    other = Event("r", 3, "e3", "node.completed", 0, b"{}", "a")
    surface = event(4, payload(text("a")))
    assert deltas.frames(other, UPDATES, START) == [event_frame(other)]
    assert deltas.frames(surface, frozenset({"messages"}), START) == []
    assert deltas.frames(surface, UPDATES, Cursor(4)) == []
    assert deltas._bases == {}


@pytest.mark.rule("surf-53")
@each_case("given, expected", (None, False), ("0", False), ("1", True))
def test_the_parameter_asks_for_deltas(given: str | None, expected: bool) -> None:
    assert parse_delta(given) is expected


@pytest.mark.rule("surf-53")
@each_case("given", "", "2", "true", "yes", "01", " 1")
def test_another_value_of_the_parameter_is_refused(given: str) -> None:
    with pytest.raises(ClientFault, match=r"a2uiDelta must be 1, .* or 0") as raised:
        parse_delta(given)
    assert raised.value.code == "validation_error"


@pytest.mark.rule("surf-54")
def test_deltas_are_advertised_with_surfaces() -> None:
    offered = discovery_document(HostOffer("1", Limits(), envelopes={SURFACE_KIND: 1}))
    assert offered["a2uiSurface"] == offered["capabilities"]["a2uiSurface"] == {"deltaTransport": True}
    assert schema.check("capabilities", offered) == []
    assert "a2uiSurface" not in discovery_document(HostOffer("1", Limits(), envelopes={"error": 1}))


@each_case("modes, expected", ({"updates"}, True), ({"debug"}, True), ({"messages"}, False), ({"values"}, False))
def test_partial_surfaces_are_in_the_modes_with_surfaces(modes: Any, expected: bool) -> None:
    assert shows_partial_surfaces(frozenset(modes)) is expected


COMPONENTS = st.lists(st.builds(text, st.text(max_size=6)), max_size=4)
STATES = st.tuples(st.sampled_from("ab"), COMPONENTS, st.sampled_from(["trusted", "trusted", "untrusted"]))


@pytest.mark.rule("surf-53")
@fails_without(surface_frames, "make_patch", lambda _base, _target: [{"op": "remove", "path": "/surface/title"}])
def test_a_reader_that_applies_all_patches_has_what_is_recorded() -> None:
    @settings(max_examples=100, database=None)
    @given(st.lists(STATES, min_size=1, max_size=8), st.sets(st.integers(0, 7)))
    def check(states: list[Any], reconnects: set[int]) -> None:
        deltas, client = SurfaceDeltas(), Client()
        for at, (node, components, trust) in enumerate(states):
            if at in reconnects:
                deltas = SurfaceDeltas()
            recorded = event(at, payload(*components), node, trust)
            document = msgspec.json.decode(deltas.frames(recorded, UPDATES, START)[0].data)
            assert encode_stored(client.take(document)) == recorded.payload
            assert document["contentTrust"] == trust

    check()
