"""Trees of runs for callers: the run that started a run, and its descendants and forks."""

import asyncio
from typing import Any, Final

import msgspec

from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.child_runs import ChildRuns
from weftwork.ports.storage.forks import Forks
from weftwork.protocol.run.child_runs import ancestry, tree_entry
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.projection import StoredRun, has_children

MAX_CONCURRENT_WALKS: Final = 4
"""Trees that are read concurrently. Each may take a thousand reads of the store."""


class RunTrees(msgspec.Struct, eq=False):
    """Trees of runs for callers. Raises ClientFault or StoreUnavailable."""

    _runtime: Runtime
    _executor: Executor
    _host_id: str
    _walks: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_WALKS))

    async def ancestry(self, principal: Principal, run_id: str) -> dict[str, Any]:
        """The ancestry document: the run that started this one."""
        return ancestry((await self._read_run(principal, run_id)).header, self._host_id)

    async def tree(self, principal: Principal, run_id: str, limit: int) -> dict[str, Any]:
        """kin-12: a run with its descendants and forks, level by level, at most `limit` runs, with their status."""
        root = await self._read_run(principal, run_id)
        async with self._walks:
            walk = _TreeWalk(self._runtime.child_runs, self._runtime.forks, root, limit, [(root, 0)])
            truncated = await walk.reaches_limit()
        rows = [tree_entry(run, depth) for run, depth in walk.found]
        return {"runId": run_id, "runs": rows, "truncated": truncated}

    async def _read_run(self, principal: Principal, run_id: str) -> StoredRun:
        return require_run(await self._executor.read_run(principal.run(run_id)))


class _TreeWalk(msgspec.Struct, eq=False):
    """Reads a tree level by level, so that the runs that the limit leaves out are the deepest."""

    _child_runs: ChildRuns
    _forks: Forks
    _root: StoredRun
    _limit: int
    found: list[tuple[StoredRun, int]]

    async def reaches_limit(self) -> bool:
        """Read the children and the forks of each run of the tree; True if the limit left out a run."""
        has_all_descendants, level = not has_children(self._root), 0
        # The loop also visits the runs that it appends.
        for run, depth in self.found:
            if depth > level:
                level = depth
                has_all_descendants = has_all_descendants or await self._is_complete()
            is_leaf = has_all_descendants and self._is_descendant(run)
            if not is_leaf and not await self._add_children(run.header.key, depth + 1):
                return True
            if not self._add(await self._forks.forks_of(run.header.key, None, self._room + 1), depth + 1):
                return True
        return False

    async def _add_children(self, run: RunKey, depth: int) -> bool:
        """Add the children of a run; False if the limit left out some of them."""
        return self._add(await self._child_runs.children(run, None, self._room + 1), depth)

    @property
    def _room(self) -> int:
        return self._limit - len(self.found)

    def _add(self, runs: list[StoredRun], depth: int) -> bool:
        room = self._room
        self.found += [(each, depth) for each in runs[:room]]
        return len(runs) <= room

    def _is_descendant(self, run: StoredRun) -> bool:
        """Whether a run is the root, or a run of the tree below it that no fork began."""
        above = run.header.parent
        return run is self._root or (above is not None and above.root == self._root.header.run_id)

    async def _is_complete(self) -> bool:
        """Whether all descendants of a root are found. One count saves a read for each leaf, of which there may be a
        thousand."""
        root, count = self._root.header, sum(1 for run, _ in self.found if self._is_descendant(run))
        return root.parent is None and await self._child_runs.count_descendants(root.key) == count - 1
