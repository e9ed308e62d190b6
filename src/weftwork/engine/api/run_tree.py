"""Family trees of runs for callers: the ancestry of a run, and the tree below it."""

import asyncio
from typing import Any, Final

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.protocol.run.child_runs import ancestry, tree_entry
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun, has_children

MAX_CONCURRENT_WALKS: Final = 4
"""Trees that are walked at the same time; each may ask the store a thousand times."""


class RunTrees:
    """Raises ClientFault or StoreUnavailable."""

    def __init__(self, runtime: Runtime, executor: Executor, host_id: str) -> None:
        self._child_runs = runtime.child_runs
        self._executor = executor
        self._host_id = host_id
        self._walks = asyncio.Semaphore(MAX_CONCURRENT_WALKS)

    async def ancestry(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """Which run started this one."""
        return ancestry((await self._read_run(principal, run_id)).header, self._host_id)

    async def tree(self, principal: Principal, run_id: str, limit: int) -> dict[str, Any]:
        """kin-12: a run and at most so many of those below it, level by level, as they stand now."""
        found = await self._read_run(principal, run_id)
        async with self._walks:
            rows, truncated = await _TreeWalk(self._child_runs, found, limit).rows()
        return {"runId": run_id, "runs": rows, "truncated": truncated}

    async def _read_run(self, principal: Principal, run_id: str) -> StoredRun:
        return require_run(await self._executor.read_run(principal.run(run_id)))


class _TreeWalk:
    """Level by level, so that what is left out of a large tree is far from its top."""

    def __init__(self, child_runs: ChildRuns, top: StoredRun, limit: int) -> None:
        self._child_runs = child_runs
        self._root = top
        self._limit = limit
        self._found: list[tuple[StoredRun, int]] = [(top, 0)]

    async def rows(self) -> tuple[list[dict[str, Any]], bool]:
        """The runs, and whether there are more of them."""
        truncated = has_children(self._root) and await self._walk()
        return [tree_entry(run, depth) for run, depth in self._found], truncated

    async def _walk(self) -> bool:
        """Look below each run that was found; True when the limit kept one out."""
        looked = level = 0
        while looked < len(self._found):
            run, depth = self._found[looked]
            if depth > level:
                if await self._is_complete():
                    return False
                level = depth
            if not await self._add_children(run.header.key, depth + 1):
                return True
            looked += 1
        return False

    async def _is_complete(self) -> bool:
        """Spares a look below each of a thousand leaves, where one number tells that there is nothing."""
        return (
            self._root.header.parent is None
            and await self._child_runs.count_descendants(self._root.header.key) == len(self._found) - 1
        )

    async def _add_children(self, run: RunKey, depth: int) -> bool:
        """Take its children; False when there was no room for all."""
        room = self._limit - len(self._found)
        children = await self._child_runs.children(run, None, room + 1)
        self._found += [(each, depth) for each in children[:room]]
        return len(children) <= room
