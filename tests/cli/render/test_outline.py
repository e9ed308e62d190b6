"""The nodes of a definition as an outline: what stands below what, and each node once whatever the graph."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weftwork.cli.render import outline as outlining
from weftwork.cli.render.layout import lay_out
from weftwork.cli.render.outline import outline
from weftwork.cli.render.run_tree_lines import OutlineRow, branch_prefixes


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
    "a chain stays at one level": (["a b c d"], ["a", "b", "c", "d"]),
    "branches are indented and what joins them is not": (
        ["a b b2 j k", "a c j", "a d j"],
        ["a", "├─ b", "│  b2", "├─ c", "└─ d", "j", "k"],
    ),
    "what may be left out is a branch": (["a b c", "a c"], ["a", "└─ b", "c"]),
    "ways that do not meet": (["a b c", "a d"], ["a", "├─ b", "│  c", "└─ d"]),
    "a way that ends keeps the others from meeting as little as it does in the graph": (
        ["a b j", "a c j", "a e"],
        ["a", "├─ b", "├─ c", "└─ e", "j"],
    ),
    "what joins only some stands among them": (
        ["a b j z", "a c j", "a d z"],
        ["a", "├─ b", "├─ c", "├─ j", "└─ d", "z"],
    ),
    "two joins that do not meet": (
        ["a b x", "a c x", "b y", "c y"],
        ["a", "├─ b", "├─ c", "├─ x", "└─ y"],
    ),
    "layers": (
        ["a b x z", "a c x", "b y z", "c y"],
        ["a", "├─ b", "├─ c", "├─ x", "└─ y", "z"],
    ),
    "branches of branches": (
        ["a b c f j", "b d f", "a e j"],
        ["a", "├─ b", "│  ├─ c", "│  └─ d", "│  f", "└─ e", "j"],
    ),
    "several starts": (["a j", "b j k", "lone"], ["├─ a", "├─ b", "└─ lone", "j", "k"]),
    "a loop with something behind it": (
        ["a head body more head", "head after"],
        ["a", "head", "└─ body", "   more", "after"],
    ),
    "a loop whose body parts": (
        ["head x j head", "head y j", "head after"],
        ["head", "├─ x", "├─ y", "└─ j", "after"],
    ),
    "a loop that is left from within": (["a b c a", "b d"], ["a", "b", "├─ c", "└─ d"]),
    "a loop with nothing behind it": (["a head body head"], ["a", "head", "body"]),
    "a node that repeats itself": (["a b b c"], ["a", "b", "c"]),
    "one handler for several nodes": (["a b c", "a err", "b err"], ["a", "└─ b", "   c", "err"]),
    "nothing but cycles": (["a b a", "b c b", "c a"], ["a", "b", "c"]),
}


@pytest.mark.parametrize(("ways", "lines"), SHAPES.values(), ids=SHAPES)
def test_a_shape_is_read_from_its_edges(ways: list[str], lines: list[str]) -> None:
    assert drawn(defined(*ways)) == lines


def test_a_terminal_without_strokes_gets_letters() -> None:
    assert drawn(defined("a b c", "b d", "a e"), is_ascii=True) == ["a", "|- b", "|  |- c", "|  `- d", "`- e"]


@pytest.mark.parametrize(
    ("document", "ids"),
    [
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
    ],
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
