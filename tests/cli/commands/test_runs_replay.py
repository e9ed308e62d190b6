"""`weftwork runs replay --step` and `runs show --at`, with a host of ours and with one that is not."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.follow.test_run_hostile import Terminal
from tests.cli.foreign_host import KEY as FOREIGN_KEY
from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest, run_on
from tests.harness.cases import each_case, fails_without
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, Host
from tests.live.fixtures import host_fixture
from tests.live.host import command as line_of
from tests.live.host import environment
from tests.live.steering import await_status, events, flow, interrupt_node
from weftwork.cli.follow import event_steps
from weftwork.cli.main import main

SECRET = "the-secret-of-this-test"
STEPS = flow(
    "steps",
    [
        node("one", "core.setVariable", config={"name": "n", "value": 1}),
        node("two", "core.setVariable", config={"name": "n", "value": 2}),
        node("note", "core.channelWrite", config={"channelName": "notes", "reducer": "append", "value": "x"}),
        interrupt_node("ask"),
    ],
    [edge("one", "two"), edge("two", "note"), edge("note", "ask")],
    [variable("n", "number"), variable("given", sensitive=True)],
)

host = host_fixture(workflows=[STEPS], store="memory")


@pytest.fixture(scope="module")
def run_id(host: Host) -> str:
    """A run that waits, after it has written a variable twice."""
    run_id = host.create(STEPS["id"], inputs={"given": SECRET})
    await_status(host, run_id, "waiting-input")
    return run_id


def replay(host: Host, run_id: str, typed: str, *args: str, code: int = 0) -> Result:
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    result = CliRunner().invoke(main, ["runs", "replay", run_id, *args], input=typed, env=env)
    assert result.exit_code == code, result.output
    return result


def sequences(text: str) -> list[int]:
    return [int(line.split()[1]) for line in text.splitlines() if not line.startswith("  ")]


def first_of(log: list[dict[str, Any]], kind: str, name: str = "") -> list[int]:
    return [each["sequence"] for each in log if each["type"] == kind and each["payload"].get("name", "") == name]


def test_lines_of_standard_input_go_both_ways(host: Host, run_id: str) -> None:
    last = events(host, run_id)[-1]["sequence"]
    shown = replay(host, run_id, "n\nn\np\n\nG\nn\np\ng\np\n4\nq\nn\n", "--step")
    assert sequences(shown.stdout) == [0, 1, 2, 1, 2, last, last - 1, 0, 4]
    assert shown.stderr.splitlines() == ["this is the last event so far.", "this is the first event."]
    assert sequences(replay(host, run_id, "", "--step").stdout) == [0]


def test_each_event_is_shown_with_what_it_changed(host: Host, run_id: str) -> None:
    log = events(host, run_id)
    first, second = first_of(log, "variable.changed", "n")
    (written,) = first_of(log, "channel.written")
    shown = replay(host, run_id, f"{second}\n{first}\n{written}\n", "--step").stdout.splitlines()
    assert shown[1] == '  given = "[REDACTED:given]"'
    assert [line for line in shown if line.startswith("  n ")] == ["  n = 2  (was 1)", "  n = 1"]
    assert shown[-1] == '  channel notes <- "x" (append)'
    assert SECRET not in str(shown)


def test_json_has_every_event_with_its_changes(host: Host, run_id: str) -> None:
    log = events(host, run_id)
    rows = [json.loads(line) for line in replay(host, run_id, "", "--step", "--json").stdout.splitlines()]
    assert [row["event"] for row in rows] == log
    changes = {row["event"]["sequence"]: row["changes"] for row in rows if row["changes"]}
    first, second = first_of(log, "variable.changed", "n")
    (written,) = first_of(log, "channel.written")
    assert changes == {
        0: [{"name": "given", "value": "[REDACTED:given]"}],
        first: [{"name": "n", "value": 1}],
        second: [{"name": "n", "value": 2, "previous": 1}],
        written: [{"name": "notes", "value": "x", "channel": "append"}],
    }


@each_case("typed", "x", "-1", "1.5", "nn", "9" * 30, "\x00", "q q")
def test_a_command_that_does_not_exist_is_explained(host: Host, run_id: str, typed: str) -> None:
    shown = replay(host, run_id, f"{typed}\nn\n", "--step")
    assert sequences(shown.stdout) == [0, 1]
    assert "enter n (next)" in shown.stderr


def test_a_number_behind_the_end_is_the_last_event(host: Host, run_id: str) -> None:
    last = events(host, run_id)[-1]["sequence"]
    assert sequences(replay(host, run_id, "99999\n", "--step").stdout) == [0, last]


def test_without_step_the_command_starts_a_replay(host: Host, run_id: str) -> None:
    new = replay(host, run_id, "").stdout.strip()
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    forked = json.loads(CliRunner().invoke(main, ["runs", "show", new, "--json"], env=env).stdout)["forkedFrom"]
    assert forked == {"runId": run_id, "fromSeq": 0, "mode": "replay"}
    assert "leave out --follow" in replay(host, run_id, "", "--step", "--follow", code=2).stderr


def test_keys_of_a_terminal_go_both_ways(host: Host, run_id: str) -> None:
    log = events(host, run_id)
    first, second = first_of(log, "variable.changed", "n")
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "TERM": "xterm-256color"})
    env["COLUMNS"] = ""
    terminal = Terminal(line_of("runs", "replay", run_id, "--step"), env)
    terminal.until("quit")
    typed = [
        ("\x1b[C", log[1]),
        (" ", log[2]),
        ("\x1b[D", log[1]),
        ("p", log[0]),
        ("G", log[-1]),
        ("g", log[0]),
        (f"{second}\n", log[second]),
        ("1x", log[second]),
        (f"9\x7f{first}\n", log[first]),
    ]
    for keys, event in typed:
        terminal.shown = ""
        terminal.type(keys)
        terminal.until(f" {event['sequence']} {event['type']}")
        terminal.until("quit")
    terminal.shown = ""
    # What is typed in one go is not lost.
    terminal.type(f"gnp{second}\n")
    terminal.until("n = 2  (was 1)")
    # Each event replaces the one before it.
    assert re.search(r"\x1b\[[0-9]+A\x1b\[J", terminal.shown)
    terminal.type("q")
    assert terminal.finish() == 0


def page_of(asked: ReceivedRequest) -> CannedResponse:
    """Two events on each page, of which every second sequence is left out."""
    after = int(asked.query["lastSequence"][0])
    found = [sequence for sequence in range(0, 20, 2) if sequence > after][:2]
    return CannedResponse(
        200,
        {
            "events": [
                {"sequence": each, "type": "variable.changed", "payload": {"name": "n", "next": each}} for each in found
            ]
        },
    )


@fails_without(event_steps, "MAX_PAGES", 0, errors=(IndexError, KeyError))
def test_pages_that_were_dropped_are_read_again() -> None:
    from tests.cli.foreign_host import open_foreign_host

    with open_foreign_host() as foreign, pytest.MonkeyPatch.context() as patch:
        if event_steps.MAX_PAGES:
            patch.setattr(event_steps, "MAX_PAGES", 2)
        foreign.replies["GET /v1/runs/r/events/poll"] = page_of
        shown = stepped(foreign, "G\n0\n4\n5\n16\n17\n")
        values = re.findall(r"n = ([0-9]+)(?:  \(was ([0-9]+)\))?", shown.stdout)
        assert values == [("0", ""), ("18", "16"), ("0", ""), ("4", "2"), ("6", "4"), ("16", "14"), ("18", "16")]


def stepped(foreign: ForeignHost, typed: str, *args: str, code: int = 0) -> Result:
    env = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": FOREIGN_KEY}
    result = CliRunner().invoke(main, ["runs", "replay", "r", "--step", *args], input=typed, env=env)
    assert result.exit_code == code, (result.output, result.exception)
    return result


@each_case(
    "document",
    None,
    {"events": 7},
    {"events": [7, None, {}, {"sequence": "x"}]},
    {"events": []},
)
def test_a_host_without_events_has_no_step(document: Any) -> None:
    from tests.cli.foreign_host import open_foreign_host

    with open_foreign_host() as foreign:
        foreign.replies["GET /v1/runs/r/events/poll"] = CannedResponse(200, document)
        shown = stepped(foreign, "n\n")
        assert (shown.stdout, shown.stderr) == ("", "the run has no events yet.\n")


def test_what_a_host_sends_cannot_control_the_terminal(foreign: ForeignHost) -> None:
    evil = "\x1b[2J\nfake"
    payload = {"name": evil, "next": {evil: evil}}
    foreign.replies["GET /v1/runs/r/events/poll"] = lambda asked: CannedResponse(
        200, {"events": [{"sequence": 0, "type": "variable.changed", "payload": payload}]}
    )
    shown = stepped(foreign, "").stdout
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 2


def test_show_at_prints_an_earlier_state(host: Host, run_id: str) -> None:
    log = events(host, run_id)
    first, _ = first_of(log, "variable.changed", "n")
    shown = run_on(host, "runs", "show", run_id, "--at", str(first)).stdout.splitlines()
    assert shown[0].split() == ["after", "event", str(first)]
    assert [line.split() for line in shown if line.startswith("  n ")] == [["n", "1"]]
    assert not any(line.startswith("next ") for line in shown)
    document = json.loads(run_on(host, "runs", "show", run_id, "--at", str(first), "--json").stdout)
    assert document == host.call("GET", f"/v1/runs/{run_id}?atSequence={first}").document
    waiting = run_on(host, "runs", "show", run_id, "--at", str(log[-1]["sequence"])).stdout
    assert "ask requested" in waiting
    assert "answer with" not in waiting
    assert SECRET not in waiting


def test_show_at_says_what_is_wrong_with_a_sequence(host: Host, run_id: str) -> None:
    last = events(host, run_id)[-1]["sequence"]
    refused = run_on(host, "runs", "show", run_id, "--at", "9999", code=7)
    assert f"The last event of the run has the sequence {last}" in refused.stderr
    run_on(host, "runs", "show", run_id, "--at", "-1", code=2)


def test_show_at_is_refused_for_a_host_that_would_ignore_it(foreign: ForeignHost) -> None:
    foreign.replies["GET /v1/runs/r"] = CannedResponse(200, {"runId": "r", "status": "completed"})
    env = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": FOREIGN_KEY}
    result = CliRunner().invoke(main, ["runs", "show", "r", "--at", "1"], env=env)
    assert result.exit_code == 1
    assert "does not show earlier states" in result.stderr
    assert "runs replay RUN --step" in result.stderr
