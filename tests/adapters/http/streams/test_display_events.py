"""Events that clients display, of surfaces and of media, on real sockets: which readers get them, live and late."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, workflow
from tests.live import Host, start_host, write_workflows
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.wire.streams import SNAPSHOT_TYPES

NOTE = {"components": [{"component": "text", "text": "Here is the plan."}]}
FORM = {
    "components": [
        {"component": "field.text", "id": "who", "label": "Who?", "required": True},
        {"component": "action.button", "id": "go", "label": "Go", "action": {"target": "resume"}},
    ]
}
FILE = {"kind": "file", "text": "plan", "name": "plan.txt", "alt": "The plan"}
DISPLAYED = [SURFACE_KIND, "media.file", SURFACE_KIND]


def showing() -> dict[str, Any]:
    nodes = [
        node("note", "core.ui.surface", config={"surface": NOTE}),
        node("file", "core.media.emit", config=FILE),
        node("ask", "core.ui.surface", config={"surface": FORM}),
    ]
    return workflow(nodes, [edge("note", "file"), edge("file", "ask")], id="showing", name="showing", version="1.0")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("display")
    write_workflows(folder / "flows", showing())
    with start_host(folder, "--workflows", folder / "flows", store="memory") as running:
        yield running


def answer(host: Host, run_id: str) -> None:
    """Wait until the run asks, then press the button."""
    waiting = host.stream(run_id)
    waiting.read_until(lambda body: b"node.suspended" in body)
    waiting.connection.close()
    path = f"/v1/runs/{run_id}/interrupts/ask"
    assert host.call("POST", path, {"resumeValue": {"action": "go", "who": "Ada"}}).status == 200


@pytest.mark.rule("sse-01")
@each_case("is_late", False, True)
@each_case("mode", "updates", "debug", "updates,messages")
def test_readers_of_updates_and_debug_get_the_events(host: Host, mode: str, is_late: bool) -> None:
    run_id = host.create("showing")
    early = None if is_late else host.stream(run_id, f"?streamMode={mode}")
    answer(host, run_id)
    stream = early or host.stream(run_id, f"?streamMode={mode}")
    shown = [frame.document for frame in stream.frames() if frame.event in DISPLAYED]
    assert [each["type"] for each in shown] == DISPLAYED
    assert [each for each in host.log(run_id) if each["type"] in DISPLAYED] == shown
    assert shown[0]["payload"]["surface"] == NOTE
    assert shown[1]["payload"]["alt"] == "The plan"
    assert shown[2]["payload"]["surface"] == FORM
    assert {each["contentTrust"] for each in shown} == {"trusted"}
    assert all(each["causationId"] for each in shown)


@pytest.mark.rule("sse-01", "sse-02")
def test_readers_of_values_get_snapshots_and_no_event_of_their_own(host: Host) -> None:
    run_id = host.create("showing")
    early = host.stream(run_id, "?streamMode=values")
    answer(host, run_id)
    assert {frame.event for frame in early.frames()} == {"state.snapshot"}
    assert not SNAPSHOT_TYPES.intersection(DISPLAYED)


def test_readers_of_messages_get_chunks_only(host: Host) -> None:
    run_id = host.create("showing")
    answer(host, run_id)
    assert host.stream(run_id, "?streamMode=messages").frames() == []


def test_a_poll_and_a_plain_read_have_the_events(host: Host) -> None:
    run_id = host.create("showing")
    answer(host, run_id)
    polled = [each["type"] for each in host.log(run_id)]
    assert [each for each in polled if each in DISPLAYED] == DISPLAYED
    read = host.call("GET", f"/v1/runs/{run_id}/events").document["events"]
    assert [each["type"] for each in read if each["type"] in DISPLAYED] == DISPLAYED


def test_a_reader_that_reconnects_gets_each_event_once(host: Host) -> None:
    run_id = host.create("showing")
    answer(host, run_id)
    whole = host.stream(run_id).frames()
    at = next(index for index, frame in enumerate(whole) if frame.event == SURFACE_KIND)
    assert host.stream(run_id, last=whole[at].id).frames() == whole[at + 1 :]
    assert host.stream(run_id, last=whole[at - 1].id).frames() == whole[at:]
