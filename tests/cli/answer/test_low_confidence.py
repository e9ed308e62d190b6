"""A decision in doubt is told in a sentence, and answered with one word."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.follow.test_run_live import Terminal
from tests.cli.foreign_host import run_command
from tests.live import KEY, Host, start_host
from tests.live.host import command as line_of
from tests.live.host import environment
from tests.live.steering import answer_over_http, await_status
from weftwork.cli.render.interrupt_text import (
    accepts_actions,
    curl_lines,
    describe_interrupt,
    headline,
    summarize_decision,
)
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.workflow.orchestration import ratification_schema

UNSURE = "conformance-orchestrator-low-confidence"
AGENT = "core.conformance.low-conf-supervisor"
SAID = f"The agent {AGENT} wants to run conformance-noop; it is 0.5 sure, 0.7 is asked for"
NEXT = {"kind": "next-worker", "nextWorkerIds": ["pay", "ship"]}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with start_host(tmp_path_factory.mktemp("doubt"), "--conformance", store="memory") as running:
        yield running


def say(host: Host, *args: str, code: int = 0) -> Result:
    done = run_command(host.address, *args, key=KEY)
    assert done.exit_code == code, done.output
    return done


def waiting(host: Host) -> str:
    run_id = host.create(UNSURE)
    await_status(host, run_id, "waiting-approval")
    return run_id


def in_doubt(decision: Any = NEXT, agent: Any = "host:supervisor", **more: Any) -> dict[str, Any]:
    data = {"agentId": agent, "threshold": 0.7, "observed": 0.5, "decision": decision}
    return {"kind": "low-confidence", "key": "n:confidence", "data": data, **more}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (in_doubt(), "The supervisor wants to run pay, ship; it is 0.5 sure, 0.7 is asked for"),
        (in_doubt(agent="acme:one"), "The agent acme:one wants to run pay, ship; it is 0.5 sure, 0.7 is asked for"),
        (in_doubt({"kind": "terminate", "reason": "done"}), "The supervisor wants to end the work (done); it is"),
        (in_doubt({"kind": "terminate"}), "The supervisor wants to end the work; it is"),
        (in_doubt({"kind": "ask-user", "prompt": "Which?"}), "The supervisor wants to ask: Which?; it is"),
        (in_doubt({"kind": "mock"}), 'The supervisor decides {"kind": "mock"}; it is'),
        (in_doubt("x" * 500), f'The supervisor decides "{"x" * 199}…; it is'),
        ({"kind": "low-confidence", "data": {"agentId": "a", "threshold": 1, "observed": 0}}, "The agent a is 0 sure"),
        (in_doubt(agent=5), ""),
        ({"kind": "approval", "data": in_doubt()["data"]}, ""),
    ],
)
def test_it_is_said_who_wants_what(question: dict[str, Any], words: str) -> None:
    assert summarize_decision(question).startswith(words)
    assert bool(summarize_decision(question)) == bool(words)
    if words:
        assert describe_interrupt(question)[0].startswith(f"low-confidence: {words}")
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
    shown = say(host, "runs", "show", run_id).stdout
    node_id = host.snapshot(run_id)["interrupts"][0]["nodeId"]
    assert f"{node_id} asks low-confidence: {SAID}\n" in shown
    assert '  action in the answer: "accept" or "reject"; decision goes with accept: ' in shown
    (sent,) = re.findall(r"curl -d '(.*)' \\", shown)
    assert answer_over_http(host, run_id, node_id, json.loads(sent)["resumeValue"]).status == 200
    await_status(host, run_id, "completed")


def test_one_word_answers(host: Host) -> None:
    run_id = waiting(host)
    listed = json.loads(say(host, "inbox", "--run", run_id, "--json").stdout)["interrupts"]
    assert SAID in say(host, "inbox", "--run", run_id).stdout
    assert [headline(each) for each in listed] == [SAID]
    assert "it takes accept and reject" in say(host, "answer", run_id, "--action", "ask", code=2).stderr
    assert "go with an approval" in say(host, "answer", run_id, "--approve", "--comment", "x", code=2).stderr
    assert f"asks low-confidence: {SAID}" in say(host, "run", UNSURE, "--follow", "--no-wait", code=4).stderr
    say(host, "answer", run_id, "--approve")
    await_status(host, run_id, "completed")
    run_id = waiting(host)
    say(host, "answer", run_id, "--reject")
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
    assert f"{run_id} waits for no answer; it is completed" in say(host, "answer", run_id, code=7).stderr
    run_id = waiting(host)
    assert "this is no terminal" in say(host, "answer", run_id, code=2).stderr
