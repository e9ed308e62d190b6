"""Exit codes, broken pipes and tables."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli import foreign_host
from tests.cli.follow.test_run_hostile import STYLE, Terminal, following
from tests.cli.foreign_host import CannedResponse, ForeignHost
from tests.harness.cases import each_case
from tests.harness.definitions import edge, node
from tests.live import KEY, Host, delays, start_host, until, weftwork, write_workflows
from tests.live.host import TIMEOUT_SECONDS, command, environment
from tests.live.steering import flow
from weftwork.cli.console import root_group, table
from weftwork.cli.console.text import display_width, fit_encoding
from weftwork.cli.console.units import format_recent_time
from weftwork.protocol.timestamps import iso

FULL = "cannot write to standard output: No space left on device.\n"
CLOSED = "cannot write to standard output: Bad file descriptor.\n"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    forks = [node(each, "core.noop") for each in ("a", "b", "c", "d")]
    edges = [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")]
    flows = [delays("quick", 1), delays("long", 60_000), flow("forks", forks, edges)]
    workflows = write_workflows(folder / "workflows", *flows)
    with start_host(folder, "--workflows", workflows) as running:
        # So that there is something to list.
        running.create("quick")
        yield running


def shell(host: Host, line: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """A command within a line of bash, where it is "$@"."""
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    words = ["bash", "-c", line, "bash", *command(*args)]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)


@each_case(
    "args",
    ("run", "quick", "--follow"),
    ("run", "quick"),
    ("runs", "ls"),
    ("nodes", "ls", "--json"),
    ("--help",),
    ("doctor",),
)
@each_case("where, said", ("/dev/full", FULL), ("&-", CLOSED))
def test_output_that_cannot_be_written_is_one_line(host: Host, args: tuple[str, ...], where: str, said: str) -> None:
    done = shell(host, f'"$@" >{where}', *args)
    assert (done.returncode, done.stderr) == (root_group.EXIT_OUTPUT_FAILED, f"weftwork: {said}")


def test_without_the_guard_it_would_be_a_traceback(host: Host) -> None:
    line = "from weftwork.cli.console import root_group; root_group._WRITE_ERRORS = ()"
    line += "; from weftwork.cli.main import main; main()"
    program, *_ = command()
    done = shell(host, f'{program} -c "{line}" runs ls >/dev/full')
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("args", [("events",), ("run", "quick", "--follow"), ("nodes", "ls"), ("serve", "-h")])
def test_a_reader_that_has_gone_is_no_failure_of_the_run(host: Host, args: tuple[str, ...]) -> None:
    more = (host.create("quick"),) if args == ("events",) else ()
    env = environment(host.data.parent, {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY})
    reads, writes = os.pipe()
    os.close(reads)
    try:
        line = command(*args, *more)
        done = subprocess.run(
            line, env=env, stdout=writes, stderr=subprocess.PIPE, timeout=TIMEOUT_SECONDS, check=False
        )
    finally:
        os.close(writes)
    assert (done.returncode, done.stderr) == (root_group.EXIT_BROKEN_PIPE, b"")


def test_standard_error_may_be_missing_as_well(host: Host) -> None:
    done = shell(host, '"$@" 2>&-', "run", "quick")
    assert (done.returncode, len(done.stdout.strip())) == (0, 26)
    assert shell(host, '"$@" 2>&- >&-', "runs", "ls").returncode == root_group.EXIT_OUTPUT_FAILED


@pytest.mark.parametrize("where", ["/dev/full", "&-"])
def test_a_host_serves_although_nobody_hears_it(tmp_path: Path, where: str) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    words = command("serve", "--port", str(port), "--data", tmp_path / "data")
    errors = tmp_path / "errors"
    with errors.open("wb") as said:
        line = ["bash", "-c", f'exec "$@" >{where}', "bash", *words]
        process = subprocess.Popen(line, env=environment(tmp_path), stderr=said)
    try:
        until(lambda: "keys create" in errors.read_text(), "the host to say so")
        url = f"http://127.0.0.1:{port}"
        made = weftwork(tmp_path, "keys", "create", "--data", tmp_path / "data").stdout.strip()
        done = weftwork(tmp_path, "runs", "ls", env={"WEFTWORK_URL": url, "WEFTWORK_KEY": made})
        assert (done.returncode, done.stderr) == (0, "no runs; start one with `weftwork run WORKFLOW`.\n")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_SECONDS) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(TIMEOUT_SECONDS)
    assert "Traceback" not in errors.read_text()


@contextlib.contextmanager
def silent() -> Iterator[socket.socket]:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(TIMEOUT_SECONDS)
        yield listener


@pytest.mark.parametrize("args", [("run", "w", "--follow"), ("runs", "ls"), ("runs", "cancel", "r"), ("doctor",)])
def test_interrupting_a_command_that_waits_for_a_host(tmp_path: Path, args: tuple[str, ...]) -> None:
    with silent() as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        env = environment(tmp_path, {"WEFTWORK_URL": url, "WEFTWORK_KEY": KEY})
        process = subprocess.Popen(command(*args), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(4)
            said = interrupted(process)
    assert process.returncode == root_group.EXIT_INTERRUPTED
    assert "Traceback" not in said
    assert ("the run may have started. Check `weftwork runs ls`" in said) == (args[0] == "run")


def interrupted(process: "subprocess.Popen[str]") -> str:
    """What it says on stderr. As people do, once more if nothing happens: the first signal may be too early."""
    for _ in range(int(TIMEOUT_SECONDS / 2)):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=2)[1]
    process.kill()
    raise AssertionError("it does not end")


def test_whoever_ends_the_picture_gets_the_cursor_back(host: Host) -> None:
    terminal = Terminal(*following(host, "long"))
    terminal.until("● n0  core.delay")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.finish() == 128 + signal.SIGTERM
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")
    assert "n0" in terminal.last[1]


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_that_cannot_draw_gets_lines(host: Host, kind: str) -> None:
    line, env = following(host, "quick")
    terminal = Terminal(line, {**env, "TERM": kind})
    assert terminal.finish() == 0
    assert "\x1b" not in terminal.shown
    assert [each.split()[2] for each in terminal.shown.splitlines()][0::3] == ["run.started", "run.completed"]


def test_a_workflow_is_drawn_where_there_is_only_ascii(host: Host, tmp_path: Path) -> None:
    env = {"WEFTWORK_URL": host.address, "WEFTWORK_KEY": KEY, "PYTHONIOENCODING": "ascii"}
    drawn = weftwork(tmp_path, "workflows", "show", "forks", env=env).stdout
    assert drawn.isascii()
    assert "\\u" not in drawn
    assert [line.split("  ")[0].strip() for line in drawn.splitlines()[3:7]] == ["*", "+-+", "* |", "| |"], drawn


def test_only_our_own_signs_have_others_that_stand_in() -> None:
    assert fit_encoding("● größer → …", "ascii") == r"* gr\xf6\xdfer -> ..."
    assert fit_encoding("● größer", "utf-8") == "● größer"


RUN = "01m7g514jepqa68m7b7k2rf2qx"


def run(number: int) -> dict[str, Any]:
    ended = {"startedAt": "2026-01-31T08:05:09Z", "completedAt": "2026-01-31T08:05:10.5Z"}
    state = {"status": "waiting-input", "currentNodeId": "ask-the-supplier-again"} if number else {"status": "failed"}
    return {"runId": RUN, "workflowId": "order", "createdAt": "2026-01-31T08:05:09Z", **ended, **state}


TYPES = [
    {"typeId": "core.flow.aggregate-array", "effect": "pure", "title": "Computes one value from the items of a list."},
    {"typeId": "acme.score", "effect": "idempotent", "source": "acme_nodes.scores:score", "title": "Scores. " * 20},
]


def lines(foreign: ForeignHost, tmp_path: Any, columns: int, *args: str, encoding: str = "utf-8") -> list[str]:
    """What a terminal of this width shows."""
    foreign.replies["GET /v1/runs"] = CannedResponse(200, {"runs": [run(0), run(1)]})
    foreign.replies["GET /v1/host/weftwork/node-types"] = CannedResponse(200, {"nodeTypes": TYPES})
    more = {
        "WEFTWORK_URL": foreign.url,
        "WEFTWORK_KEY": foreign_host.KEY,
        "TERM": "xterm-256color",
        "COLUMNS": "",
        "NO_COLOR": "",
    }
    env = environment(tmp_path, {**more, "PYTHONIOENCODING": encoding})
    terminal = Terminal(command(*args), env, columns=columns)
    assert terminal.finish() == 0, terminal.shown
    return STYLE.sub("", terminal.shown).replace("\r", "").splitlines()


@pytest.mark.parametrize(
    ("columns", "heads"),
    [
        (120, ["run", "status", "workflow", "created", "duration", "at"]),
        (80, ["run", "status", "workflow", "created", "duration"]),
        (60, ["run", "status", "workflow"]),
        (40, ["run", "status"]),
        (20, ["run"]),
    ],
)
def test_runs_fit_and_can_be_copied(foreign: ForeignHost, tmp_path: Any, columns: int, heads: list[str]) -> None:
    head, *rows = lines(foreign, tmp_path, columns, "runs", "ls")
    assert head.split() == heads
    assert [row.split()[0] for row in rows] == [RUN, RUN]
    assert all(len(row) <= max(columns, len(RUN)) for row in (head, *rows))
    assert ("ask-the-supplier-again" in rows[1]) == (columns == 120)


@pytest.mark.parametrize(("columns", "count"), [(100, 4), (80, 4), (60, 3), (40, 2), (30, 1)])
def test_node_types_fit(foreign: ForeignHost, tmp_path: Any, columns: int, count: int) -> None:
    head, *rows = lines(foreign, tmp_path, columns, "nodes", "ls")
    assert (len(head.split()), len(rows)) == (count, 2)
    assert [row.split()[0] for row in rows] == [each["typeId"] for each in TYPES]
    assert all(len(row) <= columns for row in rows)
    assert ("…" in rows[1]) == (count > 2)


def test_a_terminal_without_an_ellipsis_gets_dots(foreign: ForeignHost, tmp_path: Any) -> None:
    rows = lines(foreign, tmp_path, 80, "nodes", "ls", encoding="ascii")
    assert rows[-1].endswith("...")
    assert all(len(row) <= 80 for row in rows)


def test_a_row_that_wraps_would_be_seen(foreign: ForeignHost, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES[1], "typeId", "acme." + "x" * 60)
    with pytest.raises(AssertionError):
        test_node_types_fit(foreign, tmp_path, 40, 2)


CELLS = st.text(alphabet="ab数́", max_size=30)


@given(st.lists(st.lists(CELLS, min_size=4, max_size=4), max_size=5), st.integers(1, 120))
def test_a_line_is_never_wider_than_it_may_be(rows: list[list[str]], room: int) -> None:
    head = ["first", "status", "text", "name"]
    widths = table.fit_columns(head, rows, ("text", "name"), room)
    first = max(display_width(row[0]) for row in (head, *rows))
    assert widths[0] == first
    assert sum(widths.values()) + len(table.GAP) * (len(widths) - 1) <= max(room, first)
    for at, wide in widths.items():
        for row in rows:
            assert display_width(table.truncate(row[at], wide, "…")) <= wide
            if at < 2:
                assert table.truncate(row[at], wide, "…") == row[at]


def test_times_are_short_where_there_is_little_room() -> None:
    assert format_recent_time("2020-01-31T08:05:09Z") == "2020-01-31"
    assert (format_recent_time("soon"), format_recent_time(None)) == ("", "")
    now = iso(int(time.time() * 1000))
    # Midnight may come between the two.
    assert re.fullmatch(r"\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d", format_recent_time(now))
