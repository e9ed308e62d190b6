"""`weftwork run` against a real host: what it sends, what it shows, and how it exits."""

import hashlib
import json
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.cli.foreign_host import CannedResponse, ForeignHost, ReceivedRequest, run_command
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node, variable
from tests.live import KEY, Host, delays, until, weftwork
from tests.live.assets import PNG, UPLOADS, list_assets
from tests.live.fixtures import host_fixture
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.steering import answer_over_http, await_status, cancel, flow, interrupt_node, pause, resume
from weftwork.cli.follow import follow_run as following
from weftwork.cli.main import main

LINE = re.compile(r"^\S+Z \d+ [a-z.-]+ \S+( [a-zA-Z]+=.*)?$")
LONG = 60_000
host = host_fixture(
    workflows=[
        delays("quick", 1, 30),
        delays("long", 1, LONG),
        flow("fails", [node("bad", "core.fail", config={"code": "unlucky", "message": "no luck"})]),
        flow("asks", [interrupt_node("who"), node("then", "core.noop")], [edge("who", "then")]),
        flow("both", [interrupt_node("who"), node("slow", "core.delay", config={"delayMs": 700})]),
        flow("echo", [node("say", "core.identity", inputs={"text": {"type": "variable", "variableName": "text"}})]),
    ]
)


def run(host: Host, *args: str, key: str = KEY, stdin: str | None = None) -> Result:
    """The command in this process; what it raises is an error of the test."""
    result = CliRunner(env={"WEFTWORK_URL": host.address, "WEFTWORK_KEY": key}).invoke(main, ["run", *args], stdin)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert key not in result.output
    return result


def start(host: Host, *args: str) -> "subprocess.Popen[str]":
    """The command as a process."""
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    line = command("run", *args)
    return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def newest(host: Host, tag: str) -> str:
    """The run with this tag, once it is there."""

    def look() -> str | None:
        found = host.call("GET", f"/v1/runs?tag={tag}&limit=1").document["runs"]
        return found[0]["runId"] if found else None

    return until(look, "the run to be there")


def test_a_run_is_started_with_all_that_was_given(host: Host, tmp_path: Path) -> None:
    (tmp_path / "several.json").write_text('{"text": "from a file", "n": 1, "deep": {"a": [1]}}')
    (tmp_path / "one.json").write_text("[1, 2]")
    (tmp_path / "note.txt").write_text("just text\n")
    given = ["n=2", "flag=true", 'quoted="5"', "name=Ada L.", "empty=", "formula=a=b"]
    given += [f"list=@{tmp_path}/one.json", f"note=@{tmp_path}/note.txt", "nan=NaN"]
    inputs = [f"--input=@{tmp_path}/several.json", *(f"--input={each}" for each in given)]
    more = ["--tag", "one", "--tag", "two", "--metadata", "order=17", "--configurable", "recursionLimit=9"]
    done = run(host, "echo", *inputs, *more)
    assert done.exit_code == 0
    run_id = done.stdout.strip()
    assert done.stderr == f"run started; follow it with `weftwork events {run_id} --follow`.\n"
    snapshot = host.snapshot(run_id)
    assert snapshot["inputs"] == {
        "text": "from a file",
        "n": 2,
        "deep": {"a": [1]},
        "flag": True,
        "quoted": "5",
        "name": "Ada L.",
        "empty": "",
        "formula": "a=b",
        "list": [1, 2],
        "note": "just text\n",
        "nan": "NaN",
    }
    assert (snapshot["tags"], snapshot["metadata"]) == (["one", "two"], {"order": 17})
    assert snapshot["configurable"] == {"recursionLimit": 9}


def test_inputs_may_come_from_standard_input(host: Host) -> None:
    done = run(host, "echo", "--input", "@-", "--json", stdin='{"text": "piped"}')
    assert host.snapshot(json.loads(done.stdout)["runId"])["inputs"] == {"text": "piped"}


