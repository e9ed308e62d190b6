"""`weftwork answer` without a terminal: which question is meant, what is sent, and what is said of the outcome."""

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost, ReceivedRequest
from weftwork.cli.answer import submission
from weftwork.cli.main import main

EVIL = "a\x1b[2J\x9b1m\u202e\nb'; touch x\r"
RUN = "01m7f5zzhp2z8y1fpzhf93nsbb"
GATE: dict[str, Any] = {
    "interruptId": "review.1",
    "nodeId": "review",
    "kind": "approval",
    "key": "review:0:gate",
    "status": "open",
    "data": {
        "artifactId": "a",
        "artifactType": "letter",
        "title": "Send the letter?",
        "actions": ["accept", "reject", "refine", "edit-accept", "ask"],
        "artifactData": {"text": "Dear Ada"},
    },
}
QUESTIONS: dict[str, Any] = {
    "interruptId": "ask.1",
    "nodeId": "ask",
    "kind": "clarification",
    "key": "ask:0:q",
    "data": {
        "questions": [
            {"id": "colour", "question": "Which colour?", "schema": {"enum": ["red", "blue"]}},
            {"id": "count", "question": "How many?", "schema": {"type": "integer", "minimum": 1}},
            {"id": "zip", "question": "Where to?", "schema": {"type": "string"}},
        ]
    },
}
POST = f"POST /v1/runs/{RUN}/interrupts"


def asks(foreign: ForeignHost, *questions: dict[str, Any], status: str = "waiting-approval") -> None:
    """A run that asks these things, and takes any answer."""
    run = {"runId": RUN, "workflowId": "w", "status": status, "interrupts": list(questions)}
    foreign.replies[f"GET /v1/runs/{RUN}"] = CannedResponse(200, run)
    for each in questions:
        said = {"runId": RUN, "nodeId": each["nodeId"], "status": "completed"}
        foreign.replies[f"{POST}/{each['nodeId']}"] = CannedResponse(200, said)


def posted(foreign: ForeignHost) -> list[ReceivedRequest]:
    return [each for each in foreign.requests if each.method == "POST"]


def sent(foreign: ForeignHost) -> Any:
    (asked,) = posted(foreign)
    assert set(asked.body) == {"resumeValue"}
    return asked.body["resumeValue"]


