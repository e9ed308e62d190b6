"""A tree that has more nodes than the screen has lines, or a screen that is narrow."""

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.render import node_lines
from weftwork.cli.render.node_lines import HiddenRows, hidden_rows_text, select_rows
from weftwork.cli.render.outline import outline
from weftwork.cli.render.run_display import MIN_FINAL_LINES, RunDisplay
from weftwork.cli.render.run_progress import NodeProgress, RunProgress
from weftwork.cli.render.run_tree_lines import OutlineRow, branch_prefixes

STATES = ["pending", "running", "retrying", "completed", "failed", "skipped", "suspended", "cancelled"]


def rows_of(states: list[str]) -> list[NodeProgress]:
    rows = [NodeProgress(f"n{at}") for at in range(len(states))]
    for row, state in zip(rows, states, strict=True):
        row.state = state
    return rows


def lines_of(tree: RunProgress, width: int, height: int, whole: bool = False, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    console = Console(file=file, width=width, height=height, color_system=None)
    picture = RunDisplay(tree, "http://x", console)
    console.print(picture.final() if whole else picture.live(), soft_wrap=whole)
    file.seek(0)
    return [line.rstrip() for line in file.read().splitlines()]


def fan(count: int) -> RunProgress:
    """A run that goes from one node to many, and from those to the last."""
    parts = [f"part-{at:03}" for at in range(count)]
    ends = [("start", each) for each in parts] + [(each, "end") for each in parts]
    nodes: list[dict[str, Any]] = [{"id": each, "typeId": "core.delay"} for each in ("start", *parts, "end")]
    tree = RunProgress("r")
    tree.set_outline(outline({"nodes": nodes, "edges": [{"sourceNodeId": a, "targetNodeId": b} for a, b in ends]}))
    return tree


def tell(tree: RunProgress, event: str, *node_ids: str, **payload: Any) -> None:
    for each in node_ids:
        document = {"nodeId": each, "timestamp": "2026-01-01T00:00:00Z", "payload": payload}
        tree.apply(ReceivedFrame(event, document, ""))


def parts(start: int, end: int) -> list[str]:
    return [f"part-{at:03}" for at in range(start, end)]


def test_all_nodes_are_there_from_the_start() -> None:
    tree = fan(2)
    tell(tree, "node.started", "start", typeId="core.delay")
    first, *rest = lines_of(tree, 80, 24)[1:]
    assert first.startswith("  ● start  core.delay  ")
    assert rest == ["  ├─ · part-000  core.delay", "  └─ · part-001  core.delay", "  · end  core.delay"]


def test_what_matters_is_shown_and_the_rest_is_counted() -> None:
    tree = fan(1000)
    tell(tree, "node.started", "start", *parts(0, 500))
    tell(tree, "node.completed", "start", *parts(0, 495))
    tell(tree, "node.failed", "part-007", error={"code": "c", "message": "m"})
    tell(tree, "node.suspended", "part-700", kind="custom")
    lines = lines_of(tree, 80, 24)
    assert len(lines) <= 23
    text = "\n".join(lines)
    assert "  ├─ ✗ part-007  core.delay  failed, 0 ms\n  │      c: m\n" in text
    assert all(f"  ├─ ● {each}" in text for each in parts(495, 500))
    assert "  ├─ ? part-700  core.delay  suspended\n  │      asks custom\n  weftwork answer r/part-700 " in text
    assert lines[1].endswith(" more completed")
    assert lines[-1].startswith("  └─ … ")
    assert lines[-1].endswith(" more waiting")


def test_too_much_that_runs_is_counted_too() -> None:
    tree = fan(100)
    tell(tree, "node.started", "start", *parts(0, 60))
    tell(tree, "node.completed", "start")
    lines = lines_of(tree, 80, 12)
    assert len(lines) <= 11
    assert (lines[1], lines[2][:17]) == ("  ✓ start  core.delay  0 ms", "  ├─ ● part-000  ")
    assert lines[-1] == "  └─ … 93 more: 52 running, 41 waiting"


def test_what_stays_does_not_flood_the_terminal() -> None:
    tree = fan(1000)
    tell(tree, "node.started", "start", *parts(0, 1000), "end")
    tell(tree, "node.completed", "start", *parts(0, 1000), "end")
    lines = lines_of(tree, 80, 24, whole=True)
    assert len(lines) == 1 + MIN_FINAL_LINES
    assert (lines[1], lines[-1]) == ("  ✓ start  core.delay  0 ms", "  ✓ end  core.delay  0 ms")
    assert [line for line in lines if "…" in line] == ["  ├─ … 963 more completed"]
    assert len(lines_of(tree, 80, 70, whole=True)) == 71


def test_without_the_fold_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_lines, "select_rows", lambda rows, room, height: list(range(len(rows))))
    assert len(lines_of(fan(1000), 80, 24, whole=True)) > 1000


