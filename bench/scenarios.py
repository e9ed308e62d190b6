"""The runs whose cost is counted, in instructions by bench.cost and in calls by bench.calls."""

import json
from pathlib import Path
from typing import Final

import msgspec

from bench.costs.graphs import chain, definition, node
from bench.subjects.host import MODULE, Host, weftwork

NODES: Final = "bench.costs.python_nodes"


class Scenario(msgspec.Struct, frozen=True):
    """`title` is for tables; `workflow` is the id under which the host knows the workflow."""

    title: str
    workflow: str


SCENARIOS: Final = {
    "one_step": Scenario("one step (core.noop)", "one-step"),
    "three_step": Scenario("three steps (core.noop)", "three-step"),
    "python_node": Scenario("one async node in Python", "python-node"),
    "model_turn": Scenario("one turn of the scripted model", "model-turn"),
}
_STEPS: Final = ("one_step", "three_step")


def host_of(names: list[str], folder: Path, module: str = MODULE, wrapper: tuple[str, ...] = ()) -> Host:
    """A host on an empty store that offers what these scenarios need and nothing else; not yet ready."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "script.json"
    script.write_text(json.dumps({"default": "It is done."}), "utf-8")
    return weftwork(
        folder,
        nodes=NODES if "python_node" in names else "",
        model_script=script if "model_turn" in names else None,
        module=module,
        wrapper=wrapper,
    )


def register(host: Host, names: list[str]) -> None:
    """Register the workflows that are not in bench/workflows."""
    documents = {
        "python_node": chain("python-node", 1, "bench.quick"),
        "model_turn": definition("model-turn", [node(0, "core.ai.callPrompt", {"prompt": "Do it."})], []),
    }
    for name in names:
        if name not in _STEPS:
            host.call("POST", "/v1/workflows", documents[name])