def test_an_answer_goes_to_the_question_that_was_meant(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--approve")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{RUN}/review: answer recorded; the run is completed\n"
    assert sent(foreign) == {"action": "accept"}
    (asked,) = posted(foreign)
    assert asked.query == {"interruptId": ["review.1"]}
    assert len(asked.headers["idempotency-key"]) == 36


@pytest.mark.parametrize(
    ("args", "value"),
    [
        (["--reject", "--comment", "too long"], {"action": "reject", "comment": "too long"}),
        (["--action", "accept", "--as", "ada"], {"action": "accept", "voter": "ada"}),
        (
            ["--action", "refine", "--comment", "shorter"],
            {"action": "refine", "refineFeedback": {"scope": "whole", "text": "shorter"}},
        ),
        (["--action", "ask", "--comment", "who?"], {"action": "ask", "question": "who?"}),
        (
            ["--approve", "--override", "--reason", "all ill"],
            {"action": "accept", "override": True, "reason": "all ill"},
        ),
        (["--value", '{"decision": "approved"}'], {"decision": "approved"}),
        (["--value", '{"action": "accept"}', "--as", "bob"], {"action": "accept", "voter": "bob"}),
    ],
)
def test_an_approval_is_answered_by_its_actions(foreign: ForeignHost, args: list[str], value: Any) -> None:
    asks(foreign, GATE)
    assert foreign.run_command("answer", f"{RUN}/review", *args).exit_code == 0
    assert sent(foreign) == value


def test_what_is_accepted_instead_comes_from_a_file(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, GATE)
    file = tmp_path / "letter.json"
    file.write_text('{"text": "Dear Grace"}', "utf-8")
    line = ["answer", RUN, "--action", "edit-accept"]
    assert foreign.run_command(*line).exit_code == 2
    assert foreign.run_command(*line, "--data", str(tmp_path / "none")).exit_code == 2
    assert posted(foreign) == []
    assert foreign.run_command(*line, "--data", str(file)).exit_code == 0
    assert sent(foreign) == {"action": "edit-accept", "editedArtifactData": {"text": "Dear Grace"}}


def test_questions_are_answered_by_name_and_read_as_each_wants(foreign: ForeignHost) -> None:
    asks(foreign, QUESTIONS)
    line = ["--set", "colour=blue", "--set", "count=3", "--set", "zip=01234"]
    assert foreign.run_command("answer", RUN, *line).exit_code == 0
    assert sent(foreign) == {"answers": {"colour": "blue", "count": 3, "zip": "01234"}}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--set", "colour=green"], "--set colour: not one of the choices."),
        (["--set", "colour=2"], "--set colour: not one of the choices."),
        (["--set", "count=0"], "--set count: it"),
        (["--set", "colour=red"], "no value for count, zip;"),
        (["--set", "colour"], "must have the form NAME=VALUE"),
        (["--set", "size=3"], "the interrupt has no field size; its fields are colour, count, zip"),
        (["--approve"], "the interrupt is not an approval but of kind clarification; answer it with --set"),
        (
            ["--value", "1", "--as", "ada"],
            "--comment and --data require an action; --as and --override require an approval.",
        ),
        (["--value", '{"a": 1, "a": 2}'], "--value: "),
    ],
)
def test_what_cannot_be_an_answer_is_not_sent(foreign: ForeignHost, args: list[str], said: str) -> None:
    asks(foreign, QUESTIONS)
    done = foreign.run_command("answer", RUN, *args)
    assert done.exit_code == 2
    assert said in done.stderr
    assert posted(foreign) == []


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["--action", "maybe"],
            "this approval does not accept --action maybe; choose accept, reject, refine, edit-accept, ask.",
        ),
        (["--action", "refine"], "--action refine requires --comment TEXT (What should change?)"),
        (["--action", "ask", "--comment", " "], "--action ask requires --comment TEXT (What do you want to know?)"),
        (["--set", "a=1"], "the interrupt is an approval; answer it with --approve"),
    ],
)
def test_a_gate_takes_its_actions(foreign: ForeignHost, args: list[str], said: str) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, *args)
    assert done.exit_code == 2
    assert said in done.stderr
    assert posted(foreign) == []


@pytest.mark.parametrize(
    "args",
    [
        ["--approve", "--reject"],
        ["--approve", "--action", "ask"],
        ["--approve", "--value", "1"],
        ["--value", "1", "--value-file", "x"],
        ["--set", "a=1", "--value", "1"],
        ["--set", "a=1", "--comment", "x"],
        ["--approve", "--override"],
        ["--approve", "--reason", "x"],
        ["--approve", "--data", "x"],
        ["--link", "--approve"],
        ["--link", "--comment", "x"],
        ["--approve", "--for", "ada"],
        ["--approve", "--inspect"],
        ["--approve", "--expires", "2d"],
        ["--link", "--expires", "2"],
    ],
)
def test_options_that_contradict_each_other_reach_no_host(foreign: ForeignHost, args: list[str]) -> None:
    assert foreign.run_command("answer", RUN, *args).exit_code == 2
    assert foreign.requests == []


def test_without_a_terminal_and_an_answer_it_says_what_to_do(foreign: ForeignHost) -> None:
    asks(foreign, {"interruptId": "n.1", "nodeId": "n", "kind": "custom", "key": "k", "data": {"customKind": "c"}})
    for args in ([], ["--comment", "x"], ["--yes"]):
        done = foreign.run_command("answer", RUN, *args)
        assert done.exit_code == 2
        assert "--approve" in done.stderr
        assert "--set NAME=VALUE" in done.stderr
    assert {each.method for each in foreign.requests} == {"GET"}


@pytest.mark.parametrize(("text", "value"), [("3", 3), ("north", "north"), ('{"a": [1]}', {"a": [1]})])
def test_any_value_can_be_given(foreign: ForeignHost, tmp_path: Path, text: str, value: Any) -> None:
    custom = {"interruptId": "n.1", "nodeId": "n", "kind": "custom", "key": "k", "data": {"customKind": "c"}}
    asks(foreign, custom)
    assert foreign.run_command("answer", RUN, "--value", text).exit_code == 0
    assert sent(foreign) == value
    file = tmp_path / "value"
    file.write_text(text, "utf-8")
    foreign.requests.clear()
    assert foreign.run_command("answer", RUN, "--value-file", str(file)).exit_code == 0
    assert sent(foreign) == value
    foreign.requests.clear()
    env = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": KEY}
    assert CliRunner(env=env).invoke(main, ["answer", RUN, "--value-file", "-"], input=text).exit_code == 0
    assert sent(foreign) == value


