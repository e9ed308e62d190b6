"""Tables on terminals of any width: a row is a line, and ids are whole."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.follow.test_run_live import STYLE, Terminal
from tests.cli.foreign_host import KEY, CannedResponse, ForeignHost
from tests.live.host import command, environment
from weftwork.cli.console import table
from weftwork.cli.console.text import display_width
from weftwork.cli.console.units import format_recent_time
from weftwork.protocol.timestamps import iso

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
    more = {"WEFTWORK_URL": foreign.url, "WEFTWORK_KEY": KEY, "TERM": "xterm-256color", "COLUMNS": "", "NO_COLOR": ""}
    env = environment(tmp_path, {**more, "PYTHONIOENCODING": encoding})
    terminal = Terminal(command(*args), env, columns=columns)
    assert terminal.finish() == 0, terminal.shown
    return STYLE.sub("", terminal.shown).replace("\r", "").splitlines()


@pytest.mark.parametrize(
    ("columns", "heads"),
    [
        (120, ["run", "status", "workflow", "created", "took", "at"]),
        (80, ["run", "status", "workflow", "created", "took"]),
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
            assert display_width(table._truncate(row[at], wide, "…")) <= wide
            if at < 2:
                assert table._truncate(row[at], wide, "…") == row[at]


def test_times_are_short_where_there_is_little_room() -> None:
    assert format_recent_time("2020-01-31T08:05:09Z") == "2020-01-31"
    assert (format_recent_time("soon"), format_recent_time(None)) == ("", "")
    now = iso(int(time.time() * 1000))
    # Midnight may come between the two.
    assert re.fullmatch(r"\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d", format_recent_time(now))
