"""Workflows around one node."""

from typing import Any


def single_node_workflow(
    workflow_id: str,
    type_id: str,
    inputs: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A workflow whose one node, `n`, is of that type and has these inputs."""
    node = {
        "id": "n",
        "typeId": type_id,
        "name": "Node",
        "position": {"x": 0, "y": 0},
        "config": config or {},
        "inputs": {name: {"type": "static", "value": value} for name, value in (inputs or {}).items()},
        "settings": settings or {},
    }
    rest = {"triggers": [], "variables": [], "metadata": {}, "settings": {}}
    return {"id": workflow_id, "name": workflow_id, "version": "1.0", "nodes": [node], "edges": [], **rest}