def test_several_questions_are_listed_to_choose_from(foreign: ForeignHost) -> None:
    asks(foreign, GATE, {**QUESTIONS, "nodeId": EVIL})
    done = foreign.run_command("answer", RUN, "--approve")
    assert done.exit_code == 2
    assert f"\n  {RUN}/review" in done.stderr
    assert all(each.isprintable() for each in done.stderr.split("\n"))
    named = next(each for each in done.stderr.splitlines() if "touch" in each)
    assert len(shlex.split(named)) == 1
    assert posted(foreign) == []
    assert foreign.run_command("answer", f"{RUN}/review", "--approve").exit_code == 0


def test_what_is_not_asked_is_not_answered(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", f"{RUN}/nothing", "--approve")
    assert (done.exit_code, "nodes of this run that have one: review" in done.stderr) == (7, True)
    asks(foreign, status="completed")
    done = foreign.run_command("answer", RUN, "--approve")
    assert (done.exit_code, "has no open interrupt; its status is completed" in done.stderr) == (7, True)
    asks(foreign, {**GATE, "status": "resolved"})
    assert foreign.run_command("answer", RUN, "--approve").exit_code == 7
    for name in ("/", "/review", f"{RUN}/"):
        assert foreign.run_command("answer", name, "--approve").exit_code == 2
    assert posted(foreign) == []


def test_a_run_is_found_by_how_its_id_begins(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    other = "01m7g" + RUN[5:]
    rows = [{"runId": RUN, "nodeId": "review"}, {"runId": RUN, "nodeId": "b"}, {"runId": other, "nodeId": "c"}]
    foreign.replies["GET /v1/host/weftwork/interrupts"] = CannedResponse(200, {"interrupts": rows})
    assert foreign.run_command("answer", RUN[:5] + "/review", "--approve").exit_code == 0
    assert sent(foreign) == {"action": "accept"}
    done = foreign.run_command("answer", RUN[:4], "--approve")
    assert (done.exit_code, f"\n  {RUN}\n  {other}" in done.stderr) == (2, True)
    for name in ("01m7x", RUN[:3]):
        done = foreign.run_command("answer", name, "--approve")
        assert (done.exit_code, "(not_found)" in done.stderr) == (7, True)
    del foreign.replies["GET /v1/host/weftwork/interrupts"]
    assert foreign.run_command("answer", RUN[:5], "--approve").exit_code == 7
    assert len(posted(foreign)) == 1


def test_a_host_that_is_brief_is_asked_for_the_events(foreign: ForeignHost) -> None:
    brief = {"nodeId": "ask", "kind": "clarification", "key": "ask:0:q"}
    run = {"runId": RUN, "status": "waiting-input", "currentNodeId": "ask", "interrupt": brief}
    log = [{"type": "interrupt.requested", "sequence": 1, "nodeId": "ask", "payload": QUESTIONS}]
    foreign.replies[f"GET /v1/runs/{RUN}"] = CannedResponse(200, run)
    foreign.replies[f"GET /v1/runs/{RUN}/events/poll"] = CannedResponse(200, {"events": log, "isComplete": False})
    foreign.replies[f"{POST}/ask"] = CannedResponse(200, {"runId": RUN, "nodeId": "ask", "status": "running"})
    line = ["--set", "colour=red", "--set", "count=1", "--set", "zip=1"]
    assert foreign.run_command("answer", RUN, *line).exit_code == 0
    assert sent(foreign)["answers"] == {"colour": "red", "count": 1, "zip": "1"}


def test_nothing_that_a_host_says_moves_a_cursor(foreign: ForeignHost) -> None:
    evil = {"nodeId": EVIL, "kind": EVIL, "interruptId": EVIL, "key": EVIL, "data": {"title": EVIL}}
    foreign.replies[f"GET /v1/runs/{RUN}"] = CannedResponse(200, {"runId": EVIL, "status": EVIL, "interrupts": [evil]})
    done = foreign.run_command("answer", RUN, "--approve")
    assert done.exit_code == 2
    assert all(each.isprintable() for each in done.stderr.split("\n"))
    gate = {**evil, "kind": "approval", "data": {"title": EVIL, "actions": [EVIL]}}
    foreign.replies[f"GET /v1/runs/{RUN}"] = CannedResponse(200, {"runId": RUN, "status": EVIL, "interrupts": [gate]})
    done = foreign.run_command("answer", RUN, "--approve")
    assert all(each.isprintable() for each in done.stderr.split("\n"))
    foreign.reply = lambda asked: (  # pyright: ignore[reportAttributeAccessIssue]
        CannedResponse(200, {"status": EVIL})
        if asked.method == "POST"
        else CannedResponse(200, {"runId": RUN, "status": EVIL, "interrupts": [{**gate, "data": {}}]})
    )
    done = foreign.run_command("answer", RUN, "--approve")
    assert done.exit_code == 0
    assert all(each.isprintable() for each in done.stdout.split("\n"))


def test_help_and_lists_need_none_of_it() -> None:
    """What only an answer needs is imported by an answer."""
    script = "import sys, weftwork.cli.main; print(*(each for each in sys.modules if 'cli.answer.' in each))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


LINKS = f"POST /v1/host/weftwork/runs/{RUN}/interrupts/review/links"


def made(**more: Any) -> CannedResponse:
    end = (datetime.now(UTC) + timedelta(days=2, minutes=1)).isoformat()
    known = {"runId": RUN, "nodeId": "review", "interruptId": "review.1", "intent": "resolve", "token": "t.x"}
    return CannedResponse(201, {**known, "path": "/v1/interrupts/t.x", "expiresAt": end, **more})


def test_a_link_is_printed_alone(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made()
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (0, f"{foreign.url}/v1/interrupts/t.x\n")
    assert done.stderr.startswith("anyone who has the link can answer until 20")
    assert done.stderr.endswith(" UTC (in 2 d 0 h).\n")
    (asked,) = posted(foreign)
    assert asked.body == {}
    foreign.replies[LINKS] = made(url="https://public.example/v1/interrupts/t.x", intent="inspect")
    line = ["--for", "ada", "--inspect", "--expires", "2d"]
    done = foreign.run_command("answer", RUN, "--link", *line)
    assert done.stdout == "https://public.example/v1/interrupts/t.x\n"
    assert done.stderr.startswith("the link is for ada; anyone who has it can read the question but not answer until ")
    assert posted(foreign)[1].body == {"for": "ada", "intent": "inspect", "expiresInSeconds": 172_800}
    assert json.loads(foreign.run_command("answer", RUN, "--link", "--json").stdout)["token"] == "t.x"


@pytest.mark.parametrize("url", [f"https://x/{EVIL}", "javascript:alert(1)", 5, "https://x/a b", "http://[x", None])
@pytest.mark.parametrize("path", [None, 5, "v1/x", "/v1/\x1b[2J", "/größe"])
def test_what_is_no_link_is_not_printed(foreign: ForeignHost, url: Any, path: Any) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made(url=url, path=path)
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (6, "")


def test_a_link_to_another_question_is_not_handed_out(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    foreign.replies[LINKS] = made(interruptId="review.2")
    done = foreign.run_command("answer", RUN, "--link")
    assert (done.exit_code, done.stdout) == (7, "")
    assert "the node has requested another one" in done.stderr


def test_without_the_look_it_would_be(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.answer.target.AnswerTarget.interrupt_id", None)
    with pytest.raises(AssertionError):
        test_a_link_to_another_question_is_not_handed_out(foreign)


def test_a_host_without_links_is_named(foreign: ForeignHost) -> None:
    asks(foreign, GATE)
    done = foreign.run_command("answer", RUN, "--link")
    assert done.exit_code == 1
    assert done.stderr == "Error: this host does not support --link, which is a weftwork extension.\n"
    foreign.replies[LINKS] = CannedResponse(404, {"error": "interrupt_not_found", "message": "Gone."})
    assert foreign.run_command("answer", RUN, "--link").exit_code == 7
    foreign.replies[LINKS] = CannedResponse(201, [])
    assert foreign.run_command("answer", RUN, "--link").exit_code == 6


def test_a_link_is_what_a_browser_takes() -> None:
    assert submission._is_link("https://x/y?z")  # pyright: ignore[reportPrivateUsage]
    assert not submission._is_link("https://x/\x1b")  # pyright: ignore[reportPrivateUsage]
