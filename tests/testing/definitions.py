"""Workflows for the kit's own tests."""

from itertools import pairwise
from typing import Any

from tests.harness.definitions import edge, node, workflow


def sequence(*type_ids: str, **settings: Any) -> dict[str, Any]:
    """Nodes a, b, c in a row; `settings` are those of every node."""
    ids = "abcdefgh"[: len(type_ids)]
    nodes = [node(name, type_id, settings=settings) for name, type_id in zip(ids, type_ids, strict=True)]
    return workflow(nodes, [edge(*pair) for pair in pairwise(ids)])


def delay_workflow(milliseconds: int) -> dict[str, Any]:
    """A workflow that only waits."""
    return workflow([node("a", "core.delay", inputs={"delayMs": {"type": "static", "value": milliseconds}})])