@each_case(
    "given, words",
    (["--input", "no-sign"], "--input no-sign must have the form NAME=VALUE or @FILE"),
    (["--input", "=x"], "must have the form NAME=VALUE"),
    (["--input", "@nowhere.json"], "nowhere.json cannot be read: No such file"),
    (["--input", "a=@nowhere.json"], "nowhere.json cannot be read: No such file"),
    (["--input", "@-"], "@- must contain a JSON object"),
    (["--input", 'a={"b": 1, "b": 2}'], "An object repeats a member name."),
    (["--input", "a=99999999999999999999"], "An integer is beyond 2^53-1; send it as a string."),
    (["--metadata", "x"], "--metadata x must have the form"),
    (["--timeout", "3"], "--timeout and --no-wait require --follow"),
    (["--timeout", "0", "--follow"], "0.0 is not in the range"),
    (["--timeout", "nan", "--follow"], "nan is not a number of seconds"),
    (["--timeout", "inf", "--follow"], "inf is not a number of seconds"),
    (["--url", "nowhere"], "--url must be an http or https URL, such as"),
)
def test_what_was_given_wrongly_is_named(host: Host, given: list[str], words: str) -> None:
    done = run(host, "echo", *given, stdin="[]")
    assert done.exit_code == 2
    assert words in done.stderr


def test_the_same_idempotency_key_starts_one_run(host: Host) -> None:
    first, again, other = (
        run(host, "quick", *more).stdout for more in (["--idempotency-key", "k-1"], ["--idempotency-key", "k-1"], [])
    )
    assert first == again != other


def exit_codes(host: Host) -> dict[str, int]:
    """How the command ends, by how its run does."""
    found = {name: run(host, name, "--follow").exit_code for name in ("quick", "fails")}
    process = start(host, "long", "--follow", "--tag", "to-cancel")
    first_line(process)
    cancel(host, newest(host, "to-cancel"))
    process.communicate(timeout=TIMEOUT_SECONDS)
    return found | {"long": process.returncode}


def test_the_exit_code_says_how_the_run_ended(host: Host) -> None:
    assert exit_codes(host) == {"quick": 0, "fails": 1, "long": 3}


def test_a_wrong_exit_code_would_be_seen(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "EXIT_CODES", dict.fromkeys(following.EXIT_CODES, 0))
    found = {name: run(host, name, "--follow").exit_code for name in ("quick", "fails")}
    assert found != {"quick": 0, "fails": 1}


def test_each_event_is_a_line_where_no_terminal_is(host: Host) -> None:
    done = run(host, "fails", "--follow")
    lines = done.stdout.splitlines()
    assert all(LINE.match(line) for line in lines), lines
    assert [line.split(" ", 1)[1] for line in lines] == [
        "0 run.started - workflowId=fails",
        "1 node.started bad typeId=core.fail attempt=1",
        '2 node.failed bad code=unlucky message="no luck"',
        '3 run.failed - code=unlucky message="no luck" failedNodeId=bad',
    ]
    assert done.stderr == ""


def test_json_lines_are_the_events_and_the_snapshot(host: Host) -> None:
    done = run(host, "quick", "--follow", "--json")
    *events, snapshot = map(json.loads, done.stdout.splitlines())
    assert events == host.log(snapshot["runId"])
    assert snapshot == host.snapshot(snapshot["runId"])
    assert snapshot["status"] == "completed"


def test_no_wait_stops_at_a_question_and_says_how_to_answer(host: Host) -> None:
    done = run(host, "both", "--follow", "--no-wait", "--tag", "no-wait")
    assert done.exit_code == 4
    # What still ran was followed to its end.
    assert "node.completed slow" in done.stdout
    run_id = newest(host, "no-wait")
    asked, answer, left = done.stderr.splitlines()
    assert asked == 'who requests an answer (custom): {"customKind": "pick", "payload": {"from": [1, 2]}}'
    assert left.startswith("the run waits for an answer (--no-wait); follow it with `weftwork events ")
    # The line does it when somebody pastes it.
    program, *line = shlex.split(answer.removeprefix("answer with: "))
    assert (program, line) == ("weftwork", ["answer", f"{run_id}/who"])
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY}
    sent = CliRunner(env=env).invoke(main, [*line, "--value", "1"])
    # The response may precede the end of the run.
    recorded = f"{run_id}/who: answer recorded; the run is "
    assert (sent.exit_code, sent.stdout) in ((0, f"{recorded}completed\n"), (0, f"{recorded}running\n"))
    assert await_status(host, run_id, "completed")["nodeStates"]["who"]["status"] == "completed"


