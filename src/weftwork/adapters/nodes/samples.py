"""Node types of published workflows: one for example programs, and two that no host can run."""

from typing import Final

from weftwork.adapters.nodes.schemas import fixed_ports, instant_node, typed
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeType
from weftwork.protocol.workflow.node_types import NEVER_PROVIDED

NO_SUCH_CAPABILITY: Final = "nonexistent-capability-9b3f"
"""A capability that the specification does not define, so that no model can have it."""


@instant_node(
    "conformance.requiresMissing",
    "Requires a runtime capability that no host provides.",
    requires=(NEVER_PROVIDED,),
    config=typed("object", "The node ignores its config."),
    notes="""
For conformance tests: the node always fails with `capability_not_provided`.
""",
    example_config={},
)
def _never_runs(call: NodeCall) -> NodeOutcome:
    return Failed(
        "host_invariant_broken", "The node ran although the host does not provide a capability that the node requires."
    )


@instant_node(
    "conformance.modelCapability.insufficient",
    "Requires a model capability that no model has.",
    required_model_capabilities=(NO_SUCH_CAPABILITY,),
    notes="""
For conformance tests: the node always fails with `capability_not_provided`, after the event
`model.capability.insufficient`. See [Model capabilities](../model-capabilities.md).
""",
    example_config={},
)
def _lacks_its_model(call: NodeCall) -> NodeOutcome:
    return Failed("host_invariant_broken", "The node ran although no model has a capability that the node requires.")


@instant_node(
    "local.sample.demo.uppercase",
    "Converts texts to uppercase.",
    outputs=fixed_ports(output=typed("string", "The text in uppercase.")),
    config=typed("object", "The node ignores its config."),
    notes="""
A sample node for experiments. It returns each input that is a text as an output of the same name. `output` is the
converted input `input`, else `text`, else the first text input by name. Without any text it is empty.
""",
    example_config={},
    example_inputs={"text": {"type": "static", "value": "hello"}},
)
def _uppercase(call: NodeCall) -> NodeOutcome:
    """Accepts a text on any input, because the example programs do not define the name of the input."""
    texts = {name: value.upper() for name, value in call.inputs.items() if isinstance(value, str)}
    first = next((name for name in ("input", "text", *sorted(texts)) if name in texts), None)
    return Completed({**texts, "output": "" if first is None else texts[first]})


SAMPLE_NODES: Final[tuple[NodeType, ...]] = (_uppercase, _never_runs, _lacks_its_model)
