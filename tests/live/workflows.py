"""Workflow definitions for tests."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.harness.definitions import edge, node, variable, workflow


def chain(workflow_id: str, nodes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    edges = [edge(one["id"], other["id"]) for one, other in pairwise(nodes)]
    return workflow(nodes, edges, id=workflow_id, name=workflow_id, version="1.0", **more)


def delays(workflow_id: str, *lengths: int) -> dict[str, Any]:
    """A chain of waiting nodes n0, n1, ... of so many milliseconds."""
    return chain(
        workflow_id,
        [node(f"n{at}", "core.delay", config={"delayMs": length}) for at, length in enumerate(lengths)],
    )


def echoes(workflow_id: str, count: int) -> dict[str, Any]:
    """A chain of nodes e000, e001, ... that each put the input `text` into the log."""
    wanted = {"text": {"type": "variable", "variableName": "text"}}
    nodes = [node(f"e{at:03}", "core.identity", inputs=wanted) for at in range(count)]
    return chain(workflow_id, nodes, variables=[variable("text")])


def write_workflows(folder: Path, *documents: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for document in documents:
        (folder / f"{document['id']}.json").write_text(json.dumps(document), "utf-8")
    return folder
