"""`weftwork run` with hosts that answer anything, and in a terminal."""

import codecs
import fcntl
import io
import json
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.cli import foreign_host
from tests.cli.foreign_host import CannedResponse, ForeignHost
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node
from tests.live import KEY, Host, delays, start_host, until, write_workflows
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.steering import answer_over_http, await_status, flow, interrupt_node
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.follow.run_views import LiveView
from weftwork.cli.render.event_line import event_line
from weftwork.cli.render.interrupt_text import curl_lines, describe_interrupt
from weftwork.cli.render.outline import outline
from weftwork.cli.render.run_display import RunDisplay
from weftwork.cli.render.run_progress import RunProgress

EVIL = "a\x1b[2J\x1b]0;title\x07\r\n\u202eb\u2028[red]c[/red]\x9b31m'; echo $(id)`id`\\"
"""NUL is missing: no document with one is read."""
STYLE = re.compile(r"\x1b\[[0-9;]*m")
KINDS = """run.started node.started node.completed node.failed node.retried node.skipped node.cancelled node.suspended
node.resumed node.dispatched interrupt.requested interrupt.resolved log.appended output.chunk variable.changed
channel.written artifact.created cap.breached run.paused run.resumed approval.requested clarification.requested
state.snapshot ai.message.chunk weftwork.map.item acme.unknown run.failed""".split()


def evil_events() -> list[dict[str, Any]]:
    """Every type, with such a text wherever a text may stand."""
    payload: dict[str, Any] = dict.fromkeys(
        "workflowId typeId reason kind key level message chunk name channel artifactId status childRunId".split(), EVIL
    )
    error = {"code": EVIL, "message": EVIL}
    payload |= {"error": error, "lastError": error, "data": {"title": EVIL, EVIL: EVIL}, "outputs": {EVIL: EVIL}}
    found = [
        {
            "eventId": EVIL,
            "runId": EVIL,
            "nodeId": f"{EVIL}{at % 3}",
            "type": kind,
            "timestamp": EVIL,
            "payload": payload,
        }
        for at, kind in enumerate((*KINDS[:-1], EVIL, KINDS[-1]))
    ]
    return [{**each, "sequence": at} for at, each in enumerate(found)]


def serve(foreign: ForeignHost, events: list[dict[str, Any]]) -> None:
    body = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in events)
    run_id = "r"
    foreign.replies |= {
        "POST /v1/runs": CannedResponse(201, {"runId": run_id, "status": EVIL}),
        f"GET /v1/runs/{run_id}/events": CannedResponse(stream=lambda write: write(body)),
        f"GET /v1/runs/{run_id}/events/poll": CannedResponse(200, {"events": events, "isComplete": True}),
        f"GET /v1/runs/{run_id}": CannedResponse(200, {"runId": run_id, "status": "failed", "workflowId": EVIL}),
    }


def escapes(text: str) -> set[str]:
    """What a terminal or a log reader might obey; our own styles and line ends are none."""
    return {each for each in STYLE.sub("", text) if not each.isprintable() and each != "\n"}


def shown(foreign: ForeignHost) -> dict[str, str]:
    """All that the commands print of such a run."""
    serve(foreign, evil_events())
    found = {
        name: foreign.run_command(*args).output
        for name, args in {
            "lines": ("run", "w", "--follow"),
            "json": ("run", "w", "--follow", "--json"),
            "started": ("run", "w", "--json"),
            "events": ("events", "r"),
            "followed": ("events", "r", "--follow"),
            "events as json": ("events", "r", "--json"),
            "snapshot": ("events", "r", "--mode", "values"),
        }.items()
    }
    foreign.replies["POST /v1/runs"] = CannedResponse(
        400, {"error": EVIL, "message": EVIL, "details": {"pointer": EVIL}}
    )
    found["refused"] = foreign.run_command("run", "w").output
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": EVIL})
    found["id"] = foreign.run_command("run", "w").output
    return found | {"tree": tree_of(evil_events())}


