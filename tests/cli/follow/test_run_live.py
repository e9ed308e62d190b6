"""`weftwork run --follow` over a restart of the host, and in a real terminal."""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

from tests.harness.definitions import edge, node
from tests.live import KEY, Host, delays, start_host, until, write_workflows
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.steering import answer_over_http, await_status, flow, interrupt_node

STYLE = re.compile(r"\x1b\[[0-9;]*m")
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
        f"http://127.0.0.1:{port} cannot be heard any more; trying again for 60 s",
        "connected again",
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
        terminal.until("asks custom: ")
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
        assert terminal.last[-1].startswith("the run goes on; follow it with `weftwork events ")


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
