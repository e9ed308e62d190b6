"""What a run asks, shown so that somebody can answer: whole, with a command that fits, and that counts once."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.foreign_host import CannedResponse, ForeignHost, run_command
from tests.cli.render.test_run_progress import START, drawn, tree_after
from tests.harness.cases import each_case
from tests.harness.definitions import node
from tests.live import KEY, Host, start_host, until, write_workflows
from tests.live.host import TIMEOUT_SECONDS, environment
from tests.live.host import command as process_of
from tests.live.steering import await_status, flow
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.render import interrupt_text as questions
from weftwork.cli.render.event_line import event_line
from weftwork.cli.render.interrupt_text import MAX_DETAIL_LINES, curl_lines, describe_interrupt
from weftwork.protocol.json.caller_schema import check_value
from weftwork.protocol.run.effects import EffectRef, outcome_interrupt
from weftwork.protocol.run.interrupts import interrupt_payload

LONG = "Was the invoice 17 of the customer north paid already? " * 20
UNKNOWN = interrupt_payload(outcome_interrupt("pay", 1, EffectRef("charge", "3"), 1)).members()
ORDER: dict[str, Any] = {
    "kind": "custom",
    "key": "n:0:k",
    "data": {"customKind": "k", "payload": {"message": f"{LONG}\nSay what you know.", "amount": 5, "who": {"a": [1]}}},
    "resumeSchema": {
        "type": "object",
        "required": ["paid", "why"],
        "properties": {"paid": {"type": "boolean"}, "why": {"enum": ["seen", "told"], "description": "How you know."}},
    },
}

PAY = '''
import asyncio
import weftwork

@weftwork.node("shop.pay", effect="once")
async def pay(ctx: weftwork.Context) -> str:
    """Pays."""
    ctx.log.info("about to pay", amount=5, to="Ada L.")

    async def charge() -> str:
        await asyncio.sleep(600)
        return "paid"

    return await ctx.step("charge", charge)
'''


def body_of(line: str) -> Any:
    return json.loads(shlex.split(line)[2])["resumeValue"]


def test_the_message_comes_first_and_whole() -> None:
    first, second, *rest = describe_interrupt(ORDER)
    assert (first, second) == (f"an answer (custom): {LONG}", "  Say what you know.")
    assert rest == [
        "  amount: 5",
        '  who: {"a": [1]}',
        "  paid in the answer: boolean, required",
        '  why in the answer: "seen" or "told", required, How you know.',
    ]


def test_a_text_alone_is_the_message() -> None:
    question = {"kind": "custom", "data": {"customKind": "k", "payload": "Who?"}}
    assert describe_interrupt(question) == ["an answer (custom): Who?"]


def test_what_has_no_message_is_shown_whole_up_to_a_bound() -> None:
    data = {"customKind": "k", "payload": {f"member {at}": "x" * 20 for at in range(20)}}
    head, *lines = describe_interrupt({"kind": "custom", "data": data})
    assert head == "an answer (custom):"
    assert json.loads("".join(lines)) == data
    many = describe_interrupt({"kind": "custom", "data": {"payload": list(range(1000))}})
    assert len(many) == MAX_DETAIL_LINES + 2
    assert many[-1] == "  and 964 more lines; `weftwork runs show RUN --json` shows all"


def test_an_effect_of_unknown_outcome_is_explained() -> None:
    said = describe_interrupt(UNKNOWN)
    assert said[0].startswith("an answer (custom): The step charge of the node pay was started, ")
    assert {line.split(":")[0] for line in said[1:-1]} == {"  step", "  item", "  done", "  failed", "  again"}
    assert said[-1] == "  outcome is one of these words; with done, output may have the result of the effect"
    value = body_of(curl_lines("http://x", "r", "pay", UNKNOWN)[0])
    assert value == {"outcome": "done", "key": UNKNOWN["key"]}
    assert check_value(UNKNOWN["resumeSchema"], value, "/resumeValue") == []
    # A host that knows no such member refuses it.
    closed = {"type": "object", "properties": {"outcome": {}, "output": {}}, "additionalProperties": False}
    assert body_of(curl_lines("http://x", "r", "pay", {**UNKNOWN, "resumeSchema": closed})[0]) == {"outcome": "done"}


def test_the_body_fits_what_is_wanted() -> None:
    value = body_of(curl_lines("http://x", "r", "n", ORDER)[0])
    assert value == {"paid": True, "why": "seen"}
    assert check_value(ORDER["resumeSchema"], value, "/resumeValue") == []


def test_a_body_that_nobody_could_paste_is_not_printed() -> None:
    assert body_of(curl_lines("http://x", "r", "n", {**ORDER, "resumeSchema": {"const": "x" * 9000}})[0]) == "..."


@each_case(
    "named, header",
    ({"key": "n:0:k", "interruptId": "n.1"}, ['-H "Idempotency-Key: r-n:0:k"']),
    ({"interruptId": "n.1"}, ['-H "Idempotency-Key: r-n.1"']),
    ({}, []),
)
def test_an_answer_belongs_to_its_question(named: dict[str, str], header: list[str]) -> None:
    assert curl_lines("http://x", "r", "n", {"kind": "custom", **named})[3:-1] == header


def test_where_several_vote_the_same_words_are_no_repetition() -> None:
    gate = {"kind": "approval", "key": "n:0:k", "data": {"actions": ["accept"], "requiredApprovals": 2}}
    assert curl_lines("http://x", "r", "n", gate)[3:-1] == []
    gate["data"] = {"actions": ["accept"], "requiredApprovals": 1}
    assert curl_lines("http://x", "r", "n", gate)[3:-1] == ['-H "Idempotency-Key: r-n:0:k"']


@each_case("key", "k" * 256, 'a"; touch x', "größer", "$(id)")
def test_a_key_that_no_header_can_hold_stands_in_for_itself(key: str) -> None:
    (header,) = curl_lines("http://x", "r", "n", {"kind": "custom", "key": key})[3:-1]
    assert len(shlex.split(header)[1].removeprefix("Idempotency-Key: ")) == 64
    assert [header] != curl_lines("http://x", "r", "n", {"kind": "custom", "key": f"{key}2"})[3:-1]


def test_another_question_of_a_node_knows_nothing_of_the_one_before() -> None:
    events = [START, ("node.started", "n"), ("interrupt.requested", "n", ORDER)]
    again = {"kind": "custom", "key": "n:0:other", "data": {"payload": "Again?"}}
    (row,) = tree_after(*events, ("interrupt.requested", "n", again)).waiting_nodes
    assert row.interrupt == again
    (row,) = tree_after(*events, ("node.suspended", "n", {"key": "n:0:k", "interruptId": "n.1"})).waiting_nodes
    assert row.interrupt == {**ORDER, "interruptId": "n.1"}


def test_a_picture_holds_as_much_of_it_as_there_is_room_for() -> None:
    tree = tree_after(START, ("node.started", "n"), ("interrupt.requested", "n", ORDER))
    assert f"requests an answer (custom): {LONG.rstrip()}" in "\n".join(drawn(tree))
    live = drawn(tree, height=24)
    assert len(live) < 20
    assert live[2] == "      requests an answer (custom): Was the invoice 17 of the customer north paid"
    assert live[3].startswith("        already? Was the invoice 17 ")
    assert live[9] == "      Ctrl-C prints the rest"


def test_the_line_of_a_question_has_its_message() -> None:
    line = event_line(ReceivedFrame("", {"type": "interrupt.requested", "payload": UNKNOWN}, ""))
    assert ' message="The step charge of the node pay was started, ' in line


def test_fields_of_log_lines_are_shown() -> None:
    payload = {"level": "info", "message": "x", "fields": {"a": 1, "to": "Ada L.", "b c": [2]}}
    line = event_line(ReceivedFrame("", {"type": "log.appended", "nodeId": "n", "payload": payload}, ""))
    assert line == '- - log.appended n level=info message=x a=1 to="Ada L." b_c=[2]'
    assert drawn(tree_after(START, ("log.appended", "n", payload)))[-1] == '  info n: x a=1 to="Ada L." b_c=[2]'
    many = {"level": "info", "message": "x", "fields": {f"f{at}": at for at in range(30)}}
    assert event_line(ReceivedFrame("", {"type": "log.appended", "payload": many}, "")).endswith(" f19=19 and 10 more")


def log_with(*rest: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    events = [("run.started", {}), ("node.started", {}), ("interrupt.requested", ORDER), *rest]
    return [
        {"type": kind, "sequence": at, "nodeId": "n", "payload": payload} for at, (kind, payload) in enumerate(events)
    ]


@pytest.mark.parametrize("is_answered", [False, True])
def test_events_tell_of_questions_that_are_open(foreign: ForeignHost, is_answered: bool) -> None:
    answered = [("interrupt.resolved", {"key": ORDER["key"]})] if is_answered else []
    log = log_with(*answered)
    ended = [*log, {"type": "run.cancelled", "sequence": len(log), "payload": {}}]
    frames = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in ended)
    state = "running" if is_answered else "suspended"
    foreign.replies |= {
        "GET /v1/runs/r": CannedResponse(
            200, {"runId": "r", "status": "running", "nodeStates": {"n": {"status": state}}}
        ),
        "GET /v1/runs/r/events/poll": CannedResponse(200, {"events": log, "isComplete": True}),
        "GET /v1/runs/r/events": CannedResponse(stream=lambda write: write(frames)),
    }
    for args in ((), ("--follow",)):
        done = foreign.run_command("events", "r", *args)
        assert done.exit_code == 0
        assert (f"n requests an answer (custom): {LONG}" in done.stderr) != is_answered, args
        assert ("answer with: weftwork answer r/n\n" in done.stderr) != is_answered
        assert foreign.run_command("events", "r", "--json", *args).stderr == ""


def test_without_looking_old_questions_would_be_asked_again(
    foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weftwork.cli.commands.events.is_still_open", lambda *_: True)
    with pytest.raises(AssertionError):
        test_events_tell_of_questions_that_are_open(foreign, True)


@pytest.mark.parametrize(
    ("snapshot", "is_open"),
    [
        ({"status": "waiting-input", "interrupts": [{"key": ORDER["key"]}]}, True),
        ({"status": "waiting-input", "interrupts": [{"key": "another"}]}, False),
        ({"status": "cancelled"}, False),
        ({"status": "running"}, True),
        ([], True),
    ],
)
def test_a_snapshot_says_what_is_open(foreign: ForeignHost, snapshot: Any, is_open: bool) -> None:
    last = {"type": "run.cancelled", "sequence": 3, "payload": {}}
    frames = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in [*log_with(), last])
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, snapshot)
    foreign.replies["GET /v1/runs/r/events"] = CannedResponse(stream=lambda write: write(frames))
    assert ("requests an answer (custom)" in foreign.run_command("events", "r", "--follow").stderr) == is_open


def test_a_sheet_shows_what_the_events_know_of_a_question(foreign: ForeignHost) -> None:
    known = {name: ORDER[name] for name in ("kind", "key", "data")}
    run = {"runId": "r", "status": "waiting-input", "interrupt": {"nodeId": "n", **known}}
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, run)
    foreign.replies["GET /v1/runs/r/events/poll"] = CannedResponse(200, {"events": log_with(), "isComplete": False})
    said = foreign.run_command("runs", "show", "r").stdout
    assert f"\nn requests an answer (custom): {LONG}\n  Say what you know.\n  amount: 5\n" in said
    short, pasted = said.split("\nanswer with\n")[1].split("/interrupts/n")[0].split("\nor\n")
    assert short == "  weftwork answer r/n"
    assert shlex.split(pasted.replace("\\\n", " "))[2] == '{"resumeValue": {"paid": true, "why": "seen"}}'
    older = {**run, "interrupt": {"nodeId": "n", **known, "key": "n:1:k"}}
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, older)
    said = foreign.run_command("runs", "show", "r").stdout
    assert ("Idempotency-Key: r-n:1:k" in said, '{"resumeValue": "..."}' in said) == (True, True)


def told(host: Host, *args: str) -> str:
    """All that a command says."""
    return run_command(host.address, *args, key=KEY).output


def test_somebody_can_answer_what_a_killed_host_left_open(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PAY, "utf-8")
    workflows = write_workflows(tmp_path / "workflows", flow("pays", [node("pay", "shop.pay")]))
    options = ("--workflows", workflows, "--nodes", "shop")
    env = {"PYTHONPATH": str(tmp_path)}
    with start_host(tmp_path, *options, env=env) as host:
        run_id = host.create("pays")
        until(lambda: "weftwork.effect" in told(host, "events", run_id), "the step to be under way")
        assert 'level=info message="about to pay" amount=5 to="Ada L."' in told(host, "events", run_id)
        host.kill()
    with start_host(tmp_path, *options, env=env) as host:
        await_status(host, run_id, "waiting-input")
        said = told(host, "runs", "show", run_id)
        assert "\npay requests an answer (custom): The node pay was started, " in said
        assert "Find out whether it happened.\n" in said
        # Followed by somebody who comes later.
        line = process_of("events", run_id, "--follow")
        keys = environment(tmp_path, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
        process = subprocess.Popen(line, env=keys, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        answer = next(each for each in process.stderr if each.startswith("answer with: "))
        _, *words = shlex.split(answer.removeprefix("answer with: "))
        assert words == ["answer", f"{run_id}/pay"]
        assert run_command(host.address, *words, "--set", "outcome=perhaps", key=KEY).exit_code == 2
        done = run_command(host.address, *words, "--set", "outcome=done", "--set", "output=paid", key=KEY)
        assert (done.exit_code, done.stderr) == (0, "")
        assert process.wait(TIMEOUT_SECONDS) == 0
        process.stderr.close()
        assert host.snapshot(run_id)["status"] == "completed"


def test_without_a_name_of_its_own_an_answer_could_be_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_idempotency_header", lambda *_: [])
    with pytest.raises(AssertionError):
        test_an_answer_belongs_to_its_question()
