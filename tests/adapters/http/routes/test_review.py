"""Reviewing runs over HTTP: annotations, artifacts and differences."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable
from tests.live import (
    KEY,
    OTHER_KEY,
    SEEDED_RUN,
    TEST_KEY,
    Answer,
    Frame,
    Host,
    Stream,
    frames,
    start_host,
    weftwork,
    write_workflows,
)
from tests.live.steering import answer_over_http, cancel, error_code, events, flow, interrupt_node, register
from weftwork.protocol.json import schema
from weftwork.protocol.review.annotations import MAX_ANNOTATIONS, MAX_TEXT

WAITS = "conformance-cancellable"
FLAG = {"signal": {"kind": "flag"}}


@pytest.fixture(scope="module")
def ended(host: Host) -> str:
    run_id = host.create("conformance-noop")
    host.log(run_id)
    return run_id


@pytest.fixture
def live(host: Host) -> Iterator[str]:
    """A run that waits until the test is over."""
    run_id = host.create(WAITS)
    yield run_id
    host.call("POST", f"/v1/runs/{run_id}/cancel", {})


def path(run_id: str, query: str = "") -> str:
    return f"/v1/runs/{run_id}/annotations{query}"


def say(host: Host, run_id: str, document: Any = FLAG, **more: Any) -> Answer:
    return host.call("POST", path(run_id), document, **more)


def listed(host: Host, run_id: str, query: str = "") -> Any:
    answer = host.call("GET", path(run_id, query))
    assert answer.status == 200, answer.body
    assert schema.check("annotation-list", answer.document) == []
    return answer.document


@pytest.mark.rule("fb-02")
def test_an_annotation_is_answered_and_listed_and_is_in_neither_log_nor_snapshot(host: Host, ended: str) -> None:
    before = host.log(ended), host.snapshot(ended)
    event = before[0][1]
    document = {
        "signal": {"kind": "correction", "correction": "<b>42</b>\u2028"},
        "target": {"eventId": event["eventId"], "nodeId": event["nodeId"]},
        "note": "'; DROP TABLE annotations; --",
    }
    answer = say(host, ended, document)
    assert answer.status == 201
    said = answer.document
    assert schema.check("annotation", said) == []
    assert said["target"] == {"runId": ended, **document["target"]}
    assert (said["signal"], said["note"]) == (document["signal"], document["note"])
    assert answer.headers["location"] == path(ended)
    assert listed(host, ended)["annotations"][-1] == said
    assert said["actor"]["principalRef"] == before[1]["owner"]["principal"]
    assert (host.log(ended), host.snapshot(ended)) == before


@pytest.mark.rule("fb-01", "fb-05")
@each_case(
    "document, pointer",
    ({"signal": {"kind": "rating"}}, "/signal"),
    ({**FLAG, "note": "n" * (MAX_TEXT + 1)}, "/note"),
    ({**FLAG, "target": {"nodeId": "secret-node"}}, "/target/nodeId"),
    ({**FLAG, "target": {"eventId": "secret-event" * 20_000}}, "/target/eventId"),
    ({**FLAG, "note": "\U0001f9f6" * MAX_TEXT, "signal": {"kind": "flag", "correction": "\x01" * 3000}}, ""),
)
def test_a_refusal_names_the_place_and_keeps_nothing(host: Host, document: Any, pointer: str) -> None:
    run_id = host.create("conformance-noop")
    answer = say(host, run_id, document)
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["pointer"] == pointer
    assert b"secret" not in answer.body
    assert listed(host, run_id) == {"annotations": []}


@pytest.mark.rule("auth-01")
@each_case(
    "scope, reads, says",
    ("runs:read", True, False),
    ("approvals:respond", False, True),
    ("runs:create", False, False),
)
def test_saying_and_reading_need_their_own_scopes(host: Host, ended: str, scope: str, reads: bool, says: bool) -> None:
    options = ("--tenant", "acme", "--scope", scope, "--data", host.data, "--json")
    made = weftwork(host.data.parent, "keys", "create", *options)
    assert made.returncode == 0, made.stderr
    key = json.loads(made.stdout)["key"]
    answers = say(host, ended, key=key), host.call("GET", path(ended), key=key)
    needed = ("approvals:respond", "runs:read")
    for answer, allowed, needs in zip(answers, (says, reads), needed, strict=True):
        assert (answer.status < 300) is allowed
        if not allowed:
            assert (answer.status, answer.document["details"]) == (403, {"scopeRequired": needs})


@pytest.mark.rule("auth-05")
def test_a_run_of_others_is_not_there_and_a_stranger_learns_nothing(host: Host, ended: str) -> None:
    for run_id in (ended, "nobody"):
        for method, document in (("POST", FLAG), ("GET", None)):
            assert host.call(method, path(run_id), document, key="wrong").status == 401
            assert host.call(method, path(run_id), document, key=None).status == 401
            for key in (OTHER_KEY, TEST_KEY):
                answer = host.call(method, path(run_id), document, key=key)
                assert (answer.status, answer.document["error"]) == (404, "not_found")
    assert host.call("PUT", path(ended), FLAG).status == 405


def test_pages_are_walked_by_their_cursor(host: Host) -> None:
    run_id = host.create("conformance-noop")
    said = [say(host, run_id, {**FLAG, "note": str(at)}).document for at in range(7)]
    assert listed(host, run_id) == {"annotations": said}
    seen: list[Any] = []
    query = "?limit=3"
    while query:
        page = listed(host, run_id, query)
        seen += page["annotations"]
        query = f"?limit=3&cursor={page['nextCursor']}" if "nextCursor" in page else ""
    assert seen == said
    assert listed(host, run_id, "?cursor=nobody") == {"annotations": []}
    for wrong in ("?limit=0", f"?limit={MAX_ANNOTATIONS + 1}", "?limit=x", "?cursor=", "?cursor=a%20b"):
        assert host.call("GET", path(run_id, wrong)).status == 400


@pytest.mark.rule("fb-03")
@pytest.mark.slow
def test_a_run_is_full_at_the_documented_number(host: Host) -> None:
    run_id = host.create("conformance-noop")
    for _ in range(MAX_ANNOTATIONS):
        assert say(host, run_id).status == 201
    answer = say(host, run_id)
    assert (answer.status, answer.document["error"]) == (409, "annotation_limit_reached")
    assert len(listed(host, run_id)["annotations"]) == MAX_ANNOTATIONS


@pytest.mark.rule("idem-03")
def test_a_repeat_gives_the_first_answer_again(host: Host, ended: str) -> None:
    again = {"Idempotency-Key": "said-once"}
    first, second = (say(host, ended, {**FLAG, "note": "once"}, headers=again) for _ in "ab")
    assert (first.body, first.status) == (second.body, second.status)
    assert "openwop-idempotent-replay" not in first.headers
    assert second.headers["openwop-idempotent-replay"] == "true"
    assert say(host, ended, FLAG, headers=again).document["error"] == "idempotency_key_mismatch"


def test_annotations_survive_a_kill(tmp_path: Path) -> None:
    with start_host(tmp_path, "--conformance") as host:
        run_id = host.create("conformance-noop")
        said = say(host, run_id, headers={"Idempotency-Key": "k"}).document
        host.kill()
    with start_host(tmp_path, "--conformance") as host:
        assert listed(host, run_id) == {"annotations": [said]}
        assert say(host, run_id, headers={"Idempotency-Key": "k"}).document == said


def opened(host: Host, run_id: str, query: str) -> Stream:
    """A stream that has given what is there: the host knows of its reader."""
    stream = host.stream(run_id, query)
    mark = b": keepalive" if "messages" in query else b"\n\n"
    stream.read_until(lambda body: mark in body)
    return stream


def told(body: bytes) -> list[Frame]:
    return [frame for frame in frames(body) if b"run.annotated" in frame.data]


@pytest.mark.rule("sse-13")
@pytest.mark.parametrize("mode", ["updates", "debug", "updates,messages"])
def test_an_open_stream_is_told(host: Host, live: str, mode: str) -> None:
    stream = opened(host, live, f"?streamMode={mode}")
    said = say(host, live, {**FLAG, "note": "line\nbreak"}).document
    body = stream.read_until(lambda body: bool(told(body)))
    last = host.call("GET", f"/v1/runs/{live}/events").document["events"][-1]["sequence"]
    (frame,) = told(body)
    assert (frame.id, frame.event) == ("", "run.annotated")
    assert schema.check("run-event", frame.document) == []
    assert (frame.document["payload"], frame.document["sequence"]) == (said, last)
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    ids = [frame.id for frame in stream.frames()]
    assert ids.count("") == 1
    assert ids[-1] == str(host.log(live)[-1]["sequence"])


@pytest.mark.rule("sse-13")
def test_a_buffered_stream_is_told_in_a_batch(host: Host, live: str) -> None:
    stream = opened(host, live, "?bufferMs=200&streamMode=debug")
    said = say(host, live).document
    (frame,) = told(stream.read_until(lambda body: bool(told(body))))
    assert (frame.id, frame.event) == ("", "batch")
    assert [each["payload"] for each in frame.document] == [said]
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    events = [each for frame in stream.frames() for each in frame.document]
    assert [each for each in events if each["type"] != "run.annotated"] == host.log(live)


@pytest.mark.rule("sse-13")
def test_values_shows_a_snapshot_for_it(host: Host, live: str) -> None:
    stream = opened(host, live, "?streamMode=values")
    before = len(frames(stream.read_until(bool)))
    assert say(host, live).status == 201
    shown = frames(stream.read_until(lambda body: len(frames(body)) > before))
    assert {frame.event for frame in shown} == {"state.snapshot"}
    assert shown[-1].id == shown[-2].id
    assert shown[-1].document["status"] == "running"
    stream.connection.close()


@pytest.mark.rule("sse-13")
def test_messages_is_not_told_and_neither_are_polls(host: Host, live: str) -> None:
    stream = opened(host, live, "?streamMode=messages")
    last = host.call("GET", f"/v1/runs/{live}/events").document["events"][-1]["sequence"]
    assert say(host, live).status == 201
    page = host.call("GET", f"/v1/runs/{live}/events/poll?lastSequence={last}&timeout=1").document
    assert (page["events"], page["lastEventSeq"]) == ([], last)
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    assert stream.frames() == []


@pytest.mark.rule("sse-13", "sse-06")
@pytest.mark.parametrize("mode", ["updates", "debug"])
def test_a_reader_cut_behind_it_resumes_exactly(host: Host, live: str, mode: str) -> None:
    stream = opened(host, live, f"?streamMode={mode}")
    assert say(host, live).status == 201
    seen = frames(stream.read_until(lambda body: bool(told(body))))
    stream.connection.close()
    last = next(frame.id for frame in reversed(seen) if frame.id)
    resumed = host.stream(live, f"?streamMode={mode}", last=last)
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    rest = resumed.frames()
    assert told(b"".join(frame.raw for frame in rest)) == [], "it is not told again"
    whole = host.stream(live, f"?streamMode={mode}").frames()
    assert [frame for frame in seen if frame.id] + rest == whole


def test_an_ended_run_tells_nobody(host: Host) -> None:
    assert say(host, SEEDED_RUN).status == 201
    whole = host.stream(SEEDED_RUN, "?streamMode=debug").frames()
    assert [frame for frame in whole if not frame.id] == []


FLOWS = ["conformance-multi-node", "conformance-noop", "conformance-identity", "conformance-failure"]


def finished(host: Host, workflow_id: str, key: str = KEY, **members: Any) -> str:
    run_id = host.create(workflow_id, key, **members)
    host.log(run_id, key)
    return run_id


def compared(host: Host, a: str, b: str) -> Any:
    answer = host.call("GET", f"/v1/runs/{a}:diff?against={b}")
    assert answer.status == 200, answer.body
    assert schema.check("run-diff-response", answer.document) == []
    assert (answer.document["a"], answer.document["b"]) == (a, b)
    return answer.document


@pytest.mark.rule("diff-01", "diff-02")
@each_case("flow", *FLOWS)
def test_two_runs_of_the_same_workflow_and_inputs_are_equal(host: Host, flow: str) -> None:
    inputs = {"payload": {"n": 1}} if flow == "conformance-identity" else {}
    a, b = finished(host, flow, inputs=inputs), finished(host, flow, inputs=inputs)
    nothing = {"divergedAtSeq": None, "eventDiffs": [], "stateDiff": {}, "truncated": False}
    assert compared(host, a, b) == {"a": a, "b": b, **nothing}
    assert compared(host, a, a) == {"a": a, "b": a, **nothing}


@pytest.mark.rule("diff-05", "diff-06")
def test_runs_with_models_media_and_conversations_are_equal_to_their_like(host: Host) -> None:
    for name in ("conformance-media-emit", "conformance-conversation-lifecycle", "conformance-channel-ttl"):
        a, b = finished(host, name), finished(host, name)
        nothing = {"divergedAtSeq": None, "eventDiffs": [], "stateDiff": {}, "truncated": False}
        assert compared(host, a, b) == {"a": a, "b": b, **nothing}
        answer = host.call("GET", f"/v1/host/weftwork/runs/{a}/outcome-diff?against={b}")
        assert answer.document == {"a": a, "b": b, "same": True, "differences": [], "truncated": False}


@pytest.mark.rule("diff-01", "diff-04")
def test_runs_of_different_workflows_differ_event_by_event(host: Host) -> None:
    a, b = finished(host, "conformance-multi-node"), finished(host, "conformance-failure")
    logs = host.log(a), host.log(b)
    one, other = compared(host, a, b), compared(host, b, a)
    assert one["divergedAtSeq"] == other["divergedAtSeq"] == 0
    assert one["stateDiff"]["/status"] == {"a": "completed", "b": "failed"}
    for entry in one["eventDiffs"]:
        for name, log in (("aEvent", logs[0]), ("bEvent", logs[1])):
            if name in entry:
                assert entry[name] == log[entry["seq"]]
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {e["seq"]: turned[e["op"]] for e in one["eventDiffs"]} == {e["seq"]: e["op"] for e in other["eventDiffs"]}
    common = min(map(len, logs))
    assert {entry["op"] for entry in one["eventDiffs"] if entry["seq"] >= common} == {"removed"}


@pytest.mark.rule("diff-03")
def test_a_live_run_is_compared_as_far_as_it_has_come(host: Host) -> None:
    live = host.create("conformance-cancellable")
    document = compared(host, live, live)
    assert (document["divergedAtSeq"], document["eventDiffs"], document["truncated"]) == (None, [], True)
    host.call("POST", f"/v1/runs/{live}/cancel", {})
    host.log(live)
    assert compared(host, live, live)["truncated"] is False


@pytest.mark.rule("auth-05")
def test_the_other_run_has_to_be_named_and_a_run_of_others_is_not_there(host: Host) -> None:
    mine, theirs = finished(host, "conformance-noop"), finished(host, "conformance-noop", OTHER_KEY)
    for a, b in ((mine, theirs), (theirs, mine), (mine, "nobody"), ("nobody", mine), ("nobody", "nobody")):
        for key in (KEY, OTHER_KEY, TEST_KEY):
            for path in (f"/v1/runs/{a}:diff", f"/v1/host/weftwork/runs/{a}/outcome-diff"):
                answer = host.call("GET", f"{path}?against={b}", key=key)
                assert (answer.status, answer.document["error"]) == (404, "not_found")
        assert host.call("GET", f"/v1/runs/{a}:diff?against={b}", key="wrong").status == 401
        assert host.call("GET", f"/v1/runs/{a}:diff", key=None).status == 401
    for query in ("", "?against=", "?against=a%2Fb", "?against=%FF", "?other=x", f"?against={'a' * 129}"):
        for path in (f"/v1/runs/{mine}:diff", f"/v1/host/weftwork/runs/{mine}/outcome-diff"):
            assert error_code(host.call("GET", f"{path}{query}")) == (400, "validation_error")
    assert host.call("POST", f"/v1/runs/{mine}:diff?against={mine}").status == 405
    assert host.call("HEAD", f"/v1/runs/{mine}:diff?against={mine}").status == 200


NOWHERE = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def emitting(node_id: str, inputs: dict[str, Any] | None = None, **config: Any) -> dict[str, Any]:
    return node(node_id, "core.artifact.emit", config={"artifactType": "report", **config}, inputs=inputs or {})


def fetch(host: Host, run_id: str, artifact_id: str, key: str | None = KEY) -> Answer:
    return host.call("GET", f"/v1/runs/{run_id}/artifacts/{artifact_id}", key=key)


ONE = flow(
    "make-one",
    [emitting("made", summary="Made for {{variables.who}}", data={"rows": [1, None, "é"]}), interrupt_node("ask")],
    [edge("made", "ask")],
    [variable("who", defaultValue="you")],
)


@pytest.mark.rule("auth-03", "auth-05")
def test_an_artifact_is_fetched_by_its_id_and_by_its_owner_alone(host: Host) -> None:
    run_id = host.create(register(host, ONE))
    (event,) = [each for each in events(host, run_id) if each["type"] == "artifact.created"]
    answer = fetch(host, run_id, "made")
    assert answer.status == 200
    assert schema.check("artifact", answer.document) == []
    assert answer.document == {
        "artifactId": "made",
        "artifactType": "report",
        "runId": run_id,
        "nodeId": "made",
        "version": 1,
        "summary": "Made for you",
        "createdAt": event["timestamp"],
        "data": {"rows": [1, None, "é"]},
    }
    assert schema.check_payload("artifact.created", event["payload"]) == []
    shown = host.snapshot(run_id)["artifacts"]
    assert shown == {"made": {"artifactType": "report", "nodeId": "made", "version": 1, "sequence": event["sequence"]}}
    for run, artifact in ((run_id, "made"), (run_id, "none"), (NOWHERE, "made"), ("a%2Fb", "a%20b")):
        for key in (None, "wrong"):
            assert error_code(fetch(host, run, artifact, key)) == (401, "unauthenticated")
        for key in (OTHER_KEY, TEST_KEY):
            assert error_code(fetch(host, run, artifact, key)) == (404, "not_found")
    for artifact in ("none", "Made", "made-1", "ask", "%6dade%20", "..", "x" * 200):
        assert error_code(fetch(host, run_id, artifact)) == (404, "not_found")
    assert error_code(fetch(host, NOWHERE, "made")) == (404, "not_found")
    assert fetch(host, run_id, "%6dade").status == 200
    answered = host.create(register(host, ONE))
    assert answer_over_http(host, answered, "ask", 1).status == 200
    cancel(host, run_id)
    assert fetch(host, answered, "made").status == 200
    assert fetch(host, run_id, "made").body == answer.body
    assert host.call("DELETE", f"/v1/runs/{run_id}").status == 204
    assert error_code(fetch(host, run_id, "made")) == (404, "not_found")


@pytest.mark.rule("hide-01", "hide-02")
def test_an_artifact_shows_nothing_sensitive(host: Host) -> None:
    secret = "hush-4711-hush"
    port = {"data": {"type": "variable", "variableName": "secret"}}
    copied = emitting("copied", summary="about {{inputs.copy}}", data={"kept": "open", "text": "open"})
    document = flow("make-secret", [emitting("whole", port), copied], None, [variable("secret", sensitive=True)])
    run_id = host.create(register(host, document), inputs={"secret": secret, "copy": f"<{secret}>"})
    assert host.log(run_id)[-1]["type"] == "run.completed"
    first, second = fetch(host, run_id, "whole"), fetch(host, run_id, "copied")
    assert first.document["data"].startswith("[REDACTED:")
    assert second.document["data"] == {"kept": "open", "text": "open"}
    for told in (first.body.decode(), second.body.decode(), str(host.log(run_id)), str(host.snapshot(run_id))):
        assert secret not in told


def test_a_large_artifact_comes_back_whole(host: Host) -> None:
    data = {"lines": [f"{number} ü" * 20 for number in range(4000)]}
    port = {"data": {"type": "variable", "variableName": "data"}}
    run_id = host.create(register(host, flow("make-large", [emitting("large", port)])), inputs={"data": data})
    answer = fetch(host, run_id, "large")
    assert len(answer.body) > 500_000
    assert answer.document["data"] == data
    assert len(str(host.snapshot(run_id)["artifacts"])) < 200


def test_each_round_of_a_loop_makes_its_own(host: Host) -> None:
    port = {"data": {"type": "expression", "expression": "variables.n"}}
    added = {"value": {"type": "expression", "expression": "variables.n + 1.0"}}
    count = node("count", "core.setVariable", config={"name": "n"}, inputs=added)
    again = {"type": "expression", "expression": "variables.n < 3.0"}
    document = flow(
        "make-rounds",
        [emitting("made", port), count],
        [edge("made", "count"), edge("count", "made", condition=again)],
        [variable("n", "number", defaultValue=0)],
    )
    run_id = host.create(register(host, document))
    assert host.log(run_id)[-1]["type"] == "run.completed"
    assert sorted(host.snapshot(run_id)["artifacts"]) == ["made", "made-1", "made-2"]
    found = [fetch(host, run_id, name).document for name in ("made", "made-1", "made-2")]
    assert [(each["data"], each["version"]) for each in found] == [(0, 1), (1, 1), (2, 1)]


def test_a_second_one_of_the_same_id_is_the_next_version(host: Host) -> None:
    nodes = [emitting("a", artifactId="shared", data="old"), emitting("b", artifactId="shared", data="new")]
    run_id = host.create(register(host, flow("make-twice", nodes, [edge("a", "b")])))
    found = fetch(host, run_id, "shared").document
    assert (found["data"], found["version"], found["nodeId"]) == ("new", 2, "b")
    versions = [each["payload"]["version"] for each in events(host, run_id) if each["type"] == "artifact.created"]
    assert versions == ["1", "2"]
    assert host.snapshot(run_id)["artifacts"]["shared"]["version"] == 2


def test_an_artifact_outlives_the_host(tmp_path: Path) -> None:
    folder = write_workflows(tmp_path / "workflows", ONE)
    with start_host(tmp_path, "--workflows", folder) as host:
        run_id = host.create("make-one")
        before = fetch(host, run_id, "made")
        assert before.status == 200
        host.kill()
    with start_host(tmp_path, "--workflows", folder) as host:
        assert fetch(host, run_id, "made").body == before.body
        assert host.snapshot(run_id)["status"] == "waiting-input"
