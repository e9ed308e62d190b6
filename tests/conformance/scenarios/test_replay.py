"""Scenarios of forks: replays and branches of the conformance workflows, and forks that are refused."""

import uuid
from collections.abc import Iterable
from typing import Any

import pytest

from tests.harness.cases import each_case
from tests.live import Answer, Host
from tests.live.envelopes import TEST
from tests.live.steering import await_status
from weftwork.protocol.json import schema

Events = list[dict[str, Any]]


def fork(host: Host, run_id: str, document: dict[str, Any], **headers: str) -> Answer:
    return host.call("POST", f"/v1/runs/{run_id}:fork", document, headers=headers)


def forked(host: Host, run_id: str, document: dict[str, Any]) -> str:
    """The id of a new fork, whose response repeats the request."""
    answer = fork(host, run_id, document)
    assert answer.status == 201, answer.body
    created = answer.document
    assert schema.check("fork-run-response", created) == []
    assert {name: created[name] for name in ("sourceRunId", "mode", "fromSeq")} == {
        "sourceRunId": run_id,
        "mode": document["mode"],
        "fromSeq": document.get("fromSeq", 0),
    }
    assert created["runId"] != run_id
    assert created["eventsUrl"] == f"/v1/runs/{created['runId']}/events"
    assert isinstance(created["runId"], str)
    return created["runId"]


def completed(host: Host, workflow_id: str) -> tuple[str, Events]:
    run_id = host.create(workflow_id)
    await_status(host, run_id, "completed")
    return run_id, host.log(run_id)


def program(host: Host, *entries: dict[str, Any]) -> None:
    """What the scripted provider answers to the node of the envelope workflows."""
    answer = host.call("POST", f"{TEST}/mock-ai/program", {"nodeId": "structured-call", "program": entries})
    assert answer.status == 200, answer.body


def triples(events: Iterable[dict[str, Any]]) -> list[tuple[str, str | None, Any]]:
    """What has to be equal in two replays."""
    return [(event["type"], event.get("nodeId"), event["payload"]) for event in events]


def completed_nodes(events: Events) -> list[str]:
    return [event["nodeId"] for event in events if event["type"] == "node.completed"]


def sequences(events: Events) -> list[int]:
    return [event["sequence"] for event in events]


@pytest.mark.rule("fork-06")
@pytest.mark.scenario("replay-fork")
def test_the_advertised_modes_make_forks(host: Host) -> None:
    advertised = host.call("GET", "/.well-known/openwop", key=None).document["replay"]
    assert advertised["supported"] is True
    assert sorted(advertised["modes"]) == ["branch", "replay"]
    source, events = completed(host, "conformance-noop")
    for mode in advertised["modes"]:
        own = forked(host, source, {"mode": mode, "fromSeq": 0})
        assert await_status(host, own, "completed")["workflowId"] == "conformance-noop"
        assert triples(host.log(own)) == triples(events)
    assert host.log(source) == events


@pytest.mark.rule("fork-02")
@pytest.mark.scenario("replay-fork")
def test_a_replay_begins_at_0_unless_it_names_another_event(host: Host) -> None:
    source, events = completed(host, "conformance-noop")
    replay = forked(host, source, {"mode": "replay", "runOptionsOverlay": {}})
    await_status(host, replay, "completed")
    assert triples(host.log(replay)) == triples(events)


@pytest.mark.rule("fork-03")
@pytest.mark.scenario("replay-fork")
def test_a_branch_at_0_with_an_empty_overlay_executes_the_run_again(host: Host) -> None:
    payload = {"text": "kept", "list": [1, None]}
    source = host.create("conformance-identity", inputs={"payload": payload})
    await_status(host, source, "completed")
    branch = forked(host, source, {"mode": "branch", "fromSeq": 0, "runOptionsOverlay": {}})
    assert await_status(host, branch, "completed")["variables"]["payload"] == payload
    own = host.log(branch)
    assert triples(own) == triples(host.log(source))
    assert not {event["eventId"] for event in own} & {event["eventId"] for event in host.log(source)}


@pytest.mark.rule("fork-02")
@pytest.mark.scenario("replay-fork")
@each_case(
    "document, status",
    ({"mode": "branch", "fromSeq": -1}, 400),
    ({"mode": "replay", "fromSeq": -1}, 400),
    ({"mode": "branch"}, 400),
    ({"mode": "branch", "runOptionsOverlay": {}}, 400),
    ({"mode": "replay", "fromSeq": 0, "runOptionsOverlay": {"tags": ["a"]}}, 400),
    ({"mode": "rewind", "fromSeq": 0}, 400),
    ({"fromSeq": 0}, 400),
    ({"mode": "branch", "fromSeq": 0, "other": True}, 400),
    ({"mode": "branch", "fromSeq": 99_999}, 422),
    ({"mode": "replay", "fromSeq": 99_999}, 422),
)
def test_a_fork_that_cannot_be_made_is_refused(host: Host, document: dict[str, Any], status: int) -> None:
    source, events = completed(host, "conformance-noop")
    answer = fork(host, source, document)
    assert answer.status == status, answer.body
    assert answer.document["error"] == "validation_error"
    assert set(answer.document) <= {"error", "message", "details"}
    assert host.log(source) == events


