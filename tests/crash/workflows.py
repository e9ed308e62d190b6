"""The workflows of these proofs, and how long each of their nodes must take at least."""

from typing import Any

from tests.harness.definitions import edge, node
from tests.live import delays, echoes
from tests.live.child_workflows import sub_workflow_node
from tests.live.later_host import HOUR_MS
from tests.live.steering import QUESTION, flow, interrupt_node

LONG = HOUR_MS
"""A run that nobody cancels does not end within a test, unless a host of a later time is started."""
RETRY_HOURS = 4
"""How long `retries` waits before it tries again: so long at most, and half of it at least."""
BULK_NODES = 8

MIN_NODE_MS: dict[str, dict[str, int]] = {
    "quick": {"e000": 0, "e001": 0, "e002": 0},
    "waits": {"n0": 0, "n1": 30, "n2": 60, "n3": 0, "n4": 20},
    "fork": {"start": 0, "short": 40, "middle": 90, "far": 150, "join": 0},
    "long": {"n0": LONG},
    "bulk": {f"e{at:03}": 0 for at in range(BULK_NODES)},
    "delay": {"n0": 3000},
    "chain": {"n0": 0, "n1": 400, "n2": 1500, "n3": 300},
    "branches": {"start": 0, "short": 300, "middle": 1400, "far": 2500, "join": 0},
    "asks": {"ask": 0, "last": 0},
    "due": {"ask": 100},
    "retries": {"try": 0},
    "calls": {"call": 0},
    "drops": {"call": LONG},
    "effects": dict.fromkeys(("pay", "book", "post", "put", "map"), 0),
    "pays": {"pay": 0},
}
"""Workflow -> node -> milliseconds. A completed run has completed each of these nodes once and no other."""

WITH_EFFECTS = ("effects", "pays")


def fan_out(workflow_id: str, lengths: dict[str, int]) -> dict[str, Any]:
    """The first node, then all the inner ones at the same time, then the last."""
    first, *inner, last = lengths
    document = delays(workflow_id, *lengths.values())
    for each, name in zip(document["nodes"], lengths, strict=True):
        each["id"] = each["name"] = name
    pairs = [(first, name) for name in inner] + [(name, last) for name in inner]
    document["edges"] = [{"id": f"{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in pairs]
    return document


EXPIRING = {"timeoutMs": 100, "remindAfterMs": [40], "defaultValue": "nobody"}
REPEAT_UNTIL_ENOUGH = {"type": "expression", "expression": "nodes.ask.outputs.output != 'enough'"}
RETRY_DELAY = {"retryDelayMs": RETRY_HOURS * HOUR_MS, "retryMaxDelayMs": RETRY_HOURS * HOUR_MS}
INTERRUPT_WORKFLOWS = [
    flow("asks", [interrupt_node("ask"), node("last", "core.identity")], [edge("ask", "last", targetInput="given")]),
    flow("due", [node("ask", "core.interrupt", config={**QUESTION, **EXPIRING})]),
    flow(
        "rounds",
        [interrupt_node("ask")],
        [edge("ask", "ask", condition=REPEAT_UNTIL_ENOUGH)],
        settings={"maxLoopbackIterations": 100_000},
    ),
    flow("retries", [node("try", "core.fail", settings={"maxRetries": 1, **RETRY_DELAY})]),
]
"""One that asks once, one that nobody answers, one that asks until it has had enough, and one that is tried again."""
PARENT_WORKFLOWS = [
    flow("calls", [sub_workflow_node("call", "quick")]),
    flow("drops", [sub_workflow_node("call", "long")]),
]
"""One whose child ends, and one whose child has to be cancelled with it."""


CRASH_WORKFLOWS = [
    *(delays(name, *MIN_NODE_MS[name].values()) for name in ("waits", "long", "delay", "chain")),
    *(fan_out(name, MIN_NODE_MS[name]) for name in ("fork", "branches")),
    *INTERRUPT_WORKFLOWS,
    *PARENT_WORKFLOWS,
    echoes("quick", 3),
    echoes("bulk", BULK_NODES),
]
