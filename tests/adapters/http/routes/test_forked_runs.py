"""Forks over HTTP of runs with forms, media, child runs and conversations: what the fork has is its own, and nothing of
the prefix is asked, called or started again."""

import json
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from tests.engine.sdk.test_surfaces import ANSWER, FORM
from tests.harness.definitions import edge, node, variable
from tests.harness.media_host import PNG
from tests.live import Answer, Host, until
from tests.live.assets import fetch
from tests.live.child_workflows import await_tree, sub_workflow_node, tree_of
from tests.live.host import start_host
from tests.live.steering import (
    answer_over_http,
    await_status,
    error_code,
    event_types,
    events,
    flow,
    interrupt_node,
    payloads,
)
from tests.live.workflows import write_workflows
from weftwork.protocol.envelopes.kinds import SURFACE_KIND
from weftwork.protocol.run.events import MODEL_ANSWERED

SURFACE = {"userMessage": "Well?", "envelopeType": SURFACE_KIND}
SCRIPT = {"nodes": {"form": [{"content": json.dumps({"type": SURFACE_KIND, "payload": FORM})} for _ in range(3)]}}
PICTURE = {"data": {"type": "variable", "variableName": "data"}}
WORKFLOWS = [
    flow("form", [node("form", "core.ai.generateEnvelope", config=SURFACE), node("z")], [edge("form", "z")]),
    flow(
        "album",
        [
            node("show", "core.media.emit", config={"kind": "image", "alt": "A dot."}, inputs=PICTURE),
            interrupt_node("ask"),
        ],
        [edge("show", "ask")],
        [variable("data")],
    ),
    flow("inner", [interrupt_node("ask")]),
    flow(
        "outer",
        [sub_workflow_node("call", "inner"), interrupt_node("ask"), node("z")],
        [edge("call", "ask"), edge("ask", "z")],
    ),
    flow("talk", [node("talk", "core.conversationGate", config={"turnCount": 3})]),
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT))
    flows = write_workflows(folder / "flows", *WORKFLOWS)
    with start_host(folder, "--workflows", flows, "--model-script", script, store="sqlite") as running:
        yield running
        assert "Traceback" not in running.errors


def fork(host: Host, run_id: str, mode: str, from_seq: int = 0) -> str:
    answer = host.call("POST", f"/v1/runs/{run_id}:fork", {"mode": mode, "fromSeq": from_seq})
    assert answer.status == 201, answer.body
    return answer.document["runId"]


def waiting(host: Host, run_id: str, node_id: str) -> dict[str, Any]:
    """The open interrupt of a run, once this node has asked."""

    def look() -> dict[str, Any] | None:
        shown = host.snapshot(run_id).get("interrupt")
        return shown if shown is not None and shown["nodeId"] == node_id else None

    return until(look, f"{node_id} to ask")


def recorded(host: Host, run_id: str) -> list[tuple[Any, ...]]:
    """What a replay has in common with its source."""
    return [
        (each["eventId"], each["type"], each.get("nodeId"), {**each["payload"], "runId": None})
        for each in events(host, run_id)
    ]


def press(host: Host, run_id: str, surface_id: str) -> Answer:
    path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{surface_id}"
    return host.call("POST", f"{path}/actions/book", {"values": {"who": "Ada"}})


@pytest.mark.rule("fork-01", "fork-04", "surf-25")
def test_an_open_form_is_answered_in_each_branch_and_in_the_source(host: Host) -> None:
    source = host.create("form")
    waiting(host, source, "form")
    last = events(host, source)[-1]["sequence"]
    replay = fork(host, source, "replay")
    runs = [source, replay, *[fork(host, source, "branch", at) for at in (last, last - 1)]]
    interrupts = [waiting(host, each, "form") for each in runs]
    assert len({each["interruptToken"] for each in interrupts}) == len(runs), "each run has tokens of its own"
    assert recorded(host, replay) == recorded(host, source)
    while runs:
        run_id, surface_id = runs.pop(), interrupts.pop()["surface"]["envelopeId"]
        path = f"/v1/host/weftwork/runs/{run_id}/surfaces/{surface_id}"
        shown = host.call("GET", path).document
        assert (shown["status"], [each["id"] for each in shown["actions"]]) == ("open", ["book"])
        assert press(host, run_id, surface_id).status == 200
        # The model of a replay is not called, so its node cannot go on with an answer that has no record.
        ended = await_status(host, run_id, "failed" if run_id == replay else "completed")
        assert run_id != replay or ended["error"]["code"] == "replay_source_missing"
        (resolved,) = payloads(host, run_id, "interrupt.resolved")
        assert resolved["resumeValue"] == ANSWER
        assert event_types(host, run_id).count(MODEL_ANSWERED) == 1, "the model was called again"
        assert host.call("GET", path).document["status"] == "answered"
        assert press(host, run_id, surface_id).status == 409
        for other in runs:
            assert host.snapshot(other)["status"] == "waiting-input", "the answer has reached another run"
    again = fork(host, source, "replay")
    await_status(host, again, "completed")
    assert recorded(host, again) == recorded(host, source)