def tree_of(events: list[dict[str, Any]]) -> str:
    """The picture after each event, and the one that stays."""
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, width=300, height=50, color_system="truecolor", legacy_windows=False
    )
    tree = RunProgress(EVIL)
    ids = [f"{EVIL}{at}" for at in range(5)]
    edges = [{"sourceNodeId": ids[0], "targetNodeId": each} for each in ids]
    tree.set_outline(outline({"nodes": [{"id": each, "typeId": EVIL} for each in ids], "edges": edges}))
    picture = RunDisplay(tree, "http://x", console)
    for each in events:
        tree.apply(ReceivedFrame(str(each.get("type")), each, ""))
        console.print(picture.live())
    console.print(picture.final(), soft_wrap=True)
    return file.getvalue()


def test_no_escape_of_a_host_is_printed(foreign: ForeignHost) -> None:
    found = shown(foreign)
    assert {name: escapes(text) for name, text in found.items()} == {name: set() for name in found}
    assert "\\u{1b}[2J" in found["lines"]
    assert "[red]c[/red]" in found["tree"]
    assert all(len(text) > 20 for text in found.values()), found


def test_each_event_stays_on_its_line(foreign: ForeignHost) -> None:
    events = evil_events()
    serve(foreign, events)
    lines = foreign.run_command("events", "r").stdout.splitlines()
    assert len(lines) == len(events)
    assert [line.split(" ")[1] for line in lines] == [str(at) for at in range(len(events))]


def test_without_the_guard_escapes_would_be_printed(foreign: ForeignHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weftwork.cli.console.text.printable", lambda text, most=60: text)
    found = shown(foreign)
    assert all(escapes(found[name]) for name in ("lines", "events", "followed", "refused", "tree", "id"))


def test_a_live_view_shows_no_escape_either() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=120, color_system="truecolor", legacy_windows=False)
    view = LiveView(RunProgress("r"), "http://x", console)
    with view:
        for each in evil_events():
            view.show(ReceivedFrame("", each, ""))
        view.note("reconnected")
    ours = re.sub(r"\x1b\[\??[0-9;]*[A-LN-Zhl]|\r", "", file.getvalue())
    assert escapes(ours) == set()
    assert "reconnected" in ours


@each_case("kind", "approval", "clarification", "external-event", "custom", EVIL, None)
def test_nothing_leaves_the_quotes_of_the_line_that_answers(kind: str | None) -> None:
    data = {"questions": [{"id": EVIL, "question": EVIL}], "actions": [EVIL], "correlation": {EVIL: EVIL}, EVIL: EVIL}
    question = {"kind": kind, "key": EVIL, "data": data}
    if kind == EVIL:
        data["payload"] = {"message": EVIL, "answers": {EVIL: EVIL}, EVIL: [EVIL] * 100}
        question["resumeSchema"] = {"type": "object", "required": [EVIL], "properties": {EVIL: {"const": EVIL}}}
    line = " ".join(curl_lines("http://127.0.0.1:8787", EVIL, EVIL, question))
    assert escapes(line) == escapes("".join(describe_interrupt(question))) == set()
    words = shlex.split(line)
    assert len(words) == 10
    assert re.fullmatch(r"Idempotency-Key: [0-9a-f]{64}", words[8])
    assert words[-1].startswith("http://127.0.0.1:8787/v1/runs/a%1B")
    assert json.loads(words[2]).keys() == {"resumeValue"}


def test_an_id_cannot_become_a_command_that_is_pasted(foreign: ForeignHost) -> None:
    foreign.replies["POST /v1/runs"] = CannedResponse(201, {"runId": "r; touch x"})
    hint = foreign.run_command("run", "w").stderr
    assert shlex.split(hint.split("`")[1]) == ["weftwork", "events", "r; touch x", "--follow"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    "nodeId attempt typeId error lastError kind key data message level chunk childRunId outputs reason resumeSchema "
    "fields interruptId".split()
)
DOCUMENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | VALUES},
    optional={
        "payload": VALUES | st.dictionaries(NAMES, VALUES, max_size=5),
        "nodeId": VALUES | st.sampled_from("ab"),
        "timestamp": VALUES
        | st.sampled_from(["2026-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00"]),
        "sequence": VALUES,
        "runId": VALUES,
    },
)


