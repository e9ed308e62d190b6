"""Cancelling many runs with one request: each by itself, several at a time, one answer for all."""

import asyncio
from typing import Any, Final

from weftwork.engine.claim import Claim, Repeatable
from weftwork.engine.executor import Executor
from weftwork.engine.principal import Principal
from weftwork.engine.runtime import Runtime
from weftwork.protocol.bulk import bulk_entry, check_bulk
from weftwork.protocol.ids import is_path_id

AT_ONCE: Final = 16
"""Runs of one request that are cancelled at the same time."""


class BulkOutcome(Repeatable, frozen=True):
    """The entries of the answer, in the order of the request."""

    results: list[dict[str, Any]]


class BulkCancel:
    """Raises ClientFault, StoreUnavailable or HostFault; then some runs may be cancelled, and a retry is safe."""

    def __init__(self, runtime: Runtime, executor: Executor) -> None:
        self._runtime = runtime
        self._executor = executor

    async def cancel_runs(self, principal: Principal, document: Any, key: str | None = None) -> BulkOutcome:
        """Cancel runs. Ids that are named twice are answered twice, with the same words."""
        claim = Claim(self._runtime.log, self._runtime.clock, principal, "bulkCancelRuns", key, document)
        if (known := await claim.known(BulkOutcome)) is not None:
            return known
        check_bulk(document)
        run_ids: list[str] = document["runIds"]
        answers = await self._cancel_all(principal, list(dict.fromkeys(run_ids)), document.get("reason"))
        # A crash before this is harmless: what was cancelled stays so, and a repeat says the same of it.
        return await claim.keep(BulkOutcome([answers[run_id] for run_id in run_ids]))

    async def _cancel_all(
        self, principal: Principal, run_ids: list[str], reason: str | None
    ) -> dict[str, dict[str, Any]]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(run_id: str) -> dict[str, Any]:
            async with turns:
                return await self._cancel(principal, run_id, reason)

        # Each to its end: one that fails must not stop those after it.
        ends = await asyncio.gather(*map(one, run_ids), return_exceptions=True)
        answers: dict[str, dict[str, Any]] = {}
        for run_id, end in zip(run_ids, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            answers[run_id] = end
        return answers

    async def _cancel(self, principal: Principal, run_id: str, reason: str | None) -> dict[str, Any]:
        if not is_path_id(run_id):
            return bulk_entry(run_id, None, "validation_error")
        status = await self._executor.cancel(principal.run(run_id), reason, None)
        return bulk_entry(run_id, status if isinstance(status, str) else None)
