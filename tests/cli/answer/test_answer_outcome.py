"""`weftwork answer`: what became of an answer, and decisions of agents that are not sure."""

import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.answer.test_answer import GATE, POST, RUN, asks, posted
from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest, run_on
from tests.harness.cases import each_case
from tests.live import KEY, Host
from tests.live.fixtures import host_fixture
from tests.live.host import command as line_of
from tests.live.host import environment
from tests.live.steering import answer_over_http, await_status
from weftwork.cli.answer import submission
from weftwork.cli.answer.command_line import APPROVAL_ONLY
from weftwork.cli.render.interrupt_text import (
    accepts_actions,
    curl_lines,
    describe_interrupt,
    headline,
    summarize_decision,
)
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.workflow.orchestration import ratification_schema


@pytest.mark.parametrize(
    "code", ["interrupt_already_resolved", "interrupt_gone", "interrupt_expired", "interrupt_not_found"]
)
def test_an_answer_that_comes_too_late_says_so(foreign: ForeignHost, code: str) -> None:
    asks(foreign, GATE)
    status = 410 if code in ("interrupt_gone", "interrupt_expired") else 409
    foreign.replies[f"{POST}/review"] = CannedResponse(status, {"error": code, "message": "Too late."})
    done = foreign.run_command("answer", RUN, "--approve")
    assert (done.exit_code, done.stdout) == (7, "")
    assert done.stderr.splitlines() == [
        f"the answer was not recorded; `weftwork runs show {RUN}` shows the run.",
        f"Error: Too late ({code}).",
    ]


