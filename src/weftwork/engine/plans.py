"""Plans that were used lately, so that the next run of a workflow does not make its plan again."""

from collections import OrderedDict
from typing import Final

from weftwork.protocol.graph import Plan

MOST: Final = 256
MOST_BYTES: Final = 8 * 2**20
"""Of their definitions in JSON; in memory a plan takes some ten times as much."""


class Plans:
    """By digest, bounded in number and size. What was not asked for the longest time goes first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Plan, int]] = OrderedDict()
        self._bytes = 0

    def get(self, digest: str) -> Plan | None:
        kept = self._kept.get(digest)
        if kept is None:
            return None
        self._kept.move_to_end(digest)
        return kept[0]

    def keep(self, plan: Plan, size: int) -> None:
        """`size` is that of the definition in JSON. The plan kept last stays, however large it is."""
        _, before = self._kept.pop(plan.workflow.digest, (plan, 0))
        self._kept[plan.workflow.digest] = plan, size
        self._bytes += size - before
        while len(self._kept) > 1 and (len(self._kept) > MOST or self._bytes > MOST_BYTES):
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
