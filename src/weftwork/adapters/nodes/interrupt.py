"""The node type core.interrupt: asks somebody outside and waits for the answer."""

from typing import Final

from weftwork.adapters.nodes.shape import anything, closed, fixed, name, notes, ports
from weftwork.ports.nodes import Completed, InstantNode, NodeCall, NodeType, Outcome, Suspended
from weftwork.protocol.interrupt import WIRED, Interrupt
from weftwork.protocol.node_type import NodeDeclaration

MAX_KEY: Final = 256


def _interrupt(call: NodeCall) -> Outcome:
    key = call.config.get("key") or default_key(call)
    if key in call.answers:
        return Completed({"output": call.answers[key]})
    data = call.config["data"]
    if "payload" in call.inputs:
        data = {**data, "payload": call.inputs["payload"]}
    return Suspended(Interrupt(call.config["kind"], key, data))


def default_key(call: NodeCall) -> str:
    """The id of the node, and once a loop has come round to it how often: each round asks anew."""
    return f"{call.node_id}:{call.visit}" if call.visit else call.node_id


INTERRUPT: Final[tuple[NodeType, ...]] = (
    InstantNode(
        NodeDeclaration(
            "core.interrupt",
            "Asks somebody outside and waits for the answer.",
            asks_under="key",
            inputs=ports({"payload": anything("Shown with the question; wins over the config.")}),
            outputs=fixed({"output": anything("The answer.")}),
            config=closed(
                {
                    "kind": {"type": "string", "enum": list(WIRED), "description": "What is asked for."},
                    "key": name("Names the question within the run, instead of the id of the node.", MAX_KEY),
                    "data": {
                        **closed(
                            {
                                "customKind": name("What kind of question it is; the author's own word."),
                                "payload": anything("Shown with the question."),
                            },
                            "customKind",
                        ),
                        "description": "The question.",
                    },
                },
                "kind",
                "data",
            ),
            notes=notes(
                """
The run waits until somebody answers; any JSON value is an answer. Without `key` the question is known by the id of the
node, in later rounds of a loop followed by `:1`, `:2` and so on. A question whose key was answered before in this run
is not asked again: it gets the recorded answer. So with a `key`, a question inside a loop is asked in the first round
only.
""",
                "core.interrupt",
                {
                    "kind": "custom",
                    "data": {"customKind": "choose-supplier", "payload": {"suppliers": ["north", "south"]}},
                },
            ),
        ),
        _interrupt,
    ),
)
