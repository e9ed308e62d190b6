"""A workflow drawn as a Mermaid flowchart.

Nothing that a definition names becomes syntax: nodes are called n0, n1 and so on, and in the quoted labels every
character other than letters, digits and a few harmless marks is a numeric entity.
"""

import re
from typing import Any, Final

from weftwork.cli.console.text import plain
from weftwork.cli.render.drawing.layout import Sketch, edge_words, port_words, sketch

_HARMFUL: Final = re.compile(r"[^\w .,:/-]")
_BREAK: Final = "<br/>"


def as_mermaid(document: dict[str, Any]) -> str:
    """The flowchart; `document` fits the schema of a definition. Every line ends with a newline."""
    drawn = sketch(document)
    names = {node_id: f"n{at}" for at, node_id in enumerate(drawn.order)}
    lines = ["flowchart TD", f"%% {quoted(plain(document['id']))} {quoted(plain(document['version']))}"]
    for node_id in drawn.order:
        lines.append(f"    {names[node_id]}{_shape(drawn, node_id)}")
    for line in drawn.forward:
        said = edge_words(line, drawn.rules.get(line.target, "all_success"))
        lines.append(f"    {names[line.source]} -->{_said(said)} {names[line.target]}")
    for line in drawn.back:
        lines.append(f"    {names[line.source]} -.->{_said(['again', *edge_words(line)])} {names[line.target]}")
    disabled = [names[node_id] for node_id in drawn.order if drawn.nodes[node_id].get("disabled")]
    if disabled:
        lines += ["    classDef disabled stroke-dasharray:5 5,opacity:0.5", f"    class {','.join(disabled)} disabled"]
    return "".join(f"{line}\n" for line in lines)


def quoted(text: str) -> str:
    """Text for a label in double quotes. Letters of any script stay; `#` starts an entity and is one itself."""
    return _HARMFUL.sub(lambda match: f"#{ord(match[0])};", text)


def _shape(drawn: Sketch, node_id: str) -> str:
    """A box; a double box for a node whose outputs are the run's."""
    node = drawn.nodes[node_id]
    said = [] if node["name"] == node_id else [plain(node["name"])]
    said += [f"{plain(node_id)}: {plain(node['typeId'])}", *port_words(node)]
    if node_id in drawn.rules:
        said.append(f"when {drawn.rules[node_id]}")
    label = _BREAK.join(map(quoted, said))
    return f'[["{label}"]]' if node.get("outputRole") == "primary" else f'["{label}"]'


def _said(words: list[str]) -> str:
    return f'|"{_BREAK.join(map(quoted, words))}"|' if words else ""