@pytest.mark.rule("fork-04")
def test_the_token_of_a_source_does_not_answer_its_fork(host: Host) -> None:
    source = host.create("form")
    token = waiting(host, source, "form")["interruptToken"]
    branch = fork(host, source, "branch", events(host, source)[-1]["sequence"])
    waiting(host, branch, "form")
    given = {"resumeValue": {"action": "book", "who": "Ada"}}
    assert host.call("POST", f"/v1/interrupts/{token}", given, key=None).status == 200
    await_status(host, source, "completed")
    assert host.snapshot(branch)["status"] == "waiting-input"
    assert error_code(host.call("POST", f"/v1/interrupts/{token}", given, key=None))[0] in (409, 410)
    assert host.snapshot(branch)["status"] == "waiting-input"
    assert host.call("POST", f"/v1/runs/{branch}/cancel").status == 200


@pytest.mark.rule("fork-01", "media-85")
@pytest.mark.parametrize("mode", ["branch", "replay"])
def test_media_are_served_in_a_fork_after_its_source_is_deleted(host: Host, mode: str) -> None:
    source = host.create("album", inputs={"data": b64encode(PNG).decode()})
    waiting(host, source, "ask")
    answer_over_http(host, source, "ask", "yes")
    await_status(host, source, "completed")
    from_seq = event_types(host, source).index("node.suspended") if mode == "branch" else 0
    key = fork(host, source, mode, from_seq)
    if mode == "branch":
        waiting(host, key, "ask")
    else:
        await_status(host, key, "completed")
    (shown,) = payloads(host, key, "media.image")
    assert [shown] == payloads(host, source, "media.image")
    until(lambda: host.call("DELETE", f"/v1/runs/{source}").status == 204, "the source to be deleted")
    found = fetch(host, shown["url"])
    assert (found.status, found.body) == (200, PNG)
    if mode == "branch":
        assert answer_over_http(host, key, "ask", "yes").status == 200
        await_status(host, key, "completed")
    assert fetch(host, payloads(host, key, "media.image")[0]["url"]).body == PNG


@pytest.mark.rule("fork-01", "fork-04", "replay-05")
def test_an_ended_child_run_is_not_started_again_in_a_fork(host: Host) -> None:
    source = host.create("outer")
    rows = await_tree(host, source, "waiting-input", "waiting-input")
    answer_over_http(host, rows[1]["runId"], "ask", "inner")
    waiting(host, source, "ask")
    last = events(host, source)[-1]["sequence"]
    branch, open_replay = fork(host, source, "branch", last), fork(host, source, "replay")
    for run_id in (branch, open_replay, source):
        waiting(host, run_id, "ask")
        assert answer_over_http(host, run_id, "ask", "outer").status == 200
        assert await_status(host, run_id, "completed")["outputs"] == host.snapshot(branch)["outputs"]
    replay = fork(host, source, "replay")
    await_status(host, replay, "completed")
    assert recorded(host, replay) == recorded(host, source)
    for run_id in (branch, open_replay, replay):
        assert [row["runId"] for row in tree_of(host, run_id)["runs"]] == [run_id], "the fork has child runs of its own"


@pytest.mark.rule("fork-04", "replay-01")
def test_a_conversation_goes_on_in_a_branch_and_is_equal_in_a_replay(host: Host) -> None:
    source = host.create("talk")
    until(lambda: host.snapshot(source).get("interrupt"), "the first turn")
    said = iter(range(100))

    def converse(run_id: str) -> list[str]:
        """Answer each turn. Returns what was said in the whole conversation."""

        def is_over() -> bool:
            shown = host.snapshot(run_id)
            if "interrupt" in shown:
                answer_over_http(host, run_id, "talk", {"content": f"turn {next(said)}"})
            return shown["status"] == "completed"

        until(is_over, "the conversation to end")
        return [json.dumps(each) for each in payloads(host, run_id, "conversation.exchanged")]

    whole = converse(source)
    replay = fork(host, source, "replay")
    await_status(host, replay, "completed")
    assert recorded(host, replay) == recorded(host, source)
    second = [at for at, each in enumerate(event_types(host, source)) if each == "conversation.exchanged"][1]
    branch = fork(host, source, "branch", second)
    until(lambda: "interrupt" in host.snapshot(branch), "the turn after the fork point")
    other = converse(branch)
    assert other[0] == whole[0], "what was said before the fork point stays"
    assert len(other) == len(whole)
    # The fork point is between the second answer and its turn: the branch asks for it again.
    assert ["turn 1" in each for each in other] == [False] * 3


@pytest.mark.slow
@pytest.mark.rule("retry-04")
def test_of_retries_that_are_requested_together_one_is_made(host: Host) -> None:
    source = host.create("inner")
    waiting(host, source, "ask")
    assert host.call("POST", f"/v1/runs/{source}/cancel").status == 200
    await_status(host, source, "cancelled")
    path, callers = f"/v1/host/weftwork/runs/{source}/retry", 16
    barrier = Barrier(callers)

    def send(number: int) -> Answer:
        barrier.wait(60)
        return host.call("POST", path, {}, headers={"Idempotency-Key": f"{source}-{number}"})

    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(send, range(callers)))
    (made,) = [each.document["runId"] for each in answers if each.status == 201]
    refused = [each for each in answers if each.status != 201]
    assert {error_code(each) for each in refused} == {(409, "conflict")}
    assert {each.document["details"]["retryRunId"] for each in refused} == {made}
    assert [row["runId"] for row in tree_of(host, source)["runs"]] == [source, made]
    beside = host.call("POST", path, {"allowConcurrent": True})
    assert beside.status == 201, beside.body
    for run_id in (made, beside.document["runId"]):
        waiting(host, run_id, "ask")
        assert answer_over_http(host, run_id, "ask", "yes").status == 200
        await_status(host, run_id, "completed")
    assert host.call("POST", path, {}).status == 201, "no retry is unfinished"