@pytest.mark.scenario("replay-fork")
def test_a_fork_of_an_unknown_run_is_refused(host: Host) -> None:
    for mode in ("replay", "branch"):
        answer = fork(host, "run-that-does-not-exist-0001", {"mode": mode, "fromSeq": 0})
        assert (answer.status, answer.document["error"]) == (404, "not_found")


@pytest.mark.scenario("replay-fork")
def test_the_same_key_makes_one_fork(host: Host) -> None:
    source, _ = completed(host, "conformance-noop")
    key = str(uuid.uuid4())
    body = {"mode": "branch", "fromSeq": 0}
    first = fork(host, source, body, **{"Idempotency-Key": key})
    again = fork(host, source, body, **{"Idempotency-Key": key})
    assert (first.status, again.status) == (201, 201)
    assert again.document == first.document
    assert again.headers["openwop-idempotent-replay"] == "true"
    other = fork(host, source, {**body, "mode": "replay"}, **{"Idempotency-Key": key})
    assert (other.status, other.document["error"]) == (409, "idempotency_key_mismatch")


@pytest.mark.rule("fork-01")
@pytest.mark.scenario("replay-fork-arbitrary")
@each_case("mode", "branch", "replay")
def test_a_fork_after_a_node_has_the_log_so_far_and_goes_on_with_the_next_node(host: Host, mode: str) -> None:
    source, events = completed(host, "conformance-multi-node")
    ended = next(each for each in events if each["type"] == "node.completed" and each["nodeId"] == "b")
    at = ended["sequence"] + 1
    own = forked(host, source, {"mode": mode, "fromSeq": at})
    await_status(host, own, "completed")
    log = host.log(own)
    assert sequences(log) == list(range(len(log)))
    assert [{**each, "runId": source} for each in log[:at]] == events[:at]
    assert {each["runId"] for each in log} == {own}
    assert completed_nodes(log) == ["a", "b", "c"]
    started = [each["nodeId"] for each in log[at:] if each["type"] == "node.started"]
    assert started == ["c"]
    if mode == "replay":
        assert triples(log) == triples(events)


@pytest.mark.rule("fork-01")
@pytest.mark.scenario("replay-fork-arbitrary")
def test_a_fork_from_every_event_ends_as_its_source(host: Host) -> None:
    source, events = completed(host, "conformance-multi-node")
    for at in range(len(events)):
        replay = forked(host, source, {"mode": "replay", "fromSeq": at})
        assert triples(host.log(replay)) == triples(events)
        branch = host.log(forked(host, source, {"mode": "branch", "fromSeq": at}))
        assert triples(branch)[:at] == triples(events)[:at]
        assert completed_nodes(branch) == ["a", "b", "c"]
        assert branch[-1]["type"] == "run.completed"
    beyond = fork(host, source, {"mode": "branch", "fromSeq": len(events)})
    assert (beyond.status, beyond.document["details"]["lastSequence"]) == (422, len(events) - 1)


@pytest.mark.rule("replay-02")
@pytest.mark.scenario("replayDeterminism")
@each_case("workflow_id", "conformance-noop", "conformance-multi-node", "conformance-failure")
def test_two_replays_are_equal(host: Host, workflow_id: str) -> None:
    source = host.create(workflow_id)
    events = host.log(source)
    first, second = (host.log(forked(host, source, {"mode": "replay", "fromSeq": 0})) for _ in range(2))
    assert triples(first) == triples(second) == triples(events)
    assert first[0]["runId"] != second[0]["runId"]
    assert sequences(first) == sequences(second)


@pytest.mark.rule("replay-01")
@pytest.mark.scenario("conversationReplayDeterminism")
def test_a_replay_of_a_conversation_has_its_channel(host: Host) -> None:
    source, events = completed(host, "conformance-conversation-replay")
    replay = forked(host, source, {"mode": "replay", "fromSeq": 0})
    own = await_status(host, replay, "completed")
    channels = host.snapshot(source)["channels"]
    assert len(channels["conversation"]) >= 3
    assert own["channels"] == channels
    assert triples(host.log(replay)) == triples(events)


@pytest.mark.rule("replay-05")
def test_a_replay_of_a_model_call_has_the_recorded_envelope_and_calls_no_model(host: Host) -> None:
    """The host does not advertise `replayDeterminism`, because its replays cannot be refused by a model."""
    refusal = {"stopReason": "safety", "refusalText": "I will not do that."}
    program(host, {"content": '{"valid": true}'}, refusal)
    source, events = completed(host, "conformance-envelope-refusal")
    replay = forked(host, source, {"mode": "replay"})
    await_status(host, replay, "completed")
    assert triples(host.log(replay)) == triples(events)
    # The refusal is still there, for the next run that does call the model.
    branch = forked(host, source, {"mode": "branch", "fromSeq": 0})
    assert await_status(host, branch, "failed")["error"]["code"] == "envelope_refusal"
    program(host)
