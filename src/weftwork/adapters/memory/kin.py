"""Runs in memory that started runs: what their children have said, and which of them are to end.

A run holds its children, by number; what is kept here goes by the number of a child, too.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from weftwork.adapters.memory.run import MemoryRun
from weftwork.ports.eventlog import Batch, Cascade, Instruction, News, Order
from weftwork.protocol.run import Parent, RunKey

T = TypeVar("T")


class Kin:
    """Of all runs of the store; `find` gives a run that is there."""

    def __init__(self, find: Callable[[RunKey], MemoryRun | None]) -> None:
        self._find = find
        self._trees: Counter[RunKey] = Counter()
        self._news: dict[int, News] = {}
        self._orders: dict[int, Instruction] = {}

    def join(self, run: MemoryRun, parent: Parent) -> None:
        """Note a new run as the child that it says it is."""
        self._trees[RunKey(run.key.partition, parent.root)] += 1
        run.parent = self._find(RunKey(run.key.partition, parent.run_id))
        if run.parent is not None:
            run.parent.children[run.number] = run

    def leave(self, run: MemoryRun) -> None:
        """A run is deleted."""
        if run.kinship is not None:
            self._trees[RunKey(run.key.partition, run.kinship.root)] -= 1
        if run.parent is not None:
            run.parent.children.pop(run.number)

    def reach(self, run: MemoryRun, batch: Batch) -> None:
        """What a run, with this batch, has to say to its kin; and nobody speaks to one that has ended."""
        for order in batch.orders:
            self._order(run, order)
        if batch.cascade is not None:
            self._cascade(run, batch.cascade)
        parent = run.parent
        if batch.tells is not None and parent is not None and not parent.ended:
            self._news[run.number] = News(parent.key, batch.tells)
        if run.ended:
            self._orders.pop(run.number, None)
            for number in run.children:
                self._news.pop(number, None)

    def is_unheard(self, run: MemoryRun) -> bool:
        return run.number in self._news

    def hear(self, run: MemoryRun, sequence: int) -> None:
        """Forget what a child has said up to there."""
        kept = self._news.get(run.number)
        if kept is not None and kept.told.sequence <= sequence:
            del self._news[run.number]

    def descendants(self, run: RunKey) -> int:
        return self._trees[run]

    def news(self, number: int, limit: int) -> list[News]:
        return _behind(self._news, number, limit)

    def instructions(self, number: int, limit: int) -> list[Instruction]:
        return _behind(self._orders, number, limit)

    def _order(self, run: MemoryRun, order: Order) -> None:
        child = self._find(RunKey(run.key.partition, order.child))
        if child is not None and child.number in run.children:
            self._tell_to_end(run, child, order.reason)

    def _cascade(self, run: MemoryRun, cascade: Cascade) -> None:
        for child in run.children.values():
            kinship = child.kinship
            if kinship is not None and (kinship.awaited if cascade.awaited else kinship.cascade):
                self._tell_to_end(run, child, cascade.reason)

    def _tell_to_end(self, run: MemoryRun, child: MemoryRun, reason: str) -> None:
        if not child.ended:
            self._orders.setdefault(child.number, Instruction(child.key, run.key.run_id, reason))


def _behind(kept: dict[int, T], number: int, limit: int) -> list[T]:
    found = heapq.nsmallest(max(limit, 0), (each for each in kept if each > number))
    return [kept[each] for each in found]
