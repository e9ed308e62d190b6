"""`weftwork inbox`, `answer` and `events` with a host of our own."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import Any

from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import run_on
from tests.harness.definitions import edge, node
from tests.live import KEY, OTHER_KEY, Host, until, weftwork
from tests.live.fixtures import host_fixture
from tests.live.host import TIMEOUT_SECONDS, environment
from tests.live.host import command as process_of
from tests.live.steering import answer_over_http, await_status, cancel, flow, interrupt_node, payloads
from weftwork.cli.answer.submission import submit_answer
from weftwork.cli.answer.target import find_target
from weftwork.cli.client.errors import RequestRefused
from weftwork.cli.client.http_client import Client

ACTIONS = ["accept", "reject", "refine", "edit-accept", "ask"]
GATE = {"title": "Pay \x1b[2J5 EUR?", "actions": ACTIONS, "artifactData": {"amount": 5}, "timeoutMs": 7_200_000}
QUESTIONS = [
    {"id": "colour", "question": "Which colour?", "schema": {"enum": ["red", "blue"]}},
    {"id": "count", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
]
SOON = re.compile(r" in (2 h 00|1 h 5\d) min")
READER, RACERS, ROUNDS = "key-of-a-reader", 16, 5
FLOWS = [
    flow("gate", [node("review", "core.approvalGate", config=GATE)]),
    flow("quorum", [node("vote", "core.approvalGate", config={"title": "Go?", "requiredApprovals": 2})]),
    flow("form", [node("ask", "core.clarificationGate", config={"questions": QUESTIONS})]),
    flow("two", [interrupt_node("a"), interrupt_node("b")]),
    flow(
        "twice",
        [interrupt_node("n"), node("again", "core.loop", config={"times": 2})],
        [edge("again", "n", sourceOutput="body"), edge("n", "again")],
    ),
    flow(
        "paid",
        [
            node(
                "wait",
                "core.interrupt",
                config={"kind": "external-event", "data": {"eventType": "paid", "correlation": {"order": 7}}},
            )
        ],
    ),
]
host = host_fixture("--api-key", f"{READER}=acme:runs:read", workflows=FLOWS)


def waiting(host: Host, workflow: str, status: str = "waiting-approval") -> str:
    """A run that asks."""
    run_id = host.create(workflow)
    await_status(host, run_id, status)
    return run_id


def sit_down(host: Host, *args: str) -> Terminal:
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color"}
    return Terminal(process_of("answer", *args), {**environment(host.data.parent, env), "COLUMNS": "", "NO_COLOR": ""})


def test_the_inbox_lists_what_waits_oldest_first(host: Host) -> None:
    runs = [waiting(host, "gate"), waiting(host, "form", "waiting-input"), waiting(host, "quorum")]

    def listed(*args: str) -> list[str]:
        found = json.loads(run_on(host, "inbox", "--all", "--json", *args).stdout)["interrupts"]
        return [each["runId"] for each in found if each["runId"] in runs]

    assert listed() == runs
    assert listed("--kind", "approval") == [runs[0], runs[2]]
    assert listed("--workflow", "form") == [runs[1]]
    assert listed("--run", runs[2]) == [runs[2]]
    assert listed("--node", "review") == [runs[0]]
    assert listed("--due-within", "3h") == [runs[0]]
    assert listed("--due-within", "1h") == []
    (row,) = run_on(host, "inbox", "--run", runs[0]).stdout.splitlines()[1:]
    assert "Pay \\u{1b}[2J5 EUR?" in row
    assert SOON.search(row)
    (row,) = run_on(host, "inbox", "--run", runs[2]).stdout.splitlines()[1:]
    assert "0 of 2" in row
    assert run_on(host, "inbox", "--kind", "nonsense", code=7).stderr.startswith("Error: ")
    assert runs[0] not in run_on(host, "inbox", "--all", key=OTHER_KEY).stdout


def test_an_approval_is_given_from_the_command_line(host: Host) -> None:
    run_id = waiting(host, "gate")
    done = run_on(host, "answer", run_id, "--approve", "--comment", "fine")
    assert done.stdout == f"{run_id}/review: answer recorded; the run is completed\n"
    (payload,) = payloads(host, run_id, "approval.received")
    assert (payload["action"], payload["comment"]) == ("accept", "fine")
    # Once more: there is nothing to answer.
    again = run_on(host, "answer", run_id, "--approve", code=7).stderr
    assert again == f"Error: run {run_id} has no open interrupt; its status is completed.\n"


def test_each_action_has_what_it_needs(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "amount.json"
    file.write_text('{"amount": 4}', "utf-8")
    edited = waiting(host, "gate")
    run_on(host, "answer", edited, "--action", "edit-accept", "--data", str(file))
    assert payloads(host, edited, "approval.received")[0]["editedArtifactData"] == {"amount": 4}
    refined = waiting(host, "gate")
    asked = run_on(host, "answer", refined, "--action", "ask", "--comment", "why?").stdout
    assert asked == f"{refined}/review: question recorded; the approval is still open\n"
    run_on(host, "answer", refined, "--action", "refine", "--comment", "less")
    assert payloads(host, refined, "approval.received")[0]["refineFeedback"] == {"scope": "whole", "text": "less"}
    rejected = waiting(host, "gate")
    assert "the run is failed" in run_on(host, "answer", rejected, "--reject").stdout


def test_votes_are_counted(host: Host) -> None:
    run_id = waiting(host, "quorum")
    first = run_on(host, "answer", run_id, "--approve", "--as", "ada")
    assert first.stdout == f"{run_id}/vote: vote recorded, 1 of 2 approvals; the approval is still open\n"
    # The same person counts once.
    again = run_on(host, "answer", run_id, "--approve", "--as", "ada")
    assert again.stdout == f"{run_id}/vote: vote recorded, 1 of 2 approvals; the approval is still open\n"
    shown = run_on(host, "runs", "show", run_id).stdout
    assert "\n  approvals: 1 of 2 (ada accept)\n" in shown
    assert "1 of 2" in run_on(host, "inbox", "--run", run_id).stdout
    told = run_on(host, "events", run_id).stderr
    assert "  approvals: 1 of 2\n" in told
    last = run_on(host, "answer", run_id, "--approve", "--as", "bob")
    assert last.stdout == f"{run_id}/vote: answer recorded; the run is completed\n"


def test_two_keys_that_say_the_same_are_two_votes(host: Host) -> None:
    run_id = waiting(host, "quorum")
    made = weftwork(host.data.parent, "keys", "create", "--tenant", "acme", "--data", host.data, "--json")
    second = json.loads(made.stdout)["key"]
    assert "1 of 2" in run_on(host, "answer", run_id, "--approve").stdout
    assert "the run is completed" in run_on(host, "answer", run_id, "--approve", key=second).stdout


def test_questions_are_answered_from_the_command_line(host: Host) -> None:
    run_id = waiting(host, "form", "waiting-input")
    run_on(host, "answer", f"{run_id}/ask", "--set", "colour=blue", "--set", "count=3")
    (payload,) = payloads(host, run_id, "interrupt.resolved")
    assert payload["resumeValue"] == {"answers": {"colour": "blue", "count": 3}}


def test_a_value_that_does_not_fit_is_refused_and_can_be_corrected(host: Host) -> None:
    run_id = waiting(host, "form", "waiting-input")
    wrong = run_on(host, "answer", run_id, "--value", '{"answers": {"colour": "green", "count": 1}}', code=7)
    assert "at /resumeValue/answers/colour" in wrong.stderr
    run_on(
        host,
        "answer",
        run_id,
        "--value",
        '{"answers": [{"id": "colour", "answer": "red"}, {"id": "count", "answer": 1}]}',
    )
    assert host.snapshot(run_id)["status"] == "completed"


def test_an_event_is_told_of(host: Host) -> None:
    run_id = waiting(host, "paid", "waiting-external")
    assert run_on(host, "answer", run_id, "--value", '{"order": 8}', code=7).stderr.startswith(
        "Error: The event does not match"
    )
    run_on(host, "answer", run_id, "--set", "amount=5")
    (payload,) = payloads(host, run_id, "interrupt.resolved")
    assert payload["resumeValue"] == {"order": 7, "amount": 5}


def test_a_run_with_several_questions_wants_a_node(host: Host) -> None:
    run_id = waiting(host, "two", "waiting-input")
    until(lambda: len(host.snapshot(run_id)["interrupts"]) == 2, "both questions")
    said = run_on(host, "answer", run_id, "--value", "1", code=2).stderr
    assert f"\n  {run_id}/a\n  {run_id}/b" in said
    run_on(host, "answer", f"{run_id}/b", "--value", "1")
    run_on(host, "answer", run_id[:-1], "--value", "1")
    await_status(host, run_id, "completed")


def test_of_many_who_answer_at_once_one_wins(host: Host) -> None:
    for _ in range(ROUNDS):
        run_id = waiting(host, "gate")
        clients = [Client(host.address, KEY) for _ in range(RACERS)]
        # All of them have seen the question before one of them answers.
        targets = [find_target(client, run_id) for client in clients]
        start = Barrier(RACERS)

        def answer(at: int, start: Barrier = start, clients: Any = clients, targets: Any = targets) -> str:
            start.wait(TIMEOUT_SECONDS)
            try:
                submit_answer(clients[at], targets[at], {"action": "accept", "voter": f"p{at}"})
                return "accepted"
            except RequestRefused as refused:
                return refused.code

        with ThreadPoolExecutor(RACERS) as pool:
            found = list(pool.map(answer, range(RACERS)))
        assert sorted(found) == ["accepted", *["interrupt_already_resolved"] * (RACERS - 1)]
        (payload,) = payloads(host, run_id, "approval.received")
        assert payload["decidedBy"] == f"p{found.index('accepted')}"


def test_an_answer_is_not_taken_for_the_next_question(host: Host) -> None:
    run_id = waiting(host, "twice", "waiting-input")
    terminal = sit_down(host, run_id)
    terminal.until("the answer")
    assert answer_over_http(host, run_id, "n", "first").status == 200
    until(lambda: (host.snapshot(run_id).get("interrupt") or {}).get("interruptId") == "n.2", "the next question")
    terminal.type("late\n")
    terminal.until("[y/N]")
    terminal.type("y\n")
    assert terminal.finish() == 7
    assert "(interrupt_already_resolved)" in terminal.shown
    assert host.snapshot(run_id)["interrupt"]["interruptId"] == "n.2"


def test_a_run_that_was_cancelled_takes_no_answer(host: Host) -> None:
    run_id = waiting(host, "form", "waiting-input")
    terminal = sit_down(host, run_id)
    terminal.until("2) blue")
    cancel(host, run_id)
    terminal.type("1\n")
    terminal.until("1 or more >")
    terminal.type("2\n")
    terminal.until("[y/N]")
    terminal.type("y\n")
    assert terminal.finish() == 7
    assert "withdrawn, because its run was cancelled (interrupt_already_resolved)" in terminal.shown


def test_somebody_answers_at_a_terminal_and_follows(host: Host) -> None:
    run_id = waiting(host, "form", "waiting-input")
    terminal = sit_down(host, run_id, "--follow")
    for words, typed in (("2) blue", "2\n"), ("1 or more >", "many\n"), ("it must be", "3\n"), ("[y/N]", "y\n")):
        terminal.until(words)
        terminal.shown = ""
        terminal.type(typed)
    assert terminal.finish() == 0
    assert terminal.last[0].startswith(f"form  {run_id}  completed")
    assert any("✓ ask  core.clarificationGate" in each for each in terminal.last)


def test_a_link_lets_somebody_without_a_key_answer(host: Host) -> None:
    run_id = waiting(host, "gate")
    done = run_on(host, "answer", run_id, "--link", "--for", "ada", "--expires", "1h")
    assert done.stdout.startswith(f"{host.address}/v1/interrupts/")
    assert done.stderr.startswith("the link is for ada; anyone who has it can answer until ")
    path = done.stdout.strip().removeprefix(host.address)
    seen = host.call("GET", path, key=None)
    assert (seen.status, seen.document["nodeId"]) == (200, "review")
    inspect = run_on(host, "answer", run_id, "--link", "--inspect").stdout.strip().removeprefix(host.address)
    body = {"resumeValue": {"action": "accept"}}
    assert host.call("POST", inspect, body, key=None).status == 403
    made = json.loads(run_on(host, "answer", run_id, "--link", "--json").stdout)
    assert datetime.fromisoformat(made["expiresAt"]) > datetime.now(UTC)
    assert host.call("POST", path, body, key=None).status == 200
    assert payloads(host, run_id, "approval.received")[0]["decidedBy"] == "ada"
    assert run_on(host, "answer", run_id, "--link", code=7).stdout == ""


def test_a_key_that_may_only_read_sees_and_does_not_answer(host: Host) -> None:
    run_id = waiting(host, "gate")
    assert run_id in run_on(host, "inbox", "--all", key=READER).stdout
    for args in (["--approve"], ["--link"]):
        refused = run_on(host, "answer", run_id, *args, key=READER, code=7).stderr
        assert "`weftwork keys create --tenant acme --scope approvals:respond` (forbidden); then pass " in refused
    assert "(not_found)" in run_on(host, "answer", run_id, "--approve", key=OTHER_KEY, code=7).stderr
    assert host.snapshot(run_id)["status"] == "waiting-approval"


def test_a_question_is_told_with_its_end(host: Host) -> None:
    run_id = waiting(host, "gate")
    told: Any = run_on(host, "events", run_id).stderr
    assert f"answer with: weftwork answer {run_id}/review\n" in told
    assert "  answer by 20" in told
    assert SOON.search(told)
    assert "\n  answer by 20" in run_on(host, "runs", "show", run_id).stdout


PAIR = {"title": "Go?", "requiredApprovals": 2}
PLAIN_QUESTIONS = [{"id": "colour", "question": "Which colour?"}, {"id": "count", "question": "How many?"}]
PLAIN_FLOWS = [
    flow("gate", [node("review", "core.approvalGate", config={"title": "Go?"})]),
    flow("quorum", [node("vote", "core.approvalGate", config=PAIR)]),
    flow("form", [node("ask", "core.clarificationGate", config={"questions": PLAIN_QUESTIONS})]),
    flow("named", [node("sign", "core.approvalGate", config={"title": "Go?", "approversList": ["ada", "bob"]})]),
    flow("talk", [node("chat", "core.conversationGate", config={"prompts": ["Hi"]})]),
]
TOLD = ("approval.", "clarification.", "conversation.", "interrupt.", "weftwork.")
plain = host_fixture(workflows=PLAIN_FLOWS)


def test_events_about_people_are_told_by_name(plain: Host) -> None:
    seen: set[str] = set()
    vote = waiting(plain, "quorum")
    run_on(plain, "answer", vote, "--action", "accept", "--as", "ada", "--comment", "yes")
    run_on(plain, "answer", vote, "--reject", "--as", "bob")
    form = waiting(plain, "form", "waiting-input")
    run_on(plain, "answer", form, "--set", "colour=blue", "--set", "count=3")
    talk = waiting(plain, "talk")
    run_on(plain, "answer", talk, "--value", "Hello")
    for run_id in (vote, form, talk):
        await_status(plain, run_id, "failed" if run_id == vote else "completed")
        for line in run_on(plain, "events", run_id).stdout.splitlines():
            kind = line.split(" ")[2]
            if kind.startswith(TOLD):
                seen.add(kind)
                assert " payload=" not in line
                assert "=" in line
    assert seen >= {
        "approval.requested",
        "approval.granted",
        "approval.rejected",
        "approval.received",
        "weftwork.approval.remark",
        "clarification.requested",
        "clarification.resolved",
        "conversation.opened",
        "conversation.exchanged",
        "conversation.closed",
    }


def test_what_was_answered_is_not_asked_again_by_following(plain: Host) -> None:
    run_id = waiting(plain, "gate")
    done = run_on(plain, "answer", run_id, "--approve", "--follow")
    assert done.stderr == f"{run_id}/review: answer recorded; the run is completed\n"
    assert " interrupt.requested review " in done.stdout


def test_who_is_no_approver_is_told_who_is(plain: Host) -> None:
    run_id = waiting(plain, "named")
    refused = run_on(plain, "answer", run_id, "--approve", code=7)
    assert "the approvers are ada, bob" in refused.stderr
    assert "--as NAME" in refused.stderr
    for args in ((), ("--for", "eve")):
        link = run_on(plain, "answer", run_id, "--link", *args, code=7)
        assert link.stdout == ""
        assert "  supported: ada, bob\n" in link.stderr
    assert "/v1/interrupts/" in run_on(plain, "answer", run_id, "--link", "--for", "ada").stdout
    cancel(plain, run_id)


def test_kinds_that_there_are_not_are_answered_with_those_that_there_are(plain: Host) -> None:
    assert "approval, clarification" in run_on(plain, "inbox", "--kind", "nope", code=7).stderr
