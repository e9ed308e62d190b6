"""What readers see of runs that are steered: the members of a snapshot, and every type in the modes that show it."""

from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable
from tests.live import Frame, Host, frames, in_thread, open_listening
from tests.live.steering import (
    RemoteHost,
    answer_over_http,
    await_status,
    cancel,
    event_types,
    events,
    flow,
    interrupt_node,
    pause,
    register,
    resume,
)
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import MAP_ITEM, PAUSE_REQUESTED
from weftwork.protocol.wire import streams

RETRIES = {"maxRetries": 1, "retryDelayMs": 10}
FULL = flow(
    "shown-full",
    [
        node("set", "core.setVariable", config={"name": "n", "value": 1}),
        node("write", "core.channelWrite", config={"channelName": "notes", "reducer": "append", "value": "x"}),
        node("log", "core.log", config={"message": "hello"}),
        node("make", "core.artifact.emit", config={"artifactType": "t", "data": 1}),
        node("map", "core.flow.map", config={"items": [1, 2], "body": {"typeId": "core.identity"}}),
        node("try", "core.fail", settings=RETRIES),
        node("off", disabled=True),
        interrupt_node("ask"),
        node("wait", "core.delay", config={"ms": 1000}),
    ],
    [
        edge("set", "write"),
        edge("write", "log"),
        edge("log", "make"),
        edge("make", "map"),
        edge("map", "try"),
        edge("try", "ask", "any_failed"),
        edge("ask", "wait"),
    ],
    [variable("n", "number", defaultValue=0)],
)
"""Makes nearly every type of event there is."""

UPDATES = {
    "run.started",
    "run.paused",
    "run.resumed",
    "run.completed",
    "node.completed",
    "node.failed",
    "node.skipped",
    "node.suspended",
    "interrupt.requested",
    "interrupt.resolved",
    "artifact.created",
}
DEBUG = {
    "node.started",
    "node.retried",
    "node.resumed",
    "variable.changed",
    "channel.written",
    "log.appended",
    MAP_ITEM,
    PAUSE_REQUESTED,
}
"""Shown in no other mode."""


@pytest.fixture(scope="module")
def steered(host: Host) -> str:
    """A run that was asked, answered, paused, resumed, and has ended."""
    run_id = host.create(register(host, FULL))
    await_status(host, run_id, "waiting-input")
    assert answer_over_http(host, run_id, "ask", "yes").document["status"] == "running"
    assert pause(host, run_id).status == 202
    await_status(host, run_id, "paused")
    assert resume(host, run_id).status == 202
    assert host.log(run_id)[-1]["type"] == "run.completed"
    return run_id


@pytest.mark.rule("sse-01")
def test_each_type_is_shown_in_its_modes(host: Host, steered: str) -> None:
    log = events(host, steered)
    assert {event["type"] for event in log} == UPDATES | DEBUG

    def shown(mode: str) -> list[Any]:
        return [frame.document for frame in host.stream(steered, f"?streamMode={mode}").frames()]

    assert shown("debug") == log
    assert shown("updates") == [event for event in log if event["type"] in UPDATES]
    assert shown("messages") == []
    assert shown("updates,messages") == shown("updates")
    assert shown("updates,debug") == log


@pytest.mark.rule("sse-02")
def test_a_snapshot_follows_what_the_reader_of_values_should_know(host: Host) -> None:
    """Live, one snapshot at a time: each status that the run had is seen by a reader who keeps up."""
    run_id = host.create(register(host, FULL))
    await_status(host, run_id, "waiting-input")
    stream = host.stream(run_id, "?streamMode=values")

    def statuses(body: bytes) -> list[str]:
        return [frame.document["status"] for frame in frames(body)]

    stream.read_until(lambda body: statuses(body)[-1:] == ["waiting-input"])
    assert answer_over_http(host, run_id, "ask", "yes").status == 200
    stream.read_until(lambda body: statuses(body)[-1:] == ["running"])
    assert pause(host, run_id, {"drainPolicy": "immediate"}).status == 202
    stream.read_until(lambda body: statuses(body)[-1:] == ["paused"])
    assert resume(host, run_id).status == 202
    last = frames(stream.finish())[-1].document
    assert last["status"] == "completed"
    assert last["payload"] == host.snapshot(run_id)


def is_suspended(body: bytes) -> bool:
    return any(item["type"] == "node.suspended" for frame in frames(body) for item in frame.document)