def test_no_wait_stops_at_a_pause(host: Host) -> None:
    process = start(host, "long", "--follow", "--no-wait", "--tag", "paused")
    first_line(process)
    run_id = newest(host, "paused")
    await_status(host, run_id, "running")
    assert pause(host, run_id, {"drainPolicy": "immediate"}).status == 202
    _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 4, said
    assert resume(host, run_id).status == 202
    cancel(host, run_id)


def test_a_question_is_waited_for(host: Host) -> None:
    process = start(host, "asks", "--follow", "--tag", "waits")
    run_id = newest(host, "waits")
    await_status(host, run_id, "waiting-input")
    assert answer_over_http(host, run_id, "who", 5).status == 200
    shown, _ = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0
    assert "node.resumed who" in shown


def test_time_is_up(host: Host) -> None:
    done = run(host, "long", "--follow", "--timeout", "0.5", "--tag", "timeout")
    assert done.exit_code == 5
    assert "--timeout elapsed; the run continues on the host; follow it with" in done.stderr
    run_id = newest(host, "timeout")
    assert host.snapshot(run_id)["status"] == "running"
    cancel(host, run_id)


def test_interrupting_leaves_the_run_alone(host: Host) -> None:
    process = start(host, "long", "--follow", "--tag", "left")
    first_line(process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    run_id = newest(host, "left")
    assert process.returncode == 130
    assert f"the run continues on the host; follow it with `weftwork events {run_id} --follow --from " in said
    assert f"cancel it with `weftwork runs cancel {run_id}`" in said
    assert "Traceback" not in said
    assert host.snapshot(run_id)["status"] == "running"
    cancel(host, run_id)


@each_case(
    "args, key, words",
    (["nowhere"], KEY, "There is no workflow with this id (validation_error).\n  at /workflowId"),
    (["quik"], KEY, "There is no workflow with this id; did you mean quick? (validation_error)"),
    (["quick"], "wrong", "the host does not accept this API key; pass another key with --key or WEFTWORK_KEY"),
)
def test_a_refusal_is_told(host: Host, args: list[str], key: str, words: str) -> None:
    done = run(host, *args, key=key)
    assert done.exit_code == 7
    assert words in done.stderr
    assert ("`weftwork workflows ls` lists" in done.stderr) == (key == KEY)


def test_an_input_that_looks_like_a_misspelt_variable_is_warned_of(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "greets.json"
    greeting = variable("greeting", defaultValue="Hi")
    file.write_text(json.dumps(flow("greets", [node("n", "core.noop")], variables=[greeting])))
    for workflow in (str(file), "greets"):
        done = run(host, workflow, "--input", "greting=1", "--input", "other=2")
        warning = "warning: the workflow has no input greting; did you mean greeting?"
        assert done.stderr.startswith(f"{warning}\nrun started; follow it")


def test_a_host_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = weftwork(tmp_path, "run", "hello", "--url", "http://127.0.0.1:1")
    assert done.returncode == 6
    assert done.stderr == (
        "Error: no host is listening on http://127.0.0.1:1; start one with `weftwork serve`, "
        "or pass another address with --url or WEFTWORK_URL.\n"
    )


def test_a_file_is_registered_and_run(host: Host, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(delays("mine", 1)))
    for _ in range(2):
        assert run(host, str(file), "--follow").exit_code == 0
    file.write_text(json.dumps(delays("mine", 1, 2)))
    conflict = run(host, str(file))
    assert (conflict.exit_code, "workflow_version_conflict" in conflict.stderr) == (7, True)


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (None, 2, "bad.json cannot be read: No such file"),
        ("{", 2, "bad.json:1:2 /: "),
        (json.dumps({**delays("bad", 1), "edges": [{"id": "e"}]}), 7, "bad.json:1:"),
    ],
)
def test_a_bad_file_is_named_with_its_place(
    host: Host, tmp_path: Path, content: str | None, code: int, words: str
) -> None:
    file = tmp_path / "bad.json"
    if content is not None:
        file.write_text(content)
    done = run(host, str(file))
    assert done.exit_code == code, done.stderr
    assert words in done.stderr


