"""Event streams over connections that break, hosts that repeat themselves, and hosts that do not stream."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.foreign_host import HANG_UP, KEY, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from weftwork.cli.client import event_stream
from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.event_stream import EventStream, FrameParser, FrameTooLarge, ReceivedFrame, UnreadableFrame
from weftwork.cli.client.http_client import Client

PATH = "/v1/runs/r/events"
Send = Callable[[bytes], object]


def event(sequence: int, kind: str = "node.started", **more: Any) -> dict[str, Any]:
    return {"eventId": f"e{sequence}", "runId": "r", "type": kind, "sequence": sequence, "payload": {}, **more}


LOG = [event(0, "run.started"), *(event(at) for at in range(1, 9)), event(9, "run.completed")]


def frame(document: dict[str, Any]) -> bytes:
    return f"id: {document['sequence']}\nevent: {document['type']}\ndata: {json.dumps(document)}\n\n".encode()


class Story:
    """A run whose stream breaks after so many events each time, and goes on behind the id that it is told."""

    def __init__(self, foreign: ForeignHost, *lengths: int, heeds: bool = True) -> None:
        self.lengths = iter(lengths)
        self.heeds = heeds
        self.ids: list[str | None] = []
        foreign.replies[f"GET {PATH}"] = self.reply
        foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "running"})

    def reply(self, asked: ReceivedRequest) -> CannedResponse:
        last = asked.headers.get("last-event-id")
        self.ids.append(last)
        start = int(last) + 1 if last and self.heeds else 0
        count = next(self.lengths, None)
        chosen = LOG[start:] if count is None else LOG[start : start + count]

        def send(write: Send) -> None:
            for document in chosen:
                write(frame(document))

        return CannedResponse(stream=send)


def reading(host: ForeignHost, timeout: float = 10) -> tuple[Client, list[str]]:
    client, said = Client(host.url, KEY, timeout), list[str]()
    client.notify = said.append
    return client, said


def read(client: Client, **more: Any) -> list[int | None]:
    return [each.sequence for each in client.stream("r", **more)]


def test_a_broken_stream_goes_on_where_it_was(foreign: ForeignHost) -> None:
    story = Story(foreign, 3, 0, 2)
    client, said = reading(foreign)
    assert read(client, streamMode="debug") == list(range(10))
    assert story.ids == [None, "2", "2", "4"]
    assert {each.query["streamMode"][0] for each in foreign.requests if each.path == PATH} == {"debug"}
    assert said[0] == "connection lost; reconnecting for up to 60 s"
    assert said[-1] == "reconnected"


def test_a_connection_that_is_cut_inside_a_frame_loses_nothing(foreign: ForeignHost) -> None:
    whole = b"".join(map(frame, LOG))
    for cut in range(0, len(whole), 151):
        turn = itertools.count()

        def reply(asked: ReceivedRequest, cut: int = cut, turn: Iterator[int] = turn) -> CannedResponse:
            if next(turn) == 0:
                # More is announced than comes.
                return CannedResponse(
                    stream=lambda write: write(whole[:cut]), headers={"Content-Length": str(len(whole))}
                )
            last = asked.headers.get("last-event-id")
            rest = LOG[int(last) + 1 :] if last else LOG
            return CannedResponse(stream=lambda write: write(b"".join(map(frame, rest))))

        foreign.replies[f"GET {PATH}"] = reply
        foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "running"})
        assert read(reading(foreign)[0]) == list(range(10)), cut


def repeating(foreign: ForeignHost) -> list[int | None]:
    Story(foreign, 4, 6, heeds=False)
    return read(reading(foreign)[0])


def test_what_a_host_sends_again_is_left_out(foreign: ForeignHost) -> None:
    assert repeating(foreign) == list(range(10))


def test_without_that_it_would_come_twice(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream, "_accept", lambda self, found: found)
    assert repeating(foreign) != list(range(10))


def test_a_reader_may_begin_later(foreign: ForeignHost) -> None:
    story = Story(foreign)
    assert read(reading(foreign)[0], last_event_id="6") == [7, 8, 9]
    assert story.ids == ["6"]


def test_two_frames_of_one_event_both_come(foreign: ForeignHost) -> None:
    chunk = b'id: 1.5\nevent: ai.message.chunk\ndata: {"nodeId": "n", "chunk": "x", "isLast": true}\n\n'
    annotated = b'event: run.annotated\ndata: {"type": "run.annotated", "sequence": 0}\n\n'
    body = frame(LOG[0]) + frame(LOG[1]) + chunk + annotated + frame(LOG[9])
    foreign.replies[f"GET {PATH}"] = CannedResponse(stream=lambda write: write(body))
    kinds = [each.event_type for each in reading(foreign)[0].stream("r")]
    assert kinds == ["run.started", "node.started", "ai.message.chunk", "run.annotated", "run.completed"]


def test_a_stream_ends_with_its_run_even_if_the_host_does_not_close_it(foreign: ForeignHost) -> None:
    over = threading.Event()

    def send(write: Send) -> None:
        write(b"".join(map(frame, LOG)))
        over.wait(120)

    foreign.replies[f"GET {PATH}"] = CannedResponse(stream=send)
    assert read(reading(foreign)[0]) == list(range(10))
    over.set()


def test_a_snapshot_of_an_ended_run_ends_the_stream(foreign: ForeignHost) -> None:
    frames = [f'event: state.snapshot\ndata: {{"status": "{each}"}}\n\n'.encode() for each in ("running", "failed")]
    foreign.replies[f"GET {PATH}"] = CannedResponse(stream=lambda write: write(b"".join(frames)))
    found = [each.data["status"] for each in reading(foreign)[0].stream("r", streamMode="values")]
    assert found == ["running", "failed"]


@pytest.mark.parametrize(
    "status",
    [
        CannedResponse(200, {"status": "completed"}),
        CannedResponse(200, {"status": "of-the-future"}),
        CannedResponse(404, {}),
    ],
)
def test_a_stream_without_an_end_ends_when_the_run_is_over(foreign: ForeignHost, status: CannedResponse) -> None:
    chunk = b'event: ai.message.chunk\ndata: {"chunk": "x"}\n\n'
    foreign.replies[f"GET {PATH}"] = lambda asked: CannedResponse(stream=lambda write: write(chunk))
    foreign.replies["GET /v1/runs/r"] = status
    found = [each.event_type for each in itertools.islice(reading(foreign)[0].stream("r", streamMode="messages"), 5)]
    assert found == ["ai.message.chunk"]


def test_what_came_last_is_asked_for_once_more(foreign: ForeignHost) -> None:
    Story(foreign, 3, 0)
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"status": "completed"})
    assert read(reading(foreign)[0]) == [0, 1, 2]
    assert [each.headers.get("last-event-id") for each in foreign.requests if each.path == PATH] == [None, "2"]


def test_a_host_that_says_nothing_is_asked_anew_without_a_word(foreign: ForeignHost) -> None:
    over = threading.Event()
    turn = itertools.count()

    def reply(asked: ReceivedRequest) -> CannedResponse:
        number = next(turn)

        def send(write: Send) -> None:
            write(b": hello\n\n" if number < 2 else b"".join(map(frame, LOG)))
            over.wait(120)

        return CannedResponse(stream=send)

    foreign.replies[f"GET {PATH}"] = reply
    client, said = reading(foreign, 0.2)
    assert read(client) == list(range(10))
    assert said == []
    over.set()


@pytest.mark.parametrize("how", ["gone", "empty"])
def test_polling_has_an_end(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(event_stream, "RECONNECT_SECONDS", 0.5)
    Story(foreign, 2, *([0] * 50))
    client, said = reading(foreign)
    frames = client.stream("r")
    assert [next(frames).sequence, next(frames).sequence] == [0, 1]
    if how == "gone":
        foreign.replies = {f"GET {PATH}": CannedResponse(503, {}), "GET /v1/runs/r": CannedResponse(503, {})}
    with pytest.raises((HostUnreachable, RequestRefused)):
        next(frames)
    assert len(said) == 1


def test_a_host_that_was_never_there_is_not_waited_for() -> None:
    with open_foreign_host() as gone:
        pass
    client, said = reading(gone)
    with pytest.raises(HostUnreachable, match="no host is listening"):
        next(client.stream("r"))
    assert said == []


@pytest.mark.parametrize("status", [401, 403, 400])
def test_a_refusal_on_the_way_is_told(foreign: ForeignHost, status: int) -> None:
    Story(foreign, 2)
    client, _ = reading(foreign)
    frames = client.stream("r")
    assert next(frames).sequence == 0
    foreign.replies[f"GET {PATH}"] = CannedResponse(status, {"error": "no", "message": "No."})
    with pytest.raises(RequestRefused):
        list(frames)


def test_a_busy_host_is_asked_again_when_it_says(foreign: ForeignHost) -> None:
    story = Story(foreign, 2)
    turn = itertools.count()

    def reply(asked: ReceivedRequest) -> CannedResponse:
        return CannedResponse(503, {}, {"Retry-After": "0"}) if next(turn) in (0, 2, 3) else story.reply(asked)

    foreign.replies[f"GET {PATH}"] = reply
    assert read(reading(foreign)[0]) == list(range(10))


def test_time_is_up_in_the_middle_of_silence(foreign: ForeignHost) -> None:
    over = threading.Event()

    def send(write: Send) -> None:
        write(frame(LOG[0]))
        over.wait(120)

    foreign.replies[f"GET {PATH}"] = CannedResponse(stream=send)
    client, _ = reading(foreign)
    client.deadline = time.monotonic() + 0.2
    frames = client.stream("r")
    assert next(frames).sequence == 0
    with pytest.raises(DeadlineReached):
        next(frames)
    over.set()


def test_what_is_no_json_is_left_out_and_told_once(foreign: ForeignHost) -> None:
    body = frame(LOG[0]) + b"id: 1\ndata: {\n\n" + b"id: 2\ndata: [1,\n\n" + frame(LOG[9])
    foreign.replies[f"GET {PATH}"] = CannedResponse(stream=lambda write: write(body))
    client, said = reading(foreign)
    assert read(client) == [0, 9]
    assert said == ["the host sent an event that is not valid JSON; it is skipped"]


def test_a_run_that_is_not_there_is_told_so(foreign: ForeignHost) -> None:
    client, _ = reading(foreign)
    with pytest.raises(RequestRefused, match="Nothing here"):
        list(client.stream("r"))


def test_a_frame_knows_its_event_by_its_document() -> None:
    assert ReceivedFrame("updates", {"type": "run.started", "seq": 4}, "").event_type == "run.started"
    assert ReceivedFrame("updates", {"seq": 4, "sequence": True}, "").sequence == 4
    assert ReceivedFrame("x", [], "12").sequence == 12
    assert [ReceivedFrame("x", {}, text).sequence for text in ("", "1.5", "-1", "٣", "9" * 30)] == [None] * 5


KINDS = ("run.started", *["node.started"] * 8, "run.completed")
POLLED_LOG = [{"eventId": f"e{at}", "type": kind, "sequence": at, "payload": {}} for at, kind in enumerate(KINDS)]


class Polled:
    """A host that does not stream, with the habits of several that exist."""

    def __init__(self, foreign: ForeignHost, no_stream: CannedResponse, **habits: bool) -> None:
        self.habits = habits
        self.pages = 0
        foreign.replies[f"GET {PATH}"] = no_stream
        foreign.replies[f"GET {PATH}/poll"] = self.reply
        foreign.replies["GET /v1/runs/r"] = lambda asked: CannedResponse(
            200, {"status": "completed" if self.pages > 3 else "running"}
        )

    def reply(self, asked: ReceivedRequest) -> CannedResponse:
        self.pages += 1
        last = -1 if "forgets" in self.habits else int(asked.query["lastSequence"][0])
        until = 4 if self.pages < 3 else 9 if "endless" in self.habits else 10
        events = [each for each in POLLED_LOG if last < each["sequence"] < until]
        if "renames" in self.habits:
            events = [{"seq": each["sequence"], "type": each["type"]} for each in events]
        page: dict[str, Any] = {"events": events}
        if "tells" in self.habits:
            page["isComplete"] = self.pages > 3
        return CannedResponse(200, page)


@pytest.mark.parametrize(
    "no_stream",
    [
        CannedResponse(200, {"events": [], "isComplete": False}),
        CannedResponse(404, {"error": "not_found", "message": "No."}),
        CannedResponse(406, raw=b""),
        CannedResponse(501, {"error": "capability_not_provided", "message": "No."}),
    ],
)
@pytest.mark.parametrize("habits", [("tells",), (), ("forgets",), ("renames",), ("endless",), ("endless", "tells")])
def test_a_host_that_does_not_stream_is_polled(
    monkeypatch: pytest.MonkeyPatch, no_stream: CannedResponse, habits: tuple[str, ...]
) -> None:
    monkeypatch.setattr(event_stream, "MIN_POLL_INTERVAL", 0.01)
    said: list[str] = []
    with open_foreign_host() as foreign:
        Polled(foreign, no_stream, **dict.fromkeys(habits, True))
        client = Client(foreign.url, KEY, 10)
        client.notify = said.append
        found = [each.sequence for each in client.stream("r")]
    assert found == list(range(9 if "endless" in habits else 10))
    assert said == ["this host does not stream events; polling instead"]


def test_a_poll_goes_on_after_a_restart_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MIN_POLL_INTERVAL", 0.01)
    said: list[str] = []
    with open_foreign_host() as foreign:
        polled = Polled(foreign, CannedResponse(501, {}), tells=True)
        turn = itertools.count()

        def reply(asked: ReceivedRequest) -> CannedResponse:
            number = next(turn)
            return HANG_UP if 0 < number < 6 else CannedResponse(503, {}) if number == 7 else polled.reply(asked)

        foreign.replies[f"GET {PATH}/poll"] = reply
        client = Client(foreign.url, KEY, 10)
        client.notify = said.append
        assert [each.sequence for each in client.stream("r")] == list(range(10))
    url = foreign.url
    assert said[1:] == [
        "connection lost; reconnecting for up to 60 s",
        "reconnected",
        f"{url} is busy; reconnecting for up to 60 s",
        "reconnected",
    ]


def test_a_poll_ends_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MIN_POLL_INTERVAL", 0.01)
    with open_foreign_host() as foreign:
        Polled(foreign, CannedResponse(501, {}))
        foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"status": "running"})
        foreign.replies[f"GET {PATH}/poll"] = CannedResponse(200, {"events": []})
        client = Client(foreign.url, KEY, 10)
        client.notify = lambda text: None
        client.deadline = time.monotonic() + 0.2
        with pytest.raises(DeadlineReached):
            list(client.stream("r"))


def test_an_answer_to_a_poll_that_is_none() -> None:
    with open_foreign_host() as foreign:
        Polled(foreign, CannedResponse(501, {}))
        foreign.replies[f"GET {PATH}/poll"] = CannedResponse(200, ["what"])
        client = Client(foreign.url, KEY, 10)
        client.notify = lambda text: None
        with pytest.raises(HostUnreachable, match="response without events"):
            list(client.stream("r"))


SEVERAL = (
    b"\xef\xbb\xbf: hello\n\n"
    b'id: 0\nevent: run.started\ndata: {"type": "run.started",\ndata: "sequence": 0}\n\n'
    b"retry: 1500\nretry: soon\nunknown: x\ndata\n\n"
    b'data: "no id, so that of the one before"\n\n'
    b'id: 4\nevent: batch\ndata: [{"sequence": 3, "type": "a.b"}, {"sequence": 4, "type": "c.d"}, 5]\n\n'
    b"id: bad\x00id\nevent: x\ndata:{}\n\n"
    b"id: 7\ndata: {broken\n\n"
    b'event: last\ndata: "\xe2\x80\xa8 \\u001b"\n\n'
    b"data: 1\n"
)
FRAMES: list[ReceivedFrame | UnreadableFrame] = [
    ReceivedFrame("run.started", {"type": "run.started", "sequence": 0}, "0"),
    ReceivedFrame("message", "no id, so that of the one before", "0"),
    ReceivedFrame("a.b", {"sequence": 3, "type": "a.b"}, "3"),
    ReceivedFrame("c.d", {"sequence": 4, "type": "c.d"}, "4"),
    ReceivedFrame("message", 5, "4"),
    ReceivedFrame("x", {}, "4"),
    UnreadableFrame("7"),
    ReceivedFrame("last", "\u2028 \x1b", "7"),
]


def parsed(body: bytes, *cuts: int) -> list[ReceivedFrame | UnreadableFrame]:
    parser = FrameParser()
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return [each for at, to in pairwise(places) for each in parser.feed(body[at:to])]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 10_000), max_size=12))
def test_frames_are_the_same_however_they_arrive(line_end: bytes, cuts: list[int]) -> None:
    assert parsed(SEVERAL.replace(b"\n", line_end), *cuts) == FRAMES


def test_byte_by_byte_as_well() -> None:
    for line_end in (b"\n", b"\r\n", b"\r"):
        body = SEVERAL.replace(b"\n", line_end)
        assert parsed(body, *range(len(body))) == FRAMES


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=3))
def test_nothing_breaks_the_reader(noise: bytes, cuts: list[int]) -> None:
    parsed(noise, *cuts)
    assert parsed(noise + b"\n\ndata: 1\n\n", *cuts)[-1] == ReceivedFrame("message", 1, _last_id(noise))


def _last_id(noise: bytes) -> str:
    return ([each.id for each in parsed(noise + b"\n\ndata: 1\n\n")] or [""])[-1]


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.characters(codec="ascii"), max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_a_frame_is_put_together_from_any_document(document: Any) -> None:
    text = json.dumps(document).replace("\\u0000", "0")
    assert parsed(f"id: 3\nevent: e\ndata: {text}\n\n".encode()) == [ReceivedFrame("e", json.loads(text), "3")]


def test_the_wait_that_a_host_asks_for_is_known() -> None:
    parser = FrameParser()
    parser.feed(SEVERAL)
    assert parser.retry_ms == 1500


def test_a_frame_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_FRAME_BYTES", 1000)
    parser = FrameParser()
    for _ in range(5):
        assert parser.feed(b": " + b"x" * 600 + b"\n\n") == []
    assert parser.feed(b"x" * 600) == []
    with pytest.raises(FrameTooLarge):
        parser.feed(b"x" * 600)
    parser = FrameParser()
    assert parser.feed(b"data: x\n" * 100) == []
    with pytest.raises(FrameTooLarge):
        parser.feed(b"data: x\n" * 100)
