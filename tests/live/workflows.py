"""Workflow definitions for tests."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any


def delays(workflow_id: str, *lengths: int) -> dict[str, Any]:
    """A chain of waiting nodes n0, n1, ... of so many milliseconds."""
    nodes = [
        {"id": f"n{at}", "typeId": "core.delay", "name": f"Wait {at}", "position": {"x": 0, "y": 0}}
        | {"config": {"delayMs": length}, "inputs": {}}
        for at, length in enumerate(lengths)
    ]
    edges = _chain(nodes)
    rest = {"triggers": [], "variables": [], "metadata": {}, "settings": {}}
    return {"id": workflow_id, "name": workflow_id, "version": "1.0", "nodes": nodes, "edges": edges, **rest}


def echoes(workflow_id: str, count: int) -> dict[str, Any]:
    """A chain of nodes e000, e001, ... that each put the input `text` into the log."""
    wanted = {"text": {"type": "variable", "variableName": "text"}}
    nodes = [
        {"id": f"e{at:03}", "typeId": "core.identity", "name": f"Echo {at}", "position": {"x": 0, "y": 0}}
        | {"config": {}, "inputs": wanted}
        for at in range(count)
    ]
    edges = _chain(nodes)
    rest = {"triggers": [], "variables": [{"name": "text", "type": "string"}], "metadata": {}, "settings": {}}
    return {"id": workflow_id, "name": workflow_id, "version": "1.0", "nodes": nodes, "edges": edges, **rest}


def _chain(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": f"{a['id']}-{b['id']}", "sourceNodeId": a["id"], "targetNodeId": b["id"]} for a, b in pairwise(nodes)
    ]


def write_workflows(folder: Path, *documents: dict[str, Any]) -> Path:
    """A folder for --workflows."""
    folder.mkdir(parents=True, exist_ok=True)
    for document in documents:
        (folder / f"{document['id']}.json").write_text(json.dumps(document), "utf-8")
    return folder
