"""What `weftwork answer`, `inbox` and `events` tell about people, with a host of our own."""

from collections.abc import Iterator

import pytest
from click.testing import Result

from tests.cli.foreign_host import run_command
from tests.harness.definitions import node
from tests.live import KEY, Host, start_host, write_workflows
from tests.live.steering import await_status, cancel, flow

PAIR = {"title": "Go?", "requiredApprovals": 2}
QUESTIONS = [{"id": "colour", "question": "Which colour?"}, {"id": "count", "question": "How many?"}]
FLOWS = [
    flow("gate", [node("review", "core.approvalGate", config={"title": "Go?"})]),
    flow("quorum", [node("vote", "core.approvalGate", config=PAIR)]),
    flow("form", [node("ask", "core.clarificationGate", config={"questions": QUESTIONS})]),
    flow("named", [node("sign", "core.approvalGate", config={"title": "Go?", "approversList": ["ada", "bob"]})]),
    flow("talk", [node("chat", "core.conversationGate", config={"prompts": ["Hi"]})]),
]
TOLD = ("approval.", "clarification.", "conversation.", "interrupt.", "weftwork.")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    with start_host(folder, "--workflows", write_workflows(folder / "workflows", *FLOWS)) as running:
        yield running


def waiting(host: Host, workflow: str, status: str = "waiting-approval") -> str:
    """A run that asks."""
    run_id = host.create(workflow)
    await_status(host, run_id, status)
    return run_id


def say(host: Host, *args: str, code: int = 0) -> Result:
    done = run_command(host.address, *args, key=KEY)
    assert done.exit_code == code, done.output
    return done


def test_events_about_people_are_told_by_name(host: Host) -> None:
    seen: set[str] = set()
    vote = waiting(host, "quorum")
    say(host, "answer", vote, "--action", "accept", "--as", "ada", "--comment", "yes")
    say(host, "answer", vote, "--reject", "--as", "bob")
    form = waiting(host, "form", "waiting-input")
    say(host, "answer", form, "--set", "colour=blue", "--set", "count=3")
    talk = waiting(host, "talk")
    say(host, "answer", talk, "--value", "Hello")
    for run_id in (vote, form, talk):
        await_status(host, run_id, "failed" if run_id == vote else "completed")
        for line in say(host, "events", run_id).stdout.splitlines():
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


def test_what_was_answered_is_not_asked_again_by_following(host: Host) -> None:
    run_id = waiting(host, "gate")
    done = say(host, "answer", run_id, "--approve", "--follow")
    assert done.stderr == f"{run_id}/review answered; the run is completed\n"
    assert " interrupt.requested review " in done.stdout


def test_who_is_no_approver_is_told_who_is(host: Host) -> None:
    run_id = waiting(host, "named")
    refused = say(host, "answer", run_id, "--approve", code=7)
    assert "its approvers are ada, bob" in refused.stderr
    assert "--as NAME" in refused.stderr
    for args in ((), ("--for", "eve")):
        link = say(host, "answer", run_id, "--link", *args, code=7)
        assert link.stdout == ""
        assert "  it takes ada, bob\n" in link.stderr
    assert "/v1/interrupts/" in say(host, "answer", run_id, "--link", "--for", "ada").stdout
    cancel(host, run_id)


def test_kinds_that_there_are_not_are_answered_with_those_that_there_are(host: Host) -> None:
    assert "approval, clarification" in say(host, "inbox", "--kind", "nope", code=7).stderr
