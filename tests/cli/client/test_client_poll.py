"""Hosts that do not stream are polled, whatever their habits."""

import itertools
import time
from typing import Any

import pytest

from tests.cli.foreign_host import HANG_UP, KEY, CannedResponse, ForeignHost, ReceivedRequest, open_foreign_host
from weftwork.cli.client import event_stream
from weftwork.cli.client.errors import DeadlineReached, HostUnreachable
from weftwork.cli.client.http_client import Client

PATH = "/v1/runs/r/events"
KINDS = ("run.started", *["node.started"] * 8, "run.completed")
LOG = [{"eventId": f"e{at}", "type": kind, "sequence": at, "payload": {}} for at, kind in enumerate(KINDS)]


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
        events = [each for each in LOG if last < each["sequence"] < until]
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
    assert said == ["this host does not stream here; asking again and again instead"]


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
        f"{url} cannot be heard any more; trying again for 60 s",
        "connected again",
        f"{url} is busy; trying again for 60 s",
        "connected again",
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
        with pytest.raises(HostUnreachable, match="no list of events"):
            list(client.stream("r"))
