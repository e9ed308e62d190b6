"""Node types that published workflows name: one of the example programs, and one that no host can run."""

from typing import Final

from weftwork.adapters.nodes.schemas import fixed_ports, instant_node, typed
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.protocol.workflow.node_types import NEVER_PROVIDED


@instant_node(
    "conformance.requiresMissing",
    "Requires a runtime capability that no host provides.",
    requires=(NEVER_PROVIDED,),
    config={"type": "object"},
)
def _never_runs(call: NodeCall) -> NodeOutcome:
    return Failed("host_invariant_broken", "A node ran although the host lacks a capability it requires.")


@instant_node(
    "local.sample.demo.uppercase",
    "Gives texts back in capital letters.",
    outputs=fixed_ports(output=typed("string", "The text in capital letters.")),
    config=typed("object", "Not read."),
    notes="""
For trying things out. Each input that is a text is given back under its name. `output` is the one of `input`, else of
`text`, else of the first by name; empty if there is no text at all.
""",
    example_config={},
    example_inputs={"text": {"type": "static", "value": "hello"}},
)
def _uppercase(call: NodeCall) -> NodeOutcome:
    """The programs do not say by which port the text comes, nor that it always does."""
    texts = {name: value.upper() for name, value in call.inputs.items() if isinstance(value, str)}
    first = next((name for name in ("input", "text", *sorted(texts)) if name in texts), None)
    return Completed({**texts, "output": "" if first is None else texts[first]})


SAMPLE_NODES: Final[tuple[NodeType, ...]] = (_uppercase, _never_runs)
