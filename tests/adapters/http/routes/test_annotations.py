"""Annotations over HTTP: who may, what is refused, pages, and the frames that open streams get."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live import OTHER_KEY, SEEDED_RUN, TEST_KEY, Answer, Frame, Host, Stream, frames, start_host, weftwork
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
def test_what_is_said_is_answered_and_listed(host: Host, ended: str) -> None:
    event = host.log(ended)[1]
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
    assert said["actor"]["principalRef"] == host.snapshot(ended)["owner"]["principal"]


@pytest.mark.rule("fb-02")
def test_neither_the_log_nor_the_snapshot_knows_of_it(host: Host, ended: str) -> None:
    before = host.log(ended), host.snapshot(ended)
    assert say(host, ended).status == 201
    assert (host.log(ended), host.snapshot(ended)) == before


@pytest.mark.rule("fb-01", "fb-05")
@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"signal": {"kind": "rating"}}, "/signal"),
        ({**FLAG, "note": "n" * (MAX_TEXT + 1)}, "/note"),
        ({**FLAG, "target": {"nodeId": "secret-node"}}, "/target/nodeId"),
        ({**FLAG, "target": {"eventId": "secret-event" * 20_000}}, "/target/eventId"),
        ({**FLAG, "note": "\U0001f9f6" * MAX_TEXT, "signal": {"kind": "flag", "correction": "\x01" * 3000}}, ""),
    ],
)
def test_a_refusal_names_the_place_and_keeps_nothing(host: Host, document: Any, pointer: str) -> None:
    run_id = host.create("conformance-noop")
    answer = say(host, run_id, document)
    assert (answer.status, answer.document["error"]) == (400, "validation_error")
    assert answer.document["details"]["pointer"] == pointer
    assert b"secret" not in answer.body
    assert listed(host, run_id) == {"annotations": []}


@pytest.mark.rule("auth-01")
@pytest.mark.parametrize(
    ("scope", "reads", "says"),
    [("runs:read", True, False), ("approvals:respond", False, True), ("runs:create", False, False)],
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
