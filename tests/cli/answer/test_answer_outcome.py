"""What becomes of an answer: too late, refused, recorded, sent again, followed."""

import json
from typing import Any

import pytest

from tests.cli.answer.test_answer import GATE, POST, RUN, asks, posted
from tests.cli.foreign_host import HANG_UP, CannedResponse, ForeignHost, ReceivedRequest
from weftwork.cli.answer import submission


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
        f"nothing was answered; `weftwork runs show {RUN}` shows how the run stands.",
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


@pytest.mark.parametrize(("action", "said"), [("accept", "recorded"), ("ask", "asked")])
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
    assert done.stdout == f"{RUN}/review {said}, 1 of 3 approvals; it stays open\n"
    # The last vote: the node asks something else now.
    foreign.requests.clear()
    after["interruptId"] = "review.2"
    foreign.replies[f"{POST}/review"] = CannedResponse(200, {"runId": RUN, "nodeId": "review", "status": "running"})
    assert foreign.run_command("answer", RUN, "--approve").stdout == f"{RUN}/review answered; the run is running\n"


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
    assert done.stderr == f"{RUN}/review answered; the run is completed\n"
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
    assert said == f"{RUN}/review answered; the run is completed\n"


def test_without_a_look_at_the_run_it_would_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.follow.follow_run.is_still_open", lambda *_: True)
    with pytest.raises(AssertionError):
        test_what_was_answered_is_not_asked_again(foreign)


def test_what_stays_open_is_told_as_it_stands(foreign: ForeignHost) -> None:
    data = {**GATE["data"], "requiredApprovals": 2}
    voted = {**GATE, "data": data, "votes": [{"voter": "ada", "action": "accept"}]}
    said = follow_on(foreign, {**ASKED, "payload": {**GATE, "data": data}}, ENDED, interrupts=[voted])
    assert "review asks approval: Send the letter?\n" in said
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
    assert "You are none of them (forbidden); its approvers are ada, bob\\u{1b}[2J: " in done.stderr
    assert "--as NAME and a key that has the scope approvals:delegate" in done.stderr
    assert "--link --for NAME" in done.stderr
    assert "keys list" not in done.stderr


def test_who_may_not_answer_at_all_is_told_of_the_scope(foreign: ForeignHost) -> None:
    asks(foreign, {**GATE, "data": {**GATE["data"], "approversList": ["ada"]}})
    details = {"scopeRequired": "approvals:respond"}
    foreign.replies[f"{POST}/review"] = CannedResponse(
        403, {"error": "forbidden", "message": "No.", "details": details}
    )
    assert "see its scopes with `weftwork keys list`" in foreign.run_command("answer", RUN, "--approve").stderr