SLOW = flow(
    "shown-slow", [node("wait", "core.delay", config={"ms": 300}), interrupt_node("ask")], [edge("wait", "ask")]
)


def first_batch(host: Host, run_id: str) -> list[Frame]:
    """What a reader with the longest buffer has when it has waited for less than that."""
    stream = host.stream(run_id, f"?bufferMs={streams.MAX_BUFFER_MS}")
    stream.connection.settimeout(streams.MAX_BUFFER_MS / 1000 - 1)
    try:
        return frames(stream.read_until(is_suspended))
    except TimeoutError:
        return []
    finally:
        stream.connection.close()


@pytest.mark.rule("sse-03")
def test_a_question_does_not_wait_for_the_buffer(host: Host) -> None:
    run_id = host.create(register(host, SLOW))
    batch = first_batch(host, run_id)
    assert [item["type"] for frame in batch for item in frame.document][-1] == "node.suspended"
    assert host.snapshot(run_id)["status"] == "waiting-input"
    cancel(host, run_id)


async def test_a_question_that_waits_for_the_buffer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> list[Frame]:
        async with open_listening(SLOW) as served:
            run_id = await served.create("shown-slow")
            return await in_thread(first_batch, RemoteHost(served.port), run_id)

    monkeypatch.setattr(streams, "FLUSH_TYPES", streams.FLUSH_TYPES - {"node.suspended"})
    assert (await work()) == []


def test_a_snapshot_says_how_each_node_stands(host: Host) -> None:
    run_id = host.create(register(host, FULL))
    shown = await_status(host, run_id, "waiting-input")
    assert schema.check("run-snapshot", shown) == []
    assert shown["currentNodeId"] == shown["interrupt"]["nodeId"] == "ask"
    states = shown["nodeStates"]
    assert {name: state["status"] for name, state in states.items()} == {
        **dict.fromkeys(("set", "write", "log", "make", "map"), "completed"),
        "try": "failed",
        "off": "skipped",
        "ask": "suspended",
    }
    assert states["try"]["attempt"] == 2
    assert states["try"]["error"]["code"] == "conformance_test_failure"
    assert states["set"]["attempt"] == 1
    assert "attempt" not in states["off"]
    assert shown["channels"] == {"notes": ["x"]}
    assert shown["variables"] == {"n": 1, "notes": ["x"]}
    assert list(shown["artifacts"]) == ["make"]
    assert answer_over_http(host, run_id, "ask", 1).status == 200
    cancel(host, run_id)


def test_what_a_run_does_not_have_is_left_out(host: Host) -> None:
    shown = host.snapshot(host.create("conformance-noop"))
    assert not {"interrupt", "channels", "artifacts", "currentNodeId", "error"} & set(shown)


def test_a_reader_who_comes_back_misses_nothing_of_a_pause(host: Host) -> None:
    """Cut after every frame, a reader of a steered run gets the rest and nothing twice."""
    run_id = host.create("conformance-delay", inputs={"delayMs": 300})
    assert pause(host, run_id, {"drainPolicy": "immediate"}).status == 202
    assert resume(host, run_id).status == 202
    host.log(run_id)
    whole = host.stream(run_id, "?streamMode=debug").frames()
    assert [frame.event for frame in whole] == event_types(host, run_id)
    for at, frame in enumerate(whole):
        assert host.stream(run_id, "?streamMode=debug", last=frame.id).frames() == whole[at + 1 :]


@pytest.mark.parametrize("mode", ["updates", "debug"])
def test_a_live_reader_sees_what_the_log_keeps(host: Host, mode: str) -> None:
    run_id = host.create(register(host, FULL))
    stream = host.stream(run_id, f"?streamMode={mode}")
    await_status(host, run_id, "waiting-input")
    answer_over_http(host, run_id, "ask", 1)
    live = stream.frames()
    assert live == host.stream(run_id, f"?streamMode={mode}").frames()
    assert live[-1].event == "run.completed"


def test_a_poll_waits_for_the_answer_and_not_for_the_end(host: Host) -> None:
    run_id = host.create(register(host, SLOW))
    await_status(host, run_id, "waiting-input")
    page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1&timeout=1").document
    assert (page["runStatus"], page["isComplete"], page["isTerminal"]) == ("waiting-input", False, False)
    assert page["events"][-1]["type"] == "node.suspended"
    assert answer_over_http(host, run_id, "ask", 1).status == 200
    last = page["lastEventSeq"]
    page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=15").document
    assert page["events"][0]["type"] == "interrupt.resolved"
