"""A workflow drawn as a Mermaid flowchart.

Nothing that a definition names becomes syntax: nodes are called n0, n1 and so on, and in the quoted labels every
character other than letters, digits and a few harmless marks is a numeric entity.
"""

import re
from typing import Any, Final

from weftwork.cli.console.text import printable
from weftwork.cli.render.drawing.layout import WorkflowLayout, edge_labels, lay_out, port_labels

_UNSAFE: Final = re.compile(r"[^\w .,:/-]")
_BREAK: Final = "<br/>"


def draw_mermaid(document: dict[str, Any]) -> str:
    """The flowchart; `document` fits the schema of a definition. Every line ends with a newline."""
    drawn = lay_out(document)
    names = {node_id: f"n{at}" for at, node_id in enumerate(drawn.order)}
    lines = [
        "flowchart TD",
        f"%% {quote_label(printable(document['id']))} {quote_label(printable(document['version']))}",
    ]
    for node_id in drawn.order:
        lines.append(f"    {names[node_id]}{_shape(drawn, node_id)}")
    for line in drawn.forward:
        said = edge_labels(line, drawn.rules.get(line.target, "all_success"))
        lines.append(f"    {names[line.source]} -->{_edge_label(said)} {names[line.target]}")
    for line in drawn.back:
        lines.append(f"    {names[line.source]} -.->{_edge_label(['again', *edge_labels(line)])} {names[line.target]}")
    disabled = [names[node_id] for node_id in drawn.order if drawn.nodes[node_id].get("disabled")]
    if disabled:
        lines += ["    classDef disabled stroke-dasharray:5 5,opacity:0.5", f"    class {','.join(disabled)} disabled"]
    return "".join(f"{line}\n" for line in lines)


def quote_label(text: str) -> str:
    """Text for a label in double quotes. Letters of any script stay; `#` starts an entity and is one itself."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", text)


def _shape(drawn: WorkflowLayout, node_id: str) -> str:
    """A box; a double box for a node whose outputs are the run's."""
    node = drawn.nodes[node_id]
    said = [] if node["name"] == node_id else [printable(node["name"])]
    said += [f"{printable(node_id)}: {printable(node['typeId'])}", *port_labels(node)]
    if node_id in drawn.rules:
        said.append(f"when {drawn.rules[node_id]}")
    label = _BREAK.join(map(quote_label, said))
    return f'[["{label}"]]' if node.get("outputRole") == "primary" else f'["{label}"]'


def _edge_label(words: list[str]) -> str:
    return f'|"{_BREAK.join(map(quote_label, words))}"|' if words else ""
