"""Lines of nodes, and the outline of a workflow."""

import io
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from tests.harness.cases import each_case
from weftwork.cli.client.event_stream import ReceivedFrame
from weftwork.cli.render import node_lines
from weftwork.cli.render import outline as outlining
from weftwork.cli.render.layout import lay_out
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
    assert (
        "  ├─ ? part-700  core.delay  suspended\n  │      requests an answer (custom)\n  weftwork answer r/part-700 "
        in text
    )
    assert lines[1].endswith(" more completed")
    assert lines[-1].startswith("  └─ … ")
    assert lines[-1].endswith(" more pending")


def test_too_much_that_runs_is_counted_too() -> None:
    tree = fan(100)
    tell(tree, "node.started", "start", *parts(0, 60))
    tell(tree, "node.completed", "start")
    lines = lines_of(tree, 80, 12)
    assert len(lines) <= 11
    assert (lines[1], lines[2][:17]) == ("  ✓ start  core.delay  0 ms", "  ├─ ● part-000  ")
    assert lines[-1] == "  └─ … 93 more: 52 running, 41 pending"


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
    assert narrow[2:4] == ["  │   requests an answer (custom)", "  │   Ctrl-C prints the command"]
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


def defined(*ways: str) -> dict[str, Any]:
    """A definition from ways such as `a b c`; a way of one node only names it."""
    parted = [way.split() for way in ways]
    ids = dict.fromkeys(each for way in parted for each in way)
    pairs = [pair for way in parted for pair in pairwise(way)]
    return {
        "nodes": [{"id": each, "typeId": "t"} for each in ids],
        "edges": [{"id": f"e{at}", "sourceNodeId": a, "targetNodeId": b} for at, (a, b) in enumerate(pairs)],
    }


def drawn(document: Any, is_ascii: bool = False) -> list[str]:
    places = outline(document)
    lines = zip(branch_prefixes(places, 8, is_ascii), places, strict=True)
    return [beside + place.node_id for (beside, _), place in lines]


SHAPES = {
    "a chain stays at one level": ("a b c d", "a / b / c / d"),
    "branches are indented and what joins them is not": (
        "a b b2 j k, a c j, a d j",
        "a / ├─ b / │  b2 / ├─ c / └─ d / j / k",
    ),
    "what may be left out is a branch": ("a b c, a c", "a / └─ b / c"),
    "ways that do not meet": ("a b c, a d", "a / ├─ b / │  c / └─ d"),
    "a way that ends keeps the others from meeting as little as it does in the graph": (
        "a b j, a c j, a e",
        "a / ├─ b / ├─ c / └─ e / j",
    ),
    "what joins only some stands among them": ("a b j z, a c j, a d z", "a / ├─ b / ├─ c / ├─ j / └─ d / z"),
    "two joins that do not meet": ("a b x, a c x, b y, c y", "a / ├─ b / ├─ c / ├─ x / └─ y"),
    "layers": ("a b x z, a c x, b y z, c y", "a / ├─ b / ├─ c / ├─ x / └─ y / z"),
    "branches of branches": ("a b c f j, b d f, a e j", "a / ├─ b / │  ├─ c / │  └─ d / │  f / └─ e / j"),
    "several starts": ("a j, b j k, lone", "├─ a / ├─ b / └─ lone / j / k"),
    "a loop with something behind it": ("a head body more head, head after", "a / head / └─ body /    more / after"),
    "a loop whose body parts": ("head x j head, head y j, head after", "head / ├─ x / ├─ y / └─ j / after"),
    "a loop that is left from within": ("a b c a, b d", "a / b / ├─ c / └─ d"),
    "a loop with nothing behind it": ("a head body head", "a / head / body"),
    "a node that repeats itself": ("a b b c", "a / b / c"),
    "one handler for several nodes": ("a b c, a err, b err", "a / └─ b /    c / err"),
    "nothing but cycles": ("a b a, b c b, c a", "a / b / c"),
}
"""Paths through a graph, and the lines that are drawn."""


@each_case("ways, lines", *SHAPES.values())
def test_a_shape_is_read_from_its_edges(ways: str, lines: str) -> None:
    assert " / ".join(drawn(defined(*ways.split(", ")))) == lines


def test_a_terminal_without_strokes_gets_letters() -> None:
    assert drawn(defined("a b c", "b d", "a e"), is_ascii=True) == ["a", "|- b", "|  |- c", "|  `- d", "`- e"]


