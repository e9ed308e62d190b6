"""Workflow definitions for tests: the least document that passes, made of its parts."""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings

from weftwork.protocol.run.header import Owner, RunHeader
from weftwork.protocol.workflow.plan import Plan, plan_workflow
from weftwork.protocol.workflow.validation import parse_workflow
from weftwork.wiring.node_types import builtin_node_types, declarations_by_type

NODE_TYPES = builtin_node_types()
TYPES = declarations_by_type(NODE_TYPES)


FULL = os.environ.get("WEFTWORK_PROOF") == "full"
"""Whether the full proof is asked for, which takes hours."""


def example_count(count: int, full: int | None = None) -> int:
    """How many cases a property tries: so many, and many more in the full proof."""
    return (full or count * 20) if FULL else count


def for_all(count: int, *strategies: Any, full: int | None = None, **named: Any) -> Callable[[Callable[..., Any]], Any]:
    """A property of all values of these strategies, tried for `example_count` of them, however long each takes."""

    def decorate(test: Callable[..., Any]) -> Any:
        return settings(max_examples=example_count(count, full), deadline=None)(given(*strategies, **named)(test))

    return decorate


def node(node_id: str, type_id: str = "core.noop", **more: Any) -> dict[str, Any]:
    place = {"x": 0, "y": 0}
    return {"id": node_id, "typeId": type_id, "name": node_id, "position": place, "config": {}, "inputs": {}, **more}


def edge(source: str, target: str, rule: str | None = None, **more: Any) -> dict[str, Any]:
    document = {"id": f"{source}-{target}", "sourceNodeId": source, "targetNodeId": target, **more}
    return document if rule is None else {**document, "triggerRule": rule}


def variable(name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def workflow(
    nodes: list[dict[str, Any]],
    edges: list[dict[str, Any]] | None = None,
    variables: list[dict[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": "sample",
        "name": "Sample",
        "version": "1.0.0",
        "nodes": nodes,
        "edges": edges or [],
        "triggers": [],
        "variables": variables or [],
        "metadata": {},
        "settings": {},
    }
    return {**document, **more}


def plan_of(document: dict[str, Any]) -> Plan:
    parsed, violations = parse_workflow(document, TYPES)
    assert parsed is not None, violations
    plan, violations = plan_workflow(parsed)
    assert plan is not None, violations
    return plan


def header_of(plan: Plan, **more: Any) -> RunHeader:
    fields: dict[str, Any] = {
        "run_id": "run-1",
        "partition": "live:acme",
        "owner": Owner("acme", "key_1"),
        "workflow_id": plan.workflow.id,
        "definition": plan.workflow.digest,
        "created_at": 1_000,
    }
    return RunHeader(**{**fields, **more})
