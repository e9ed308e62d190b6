"""Definitions of every shape for the tests of pictures: the schema is kept, nothing else is."""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.cases import each_case
from tests.harness.definitions import edge, example_count, node, variable, workflow
from weftwork.cli.console.text import display_width, printable
from weftwork.cli.render import drawing, layout
from weftwork.cli.render.drawing import MAX_LANES, NODE_MARK, draw_mermaid, draw_text, quote_label
from weftwork.cli.render.layout import lay_out
from weftwork.protocol.json import schema

NASTY = [
    "\x1b[2J\x1b[31mred",
    "a\nb",
    "\r",
    "\x9b31m",
    "\u202egnp.exe",
    "\u2028",
    '"] --> n9',
    '"]\n    click n0 "javascript:1"',
    "%%{init: {}}%%",
    "`md`",
    "#quot;",
    "end",
    "<script>",
    "開始",
    "e\u0301",
    "\u3000",
]
TEXTS = st.text(min_size=1, max_size=12) | st.sampled_from(NASTY)
RULES = st.sampled_from([None, "all_success", "any_success", "any_failed"])
PORTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("variable"), "variableName": TEXTS}),
    st.fixed_dictionaries({"type": st.just("connection"), "nodeId": TEXTS, "outputKey": TEXTS}),
    st.fixed_dictionaries({"type": st.just("expression"), "expression": TEXTS}),
    st.fixed_dictionaries({"type": st.just("static"), "value": st.none() | st.floats(allow_nan=False) | TEXTS}),
)
CONDITIONS = st.one_of(
    st.fixed_dictionaries({"type": st.just("expression"), "expression": TEXTS}),
    st.fixed_dictionaries({"type": st.sampled_from(["equals", "regex"]), "left": TEXTS, "right": TEXTS}),
    st.just({}),
)
NODE_EXTRAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"inputs": st.dictionaries(TEXTS, PORTS, max_size=8)},
    optional={"disabled": st.booleans(), "outputRole": st.sampled_from(["primary", "secondary"]), "name": TEXTS},
)
EDGE_EXTRAS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={"sourceOutput": TEXTS, "targetInput": TEXTS, "condition": CONDITIONS, "label": TEXTS}
)


@st.composite
def any_definition(draw: st.DrawFn) -> dict[str, Any]:
    """A definition with names, ports, conditions and edges of every kind; some edges lead nowhere."""
    ids = draw(st.lists(TEXTS, min_size=1, max_size=8))
    nodes = [node(node_id, **draw(NODE_EXTRAS)) for node_id in ids]
    ends = st.sampled_from(ids) | TEXTS
    edges = [
        edge(draw(ends), draw(ends), draw(RULES), id=draw(TEXTS), **draw(EDGE_EXTRAS))
        for _ in range(draw(st.integers(0, 12)))
    ]
    variables = [variable(name, sensitive=True) for name in draw(st.lists(TEXTS, max_size=3))]
    return workflow(nodes, edges, variables, name=draw(TEXTS), version=draw(TEXTS))


@st.composite
def plain_definition(draw: st.DrawFn, most: int = 14, loops: bool = True) -> dict[str, Any]:
    """A definition of plain nodes a0, a1 and so on, and of plain edges."""
    count = draw(st.integers(1, most))
    at = st.integers(0, count - 1)
    pairs = draw(st.sets(st.tuples(at, at), max_size=3 * count))
    kept = sorted(pairs) if loops else sorted((a, b) for a, b in pairs if a < b)
    order = draw(st.permutations(kept))
    return workflow([node(f"a{each}") for each in range(count)], [edge(f"a{a}", f"a{b}") for a, b in order])


DOWN = frozenset("├┤┼╮╭┬")
RIGHT = frozenset("├┼╭┬╰┴─│")
LEFT = frozenset("┤┼╮┬╯┴─│")