def test_a_value_that_is_refused_is_explained(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    details = {"pointer": "/resumeValue/action"}
    foreign.replies[f"{POST}/review"] = CannedResponse(
        400, {"error": "validation_error", "message": "No.", "details": details}
    )
    done = foreign.run_command("answer", RUN, "--approve")
    assert (done.exit_code, done.stderr) == (7, "Error: No (validation_error).\n  at /resumeValue/action\n")


def test_a_broken_connection_does_not_answer_twice(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.replies[f"{POST}/review"]
    replies = iter([HANG_UP, done])
    foreign.replies[f"{POST}/review"] = lambda _: next(replies)  # pyright: ignore[reportArgumentType]
    assert foreign.run_command("answer", RUN, "--approve").exit_code == 0
    first, second = posted(foreign)
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_the_same_words_of_two_people_are_two_answers(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    for _ in range(2):
        assert foreign.run_command("answer", RUN, "--approve").exit_code == 0
    first, second = posted(foreign)
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_with_one_key_for_a_question_a_vote_would_be_lost(
    foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission.uuid, "uuid4", lambda: f"{RUN}-review.1")
    with pytest.raises(AssertionError):
        test_the_same_words_of_two_people_are_two_answers(foreign)


def test_a_question_that_has_become_another_is_not_answered(foreign: ForeignHost) -> None:
    """The host of this test answers as one does that keeps to `interruptId`."""
    asks(foreign, GATE)
    now = "review.2"

    def reply(asked: ReceivedRequest) -> CannedResponse:
        if asked.query.get("interruptId", [now]) == [now]:
            return CannedResponse(200, {"runId": RUN, "nodeId": "review", "status": "running"})
        return CannedResponse(409, {"error": "interrupt_already_resolved", "message": "Answered."})

    foreign.replies[f"{POST}/review"] = reply
    assert foreign.run_command("answer", RUN, "--approve").exit_code == 7


def test_without_its_name_it_would_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.answer.target.AnswerTarget.interrupt_id", None)
    with pytest.raises(AssertionError):
        test_a_question_that_has_become_another_is_not_answered(foreign)


@pytest.mark.parametrize(("action", "said"), [("accept", "vote recorded"), ("ask", "question recorded")])
def test_a_vote_is_recorded_and_the_gate_stays_open(foreign: ForeignHost, action: str, said: str) -> None:
    gate = {**GATE, "data": {**GATE["data"], "requiredApprovals": 3}}
    asks(foreign, gate)
    run = foreign.replies[f"GET /v1/runs/{RUN}"]
    assert isinstance(run, CannedResponse)
    after = {**gate, "votes": [{"voter": "ada", "action": "accept"}]}

    def reply(_: ReceivedRequest) -> CannedResponse:
        return CannedResponse(200, {**run.document, "interrupts": [after if posted(foreign) else gate]})

    foreign.replies[f"GET /v1/runs/{RUN}"] = reply
    foreign.replies[f"{POST}/review"] = CannedResponse(
        200, {"runId": RUN, "nodeId": "review", "status": "waiting-approval"}
    )
    done = foreign.run_command("answer", RUN, "--action", action, "--comment", "x", "--as", "ada")
    assert done.stdout == f"{RUN}/review: {said}, 1 of 3 approvals; the approval is still open\n"
    # The last vote: the node asks something else now.
    foreign.requests.clear()
    after["interruptId"] = "review.2"
    foreign.replies[f"{POST}/review"] = CannedResponse(200, {"runId": RUN, "nodeId": "review", "status": "running"})
    last = foreign.run_command("answer", RUN, "--approve")
    assert last.stdout == f"{RUN}/review: answer recorded; the run is running\n"


def test_json_is_the_answer_of_the_host(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--approve", "--json")
    assert json.loads(done.stdout) == {"runId": RUN, "nodeId": "review", "status": "completed"}


@pytest.mark.parametrize("document", [None, [], {}, {"status": 5}])
def test_an_answer_that_is_none_of_a_host_is_said(foreign: ForeignHost, document: Any) -> None:
    asks(foreign, GATE)
    foreign.replies[f"{POST}/review"] = CannedResponse(200, document)
    assert foreign.run_command("answer", RUN, "--approve").exit_code == 6


def test_the_run_is_followed_to_its_end(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    log = [{"type": "run.started", "sequence": 0, "payload": {}}, {"type": "run.failed", "sequence": 1, "payload": {}}]
    frames = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in log)
    foreign.replies[f"GET /v1/runs/{RUN}/events"] = CannedResponse(stream=lambda write: write(frames))
    done = foreign.run_command("answer", RUN, "--approve", "--follow")
    assert done.exit_code == 1
    assert [each.split()[2] for each in done.stdout.splitlines()] == ["run.started", "run.failed"]
    assert done.stderr == f"{RUN}/review: answer recorded; the run is completed\n"
    lines = foreign.run_command("answer", RUN, "--approve", "--follow", "--json").stdout.splitlines()
    assert [json.loads(each).get("type") for each in lines] == ["run.started", "run.failed", None]


ASKED = {"type": "interrupt.requested", "sequence": 1, "nodeId": "review", "payload": GATE}
ENDED = {"type": "run.completed", "sequence": 4, "payload": {}}


def follow_on(foreign: ForeignHost, *log: dict[str, Any], **snapshot: Any) -> str:
    """What is said beside the lines of the events when somebody approves and follows."""
    asks(foreign, {**GATE, "data": {**GATE["data"], "requiredApprovals": 2}})
    run = foreign.replies[f"GET /v1/runs/{RUN}"]
    assert isinstance(run, CannedResponse)
    before, after = run.document, {**run.document, **snapshot}
    foreign.replies[f"GET /v1/runs/{RUN}"] = lambda _: CannedResponse(200, after if posted(foreign) else before)
    frames = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in log)
    foreign.replies[f"GET /v1/runs/{RUN}/events"] = CannedResponse(stream=lambda write: write(frames))
    done = foreign.run_command("answer", RUN, "--approve", "--follow")
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == len(log)
    return done.stderr


def test_what_was_answered_is_not_asked_again(foreign: ForeignHost) -> None:
    resolved = {"type": "interrupt.resolved", "sequence": 2, "nodeId": "review", "payload": {"key": GATE["key"]}}
    said = follow_on(foreign, ASKED, resolved, ENDED, status="completed", interrupts=[])
    assert said == f"{RUN}/review: answer recorded; the run is completed\n"


def test_without_a_look_at_the_run_it_would_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.follow.follow_run.is_still_open", lambda *_: True)
    with pytest.raises(AssertionError):
        test_what_was_answered_is_not_asked_again(foreign)


def test_what_stays_open_is_told_as_it_stands(foreign: ForeignHost) -> None:
    data = {**GATE["data"], "requiredApprovals": 2}
    voted = {**GATE, "data": data, "votes": [{"voter": "ada", "action": "accept"}]}
    said = follow_on(foreign, {**ASKED, "payload": {**GATE, "data": data}}, ENDED, interrupts=[voted])
    assert "review requests approval: Send the letter?\n" in said
    assert "  approvals: 1 of 2 (ada accept)\n" in said
    assert f"answer with: weftwork answer {RUN}/review\n" in said


@pytest.mark.parametrize("details", [{}, {"scopeRequired": "approvals:delegate"}])
def test_who_is_no_approver_is_told_who_is(foreign: ForeignHost, details: dict[str, Any]) -> None:
    gate = {**GATE, "data": {**GATE["data"], "approversList": ["ada", "bob\x1b[2J"]}}
    asks(foreign, gate)
    refusal = {"error": "forbidden", "message": "You are none of them.", "details": details}
    foreign.replies[f"{POST}/review"] = CannedResponse(403, refusal)
    done = foreign.run_command("answer", RUN, "--approve")
    assert done.exit_code == 7
    assert "You are none of them (forbidden); the approvers are ada, bob\\u{1b}[2J. " in done.stderr
    assert "--as NAME with a key that has the scope approvals:delegate" in done.stderr
    assert "--link --for NAME" in done.stderr
    assert "keys ls" not in done.stderr


def test_who_may_not_answer_at_all_is_told_of_the_scope(foreign: ForeignHost) -> None:
    asks(foreign, {**GATE, "data": {**GATE["data"], "approversList": ["ada"]}})
    details = {"scopeRequired": "approvals:respond"}
    foreign.replies[f"{POST}/review"] = CannedResponse(
        403, {"error": "forbidden", "message": "No.", "details": details}
    )
    refused = foreign.run_command("answer", RUN, "--approve").stderr
    assert "this key is not permitted to do this; check its scopes with `weftwork keys ls`" in refused


UNSURE = "conformance-orchestrator-low-confidence"
AGENT = "core.conformance.low-conf-supervisor"
SAID = f"The agent {AGENT} wants to run conformance-noop with confidence 0.5; 0.7 is required"
ACTIONS = '\n  action in the answer: "accept" or "reject"; with accept, decision may contain a different decision\n'
NEXT = {"kind": "next-worker", "nextWorkerIds": ["pay", "ship"]}
host = host_fixture("--conformance", store="memory")


def waiting(host: Host) -> str:
    run_id = host.create(UNSURE)
    await_status(host, run_id, "waiting-approval")
    return run_id


def in_doubt(decision: Any = NEXT, agent: Any = "host:supervisor", **more: Any) -> dict[str, Any]:
    data = {"agentId": agent, "threshold": 0.7, "observed": 0.5, "decision": decision}
    return {"kind": "low-confidence", "key": "n:confidence", "data": data, **more}


@each_case(
    "question, words",
    (in_doubt(), "The supervisor wants to run pay, ship with confidence 0.5; 0.7 is required"),
    (in_doubt(agent="acme:one"), "The agent acme:one wants to run pay, ship with confidence 0.5; 0.7 is required"),
    (in_doubt({"kind": "terminate", "reason": "done"}), "The supervisor wants to end the work (done) with confidence"),
    (in_doubt({"kind": "terminate"}), "The supervisor wants to end the work with confidence"),
    (in_doubt({"kind": "ask-user", "prompt": "Which?"}), "The supervisor wants to ask: Which? with confidence"),
    (in_doubt({"kind": "mock"}), 'The supervisor decided {"kind": "mock"} with confidence'),
    (in_doubt("x" * 500), f'The supervisor decided "{"x" * 199}… with confidence'),
    (
        {"kind": "low-confidence", "data": {"agentId": "a", "threshold": 1, "observed": 0}},
        "The agent a made a decision with confidence 0; 1 is required",
    ),
    (in_doubt(agent=5), ""),
    ({"kind": "approval", "data": in_doubt()["data"]}, ""),
)
def test_it_is_said_who_wants_what(question: dict[str, Any], words: str) -> None:
    assert summarize_decision(question).startswith(words)
    assert bool(summarize_decision(question)) == bool(words)
    if words:
        assert describe_interrupt(question)[0].startswith(f"confirmation (low-confidence): {words}")
        assert headline(question).startswith(words)


@given(st.dictionaries(st.sampled_from(["agentId", "threshold", "observed", "decision"]), st.integers() | st.text()))
def test_any_data_is_shown_somehow(data: dict[str, Any]) -> None:
    question = {"kind": "low-confidence", "data": data}
    assert all(line.isprintable() for line in describe_interrupt(question))
    assert isinstance(headline(question), str)
    curl_lines("http://x", "r", "n", question)


def body(lines: list[str]) -> Any:
    return json.loads(shlex.split(lines[0])[2])["resumeValue"]


def test_the_sample_is_an_answer_that_the_schema_takes() -> None:
    question = in_doubt(resumeSchema=ratification_schema())
    assert body(curl_lines("http://x", "r", "n", question)) == {"action": "accept"}
    assert check_value(ratification_schema(), {"action": "accept"}, "") == []
    # One that takes no such answer says itself what it takes.
    other = in_doubt(resumeSchema={"type": "boolean"})
    assert (accepts_actions(other), body(curl_lines("http://x", "r", "n", other))) == (False, True)
    assert body(curl_lines("http://x", "r", "n", in_doubt())) == NEXT
    assert body(curl_lines("http://x", "r", "n", in_doubt({"to": "[REDACTED:n.to]"}))) == {"action": "accept"}


def test_a_host_takes_what_is_shown(host: Host) -> None:
    run_id = waiting(host)
    shown = run_on(host, "runs", "show", run_id).stdout
    node_id = host.snapshot(run_id)["interrupts"][0]["nodeId"]
    assert f"{node_id} requests confirmation (low-confidence): {SAID}\n" in shown
    assert ACTIONS in shown
    (sent,) = re.findall(r"curl -d '(.*)' \\", shown)
    assert answer_over_http(host, run_id, node_id, json.loads(sent)["resumeValue"]).status == 200
    await_status(host, run_id, "completed")


def test_one_word_answers(host: Host) -> None:
    run_id = waiting(host)
    listed = json.loads(run_on(host, "inbox", "--run", run_id, "--json").stdout)["interrupts"]
    assert SAID in run_on(host, "inbox", "--run", run_id).stdout
    assert [headline(each) for each in listed] == [SAID]
    unknown = run_on(host, "answer", run_id, "--action", "ask", code=2).stderr
    assert "a low-confidence interrupt does not accept --action ask; choose accept or reject." in unknown
    assert APPROVAL_ONLY in run_on(host, "answer", run_id, "--approve", "--comment", "x", code=2).stderr
    followed = run_on(host, "run", UNSURE, "--follow", "--no-wait", code=4).stderr
    assert f"requests confirmation (low-confidence): {SAID}" in followed
    run_on(host, "answer", run_id, "--approve")
    await_status(host, run_id, "completed")
    run_id = waiting(host)
    run_on(host, "answer", run_id, "--reject")
    await_status(host, run_id, "failed")


def test_somebody_at_a_terminal_chooses(host: Host) -> None:
    run_id = waiting(host)
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "TERM": "xterm"})
    terminal = Terminal(line_of("answer", run_id), env)
    terminal.until("2) reject")
    assert SAID in terminal.shown.replace("\r\n", "\n")
    terminal.type("accept\n")
    terminal.until('Send {"action": "accept"}?')
    terminal.type("y\n")
    assert terminal.finish() == 0
    await_status(host, run_id, "completed")


def test_questions_say_which_words_they_take() -> None:
    schema = {"type": "string", "enum": ["proceed", "stop"]}
    data = {"questions": [{"id": "proceed", "question": "Go on?", "schema": schema}, {"id": "b", "question": "Why?"}]}
    question = {"kind": "clarification", "data": data}
    assert '  proceed in the answer: "proceed" or "stop"' in describe_interrupt(question)
    assert describe_interrupt(question, in_parts=True) == ["clarification: Go on?", "  Why?"]
    assert body(curl_lines("http://x", "r", "n", question)) == {"answers": {"proceed": "proceed", "b": "..."}}


def test_a_run_that_asks_nothing_is_said_to_before_it_is_said_that_nobody_can_be_asked(host: Host) -> None:
    run_id = host.create("conformance-noop")
    await_status(host, run_id, "completed")
    assert (
        f"run {run_id} has no open interrupt; its status is completed." in run_on(host, "answer", run_id, code=7).stderr
    )
    run_id = waiting(host)
    assert (
        "standard input is not a terminal, so the answer must be on the command line: "
        in run_on(host, "answer", run_id, code=2).stderr
    )
