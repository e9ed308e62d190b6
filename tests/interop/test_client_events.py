"""Streams through the official client: each mode, several at once, batches, resuming, refusals."""

import json
from urllib.error import HTTPError

import pytest
from openwop_client import CreateRunRequest, OpenwopClient, is_output_chunk
from openwop_client.types import RunEventDoc, is_terminal_run_status

from tests.live import CHUNKS, SEEDED_RUN, Host
from tests.live.fixtures import QUICK_WORKFLOW


def polled(client: OpenwopClient, run_id: str) -> list[RunEventDoc]:
    page = client.runs_poll_events(run_id, timeout_seconds=15)
    while not page.isComplete:
        page = client.runs_poll_events(run_id, last_sequence=page.events[-1].sequence, timeout_seconds=15)
    return client.runs_poll_events(run_id).events


@pytest.fixture
def run_id(client: OpenwopClient) -> str:
    return client.runs_create(CreateRunRequest(QUICK_WORKFLOW)).runId


@pytest.mark.rule("sse-01")
@pytest.mark.parametrize("mode", [None, "updates", "debug"])
@pytest.mark.parametrize("buffer_ms", [None, 0, 60])
def test_a_live_run_is_followed_to_its_end(
    client: OpenwopClient, run_id: str, mode: str | None, buffer_ms: int
) -> None:
    seen = list(client.runs_events(run_id, stream_mode=mode, buffer_ms=buffer_ms))  # pyright: ignore[reportArgumentType]
    log = polled(client, run_id)
    shown = [event for event in log if mode == "debug" or event.type != "node.started"]
    assert seen == shown
    assert [seen[0].type, seen[-1].type] == ["run.started", "run.completed"]


@pytest.mark.rule("sse-02", "sse-09")
def test_values_are_snapshots_that_the_client_decodes(client: OpenwopClient) -> None:
    run_id = client.runs_create(CreateRunRequest("conformance-cancellable")).runId
    stream = client.runs_events(run_id, stream_mode="values")
    seen = [next(stream)]
    client.runs_cancel(run_id)
    seen += stream
    assert {event.type for event in seen} == {"state.snapshot"}
    assert len({event.eventId for event in seen}) == len(seen) >= 2
    statuses = [event.payload["status"] for event in seen]
    assert [is_terminal_run_status(status) for status in statuses] == [False] * (len(seen) - 1) + [True]
    last = client.runs_get(run_id)
    assert seen[-1].payload["nodeStates"] == last.nodeStates


@pytest.mark.rule("sse-08")
@pytest.mark.parametrize("buffer_ms", [None, 50])
def test_messages_are_chunks(client: OpenwopClient, buffer_ms: int | None) -> None:
    seen = list(client.runs_events(SEEDED_RUN, stream_mode="messages", buffer_ms=buffer_ms))
    assert [event.type for event in seen] == ["ai.message.chunk"] * len(CHUNKS)
    assert [event.payload["chunk"] for event in seen] == list(CHUNKS)
    assert all(event.nodeId == "talk" for event in seen)


@pytest.mark.rule("sse-04")
def test_several_modes_are_one_stream(client: OpenwopClient) -> None:
    seen = list(client.runs_events(SEEDED_RUN, stream_mode=("updates", "messages")))
    assert [event.type for event in seen] == [
        "run.started",
        *["ai.message.chunk"] * len(CHUNKS),
        "node.completed",
        "run.completed",
    ]
    stored = [event for event in client.runs_events(SEEDED_RUN, stream_mode="debug") if event.type == "output.chunk"]
    assert len(stored) == len(CHUNKS)
    assert all(is_output_chunk(event) for event in stored)


@pytest.mark.rule("sse-06")
def test_a_stream_goes_on_after_the_last_id(client: OpenwopClient, run_id: str) -> None:
    whole = list(client.runs_events(run_id, stream_mode="debug"))
    for at, event in enumerate(whole):
        rest = list(client.runs_events(run_id, stream_mode="debug", last_event_id=str(event.sequence)))
        assert rest == whole[at + 1 :]


def test_a_reader_may_leave_in_the_middle(client: OpenwopClient, run_id: str) -> None:
    stream = client.runs_events(run_id)
    assert next(stream).type == "run.started"
    stream.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert list(client.runs_events(run_id, last_event_id="0"))[-1].type == "run.completed"


@pytest.mark.rule("sse-04", "sse-05", "sse-11")
@pytest.mark.parametrize(
    ("keywords", "status", "code"),
    [
        ({"stream_mode": "bogus"}, 400, "unsupported_stream_mode"),
        ({"stream_mode": ("values", "updates")}, 400, "unsupported_stream_mode"),
        ({"buffer_ms": 99_999}, 400, "validation_error"),
        ({"last_event_id": "not-an-id"}, 400, "validation_error"),
        ({}, 404, "not_found"),
    ],
)
def test_a_stream_that_cannot_be_opened_says_why(client: OpenwopClient, keywords: dict, status: int, code: str) -> None:
    with pytest.raises(HTTPError) as raised:
        list(client.runs_events("nowhere" if not keywords else SEEDED_RUN, **keywords))
    with raised.value as error:
        assert (error.code, json.loads(error.read())["error"]) == (status, code)


def test_a_stream_with_a_refused_key_is_refused(host: Host) -> None:
    with pytest.raises(HTTPError) as raised:
        list(OpenwopClient(host.address, "wrong").runs_events(SEEDED_RUN))
    with raised.value as error:
        assert error.code == 401