@settings(max_examples=150, deadline=None)
@given(st.lists(DOCUMENTS | VALUES, max_size=6))
def test_any_document_can_be_shown(documents: list[Any]) -> None:
    tree = RunProgress("r")
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=10)
    picture = RunDisplay(tree, "http://x", console)
    for each in documents:
        frame = ReceivedFrame("message", each, "")
        tree.apply(frame)
        line = event_line(frame)
        assert line.isprintable()
        assert len(line) < 4000
        console.print(picture.live())
    console.print(picture.final(), soft_wrap=True)


def test_the_key_is_shown_nowhere(foreign: ForeignHost) -> None:
    serve(foreign, [{**each, "payload": {"message": "x"}} for each in evil_events()])
    run: Callable[..., Any] = foreign.run_command
    for args in (("run", "w", "--follow"), ("events", "r"), ("run", "w", "--follow", "--json")):
        assert foreign_host.KEY not in run(*args).output


MOVES = re.compile(r"\x1b\[\??[0-9;]*[A-LN-Zhl]")


def following(host: Host, workflow: str, *args: str) -> tuple[list[str], dict[str, str]]:
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "TERM": "xterm-256color"})
    return command("run", workflow, "--follow", *args), {
        **env,
        "COLUMNS": "",
        "NO_COLOR": "",
        "PYTHONIOENCODING": "utf-8",
    }


def test_a_restart_of_the_host_is_survived(tmp_path: Path) -> None:
    workflows = write_workflows(tmp_path / "workflows", delays("steps", 1, 1500, 1))
    output, errors = tmp_path / "shown", tmp_path / "said"
    with start_host(tmp_path, "--workflows", workflows) as first:
        line, env = following(first, "steps")
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(line, env=env, stdout=out, stderr=err)
        until(lambda: "node.started n1" in output.read_text(), "the second node")
        port = first.port
        first.kill()
    with start_host(tmp_path, "--workflows", workflows, "--port", str(port)):
        assert process.wait(TIMEOUT_SECONDS) == 0
    assert [line.split()[1] for line in output.read_text().splitlines()] == [str(at) for at in range(8)]
    assert errors.read_text().splitlines() == [
        "connection lost; reconnecting for up to 60 s",
        "reconnected",
    ]


class Terminal:
    """A command at a terminal of some size, and all that it showed."""

    def __init__(self, line: list[str], env: dict[str, str], rows: int = 24, columns: int = 100) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(line, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.shown = ""

    def until(self, words: str) -> None:
        """Read until these words were shown."""
        while words not in STYLE.sub("", self.shown):
            assert select.select([self._ours], [], [], TIMEOUT_SECONDS)[0], f"waited for {words}"
            piece = os.read(self._ours, 65_536)
            assert piece, f"the end came before {words}"
            self.shown += self._decoder.decode(piece)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode("utf-8", "surrogateescape"))

    def finish(self) -> int:
        until = time.monotonic() + TIMEOUT_SECONDS
        try:
            while select.select([self._ours], [], [], TIMEOUT_SECONDS)[0] and (piece := os.read(self._ours, 65_536)):
                assert time.monotonic() < until, f"did not end, and showed {self.shown[-2000:]}"
                self.shown += self._decoder.decode(piece)
        except OSError:  # the other side is closed
            pass
        os.close(self._ours)
        return self.process.wait(TIMEOUT_SECONDS)

    @property
    def last(self) -> list[str]:
        """What stays on the screen: all that was drawn after the cursor was given back."""
        end = self.shown.rindex("\x1b[?25h")
        return MOVES.sub("", STYLE.sub("", self.shown[end:])).replace("\r", "").splitlines()


