"""Event types and the one encoding of an event."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.definitions import example_count
from weftwork.protocol.json import schema
from weftwork.protocol.json.canonical import encode_stored
from weftwork.protocol.run import events
from weftwork.protocol.run.events import CANCEL_REQUESTED, CATALOGUE, Event, is_event_type


def enumerated(part: Any) -> set[str]:
    """The members of the list that holds run.started, wherever it stands."""
    if isinstance(part, dict) and "run.started" in part.get("enum", []):
        return set(part["enum"])
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return set().union(*map(enumerated, inner))


@pytest.mark.rule("evt-01")
def test_the_catalogue_is_the_list_of_the_event_schema() -> None:
    assert enumerated(schema.document("run-event")) == CATALOGUE
    assert len(CATALOGUE) == 107
    for synthetic in ("state.snapshot", "ai.message.chunk", "run.annotated", "run.cancelling", "interrupt.vote"):
        assert synthetic not in CATALOGUE


@pytest.mark.rule("evt-01")
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_type_of_the_catalogue_is_a_type(name: str) -> None:
    assert is_event_type(name)


@pytest.mark.rule("evt-02")
@pytest.mark.parametrize(
    ("name", "is_type"),
    [
        (CANCEL_REQUESTED, True),
        ("acme.thing", True),
        ("media.image", True),
        ("acme.Thing_2.sub-part", True),
        ("runs.thing", True),
        ("run.thing", False),
        ("run.cancelling", False),
        ("node.thing", False),
        ("approval.thing", False),
        ("clarification.thing", False),
        ("cap.thing", False),
        ("channel.thing", False),
        ("replay.thing", False),
        ("vendor.acme.thing", False),
        ("core.thing", False),
        ("openwop.thing", False),
        ("local.x", False),
        ("private.x", False),
        ("community.x", False),
        ("acme", False),
        ("Acme.thing", False),
        ("acme.", False),
        ("acme..x", False),
        ("acme.thing\n", False),
        ("acme.th ing", False),
        ("", False),
    ],
)
def test_a_vendor_type_stays_out_of_the_protocols_families(name: str, is_type: bool) -> None:
    assert is_event_type(name) is is_type


def test_without_the_closed_families_a_stranger_would_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_CLOSED_FAMILIES", ())
    assert is_event_type("run.cancelling")


def event(**more: Any) -> Event:
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "sequence": 0,
        "event_id": "event-1",
        "type": "acme.thing",
        "timestamp": 1_767_225_600_042,
        "payload": b"{}",
    }
    return Event(**{**fields, **more})


@pytest.mark.rule("evt-03")
@settings(max_examples=example_count(150), deadline=None)
@given(
    node_id=st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    causation_id=st.none() | st.text('a"\\\n', min_size=1, max_size=4),
    payload=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), st.integers() | st.none()),
)
def test_a_document_leaves_out_what_it_does_not_have(node_id: Any, causation_id: Any, payload: Any) -> None:
    encoded = event(node_id=node_id, causation_id=causation_id, payload=encode_stored(payload)).document
    assert b"\n" not in encoded
    document = msgspec.json.decode(encoded)
    optional = {"nodeId": node_id, "causationId": causation_id}
    assert document == {
        "eventId": "event-1",
        "runId": "run-1",
        "type": "acme.thing",
        "sequence": 0,
        "timestamp": "2026-01-01T00:00:00.042Z",
        "schemaVersion": 1,
        "engineVersion": "1",
        "payload": payload,
    } | {name: value for name, value in optional.items() if value is not None}
    assert schema.check("run-event", document) == []


def test_an_event_is_encoded_once_for_all_readers() -> None:
    one = event(node_id="a")
    assert one.document is one.document
    assert schema.check("run-event", {**msgspec.json.decode(one.document), "nodeId": None})


def test_terminal_events_are_three() -> None:
    assert {name for name in CATALOGUE if event(type=name).is_terminal} == {
        "run.completed",
        "run.failed",
        "run.cancelled",
    }