REF = f"weftwork-asset:{hashlib.sha256(PNG).hexdigest()}"
media_host = host_fixture("--conformance", store="memory", env={"WEFTWORK_MAX_UPLOAD_BYTES": "2000"})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf.png").write_bytes(PNG)
    (tmp_path / "a;b=c.txt").write_text("hello")
    return tmp_path


def started(media_host: Host, *args: str) -> dict[str, Any]:
    done = run_command(media_host.address, "run", "conformance-noop", "--json", *args, key=KEY)
    assert done.exit_code == 0, done.output
    run_id = json.loads(done.stdout)["runId"]
    media_host.log(run_id)
    return media_host.call("GET", f"/v1/runs/{run_id}/debug-bundle").document["run"]


def test_a_file_becomes_an_input_that_the_run_refers_to(media_host: Host) -> None:
    media = ("--media", "photo=shelf.png", "--media", "note=a;b=c.txt;type=text/markdown")
    run = started(media_host, "--input", "count=3", *media)
    note = {"mimeType": "text/markdown", "name": "a_b=c.txt"}
    note["mediaRef"] = f"weftwork-asset:{hashlib.sha256(b'hello').hexdigest()}"
    photo = {"mediaRef": REF, "mimeType": "image/png", "name": "shelf.png"}
    assert {**run["variables"], **run.get("inputs", {})} == {"count": 3, "photo": photo, "note": note}
    refs = {each["mediaRef"] for each in list_assets(media_host, f"?runId={run['runId']}")["assets"]}
    assert refs == {REF, note["mediaRef"]}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--media", "photo"], "must have the form NAME=FILE"),
        (["--media", "=shelf.png"], "must have the form NAME=FILE"),
        (["--media", "photo="], "must have the form NAME=FILE"),
        (["--media", "photo=nowhere.png"], "nowhere.png cannot be read: No such file"),
        (["--media", "photo=."], "is a folder"),
        (["--media", "photo=shelf.png;type=picture"], "picture is not a media type"),
        (["--media", "a=shelf.png", "--media", "a=shelf.png"], "the input a is given twice"),
        (["--media", "a=shelf.png", "--input", "a=1"], "the input a is given twice"),
        (["--media", "a=shelf.png", "--media", "b=nowhere"], "nowhere cannot be read"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(foreign: ForeignHost, args: list[str], said: str) -> None:
    done = foreign.run_command("run", "hello", *args)
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert foreign.requests == []


def test_no_run_starts_without_its_files(media_host: Host, foreign: ForeignHost, here: Path) -> None:
    before = media_host.call("GET", "/v1/runs").document["runs"]
    (here / "large.bin").write_bytes(bytes(2001))
    line = ("run", "conformance-noop", "--media", "a=shelf.png", "--media", "b=large.bin")
    done = run_command(media_host.address, *line, key=KEY)
    assert (done.exit_code, "large.bin has 2.0 kB; the host accepts up to 2.0 kB" in done.stderr) == (7, True)
    assert media_host.call("GET", "/v1/runs").document["runs"] == before
    assert "this host does not accept files" in foreign.run_command("run", "hello", "--media", "a=shelf.png").stderr
    assert [asked.path for asked in foreign.requests] == ["/v1/workflows/hello", "/v1/workflows", UPLOADS]


def test_nothing_is_sent_for_a_workflow_that_is_not_there(media_host: Host, here: Path) -> None:
    (here / "alone.txt").write_text("for no workflow")
    done = run_command(media_host.address, "run", "nosuch", "--media", "a=alone.txt", key=KEY)
    assert (done.exit_code, "There is no such workflow" in done.stderr) == (7, True), done.stderr
    assert "`weftwork workflows ls` lists the workflows of the host." in done.stderr
    unsent = f"weftwork-asset:{hashlib.sha256(b'for no workflow').hexdigest()}"
    assert unsent not in [each["mediaRef"] for each in list_assets(media_host)["assets"]]


@pytest.mark.parametrize("status", [401, 403, 404, 405, 500])
def test_who_may_not_see_workflows_may_start_them(foreign: ForeignHost, status: int) -> None:
    digest = hashlib.sha256(PNG).hexdigest()
    foreign.replies["GET /v1/workflows/hello"] = CannedResponse(status, {"error": "other", "message": "No."})
    foreign.replies[f"POST {UPLOADS}"] = CannedResponse(
        201, {"mediaRef": REF, "sha256": digest, "mimeType": "image/png"}
    )
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "run-1"})
    assert foreign.run_command("run", "hello", "--media", "photo=shelf.png").exit_code == 0