class Picture:
    """A reader of pictures: follows the lines with a finger, and knows nothing of how they were drawn."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n\n", 1)[1].splitlines()
        edge = max(line.index(NODE_MARK) for line in lines if NODE_MARK in line) + 1
        edge = max(edge, *(len(line) for line in lines if not re.search(r"\w", line)), 0) if lines else edge
        self.left = [line[:edge].ljust(edge) for line in lines]
        self.right = [line[edge:].strip() for line in lines]
        self.rows = {at: self.right[at].split()[0] for at, left in enumerate(self.left) if NODE_MARK in left}

    def edges(self) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for at, name in self.rows.items():
            below = next((row for row in sorted(self.rows) if row > at), len(self.left))
            found |= {(name, self._fall(below, column)) for column in self._leaves(at, below)}
            words = self.right[at + 1 : below]
            found |= {(name, each.removeprefix("→ ")) for each in words if each.startswith("→ ")}
        return found

    def _leaves(self, at: int, below: int) -> set[int]:
        """The columns in which lines from the node of a row arrive at the row of the next node."""
        column = self.left[at].index(NODE_MARK)
        if below - at == 1 or self.right[below - 1]:
            straight = below - at > 1 and self.left[below - 1][column] == "│"
            return {column} if straight else set()
        links = self.left[below - 1]
        found = {column} if links[column] in DOWN | {"│"} else set()
        for step, onward in ((1, RIGHT), (-1, LEFT)):
            here = column
            if links[here] == "│":
                break
            while links[here] in onward:
                here += step
                if links[here] in DOWN:
                    found.add(here)
        return found

    def _fall(self, row: int, column: int) -> str:
        while self.left[row][column] != NODE_MARK:
            assert self.left[row][column] in DOWN | {"│"}, "a line ends in the air"
            row += 1
        return self.rows[row]


def pairs(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(line.source, line.target) for line in lay_out(document).forward}


@settings(max_examples=example_count(100), deadline=None)
@given(plain_definition())
def test_the_lines_lead_from_node_to_node_as_the_edges_do(document: dict[str, Any]) -> None:
    assert Picture(draw_text(document)).edges() == pairs(document)


@settings(max_examples=example_count(10), deadline=None)
@given(plain_definition(most=2 * MAX_LANES, loops=False))
def test_large_pictures_say_in_words_what_has_no_room(document: dict[str, Any]) -> None:
    assert Picture(draw_text(document)).edges() == pairs(document)


def test_a_crowd_is_named_on_both_sides() -> None:
    count = MAX_LANES + 6
    ids = [f"b{at}" for at in range(count)]
    star = workflow([node("a"), *map(node, ids)], [edge("a", each) for each in ids])
    text = draw_text(star)
    assert Picture(text).edges() == {("a", each) for each in ids}
    assert text.count("→ ") == text.count("← a") == 6
    assert max(map(len, text.splitlines())) < 80


def test_a_line_that_is_drawn_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    document = workflow(
        [node(each) for each in "abcd"], [edge("a", "b"), edge("a", "c"), edge("a", "d"), edge("b", "d")]
    )
    assert Picture(draw_text(document)).edges() == pairs(document)
    honest = drawing.Lanes._links
    monkeypatch.setattr(drawing.Lanes, "_links", lambda *given: honest(*given).replace("┬", "─"))
    assert Picture(draw_text(document)).edges() != pairs(document)


def is_acyclic(edges: set[tuple[str, str]], order: tuple[str, ...]) -> bool:
    place = {node_id: at for at, node_id in enumerate(order)}
    return all(place[source] < place[target] for source, target in edges)


def reference_back_edges(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Depth first, the recursive way."""
    ids = [each["id"] for each in document["nodes"]]
    ends = [(each["sourceNodeId"], each["targetNodeId"]) for each in document["edges"]]
    entries = [each for each in ids if all(target != each for _, target in ends)]
    state: dict[str, str] = {}
    back: set[tuple[str, str]] = set()

    def visit(here: str) -> None:
        state[here] = "open"
        for source, target in ends:
            if source == here and state.get(target) == "open":
                back.add((source, target))
            elif source == here and target not in state:
                visit(target)
        state[here] = "done"

    for start in [*entries, *ids]:
        if start not in state:
            visit(start)
    return back


