"""Node types that published example programs use."""

from typing import Final

from weftwork.adapters.nodes.shape import fixed, notes
from weftwork.ports.nodes import Completed, InstantNode, NodeCall, NodeType, Outcome
from weftwork.protocol.node_type import NodeDeclaration


def _uppercase(call: NodeCall) -> Outcome:
    """The programs do not say by which port the text comes, nor that it always does."""
    texts = {name: value.upper() for name, value in call.inputs.items() if isinstance(value, str)}
    first = next((name for name in ("input", "text", *sorted(texts)) if name in texts), None)
    return Completed({**texts, "output": "" if first is None else texts[first]})


DEMO: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "local.sample.demo.uppercase",
            "Gives texts back in capital letters.",
            outputs=fixed({"output": {"type": "string", "description": "The text in capital letters."}}),
            config={"type": "object", "description": "Not read."},
            notes=notes(
                """
For trying things out. Each input that is a text is given back under its name. `output` is the one of `input`, else of
`text`, else of the first by name; empty if there is no text at all.
""",
                "local.sample.demo.uppercase",
                {},
                {"text": {"type": "static", "value": "hello"}},
            ),
        ),
        _uppercase,
    ),
)
