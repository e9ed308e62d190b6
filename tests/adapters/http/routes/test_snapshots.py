"""Runs as their readers see them: snapshots of steered runs, and of parents and children with their trees."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness.definitions import edge, node, variable
from tests.live import (
    KEY,
    OTHER_KEY,
    TEST_KEY,
    Frame,
    Host,
    frames,
    in_thread,
    open_listening,
    start_host,
    steering,
    until,
    write_workflows,
)
from tests.live.child_workflows import (
    DETACHING_PARENT,
    GRANDPARENT,
    INTERRUPTED_CHILD,
    MAPPING_PARENT,
    PARENT,
    await_tree,
    child_workflows,
    tree_of,
)
from tests.live.fixtures import host_fixture
from weftwork.protocol.json import schema
from weftwork.protocol.run.events import MAP_ITEM, PAUSE_REQUESTED
from weftwork.protocol.wire import streams

RETRIES = {"maxRetries": 1, "retryDelayMs": 10}

FULL = steering.flow(
    "shown-full",
    [
        node("set", "core.setVariable", config={"name": "n", "value": 1}),
        node("write", "core.channelWrite", config={"channelName": "notes", "reducer": "append", "value": "x"}),
        node("log", "core.log", config={"message": "hello"}),
        node("make", "core.artifact.emit", config={"artifactType": "t", "data": 1}),
        node("map", "core.flow.map", config={"items": [1, 2], "body": {"typeId": "core.identity"}}),
        node("try", "core.fail", settings=RETRIES),
        node("off", disabled=True),
        steering.interrupt_node("ask"),
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
    run_id = host.create(steering.register(host, FULL))
    steering.await_status(host, run_id, "waiting-input")
    assert steering.answer_over_http(host, run_id, "ask", "yes").document["status"] == "running"
    assert steering.pause(host, run_id).status == 202
    steering.await_status(host, run_id, "paused")
    assert steering.resume(host, run_id).status == 202
    assert host.log(run_id)[-1]["type"] == "run.completed"
    return run_id


@pytest.mark.rule("sse-01")
def test_each_type_is_shown_in_its_modes(host: Host, steered: str) -> None:
    log = steering.events(host, steered)
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
    run_id = host.create(steering.register(host, FULL))
    steering.await_status(host, run_id, "waiting-input")
    stream = host.stream(run_id, "?streamMode=values")

    def statuses(body: bytes) -> list[str]:
        return [frame.document["status"] for frame in frames(body)]

    stream.read_until(lambda body: statuses(body)[-1:] == ["waiting-input"])
    assert steering.answer_over_http(host, run_id, "ask", "yes").status == 200
    stream.read_until(lambda body: statuses(body)[-1:] == ["running"])
    assert steering.pause(host, run_id, {"drainPolicy": "immediate"}).status == 202
    stream.read_until(lambda body: statuses(body)[-1:] == ["paused"])
    assert steering.resume(host, run_id).status == 202
    last = frames(stream.finish())[-1].document
    assert last["status"] == "completed"
    assert last["payload"] == host.snapshot(run_id)


SLOW = steering.flow(
    "shown-slow",
    [node("wait", "core.delay", config={"ms": 300}), steering.interrupt_node("ask")],
    [edge("wait", "ask")],
)


def first_batch(host: Host, run_id: str) -> list[Frame]:
    """What a reader with the longest buffer has when it has waited for less than that."""
    stream = host.stream(run_id, f"?bufferMs={streams.MAX_BUFFER_MS}")
    stream.connection.settimeout(streams.MAX_BUFFER_MS / 1000 - 1)
    try:
        return frames(stream.read_until(lambda body: b"node.suspended" in body))
    except TimeoutError:
        return []
    finally:
        stream.connection.close()


@pytest.mark.rule("sse-03")
def test_a_question_does_not_wait_for_the_buffer(host: Host) -> None:
    run_id = host.create(steering.register(host, SLOW))
    batch = first_batch(host, run_id)
    assert [item["type"] for frame in batch for item in frame.document][-1] == "node.suspended"
    assert host.snapshot(run_id)["status"] == "waiting-input"
    steering.cancel(host, run_id)


async def test_a_question_that_waits_for_the_buffer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "FLUSH_TYPES", streams.FLUSH_TYPES - {"node.suspended"})
    async with open_listening(SLOW) as served:
        run_id = await served.create("shown-slow")
        assert await in_thread(first_batch, steering.RemoteHost(served.port), run_id) == []


def test_a_snapshot_says_how_each_node_stands_and_leaves_out_what_a_run_does_not_have(host: Host) -> None:
    assert not {"interrupt", "channels", "artifacts", "currentNodeId", "error"} & set(
        host.snapshot(host.create("conformance-noop"))
    )
    run_id = host.create(steering.register(host, FULL))
    shown = steering.await_status(host, run_id, "waiting-input")
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
    assert steering.answer_over_http(host, run_id, "ask", 1).status == 200
    steering.cancel(host, run_id)


def test_a_reader_who_comes_back_misses_nothing_of_a_pause(host: Host) -> None:
    """Cut after every frame, a reader of a steered run gets the rest and nothing twice."""
    run_id = host.create("conformance-delay", inputs={"delayMs": 300})
    assert steering.pause(host, run_id, {"drainPolicy": "immediate"}).status == 202
    assert steering.resume(host, run_id).status == 202
    host.log(run_id)
    whole = host.stream(run_id, "?streamMode=debug").frames()
    assert [frame.event for frame in whole] == steering.event_types(host, run_id)
    for at, frame in enumerate(whole):
        assert host.stream(run_id, "?streamMode=debug", last=frame.id).frames() == whole[at + 1 :]


@pytest.mark.parametrize("mode", ["updates", "debug"])
def test_a_live_reader_sees_what_the_log_keeps(host: Host, mode: str) -> None:
    run_id = host.create(steering.register(host, FULL))
    stream = host.stream(run_id, f"?streamMode={mode}")
    steering.await_status(host, run_id, "waiting-input")
    steering.answer_over_http(host, run_id, "ask", 1)
    live = stream.frames()
    assert live == host.stream(run_id, f"?streamMode={mode}").frames()
    assert live[-1].event == "run.completed"


def test_a_poll_waits_for_the_answer_and_not_for_the_end(host: Host) -> None:
    run_id = host.create(steering.register(host, SLOW))
    steering.await_status(host, run_id, "waiting-input")
    page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence=-1&timeout=1").document
    assert (page["runStatus"], page["isComplete"], page["isTerminal"]) == ("waiting-input", False, False)
    assert page["events"][-1]["type"] == "node.suspended"
    assert steering.answer_over_http(host, run_id, "ask", 1).status == 200
    last = page["lastEventSeq"]
    page = host.call("GET", f"/v1/runs/{run_id}/events/poll?lastSequence={last}&timeout=15").document
    assert page["events"][0]["type"] == "interrupt.resolved"


PLACE = "https://runs.example.com"
kin = host_fixture(workflows=child_workflows(), env={"WEFTWORK_PUBLIC_URL": PLACE})


def waiting(host: Host) -> list[dict[str, Any]]:
    """The rows of three runs, one below the other, of which the last one asks and the others wait for it."""
    return await_tree(host, host.create(GRANDPARENT), *["waiting-input"] * 3)


def listed(host: Host, query: str, key: str = KEY) -> Any:
    answer = host.call("GET", f"/v1/runs?{query}", key=key)
    assert answer.status == 200, answer.body
    assert schema.check("run-list", answer.document) == []
    return answer.document


@pytest.mark.rule("kin-09", "kin-10", "kin-12")
def test_parent_and_child_name_each_other_up_to_the_top(kin: Host) -> None:
    rows = waiting(kin)
    assert [row["workflowId"] for row in rows] == [GRANDPARENT, PARENT, INTERRUPTED_CHILD]
    assert [row["depth"] for row in rows] == [0, 1, 2]
    assert [row["currentNodeId"] for row in rows] == ["begin", "call", "ask"]
    top, middle, last = (kin.snapshot(row["runId"]) for row in rows)
    for shown in (top, middle, last):
        assert schema.check("run-snapshot", shown) == []
    for above, below, node_id in ((top, middle, "begin"), (middle, last, "call")):
        assert (below["parentRunId"], below["parentNodeId"]) == (above["runId"], node_id)
        ids = {name: below[name] for name in ("runId", "workflowId")}
        assert above["childRuns"] == [{**ids, "nodeId": node_id, "status": "waiting-input"}]
        assert "childRunsTruncated" not in above
    assert "parentRunId" not in top
    assert "childRuns" not in last
    run_id, way = last["runId"], []
    while run_id is not None:
        answer = kin.call("GET", f"/v1/runs/{run_id}/ancestry")
        assert (answer.status, schema.check("run-ancestry-response", answer.document)) == (200, [])
        assert (answer.document["runId"], answer.document["hostId"]) == (run_id, PLACE)
        way.append(run_id)
        run_id = (answer.document["parent"] or {}).get("runId")
        assert answer.document["parent"] == (run_id and {"runId": run_id, "hostId": PLACE, "cause": "core.subWorkflow"})
    assert way == [row["runId"] for row in rows[::-1]]
    # The question is that of the child alone.
    assert "interrupt" not in top
    assert last["interrupt"]["nodeId"] == "ask"
    assert steering.answer_over_http(kin, last["runId"], "ask", "yes").status == 200
    done = await_tree(kin, top["runId"], *["completed"] * 3)
    assert [row["runId"] for row in done] == [row["runId"] for row in rows]
    assert kin.snapshot(top["runId"])["childRuns"][0]["status"] == "completed"


@pytest.mark.rule("kin-10", "kin-11", "kin-12")
def test_many_children_are_cut_counted_and_paged(kin: Host) -> None:
    run_id = kin.create(MAPPING_PARENT, inputs={"items": list(range(130))})
    kin.log(run_id)
    shown = kin.snapshot(run_id)
    assert (len(shown["childRuns"]), shown["childRunsTruncated"]) == (100, True)
    whole = tree_of(kin, run_id)
    assert (len(whole["runs"]), whole["truncated"]) == (131, False)
    ids = [row["runId"] for row in whole["runs"][1:]]
    assert [each["runId"] for each in shown["childRuns"]] == ids[:100]
    for limit in (1, 2, 130, 131, 132):
        part = tree_of(kin, run_id, limit)
        assert schema.check("run-tree", part) == []
        assert part["runs"] == whole["runs"][:limit]
        assert part["truncated"] == (limit < 131)
    found: list[str] = []
    cursor = ""
    while True:
        page = listed(kin, f"parentRunId={run_id}&limit=50{cursor}")
        found += [run["runId"] for run in page["runs"]]
        if "nextCursor" not in page:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert found == ids[::-1]
    assert listed(kin, f"parentRunId={run_id}&status=failed")["runs"] == []
    assert {run["parentNodeId"] for run in listed(kin, f"parentRunId={run_id}&limit=7")["runs"]} == {"each"}


@pytest.mark.rule("kin-10")
def test_children_that_nobody_waits_for_are_named_as_they_stand(kin: Host) -> None:
    run_id = kin.create(DETACHING_PARENT)
    kin.log(run_id)
    shown = kin.snapshot(run_id)
    assert shown["status"] == "completed"
    assert {each["nodeId"] for each in shown["childRuns"]} == {"one", "two"}
    first, second = (each["runId"] for each in shown["childRuns"])
    until(lambda: kin.snapshot(first)["status"] == "running", "the child to run")
    steering.cancel(kin, first)
    steering.await_status(kin, first, "cancelled")
    assert [each["status"] for each in kin.snapshot(run_id)["childRuns"]] == ["cancelled", "running"]
    steering.cancel(kin, second)


@pytest.mark.rule("kin-10")
def test_a_stream_of_snapshots_shows_the_children(kin: Host) -> None:
    rows = waiting(kin)
    stream = kin.stream(rows[0]["runId"], "?streamMode=values")
    stream.read_until(lambda body: b"\n\n" in body)
    steering.cancel(kin, rows[0]["runId"])
    first, *_, last = stream.frames()
    assert {first.event, last.event} == {"state.snapshot"}
    assert [first.document["status"], last.document["status"]] == ["waiting-input", "cancelled"]
    for frame in (first, last):
        assert [each["runId"] for each in frame.document["childRuns"]] == [rows[1]["runId"]]


@pytest.mark.rule("diff-02")
def test_two_parents_that_did_the_same_are_equal(kin: Host) -> None:
    both = [kin.create(PARENT) for _ in range(2)]
    for run_id in both:
        last = await_tree(kin, run_id, *["waiting-input"] * 2)[1]["runId"]
        assert steering.answer_over_http(kin, last, "ask", "yes").status == 200
        kin.log(run_id)
    found = kin.call("GET", f"/v1/runs/{both[0]}:diff?against={both[1]}").document
    assert (found["divergedAtSeq"], found["eventDiffs"], found["stateDiff"]) == (None, [], {})


@pytest.mark.rule("auth-05", "kin-11", "kin-12")
def test_the_family_of_others_is_not_there_and_a_query_that_is_none_is_refused(kin: Host) -> None:
    rows = waiting(kin)
    top = rows[0]["runId"]
    for key in (OTHER_KEY, TEST_KEY):
        for row in rows:
            for path in (f"/v1/runs/{row['runId']}/ancestry", f"/v1/host/weftwork/runs/{row['runId']}/tree"):
                answer = kin.call("GET", path, key=key)
                assert (answer.status, answer.document["error"]) == (404, "not_found")
        assert listed(kin, f"parentRunId={top}", key)["runs"] == []
    for path in (f"/v1/runs/{top}/ancestry", f"/v1/host/weftwork/runs/{top}/tree", "/v1/runs/nobody/ancestry"):
        assert kin.call("GET", path, key=None).status == 401
        assert kin.call("POST", path, {}).status == 405
    for limit in ("0", "1001", "x", "", "-1"):
        answer = kin.call("GET", f"/v1/host/weftwork/runs/{top}/tree?limit={limit}")
        assert (answer.status, answer.document["details"]["parameter"]) == (400, "limit")
    for parent in ("", "a%2Fb", "%20", "a" * 129, "%FF"):
        assert kin.call("GET", f"/v1/runs?parentRunId={parent}").status == 400
    assert kin.call("GET", "/v1/runs/nobody/ancestry").status == 404
    assert listed(kin, "parentRunId=nobody")["runs"] == []
    steering.cancel(kin, top)


def test_a_host_without_an_address_has_a_name_all_the_same(tmp_path: Path) -> None:
    flows = write_workflows(tmp_path / "flows", *child_workflows())
    with start_host(tmp_path, "--workflows", flows, store="memory") as host:
        rows = waiting(host)
        above = [host.call("GET", f"/v1/runs/{row['runId']}/ancestry").document for row in rows]
        assert {each["hostId"] for each in above} == {each["parent"]["hostId"] for each in above[1:]} == {"weftwork"}