def test_a_narrow_terminal_keeps_how_nodes_stand() -> None:
    tree = fan(2)
    tree.workflow_id, tree.run_id = "flow", "r" * 26
    tell(tree, "node.started", "start", "part-000", typeId="core.a.rather.long.name.of.a.type")
    tell(tree, "node.failed", "part-000", error={"code": "c", "message": "m"})
    lines = lines_of(tree, 30, 24)
    assert lines[0] == "flow  pending"
    assert lines[2] == "  ├─ ✗ part-000  failed, 0 ms"
    assert "r" * 26 in lines_of(tree, 30, 24, whole=True)[0]


def test_no_half_of_a_command_is_shown() -> None:
    tree = fan(2)
    tell(tree, "node.suspended", "start", kind="custom")
    assert "  weftwork answer r/start --url http://x" in lines_of(tree, 80, 24)
    narrow = lines_of(tree, 36, 24)
    assert narrow[2:4] == ["  │   asks custom", "  │   Ctrl-C prints how to answer"]
    assert "weftwork" not in "".join(narrow)
    assert "weftwork answer r/start" in "".join(lines_of(tree, 36, 24, whole=True))


def test_nodes_that_nobody_expected_stand_behind_the_others() -> None:
    tree = fan(1)
    tell(tree, "node.started", "new", "start")
    tell(tree, "node.completed", "new", "start")
    assert [line.split()[1] for line in lines_of(tree, 80, 24)[1:]] == ["start", "part-000", "end", "new"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(STATES), max_size=60), st.integers(-3, 40), st.integers(1, 3))
def test_every_row_is_shown_or_counted(states: list[str], room: int, tall: int) -> None:
    rows = rows_of(states)

    def height(at: int) -> int:
        return tall if rows[at].state in ("failed", "suspended") else 1

    found = select_rows(rows, room, height)
    told = [at for each in found for at in (range(each.first, each.end) if isinstance(each, HiddenRows) else [each])]
    assert told == list(range(len(rows)))
    shown = [each for each in found if isinstance(each, int)]
    lines = sum(1 if isinstance(each, HiddenRows) else height(each) for each in found)
    assert lines <= room or len(shown) <= 3
    for each in found:
        if isinstance(each, HiddenRows):
            assert hidden_rows_text(rows[each.first : each.end]).startswith(f"{each.end - each.first} more")
    # Nothing quiet takes the room of what matters.
    loud = [at for at, row in enumerate(rows) if row.state in ("failed", "suspended", "running", "retrying")]
    if 2 * tall * len(loud) + 1 <= room:
        assert set(loud) <= set(shown)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=30), st.integers(1, 6), st.booleans())
def test_guides_are_as_wide_as_their_level(given_places: list[tuple[int, int]], deepest: int, is_ascii: bool) -> None:
    places = [OutlineRow("n", "", level, branch) for level, branch in given_places]
    for place, (beside, below) in zip(places, branch_prefixes(places, deepest, is_ascii), strict=True):
        level = min(place.level, deepest)
        assert (len(beside), len(below)) == (3 * level, 3 * level + 3)
        assert beside.isascii() or not is_ascii


TEXTS = st.text("ab数é\u202e\x1b [", max_size=30)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(STATES)), max_size=25),
    st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=40),
    st.integers(16, 100),
    st.integers(6, 30),
)
def test_a_live_picture_fits_its_screen(
    nodes: list[tuple[str, str, str]], ends: list[tuple[int, int]], width: int, height: int
) -> None:
    ids = [node_id for node_id, _, _ in nodes]
    edges = [{"sourceNodeId": ids[a], "targetNodeId": ids[b]} for a, b in ends if max(a, b) < len(ids)]
    tree = RunProgress("r")
    tree.set_outline(outline({"nodes": [{"id": a, "typeId": b} for a, b, _ in nodes], "edges": edges}))
    for node_id, _, state in nodes:
        tree.nodes[node_id].state = state
        tree.nodes[node_id].interrupt = {"kind": "custom"} if state == "suspended" else None
    lines = lines_of(tree, width, height)
    assert all(cell_len(line) <= width for line in lines)
    loud = any(row.interrupt for row in tree.nodes.values())
    assert len(lines) < height or loud
    lines_of(tree, width, height, whole=True)
