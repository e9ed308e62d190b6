"""`weftwork answer` for somebody who sits at a terminal."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.answer.test_answer import EVIL, GATE, QUESTIONS, RUN, asks, posted, sent
from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost
from tests.live.host import command, environment
from weftwork.cli.answer import prompt
from weftwork.cli.answer.form import build_form
from weftwork.cli.answer.prompt import InputEnded, TerminalPrompt

FORM: dict[str, Any] = {
    "interruptId": "n.1",
    "nodeId": "n",
    "kind": "custom",
    "key": "k",
    "data": {"customKind": "c", "payload": {"message": "Tell us."}},
    "resumeSchema": {
        "type": "object",
        "required": ["paid", "sizes"],
        "properties": {
            "paid": {"type": "boolean", "description": "Is it paid?"},
            "sizes": {"type": "array", "items": {"type": "integer"}},
            "note": {"type": "string"},
        },
        "if": {"properties": {"paid": {"const": True}}},
        "then": {"required": ["note"]},
    },
}


def sit_down(foreign: ForeignHost, folder: Path, *args: str, before: str = "", **env: str) -> Terminal:
    """The command at a terminal; in a process that does `before` first."""
    known = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": KEY, "PYTHONIOENCODING": "utf-8", **env}
    script = (
        f"from weftwork.cli.answer import prompt as answer_prompt; {before}; from weftwork.cli.main import main; main()"
    )
    line = [sys.executable, "-c", script, "answer", RUN, *args] if before else command("answer", RUN, *args)
    return Terminal(line, environment(folder, known))


def talk(terminal: Terminal, *turns: tuple[str, str]) -> int:
    """Wait for words behind those before, and type; the exit code at the end."""
    for words, typed in turns:
        terminal.until(words)
        assert KEY not in terminal.shown
        terminal.shown = ""
        terminal.type(typed)
    return terminal.finish()


def test_an_approval_is_shown_and_asked_about(foreign: ForeignHost, tmp_path: Path) -> None:
    votes = [{"voter": "ada", "action": "accept"}]
    gate = {**GATE, "data": {**GATE["data"], "requiredApprovals": 3}, "votes": votes, "dueAt": "2099-01-01T00:00:00Z"}
    asks(foreign, gate)
    terminal = sit_down(foreign, tmp_path)
    terminal.until("5) ask")
    assert "review requests approval: Send the letter?\r\n" in terminal.shown
    assert '  artifactData: {"text": "Dear Ada"}\r\n' in terminal.shown
    assert "  approvals: 1 of 3 (ada accept)\r\n" in terminal.shown
    assert "  answer by 2099-01-01 00:00:00 UTC, in " in terminal.shown
    assert "  1) accept\r\n  2) reject\r\n" in terminal.shown
    code = talk(
        terminal,
        ("> ", "perhaps\n"),
        ("not one of the choices", "2\n"),
        ("Reason for the rejection (optional) > ", "too long\n"),
        ("[y/N] > ", "y\n"),
    )
    assert code == 0
    assert sent(foreign) == {"action": "reject", "comment": "too long"}
    # The gate of this test never closes.
    assert terminal.shown.endswith(f"{RUN}/review: vote recorded, 1 of 3 approvals; the approval is still open\r\n")


def test_what_is_to_be_changed_has_to_be_said(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, GATE)
    code = talk(
        sit_down(foreign, tmp_path, "--yes", "--as", "ada"),
        ("5) ask", "refine\n"),
        ("What should change? > ", "\n"),
        ("a value is required", "shorter\n"),
    )
    assert code == 0
    assert sent(foreign) == {
        "action": "refine",
        "voter": "ada",
        "refineFeedback": {"scope": "whole", "text": "shorter"},
    }


def test_questions_are_asked_one_by_one_until_they_fit(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, QUESTIONS)
    terminal = sit_down(foreign, tmp_path)
    code = talk(
        terminal,
        ("colour: Which colour?\r\n  1) red\r\n  2) blue\r\n", "green\n"),
        ("not one of the choices", "2\n"),
        ("count: How many?\r\n  integer, 1 or more > ", "none\n"),
        ("it must be", "0\n"),
        ("it must be", "3\n"),
        ("zip: Where to?", "\n"),
        ("a value is required", "01234\n"),
        ('Send {"answers": {"colour": "blue", "count": 3, "zip": "01234"}}? [y/N]', "what\n"),
        ("[y/N]", "yes\n"),
    )
    assert code == 0
    assert sent(foreign) == {"answers": {"colour": "blue", "count": 3, "zip": "01234"}}


def test_an_answer_that_does_not_fit_together_is_asked_for_again(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, FORM)
    code = talk(
        sit_down(foreign, tmp_path, "--json"),
        ("paid: Is it paid?\r\n  y or n > ", "y\n"),
        ("sizes", "1, 2\n"),
        ("note", "\n"),
        ("the answer is not valid", "n\n"),
        ("sizes", "[]\n"),
        ("note", "\n"),
        ("[y/N]", "y\n"),
    )
    assert code == 0
    assert sent(foreign) == {"paid": False, "sizes": []}


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_what_is_not_confirmed_is_not_sent(foreign: ForeignHost, tmp_path: Path, answer: str) -> None:
    asks(foreign, GATE)
    terminal = sit_down(foreign, tmp_path)
    assert talk(terminal, ("5) ask", "1\n"), ("(optional) > ", "\n"), ("[y/N]", answer)) == 1
    assert "nothing was sent." in terminal.shown
    assert posted(foreign) == []


@pytest.mark.parametrize("place", ["colour", "count", "confirm"])
@pytest.mark.parametrize(("typed", "code"), [("\x04", 1), ("\x03", 130)])
def test_who_leaves_in_the_middle_sends_nothing(
    foreign: ForeignHost, tmp_path: Path, place: str, typed: str, code: int
) -> None:
    asks(foreign, QUESTIONS)
    turns = [("2) blue", "2\n"), ("1 or more > ", "3\n"), ("zip: Where to?", "x\n"), ("[y/N]", "y\n")]
    at = {"colour": 0, "count": 1, "confirm": 3}[place]
    terminal = sit_down(foreign, tmp_path)
    # Ctrl-C reaches whoever the terminal belongs to, which is nobody here.
    if typed == "\x03":
        for words, said in turns[:at]:
            terminal.until(words)
            terminal.shown = ""
            terminal.type(said)
        terminal.until(turns[at][0])
        terminal.process.send_signal(2)
        found = terminal.finish()
    else:
        found = talk(terminal, *turns[:at], (turns[at][0], typed))
    assert found == code
    assert "nothing was sent." in terminal.shown
    assert "Traceback" not in terminal.shown
    assert posted(foreign) == []


def test_nothing_that_is_asked_moves_the_cursor(foreign: ForeignHost, tmp_path: Path) -> None:
    shape = {"enum": [EVIL, "x"], "description": EVIL}
    questions = [{"id": EVIL, "question": EVIL, "schema": shape}, {"id": "b", "question": "Last?\nYes."}]
    evil = {"nodeId": "n", "kind": "clarification", "key": EVIL, "data": {"questions": questions, "contextType": EVIL}}
    asks(foreign, {**evil, "interruptId": EVIL, "votes": [{"voter": EVIL, "action": EVIL}], "dueAt": EVIL})
    terminal = sit_down(foreign, tmp_path)
    terminal.until("2) x")
    terminal.type("1\n")
    terminal.until("b: Last?\r\n  Yes.\r\n")
    terminal.type("done\n")
    terminal.until("[y/N]")
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert sent(foreign) == {"answers": {EVIL: EVIL, "b": "done"}}
    ours = terminal.shown.replace("\r\n", "\n")
    assert all(each.isprintable() for each in ours.split("\n"))
    assert "\\u{1b}[2J" in ours


def test_without_the_guard_it_would(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    question = {"kind": "clarification", "data": {"questions": [{"id": "a", "question": EVIL}]}}
    TerminalPrompt(lambda: "x\n").form(build_form(question))
    assert "\x9b" not in capsys.readouterr().err
    monkeypatch.setattr(prompt, "clean", lambda text, _most=0: text)
    TerminalPrompt(lambda: "x\n").form(build_form(question))
    assert "\x9b" in capsys.readouterr().err


def test_what_is_no_text_is_asked_for_again(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, {**QUESTIONS, "data": {"questions": [{"id": "q", "question": "Who?"}]}})
    code = talk(
        sit_down(foreign, tmp_path, "--yes", PYTHONIOENCODING="utf-8:strict"),
        ("q: Who?", "\udcff\n"),
        ("not valid text", "Zoë\n"),
    )
    assert code == 0
    assert sent(foreign) == {"answers": {"q": "Zoë"}}


def pasted(foreign: ForeignHost, folder: Path, before: str = "") -> int:
    """A comment of several lines, and then nothing more."""
    asks(foreign, GATE)
    turns = [("5) ask", "1\n"), ("(optional) > ", "one\ny\n"), ("[y/N] > ", "\x04")]
    return talk(sit_down(foreign, folder, before=before), *turns)


def test_a_text_of_several_lines_confirms_nothing(foreign: ForeignHost, tmp_path: Path) -> None:
    assert pasted(foreign, tmp_path) == 1
    assert posted(foreign) == []


def test_unless_what_was_typed_before_is_kept(foreign: ForeignHost, tmp_path: Path) -> None:
    assert pasted(foreign, tmp_path, "answer_prompt._flush_typed_input = lambda: None") == 0
    assert len(posted(foreign)) == 1


def test_an_end_of_the_input_is_an_end(capsys: Any) -> None:
    with pytest.raises(InputEnded, match="nothing was sent"):
        TerminalPrompt(lambda: "").text("Who?")
    assert capsys.readouterr().err == "Who? (optional) > \n"


def test_choices_that_nobody_could_read_are_counted(capsys: Any) -> None:
    schema = {"enum": [f"c{at:03}" for at in range(200)]}
    question = {"kind": "custom", "data": {"payload": "x"}, "resumeSchema": schema}
    assert TerminalPrompt(lambda: "150\n").form(build_form(question)) == "c149"
    said = capsys.readouterr().err.splitlines()
    assert said[50:52] == ["  50) c049", "  and 150 more"]


def test_a_gate_that_wants_to_know_more_asks_for_it(foreign: ForeignHost, tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "required": ["action", "budget"],
        "properties": {"action": {"type": "string"}, "budget": {"type": "integer"}, "other": {}},
    }
    asks(foreign, {**GATE, "resumeSchema": schema})
    code = talk(
        sit_down(foreign, tmp_path, "--yes", "--comment", "fine"),
        ("5) ask", "accept\n"),
        ("budget", "500\n"),
    )
    assert code == 0
    assert sent(foreign) == {"action": "accept", "comment": "fine", "budget": 500}


def test_only_an_approval_takes_a_comment(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, QUESTIONS)
    terminal = sit_down(foreign, tmp_path, "--comment", "x")
    assert terminal.finish() == 2
    assert posted(foreign) == []


def test_a_question_that_changes_while_it_is_asked_is_not_answered(foreign: ForeignHost, tmp_path: Path) -> None:
    asks(foreign, GATE)
    open_now = ["review.1"]

    def reply(asked: Any) -> CannedResponse:
        if asked.query["interruptId"] == open_now:
            return CannedResponse(200, {"runId": RUN, "nodeId": "review", "status": "completed"})
        return CannedResponse(409, {"error": "interrupt_already_resolved", "message": "Somebody was faster."})

    foreign.replies[f"POST /v1/runs/{RUN}/interrupts/review"] = reply
    terminal = sit_down(foreign, tmp_path)
    terminal.until("5) ask")
    open_now[0] = "review.2"
    code = talk(terminal, ("> ", "1\n"), ("(optional) > ", "\n"), ("[y/N]", "y\n"))
    assert code == 7
    assert "Somebody was faster (interrupt_already_resolved)." in terminal.shown
