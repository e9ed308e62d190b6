"""The Mermaid picture: only our own syntax, whatever the definition calls things."""

import re
from typing import Any

import pytest
from hypothesis import given, settings

from tests.cli.render.drawn_definitions import NASTY, any_definition, plain_definition
from tests.harness.definitions import edge, example_count, node, workflow
from weftwork.cli.render import drawing
from weftwork.cli.render.drawing import draw_mermaid, quote_label
from weftwork.cli.render.layout import lay_out

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
