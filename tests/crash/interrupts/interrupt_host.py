"""Hosts whose runs wait for people: workflows that ask in every way, and the points that are passed while they do."""

from typing import Any

from tests.crash.restartable_host import RestartableHost
from tests.crash.workflows import REPEAT_UNTIL_ENOUGH
from tests.harness.definitions import edge, node
from tests.live.later_host import HOUR_MS
from tests.live.steering import QUESTION, flow, interrupt_node
from tests.live.tokens import approval_node, approval_workflow

QUORUM = 3
SHORT_MS = 400
SHORT_REMINDERS = [100, 250]
LONG_HOURS = 2
LONG_MS = LONG_HOURS * HOUR_MS
LONG_REMINDERS = [50, HOUR_MS]
"""So long that only the first reminder is due before a host of a later time is started."""

WORKFLOWS: list[dict[str, Any]] = [
    flow("ask", [interrupt_node("gate"), node("last", "core.identity")], [edge("gate", "last", targetInput="given")]),
    approval_workflow("vote", requiredApprovals=QUORUM),
    flow(
        "turns",
        [node("gate", "core.interrupt", config=QUESTION)],
        [
            edge(
                "gate", "gate", condition={**REPEAT_UNTIL_ENOUGH, "expression": "nodes.gate.outputs.output != 'enough'"}
            )
        ],
    ),
    approval_workflow("due", timeoutMs=SHORT_MS, remindAfterMs=SHORT_REMINDERS),
    approval_workflow("late", timeoutMs=LONG_MS, remindAfterMs=LONG_REMINDERS),
    flow("drop", [approval_node(), interrupt_node("other")]),
]
"""A question; a quorum; questions until it is enough; one that nobody answers, soon or later; one that is cancelled."""


class InterruptHost(RestartableHost):
    workflows = WORKFLOWS