@settings(max_examples=example_count(60), deadline=None)
@given(plain_definition())
def test_the_order_is_topological_once_the_loops_are_cut(document: dict[str, Any]) -> None:
    drawn = lay_out(document)
    assert sorted(drawn.order) == sorted(each["id"] for each in document["nodes"])
    assert is_acyclic(pairs(document), drawn.order)
    back = {(line.source, line.target) for line in drawn.back}
    assert back == reference_back_edges(document)
    assert len(drawn.forward) + len(drawn.back) == len(document["edges"])


def is_safe(document: dict[str, Any]) -> bool:
    """Whether there are as many lines as were meant, and nothing in them moves a cursor or turns the text around."""
    drawn = lay_out(document)
    meant = len(drawing._head(drawn)) + len(list(drawing._rows(drawn))) + len(drawn.dangling)
    lines = draw_text(document).split("\n")
    odd = [each for line in lines for each in line if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")]
    return len(lines) == meant + 1 and not odd


@settings(max_examples=example_count(60), deadline=None)
@given(any_definition())
def test_no_name_moves_the_terminal(document: dict[str, Any]) -> None:
    assert schema.check("workflow-definition", document) == []
    assert is_safe(document)


@pytest.mark.parametrize("name", [name for name in NASTY if not name.strip("\u3000").isprintable()])
def test_without_the_guard_a_name_would_move_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = workflow([node(name)])
    assert is_safe(document)
    for module in (drawing, layout):
        monkeypatch.setattr(module, "printable", lambda text, most=0: text)
    assert not is_safe(document)


@given(st.text(max_size=80))
def test_plain_text_is_short_and_printable(text: str) -> None:
    assert printable(text).isprintable()
    if text.isprintable() and len(text) <= 60:
        assert printable(text) == text


def test_what_is_cut_is_marked() -> None:
    assert printable("x" * 61) == "x" * 59 + "…"
    assert printable("a\x1bb\u202ec\u3000d") == "a\\u{1b}b\\u{202e}c d"


@each_case("text, columns", ("abc", 3), ("開始", 4), ("e\u0301", 1), ("", 0))
def test_width_counts_columns(text: str, columns: int) -> None:
    assert display_width(text) == columns


def test_a_picture_as_a_person_sees_it() -> None:
    document = workflow(
        [
            node("start", name="開始"),
            node("fetch", inputs={"url": {"type": "variable", "variableName": "url"}}),
            node("decide", "core.switch"),
            node("yes"),
            node("no", disabled=True),
            node("join", outputRole="primary"),
            node("rescue"),
        ],
        [
            edge("start", "fetch"),
            edge("fetch", "decide"),
            edge("decide", "yes", sourceOutput="yes"),
            edge("decide", "no", condition={"type": "equals", "left": "variables.x", "right": "bad"}),
            edge("yes", "join", "none_failed"),
            edge("no", "join", "none_failed"),
            edge("join", "fetch"),
            edge("fetch", "rescue", "any_failed"),
            edge("join", "gone"),
        ],
        [variable("url", required=True)],
        settings={"maxLoopbackIterations": 3},
    )
    assert draw_text(document) == PICTURE


PICTURE = """\
sample  Sample  version 1.0.0
7 nodes, 8 edges, 1 loop
variables: $url string required

●      start   core.noop    "開始"
│
●      fetch   core.noop    [loop start]
│        url ← $url
├─╮
● │    decide  core.switch
├─│─╮
● │ │  yes     core.noop
│ │ │    ← decide, on yes
│ │ ●  no      core.noop    [disabled]
│ │ │    ← decide, if variables.x == "bad"
├─│─╯
● │    join    core.noop    [primary output]  [when none_failed]
  │      ↺ back to fetch, up to 3 times
  ●    rescue  core.noop    [when any_failed]
not drawn: join → gone (no such node)
"""


LABEL = r"(?:[\w .,:/-]|#\d+;|<br/>)+"
NODE = re.compile(rf'    n(\d+)(?:\["{LABEL}"\]|\[\["{LABEL}"\]\])')
EDGE = re.compile(rf'    n(\d+) (-->|-\.->)(?:\|"{LABEL}"\|)? n(\d+)')
STYLE = re.compile(r"    classDef disabled stroke-dasharray:5 5,opacity:0\.5|    class n\d+(?:,n\d+)* disabled")
HEAD = re.compile(rf"flowchart TD\n%% {LABEL}")


def is_ours(document: dict[str, Any]) -> bool:
    """Whether the text holds the nodes and edges of the document, and nothing beside."""
    drawn = lay_out(document)
    lines = draw_mermaid(document).split("\n")
    head, body = "\n".join(lines[:2]), lines[2:-1]
    nodes = [match for line in body if (match := NODE.fullmatch(line))]
    edges = [match for line in body if (match := EDGE.fullmatch(line))]
    others = [line for line in body if not NODE.fullmatch(line) and not EDGE.fullmatch(line)]
    found = [(drawn.order[int(match[1])], match[2], drawn.order[int(match[3])]) for match in edges]
    wanted = [(line.source, "-->", line.target) for line in drawn.forward]
    wanted += [(line.source, "-.->", line.target) for line in drawn.back]
    return (
        HEAD.fullmatch(head) is not None
        and [int(match[1]) for match in nodes] == list(range(len(drawn.order)))
        and found == wanted
        and all(STYLE.fullmatch(line) for line in others)
    )


@settings(max_examples=example_count(60), deadline=None)
@given(any_definition())
def test_no_name_gets_out_of_its_label(document: dict[str, Any]) -> None:
    assert is_ours(document)


@settings(max_examples=example_count(50), deadline=None)
@given(plain_definition())
def test_every_node_and_edge_is_there(document: dict[str, Any]) -> None:
    assert is_ours(document)


BREAKING = [name for name in NASTY if re.search(r'["%`#<]', name)]


@pytest.mark.parametrize("name", BREAKING)
def test_without_the_guard_a_name_would_get_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = workflow([node("a", name=name)])
    assert is_ours(document)
    monkeypatch.setattr(drawing, "quote_label", lambda text: text)
    assert not is_ours(document)


def test_entities_give_the_text_back() -> None:
    text = 'x > 3 && "y" | #35; <b>`%{}[]()'
    spelled = quote_label(text)
    assert re.sub(r"#(\d+);", lambda match: chr(int(match[1])), spelled) == text
    assert not re.search(r'["`%<>|{}\[\]()]', spelled)


def test_the_flowchart_of_a_loop() -> None:
    document = workflow(
        [node("draft", name="Draft"), node("review", disabled=True), node("done", outputRole="primary")],
        [
            edge("draft", "review"),
            edge("review", "draft", sourceOutput="again"),
            edge("review", "done", "none_failed", condition={"type": "expression", "expression": "ok"}),
        ],
    )
    assert draw_mermaid(document) == FLOWCHART


FLOWCHART = """\
flowchart TD
%% sample 1.0.0
    n0["Draft<br/>draft: core.noop"]
    n1["review: core.noop"]
    n2[["done: core.noop<br/>when none_failed"]]
    n0 --> n1
    n1 -->|"if ok"| n2
    n1 -.->|"again<br/>on again"| n0
    classDef disabled stroke-dasharray:5 5,opacity:0.5
    class n1 disabled
"""