def test_a_terminal_shows_the_run_as_it_goes(tmp_path: Path) -> None:
    nodes = [
        node("first", "core.delay", config={"delayMs": 1}),
        interrupt_node("who"),
        node("tell", "core.log", config={"message": "[bold]all[/bold] \x1b[2J done", "level": "warn"}),
        node("head", "core.loop", config={"times": 2}),
        node("body", "core.delay", config={"delayMs": 1}),
        node("last", "core.noop"),
        node("each", "core.flow.map", config={"items": [1, 2, 3], "body": {"typeId": "core.noop"}}),
    ]
    edges = [
        edge("first", "who"),
        edge("who", "tell"),
        edge("first", "head"),
        edge("head", "body", sourceOutput="body"),
        edge("body", "head"),
        edge("head", "last"),
        edge("first", "each"),
    ]
    workflows = write_workflows(tmp_path / "workflows", flow("show", nodes, edges))
    with start_host(tmp_path, "--workflows", workflows) as host:
        terminal = Terminal(*following(host, "show"))
        terminal.until("requests an answer (custom): ")
        # What has not begun is there as well.
        terminal.until("  │  · tell  core.log")
        run_id = host.call("GET", "/v1/runs").document["runs"][0]["runId"]
        await_status(host, run_id, "waiting-input")
        assert answer_over_http(host, run_id, "who", 1).status == 200
        assert terminal.finish() == 0
    seen = [re.sub(r"\d+ ms|\d\.\d s", "TIME", line) for line in terminal.last]
    assert seen[0] == f"show  {run_id}  completed  TIME"
    assert seen[1:8] == [
        "  ✓ first  core.delay  TIME",
        "  ├─ ✓ who  core.interrupt  TIME",
        "  │  ✓ tell  core.log  TIME",
        "  ├─ ✓ head  core.loop  3 rounds, TIME",
        "  │  └─ ✓ body  core.delay  2 rounds, TIME",
        "  │  ✓ last  core.noop  TIME",
        "  └─ ✓ each  core.flow.map  3 items, TIME",
    ]
    assert seen[8:10] == ["", "  warn tell: [bold]all[/bold] \\u{1b}[2J done"]
    outputs = json.loads("".join(seen[10:]))
    assert outputs["each"]["count"] == 3
    assert "\x1b[2J" not in terminal.shown
    assert KEY not in terminal.shown


def test_interrupting_at_a_terminal_gives_it_back(tmp_path: Path) -> None:
    workflows = write_workflows(tmp_path / "workflows", delays("long", 60_000))
    with start_host(tmp_path, "--workflows", workflows) as host:
        terminal = Terminal(*following(host, "long"))
        terminal.until("● n0  core.delay")
        terminal.process.send_signal(2)
        assert terminal.finish() == 130
        assert terminal.last[0].endswith("  running  " + terminal.last[0].split("  ")[-1])
        assert terminal.last[-1].startswith(
            "stopped following; the run continues on the host; follow it with `weftwork events "
        )


def test_a_terminal_that_lacks_characters_gets_others(tmp_path: Path) -> None:
    said = node("héllo", "core.log", config={"message": "größer"})
    workflows = write_workflows(tmp_path / "workflows", flow("says", [said]))
    with start_host(tmp_path, "--workflows", workflows) as host:
        line, env = following(host, "says")
        terminal = Terminal(line, {**env, "PYTHONIOENCODING": "ascii"})
        assert terminal.finish() == 0
    seen = [re.sub(r"\d+ ms", "TIME", line) for line in terminal.last]
    assert seen[1:4] == [r"  + h\xe9llo  core.log  TIME", "", r"  info h\xe9llo: gr\xf6\xdfer"]


def test_a_failure_is_told_at_the_end(tmp_path: Path) -> None:
    bad = node("bad", "core.fail", config={"code": "unlucky", "message": "no luck"})
    bad["settings"] = {"maxRetries": 1, "retryDelayMs": 1}
    workflows = write_workflows(tmp_path / "workflows", flow("fails", [bad]))
    with start_host(tmp_path, "--workflows", workflows) as host:
        terminal = Terminal(*following(host, "fails"))
        assert terminal.finish() == 1
    seen = [re.sub(r"\d+ ms", "TIME", line) for line in terminal.last]
    assert seen[1:] == [
        "  ✗ bad  core.fail  failed, attempt 2, TIME",
        "      unlucky: no luck",
        "",
        "unlucky: no luck",
    ]
