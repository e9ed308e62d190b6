"""A tree of runs in lines: who stands below whom, what is folded, and that no document of a host can spoil it."""

import io
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from weftwork.cli.client.run_tree import TreeRun, find_waiting_runs, format_status_counts, read_tree
from weftwork.cli.render import run_tree_lines as drawing
from weftwork.cli.render.run_tree_lines import MAX_SIBLINGS, rich_line, run_tree_lines
from weftwork.protocol.run.header import STATUSES

EVIL = "\x1b[2J\r\n[bold]evil\u202e"
BEGAN, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01.200Z"


def row(run_id: str, parent: str = "", status: str = "completed", workflow: str = "pay", **more: Any) -> dict[str, Any]:
    times = {"startedAt": BEGAN, "completedAt": ENDED} if status in ("completed", "failed", "cancelled") else {}
    above = {"parentRunId": parent, "parentNodeId": "n"} if parent else {}
    return {"runId": run_id, "workflowId": workflow, "status": status, **times, **above, **more}


def top_of(*rows: dict[str, Any]) -> TreeRun:
    found = read_tree({"runId": rows[0]["runId"], "runs": list(rows), "truncated": False})
    assert found is not None
    return found


def texts(top: TreeRun, is_ascii: bool = False, most: int | None = None, only_open: bool = False) -> list[str]:
    return [line.text for line in run_tree_lines(top, is_ascii, most, only_open)]


def many(count: int, status: str = "completed") -> list[dict[str, Any]]:
    return [row(f"c{at}", "top", status) for at in range(count)]


def test_each_run_is_a_line_below_its_parent() -> None:
    top = top_of(
        row("top", status="waiting-approval", workflow="order", currentNodeId="fan"),
        row("a", "top"),
        row("b", "top", "waiting-approval", "stock", currentNodeId="gate"),
        row("c", "top", "failed", error={"code": "no_stock", "message": "m"}),
        row("d", "b", "running", "shelf"),
        row("e", "b"),
    )
    assert texts(top) == [
        "order  waiting-approval  top  at fan",
        "├─ pay  completed  a  1.2 s",
        "├─ stock  waiting-approval  b  at gate",
        "│  ├─ shelf  running  d",
        "│  └─ pay  completed  e  1.2 s",
        "└─ pay  failed  c  1.2 s  no_stock",
    ]
    assert texts(top, is_ascii=True)[1:4] == [
        "|- pay  completed  a  1.2 s",
        "|- stock  waiting-approval  b  at gate",
        "|  |- shelf  running  d",
    ]
    assert [run.run_id for run in find_waiting_runs(top)] == ["b"]


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (MAX_SIBLINGS, MAX_SIBLINGS),
        (MAX_SIBLINGS + 1, MAX_SIBLINGS + 1),
        (MAX_SIBLINGS + 2, MAX_SIBLINGS + 1),
        (1000, MAX_SIBLINGS + 1),
    ],
)
def test_siblings_that_stand_alike_are_folded(count: int, lines: int) -> None:
    drawn = texts(top_of(row("top"), *many(count)))
    assert len(drawn) == lines + 1
    assert drawn[-1] == (
        f"└─ … and {count - MAX_SIBLINGS} more (completed)"
        if lines < count
        else f"└─ pay  completed  c{count - 1}  1.2 s"
    )
    assert texts(top_of(row("top"), *many(count)), is_ascii=True)[-1].startswith("`- ")


def test_what_stands_otherwise_is_not_folded_with_the_rest() -> None:
    rows = [*many(50), row("bad", "top", "failed"), row("other", "top", workflow="stock"), row("below", "c40")]
    drawn = texts(top_of(row("top"), *rows))
    assert drawn[MAX_SIBLINGS + 1 :] == [
        "├─ … and 30 more pay (completed), with 1 below them",
        "├─ pay  failed  bad  1.2 s",
        "└─ stock  completed  other  1.2 s",
    ]


def test_a_tree_is_bounded_and_what_goes_on_is_shown_first() -> None:
    rows = [*many(50), row("a", "top", "running"), row("b", "a", "running"), row("c", "top"), row("d", "c", "running")]
    top = top_of(row("top", status="running"), *rows)
    assert texts(top, most=20, only_open=True) == [
        "pay  running  top",
        "├─ … 50 pay (completed)",
        "├─ pay  running  a",
        "│  └─ pay  running  b",
        "└─ pay  completed  c  1.2 s",
        "   └─ pay  running  d",
    ]
    assert texts(top, most=3, only_open=True)[-1] == "… and 2 more lines"
    assert len(texts(top, most=1)) == 1


def test_runs_are_counted_by_status() -> None:
    assert (
        format_status_counts(top_of(row("top"), *many(3), row("x", "top", "failed")).children)
        == "3 completed, 1 failed"
    )


TEXTS = st.sampled_from(["", "a", "b", EVIL]) | st.text(max_size=5)
VALUES = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2)
MEMBERS = (
    "runId",
    "workflowId",
    "parentRunId",
    "parentNodeId",
    "createdAt",
    "startedAt",
    "completedAt",
    "currentNodeId",
)
ROWS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(MEMBERS, VALUES),
        "status": st.sampled_from(STATUSES) | VALUES,
        "error": VALUES | st.fixed_dictionaries({"code": VALUES}),
        "depth": VALUES,
    },
)


@given(VALUES | st.lists(VALUES) | st.fixed_dictionaries({"runs": VALUES | st.lists(ROWS | VALUES, max_size=40)}))
def test_any_document_is_drawn_or_is_none(document: Any) -> None:
    top = read_tree(document)
    if top is None:
        return
    runs = sum(1 for each in document["runs"] if isinstance(each, dict))
    assert sum(1 for _ in top.walk()) == runs
    for most in (None, 1, 5, 100):
        for only_open in (False, True):
            drawn = texts(top, False, most, only_open)
            assert 1 <= len(drawn) <= (most or runs)
            assert all(line.isprintable() for line in drawn)


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(STATUSES)), max_size=60), st.booleans())
def test_every_run_is_shown_or_counted(picks: list[tuple[int, str]], only_open: bool) -> None:
    rows = [row(f"r{at}", f"r{pick % at}", status) for at, (pick, status) in enumerate(picks, 1)]
    drawn = texts(top_of(row("r0", status="running"), *rows), only_open=only_open)
    folded = [line for line in drawn if "… " in line]
    told = sum(int(number) for line in folded for number in re.findall(r"(?:… and|…|with) (\d+)", line))
    assert len(drawn) - len(folded) + told == len(rows) + 1


def test_a_text_of_a_host_is_no_markup_and_no_escape() -> None:
    top = top_of(row(EVIL, workflow=EVIL, status=EVIL), row("x", EVIL, "failed", error={"code": EVIL}))
    file = io.StringIO()
    console = Console(file=file, width=200, color_system="truecolor", force_terminal=True)
    for line in run_tree_lines(top, False):
        console.print(rich_line(line, "ignore"), soft_wrap=True)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count("[bold]evil") == 4


def test_without_the_guard_it_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "clean", lambda text, most=0: str(text))
    assert not all(line.isprintable() for line in texts(top_of(row(EVIL))))