def test_a_file_of_another_type_is_told(media_host: Host) -> None:
    done = run_command(media_host.address, "run", "conformance-noop", "--media", "a=shelf.png;type=audio/wav", key=KEY)
    assert done.exit_code == 0
    assert (
        "warning: shelf.png does not look like audio/wav; the host stored it as application/octet-stream" in done.stderr
    )


@pytest.mark.rule("media-56")
def test_a_model_is_not_sent_a_file_of_another_type(media_host: Host, here: Path) -> None:
    (here / "scan.png").write_bytes(b"%PDF-1.4 ")
    looks = node("look", "core.ai.callPrompt", config={"prompt": "What is it?"})
    looks["inputs"] = {"media": {"type": "variable", "variableName": "photo"}}
    document = flow("look", [looks], variables=[variable("photo", "object")])
    (here / "look.json").write_text(json.dumps(document))
    args = ("--follow", "--media")
    done = run_command(media_host.address, "run", "look.json", *args, "photo=scan.png", key=KEY)
    message = "The part is declared as image/png, but the asset is application/pdf. Declare its real type."
    assert (done.exit_code != 0, message in done.stdout + done.stderr) == (True, True), done.stderr
    assert "weftwork.model.answered" not in done.stdout
    done = run_command(media_host.address, "run", "look.json", *args, "photo=shelf.png", key=KEY)
    assert (done.exit_code, "weftwork.model.answered" in done.stdout) == (0, True)
    part = json.dumps({"mimeType": "image/png", "url": "https://pictures.example.com/a.png?api_key=a"})
    done = run_command(media_host.address, "run", "look.json", "--follow", "--input", f"photo={part}", key=KEY)
    assert (done.exit_code != 0, "contains the parameter api_key." in done.stdout + done.stderr) == (True, True)


def test_the_same_command_with_the_same_key_starts_one_run(foreign: ForeignHost) -> None:
    bodies: list[Any] = []

    def start(asked: ReceivedRequest) -> CannedResponse:
        bodies.append(asked.body)
        return CannedResponse(201, {"runId": "run-1"})

    digest = hashlib.sha256(PNG).hexdigest()
    foreign.replies[f"POST {UPLOADS}"] = CannedResponse(
        201, {"mediaRef": REF, "sha256": digest, "mimeType": "image/png"}
    )
    foreign.replies["POST /v1/runs"] = start
    for _ in range(2):
        assert (
            foreign.run_command("run", "hello", "--media", "photo=shelf.png", "--idempotency-key", "k").exit_code == 0
        )
    assert bodies[0] == bodies[1]
    assert bodies[0]["inputs"] == {"photo": {"mediaRef": REF, "mimeType": "image/png", "name": "shelf.png"}}
