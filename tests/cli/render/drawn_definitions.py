"""Definitions of every shape for the tests of pictures: the schema is kept, nothing else is."""

from typing import Any

from hypothesis import strategies as st

from tests.harness.definitions import edge, node, variable, workflow

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
