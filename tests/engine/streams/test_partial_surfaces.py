"""What the host keeps of partial surfaces, and for whom."""

import json
from typing import Any

import msgspec
import pytest

from tests.harness.cases import fails_without
from weftwork.engine.streams import partial_surfaces
from weftwork.engine.streams.partial_surfaces import PartialSurfaces
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.run.events import OUTPUT_CHUNK, Event
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.wire.surface_frames import partial_frame

KEY, OTHER = RunKey("live:a", "r1"), RunKey("live:b", "r1")
TEXTS = [{"component": "text", "text": name} for name in ("one", "two", "three")]
PAYLOAD = {"catalogVersion": "0.9.1", "surface": {"components": TEXTS}}
ANSWER = json.dumps({"type": SURFACE_KIND, "payload": PAYLOAD})
CUT = ANSWER.index("}") + 1


def visible(_node_id: str, payload: dict[str, Any]) -> dict[str, Any] | None:
    return payload


class Log:
    """The log of one run, as events that are published one by one."""

    def __init__(self, surfaces: PartialSurfaces, run: RunKey = KEY) -> None:
        self.surfaces = surfaces
        self.run = run
        self.sequence = -1

    def add(self, kind: str, node_id: str | None = "a", visible: Any = visible, **payload: Any) -> Event:
        self.sequence += 1
        body = msgspec.json.encode(payload)
        event = Event(self.run.run_id, self.sequence, f"e{self.sequence}", kind, 0, body, node_id)
        self.surfaces.update(self.run, (event,), visible)
        return event

    def chunk(self, text: str, node_id: str = "a", last: bool = False, visible: Any = visible) -> None:
        self.add(OUTPUT_CHUNK, node_id, visible, chunk=text, isLast=last)

    def shown(self, shown: dict[str, int] | None = None, sequence: int | None = None) -> list[Any]:
        found = self.surfaces.after(self.run, self.sequence if sequence is None else sequence, shown or {})
        payloads = [(node, json.loads(each.frame.data)["payload"]) for node, each in found]
        return [(node, payload and len(payload["surface"]["components"])) for node, payload in payloads]


@pytest.mark.rule("surf-51")
def test_a_reader_gets_the_newest_frame_of_each_node_once() -> None:
    log = Log(PartialSurfaces())
    log.chunk(ANSWER[:CUT])
    log.chunk(ANSWER[:CUT], "b")
    assert log.shown() == [("a", 1), ("b", 1)]
    assert log.shown(sequence=0) == [("a", 1)]
    assert log.shown(sequence=-1) == []
    assert log.shown({"a": 1}) == [("b", 1)]
    log.chunk(ANSWER[CUT:-10])
    assert log.shown({"a": 1, "b": 2}) == [("a", 2)]
    log.add(SURFACE_KIND)
    assert log.shown({}) == [("b", 1)]
    log.add("node.failed", "b")
    assert log.shown({}) == []
    assert log.shown({"b": 2}) == [("b", None)]
    log.surfaces.drop_void(KEY)
    assert log.shown({"b": 2}) == []


def without_voids(*_: Any) -> None:
    return None


@pytest.mark.rule("surf-51")
@fails_without(PartialSurfaces, "_void", without_voids)
def test_the_next_answer_of_a_node_replaces_its_surface() -> None:
    log = Log(PartialSurfaces())
    log.chunk(ANSWER[:CUT])
    log.chunk("", last=True)
    assert log.shown() == [("a", 1)]
    log.chunk("Hello.")
    assert (log.shown({"a": 1}), log.shown({})) == ([("a", None)], [])
    log.chunk(" " + ANSWER[:-10])
    assert log.shown({"a": 2}) == [("a", 2)]


@pytest.mark.parametrize(
    "kind", [*sorted(partial_surfaces._REFUSALS), "node.completed", "node.retried", "node.cancelled"]
)
def test_an_event_of_its_node_makes_a_surface_void(kind: str) -> None:
    log = Log(PartialSurfaces())
    log.chunk(ANSWER[:CUT])
    log.add("weftwork.model.answered")
    log.add("provider.usage")
    log.add("envelope.recovery.applied")
    log.add(kind, "b")
    assert log.shown() == [("a", 1)]
    log.add(kind)
    assert log.shown({"a": 1}) == [("a", None)]


def test_the_end_of_a_run_forgets_it() -> None:
    surfaces = PartialSurfaces()
    log, other = Log(surfaces), Log(surfaces, OTHER)
    log.chunk(ANSWER[:CUT])
    other.chunk(ANSWER[:-10])
    assert other.shown() == [("a", 2)]
    log.add("run.failed", None)
    assert (list(surfaces.runs), surfaces._kept) == ([OTHER], len(ANSWER) - 10)
    surfaces.drop(OTHER)
    surfaces.drop(OTHER)
    assert (surfaces.runs, surfaces._kept) == ({}, 0)


def test_an_answer_with_a_gap_is_not_read_on() -> None:
    log = Log(PartialSurfaces())
    log.chunk(ANSWER[:CUT])
    log.surfaces.forget_answers(KEY)
    log.surfaces.forget_answers(OTHER)
    assert (log.shown(), log.surfaces._kept) == ([("a", 1)], 0)
    log.chunk(ANSWER[CUT:-10])
    assert log.shown({"a": 1}) == [("a", None)]


def test_what_may_not_be_seen_is_void() -> None:
    log = Log(PartialSurfaces())
    log.chunk(ANSWER[:CUT])
    log.chunk(ANSWER[CUT:-10], visible=lambda *_: None)
    assert log.shown({"a": 1}) == [("a", None)]
    hidden = Log(PartialSurfaces())
    hidden.chunk(ANSWER[:-10], visible=lambda *_: None)
    assert hidden.shown({"a": 0}) == []


def test_text_that_is_no_surface_is_not_kept() -> None:
    log = Log(PartialSurfaces())
    for _ in range(200):
        log.chunk("A long story. ")
    assert log.surfaces._kept == 0
    log.chunk("", last=True)
    assert log.surfaces.runs == {}


@fails_without(partial_surfaces, "MAX_KEPT", 2**40)
def test_all_answers_together_are_bounded() -> None:
    with pytest.MonkeyPatch.context() as patch:
        if partial_surfaces.MAX_KEPT < 2**40:
            patch.setattr(partial_surfaces, "MAX_KEPT", 2 * len(ANSWER))
        surfaces = PartialSurfaces()
        log = Log(surfaces)
        for name in ("a", "b"):
            log.chunk(ANSWER[:-10], name)
        log.chunk(ANSWER[:CUT], "c")
        assert [node for node, _ in log.shown()] == ["a", "b"]
        # An answer that is read already becomes void.
        log.chunk(" " * 100, "a")
        assert log.shown({"a": 1, "b": 2}) == [("a", None)]


def test_credentials_are_masked_by_their_form() -> None:
    secret = "sk-" + "a1B2" * 12
    event = Event("r", 1, "e", OUTPUT_CHUNK, 0, b"{}", "a", content_trust="untrusted")
    payload = {"catalogVersion": "0.9.1", "surface": {"components": [{"component": "text", "text": secret}]}}
    document = json.loads(partial_frame(event, payload, 0).data)
    assert secret not in json.dumps(document)
    assert document["contentTrust"] == "untrusted"
