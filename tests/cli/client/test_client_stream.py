"""Event streams over connections that break, hosts that repeat themselves, and hosts that do not stream."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from weftwork.cli.client import event_stream
from weftwork.cli.client.errors import DeadlineReached, HostUnreachable, RequestRefused
from weftwork.cli.client.event_stream import EventStream, ReceivedFrame
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
    assert said[0] == f"{foreign.url} cannot be heard any more; trying again for 60 s"
    assert said[-1] == "connected again"


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
    with pytest.raises(HostUnreachable, match="nothing listens"):
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
    assert said == ["the host sends something that is not JSON; it is left out"]


def test_a_run_that_is_not_there_is_told_so(foreign: ForeignHost) -> None:
    client, _ = reading(foreign)
    with pytest.raises(RequestRefused, match="Nothing here"):
        list(client.stream("r"))


def test_a_frame_knows_its_event_by_its_document() -> None:
    assert ReceivedFrame("updates", {"type": "run.started", "seq": 4}, "").event_type == "run.started"
    assert ReceivedFrame("updates", {"seq": 4, "sequence": True}, "").sequence == 4
    assert ReceivedFrame("x", [], "12").sequence == 12
    assert [ReceivedFrame("x", {}, text).sequence for text in ("", "1.5", "-1", "٣", "9" * 30)] == [None] * 5
