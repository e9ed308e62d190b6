"""Annotations: what may be said, what is kept of it, and the frame that tells of it."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import for_all
from tests.protocol.wire.test_streams import event
from weftwork.adapters.http.response_writer import CHUNK_BYTES
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.json import schema
from weftwork.protocol.limits import Limits
from weftwork.protocol.review import annotations
from weftwork.protocol.review.annotations import (
    MAX_BYTES,
    MAX_LABEL,
    MAX_TEXT,
    SIGNAL_KINDS,
    TARGET_KINDS,
    annotation_texts,
    check_annotation,
)
from weftwork.protocol.wire import streams
from weftwork.protocol.wire.capabilities import HostOffer, discovery_document
from weftwork.protocol.wire.streams import StreamMode, annotated_frame, batch_frame, shows_annotations

FLAG = {"signal": {"kind": "flag"}}
WORDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
SAID = st.fixed_dictionaries(
    {
        "signal": st.sampled_from([{"kind": "flag"}, {"kind": "rating", "rating": 3}])
        | st.builds(lambda text: {"kind": "label", "label": text}, WORDS)
        | st.builds(lambda text: {"kind": "correction", "correction": text, "rating": 5.0}, WORDS)
    },
    optional={
        "note": WORDS,
        "target": st.fixed_dictionaries({}, optional={"eventId": WORDS, "nodeId": WORDS}),
    },
)


def kept(said: dict[str, Any], shown: dict[str, Any] | None = None) -> dict[str, Any]:
    made = annotations.annotation_document(
        "said-1", "run-1", "key_1", 1_000, said, annotation_texts(said) if shown is None else shown
    )
    return json.loads(made)


@pytest.mark.rule("fb-01")
@each_case(
    "said, pointer",
    ({}, ""),
    ([], ""),
    ({"signal": {}}, "/signal"),
    ({"signal": {"kind": "praise"}}, "/signal/kind"),
    ({"signal": {"kind": "rating"}}, "/signal"),
    ({"signal": {"kind": "rating", "rating": 6}}, "/signal/rating"),
    ({"signal": {"kind": "rating", "rating": 2.5}}, "/signal/rating"),
    ({"signal": {"kind": "label"}}, "/signal"),
    ({"signal": {"kind": "correction", "label": "x"}}, "/signal"),
    ({**FLAG, "target": {"runId": "run-2"}}, "/target/runId"),
    ({**FLAG, "actor": {"principalRef": "somebody"}}, "/actor"),
    ({**FLAG, "note": "n" * (MAX_TEXT + 1)}, "/note"),
    ({"signal": {"kind": "label", "label": "l" * (MAX_LABEL + 1)}}, "/signal/label"),
    ({"signal": {"kind": "flag", "correction": "c" * (MAX_TEXT + 1)}}, "/signal/correction"),
)
def test_what_may_not_be_said_is_refused_by_its_place(said: Any, pointer: str) -> None:
    with pytest.raises(ClientFault) as caught:
        check_annotation(said)
    assert (caught.value.code, (caught.value.details or {})["pointer"]) == ("validation_error", pointer)


@pytest.mark.rule("fb-01")
def test_a_text_may_be_as_long_as_its_bound() -> None:
    check_annotation({**FLAG, "note": "\U0001f9f6" * MAX_TEXT})
    check_annotation({"signal": {"kind": "label", "label": "l" * MAX_LABEL}})
    check_annotation({"signal": {"kind": "correction", "correction": ""}})


@pytest.mark.rule("fb-02")
@for_all(100, SAID, full=4_000)
def test_what_was_said_is_kept_beside_what_the_host_knows(said: dict[str, Any]) -> None:
    check_annotation(said)
    document = kept(said)
    assert schema.check("annotation", document) == []
    assert document["annotationId"] == "said-1"
    assert document["target"] == {"runId": "run-1", **said.get("target", {})}
    assert document["actor"] == {"principalRef": "key_1"}
    assert document["createdAt"] == "1970-01-01T00:00:01.000Z"
    assert document["signal"] == said["signal"]
    assert type(document["signal"].get("rating", 1)) is int
    assert document.get("note") == said.get("note")


@pytest.mark.rule("fb-02")
def test_texts_are_kept_as_they_may_be_shown() -> None:
    said = {"signal": {"kind": "correction", "correction": "c", "label": "l"}, "note": "n"}
    assert annotation_texts(said) == {"note": "n", "signal/correction": "c", "signal/label": "l"}
    document = kept(said, {"note": "1", "signal/correction": "2", "signal/label": "3"})
    assert (document["note"], document["signal"]) == ("1", {"kind": "correction", "correction": "2", "label": "3"})
    assert said["signal"]["correction"] == "c", "what was given is not changed"


@pytest.mark.rule("fb-02")
@each_case(
    "letter, fits", ("n", True), ("\u00e9", True), ("\u65e5", True), ('"', True), ("\U0001f9f6", False), ("\x01", False)
)
def test_the_whole_is_bounded_as_it_is_encoded(letter: str, fits: bool) -> None:
    text = letter * MAX_TEXT
    said = {"signal": {"kind": "correction", "correction": text}, "note": text}
    check_annotation(said)
    if fits:
        assert kept(said)["note"] == text
        return
    with pytest.raises(ClientFault) as caught:
        kept(said)
    assert caught.value.details == {"pointer": "", "maxBytes": MAX_BYTES}


def test_the_largest_annotation_fits_a_piece() -> None:
    frame = annotated_frame("r" * 128, "a" * 24, b" " * MAX_BYTES, 2**26, 2**42)
    assert len(batch_frame([frame]).encode()) < CHUNK_BYTES


@pytest.mark.rule("fb-04")
def test_discovery_shows_what_is_checked() -> None:
    block = discovery_document(HostOffer("0.1.0", Limits()))["feedback"]
    assert block == {"supported": True, "targets": list(TARGET_KINDS), "signals": list(SIGNAL_KINDS)}
    assert (TARGET_KINDS, set(SIGNAL_KINDS)) == (("run", "event", "node"), {"rating", "correction", "label", "flag"})
    for kind in SIGNAL_KINDS:
        check_annotation({"signal": {"kind": kind, "rating": 1, "label": "l", "correction": "c"}})
    for target in TARGET_KINDS[1:]:
        check_annotation({**FLAG, "target": {f"{target}Id": "x"}})


@pytest.mark.rule("sse-13")
def test_the_frame_is_an_event_document_without_an_id() -> None:
    said = {**FLAG, "note": "line\nbreak"}
    made = annotations.annotation_document("said-1", "run-1", "key_1", 1_000, said, annotation_texts(said))
    frame = annotated_frame("run-1", "said-1", made, 7, 1_000)
    document = json.loads(frame.data)
    assert schema.check("run-event", document) == []
    assert (document["type"], document["sequence"], document["runId"]) == ("run.annotated", 7, "run-1")
    assert document["payload"] == kept(said)
    assert frame.encode() == b"event: run.annotated\ndata: " + frame.data + b"\n\n"
    assert batch_frame([frame]).encode() == b"event: batch\ndata: [" + frame.data + b"]\n\n"


@pytest.mark.rule("sse-13", "sse-06")
def test_with_an_id_of_its_own_a_resumed_reader_would_get_a_frame_twice() -> None:
    """In `debug` the frame before it may have the id N.5; N, its sequence, is a step back."""
    debug: frozenset[StreamMode] = frozenset({"debug"})
    chunk = event(4, "output.chunk")
    seen = [*streams.event_frames(chunk, debug, streams.START), annotated_frame("run-1", "said-1", b"{}", 4, 1_000)]
    last = [frame.id for frame in seen if frame.id][-1]
    assert streams.event_frames(chunk, debug, streams.parse_cursor(last)) == []
    assert streams.event_frames(chunk, debug, streams.parse_cursor("4")) == seen[1:2]


@pytest.mark.rule("sse-13")
def test_every_mode_but_messages_shows_annotations() -> None:
    modes: list[frozenset[StreamMode]] = [
        frozenset(chosen) for count in (1, 2, 3) for chosen in combinations(("updates", "messages", "debug"), count)
    ]
    for chosen in modes:
        assert shows_annotations(chosen) is (chosen != {"messages"})
    assert shows_annotations(frozenset({"values"}))


@pytest.mark.rule("sse-13")
def test_a_mode_whose_table_leaves_annotations_out_does_not_show_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "UPDATE_TYPES", streams.UPDATE_TYPES - {"run.annotated"})
    monkeypatch.setattr(streams, "SNAPSHOT_TYPES", streams.SNAPSHOT_TYPES - {"run.annotated"})
    assert [mode for mode in streams.MODES if shows_annotations(frozenset({mode}))] == ["debug"]
