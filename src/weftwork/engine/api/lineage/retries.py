"""Retries for callers: the branch from before the failure of a run, found in its log.

A retry is refused if it would repeat effects, or while another retry of the run is unfinished, until the caller allows
it.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.api.lineage.forks import Forks, Retry, check_read
from weftwork.engine.host.executor import Executor
from weftwork.engine.run.replay import REPLAY_PAGE_BYTES, REPLAY_PAGE_EVENTS
from weftwork.engine.runtime import Runtime
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.replay.fork_points import (
    ChildEffect,
    LogEntry,
    RetryPoint,
    RetrySearch,
    log_entry,
    refuse_repeated_effects,
)
from weftwork.protocol.replay.fork_request import ForkOutcome, parse_retry
from weftwork.protocol.run.events import CHILD_STARTED, EFFECT_CLAIMED
from weftwork.protocol.run.header import RunKey
from weftwork.protocol.run.imports import check_forkable

MAX_CONCURRENT_READS: Final = 4
"""Retries whose fork point is searched for concurrently. Each reads whole logs."""
MAX_SEARCHED_CHILDREN: Final = 1000
"""Child runs whose logs are searched for effects before a retry starts them again."""


class Retries(msgspec.Struct, eq=False):
    """Retries for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _executor: Executor
    _forks: Forks
    _reads: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT_READS))

    async def retry_run(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None, traceparent: str | None = None
    ) -> ForkOutcome:
        """retry-02: a branch from before the failure of a run. A failed child run is retried by its parent."""
        work = partial(self._retry, principal, run_id, document, traceparent)
        return await idempotent(self._runtime, principal, f"retryRun/{run_id}", key, document, ForkOutcome, work)

    async def _retry(
        self, principal: Principal, run_id: str, document: Any, traceparent: str | None, claim: IdempotencyClaim
    ) -> ForkOutcome | SlotTaken:
        wanted = parse_retry(document)
        source = require_run(await self._executor.read_run(principal.run(run_id)))
        # Before its log is read, because the events of an imported run need not be those that a retry looks for.
        check_forkable(source.header, "branch")
        while wanted.from_node is None and (parent := source.header.parent) is not None and parent.awaited:
            stored = await self._executor.read_run(principal.run(parent.run_id))
            if stored is None:
                break
            source = stored
        search = RetrySearch(wanted.from_node)
        async with self._reads:
            last = -1
            async for entry in self._entries(source.header.key):
                search.add(entry)
                last = entry.sequence
            check_read(last, source.projection.last_sequence)
            point = search.point(source.projection.status)
            if not wanted.repeats_effects:
                of_children = await self._effects_of_children(source.header.key, point)
                if point.repeated or of_children:
                    raise refuse_repeated_effects(point, of_children)
        request = wanted.branch_from(point.from_seq)
        retry = Retry(point.node_id, wanted.allows_concurrent)
        return await self._forks.create(principal, source, request, claim, traceparent, retry)

    async def _entries(self, run: RunKey) -> AsyncIterator[LogEntry]:
        """The whole log, and of each event only what decides about the retry."""
        last = -1
        while page := await self._runtime.log.read(run, last, REPLAY_PAGE_EVENTS, REPLAY_PAGE_BYTES):
            for event in page:
                yield log_entry(event)
            last = page[-1].sequence
            await asyncio.sleep(0)

    async def _effects_of_children(self, run: RunKey, point: RetryPoint) -> list[ChildEffect]:
        """retry-03 (host): the effects in the child runs that the retry starts again, and in their descendants. A child
        that was deleted, or that is one too many to be searched, counts as an effect."""
        effects: dict[ChildEffect, None] = {}
        children = list(point.restarted)
        # The loop also visits the children that it appends.
        for count, (node_id, child) in enumerate(children):
            is_searched = False
            if count < MAX_SEARCHED_CHILDREN:
                async for entry in self._entries(RunKey(run.partition, child)):
                    is_searched = True
                    if entry.type == EFFECT_CLAIMED:
                        effects[ChildEffect(node_id, child, entry.step)] = None
                    elif entry.type == CHILD_STARTED:
                        children.append((node_id, entry.child_run_id))
            if not is_searched:
                effects[ChildEffect(node_id, child)] = None
            if count >= MAX_SEARCHED_CHILDREN:
                break
        return list(effects)