@each_case(
    "document, ids",
    (None, []),
    ([], []),
    ({}, []),
    ({"nodes": {"a": {}}, "edges": 5}, []),
    ({"nodes": [5, None, {}, {"id": 5}, {"id": "a", "typeId": []}]}, ["a"]),
    ({"nodes": [{"id": "a"}, {"id": "b"}, {"id": "a"}], "edges": "ab"}, ["a", "b"]),
    ({"nodes": [{"id": ""}, {"id": "a"}], "edges": [{"sourceNodeId": "", "targetNodeId": "a"}]}, ["", "a"]),
    (
        {
            "nodes": [{"id": "b"}, {"id": "a"}],
            "edges": [
                {"sourceNodeId": "a", "targetNodeId": "b"},
                {"sourceNodeId": "a", "targetNodeId": "nowhere"},
                {"sourceNodeId": "nowhere", "targetNodeId": "b"},
                {"sourceNodeId": "a"},
                {"sourceNodeId": "a", "targetNodeId": ["b"]},
                7,
            ],
        },
        ["a", "b"],
    ),
)
def test_of_an_odd_definition_what_can_be_read_is_read(document: Any, ids: list[str]) -> None:
    assert [place.node_id for place in outline(document)] == ids


def test_a_long_chain_with_shortcuts_is_no_trouble() -> None:
    names = [f"n{at}" for at in range(5000)]
    places = outline(defined(" ".join(names), *(f"n0 {each}" for each in names[2:])))
    assert sorted(place.node_id for place in places) == sorted(names)
    assert max(place.level for place in places) == 1


IDS = st.sampled_from("abcdefghijkl")
ANY_EDGES = st.lists(st.tuples(IDS | st.just("nowhere"), IDS), max_size=30)
FORWARD_EDGES = st.lists(st.tuples(IDS, IDS).filter(lambda pair: pair[0] < pair[1]), max_size=24)


def of_pairs(ids: list[str], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "nodes": [{"id": each} for each in ids],
        "edges": [{"sourceNodeId": a, "targetNodeId": b} for a, b in pairs],
    }


@settings(max_examples=300, deadline=None)
@given(st.lists(IDS, max_size=14), ANY_EDGES)
def test_every_node_stands_once_and_no_level_is_left_out(ids: list[str], pairs: list[tuple[str, str]]) -> None:
    places = outline(of_pairs(ids, pairs))
    assert sorted(place.node_id for place in places) == sorted(set(ids))
    assert all((place.level == 0) == (place.branch == 0) for place in places)
    assert all(after.level <= before.level + 1 for before, after in pairwise(places))
    assert all(place.level <= 1 for place in places[:1])


def entries(places: list[OutlineRow], forward: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Edges that enter a branch elsewhere than where it begins, or lead up."""
    at = {place.node_id: number for number, place in enumerate(places)}
    bad = [(a, b) for a, b in forward if at[a] >= at[b]]
    begun: set[int] = {0}
    for start, head in enumerate(places):
        if head.branch in begun:
            continue
        begun.add(head.branch)
        end = start + 1
        while end < len(places) and (places[end].level > head.level or places[end].branch == head.branch):
            end += 1
        bad += [(a, b) for a, b in forward if start < at[b] < end and not start <= at[a] < end]
    return bad


@settings(max_examples=300, deadline=None)
@given(ANY_EDGES)
def test_a_branch_is_entered_where_it_begins_and_nothing_leads_up(pairs: list[tuple[str, str]]) -> None:
    known = lay_out({"nodes": [{"id": each} for each in "abcdefghijkl"], "edges": [
        {"id": "", "sourceNodeId": a, "targetNodeId": b} for a, b in pairs
    ]})  # fmt: skip
    assert entries(outline(of_pairs(list("abcdefghijkl"), pairs)), [(x.source, x.target) for x in known.forward]) == []


@settings(max_examples=200, deadline=None)
@given(FORWARD_EDGES)
def test_a_node_that_alone_comes_next_goes_on_at_the_same_level(pairs: list[tuple[str, str]]) -> None:
    level = {place.node_id: place.level for place in outline(of_pairs(list("abcdefghijkl"), pairs))}
    for source, target in set(pairs):
        is_alone = {b for a, b in pairs if a == source} == {target}
        if is_alone and {a for a, b in pairs if b == target} == {source}:
            assert level[source] == level[target]


def test_a_place_that_is_chosen_badly_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    document = defined("a b c", "a d c")
    pairs = [(each["sourceNodeId"], each["targetNodeId"]) for each in document["edges"]]
    assert entries(outline(document), pairs) == []
    monkeypatch.setattr(outlining._DominatorTree, "_common_ancestor", lambda _self, one, _other: one)
    assert set(entries(outline(document), pairs)) == {("d", "c")}
