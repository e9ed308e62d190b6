"""Controls runs for callers: cancel, pause, resume, variables and artifacts of one run, and cancelling many at once.

Each operation is applied once per idempotency key, and returns the status of the run once it is durable
(`apply_control`). A bulk cancel cancels each run separately, several concurrently, and returns one result for all.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from weftwork.engine.api.idempotency import IdempotencyClaim, idempotent
from weftwork.engine.api.keyring import Principal, require_run
from weftwork.engine.decide.inputs import CancelRequested, Input, PauseRequested, ResumeRequested, VariablesOverwritten
from weftwork.engine.host.executor import Executor
from weftwork.engine.runtime import Runtime
from weftwork.ports.fault_points import fault_point
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import is_path_id
from weftwork.protocol.json import schema
from weftwork.protocol.run.batch import IdempotencyRecord, ReplayableOutcome
from weftwork.protocol.run.header import DRAIN_POLICIES, RunKey
from weftwork.protocol.run.imports import refuse_change
from weftwork.protocol.run.projection import StoredRun, bulk_cancel_entry, check_bulk_cancel
from weftwork.protocol.timestamps import iso

MAX_CONCURRENT_CANCELS: Final = 16
"""Runs of one request that are cancelled concurrently."""


class ControlOutcome(ReplayableOutcome, frozen=True):
    """The outcome of an operation that controls a run."""

    run_id: str
    status: str
    at: int = 0
    """The time of the events that record the request. Idempotency records of cancels that older versions wrote lack
    it."""
    node_id: str = ""


class BulkCancelOutcome(ReplayableOutcome, frozen=True):
    """The entries of the response, in the order of the request."""

    results: list[dict[str, Any]]


class RunControl(msgspec.Struct, eq=False):
    """Control of runs for callers. Raises ClientFault, StoreUnavailable or HostFault."""

    _runtime: Runtime
    _executor: Executor

    async def cancel_run(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None
    ) -> ControlOutcome:
        """Cancel a run; for a run that has ended, returns its final status."""

        async def cancel(claim: IdempotencyClaim) -> ControlOutcome | SlotTaken:
            schema.require("cancel-run", document)
            done = await self._cancel(principal.run(run_id), document.get("reason"), claim)
            fault_point("cancel.durable")
            return done

        return await idempotent(self._runtime, principal, f"cancelRun/{run_id}", key, document, ControlOutcome, cancel)

    async def cancel_runs(self, principal: Principal, document: Any, key: str | None = None) -> BulkCancelOutcome:
        """Cancel several runs. An id that is listed twice gets two equal entries.

        If this raises anything except ClientFault, some runs may be cancelled, and a retry is safe.
        """

        async def cancel(claim: IdempotencyClaim) -> BulkCancelOutcome:
            check_bulk_cancel(document)
            run_ids: list[str] = document["runIds"]
            answers = await self._cancel_all(principal, list(dict.fromkeys(run_ids)), document.get("reason"))
            # A crash before this is harmless: cancelled runs stay cancelled, and a repeated request gives the same
            # entries.
            return await claim.save(BulkCancelOutcome([answers[run_id] for run_id in run_ids]))

        return await idempotent(self._runtime, principal, "bulkCancelRuns", key, document, BulkCancelOutcome, cancel)

    async def _cancel_all(
        self, principal: Principal, run_ids: list[str], reason: str | None
    ) -> dict[str, dict[str, Any]]:
        limiter = asyncio.Semaphore(MAX_CONCURRENT_CANCELS)

        async def one(run_id: str) -> dict[str, Any]:
            async with limiter:
                return await self._cancel_entry(principal, run_id, reason)

        # Exceptions are collected, so that a failure does not stop the other cancels.
        ends = await asyncio.gather(*map(one, run_ids), return_exceptions=True)
        answers: dict[str, dict[str, Any]] = {}
        for run_id, end in zip(run_ids, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            answers[run_id] = end
        return answers

    async def _cancel_entry(self, principal: Principal, run_id: str, reason: str | None) -> dict[str, Any]:
        if not is_path_id(run_id):
            return bulk_cancel_entry(run_id, None, "validation_error")
        keyless = IdempotencyClaim(self._runtime.records, self._runtime.clock, principal, "cancelRun", None, None)
        try:
            done = await self._cancel(principal.run(run_id), reason, keyless)
        except ClientFault as fault:
            if fault.code != "not_found":
                raise
            return bulk_cancel_entry(run_id, None)
        return bulk_cancel_entry(run_id, done.status if isinstance(done, ControlOutcome) else None)

    async def _cancel(self, run: RunKey, reason: str | None, claim: IdempotencyClaim) -> ControlOutcome | SlotTaken:
        """Cancel a run; for a run that has ended, the outcome has its final status."""
        outcome = ControlOutcome(run.run_id, "", claim.now)
        input_ = CancelRequested(reason)
        return await apply_control(self._executor, run, claim, input_, outcome, lambda run: run.projection.status)

    async def pause_run(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None
    ) -> ControlOutcome:
        """run-12: request a pause; durable on return. The run pauses at once or after its running nodes have ended."""

        async def pause(claim: IdempotencyClaim) -> ControlOutcome | SlotTaken:
            schema.require("pause-run", document)
            input_ = PauseRequested(document.get("drainPolicy", DRAIN_POLICIES[-1]), document.get("reason"))
            outcome = ControlOutcome(run_id, "paused", claim.now)
            return await apply_control(self._executor, principal.run(run_id), claim, input_, outcome)

        return await idempotent(self._runtime, principal, f"pauseRun/{run_id}", key, document, ControlOutcome, pause)

    async def resume_run(
        self, principal: Principal, run_id: str, document: Any, key: str | None = None
    ) -> ControlOutcome:
        """run-13: resume a paused run."""

        async def resume(claim: IdempotencyClaim) -> ControlOutcome | SlotTaken:
            schema.require("resume-run", document)
            input_, outcome = ResumeRequested(document.get("reason")), ControlOutcome(run_id, "running", claim.now)
            return await apply_control(self._executor, principal.run(run_id), claim, input_, outcome)

        return await idempotent(self._runtime, principal, f"resumeRun/{run_id}", key, document, ControlOutcome, resume)

    async def set_variables(self, principal: Principal, run_id: str, document: Any) -> str:
        """seam-01: set variables of a run; returns its status once they are durable."""
        schema.require("set-variables", document)
        input_ = VariablesOverwritten(document["variables"])
        answer = require_run(await self._executor.request(principal.run(run_id), input_))
        return refuse_ended(answer) if isinstance(answer, StoredRun) else str(answer)

    async def get_artifact(self, principal: Principal, run_id: str, artifact_id: str) -> dict[str, Any]:
        """An artifact with its content, as recorded in the log."""
        run = principal.run(run_id)
        stored = await self._executor.read_run(run)
        rows = [row for row in stored.rows if row.kind == "artifact" and row.name == artifact_id] if stored else []
        if not rows:
            raise ClientFault("not_found", "There is no such artifact.")
        sequence: int = msgspec.json.decode(rows[0].value)["sequence"]
        events = await self._runtime.log.read(run, sequence - 1, 1)
        if not events:
            raise ClientFault("not_found", "There is no such artifact.")
        event = events[0]
        payload: dict[str, Any] = msgspec.json.decode(event.payload)
        return {**payload, "version": int(payload["version"]), "runId": run_id, "createdAt": iso(event.timestamp)}


def refuse_ended(run: StoredRun) -> str:
    """Raises the ClientFault for a request to a run that has ended."""
    refuse_change(run.header)
    status = run.projection.status
    raise ClientFault("conflict", f"The run has already ended with status {status}.", {"runStatus": status})


async def apply_control(
    executor: Executor,
    run: RunKey,
    claim: IdempotencyClaim,
    input_: Input,
    outcome: ControlOutcome,
    ended: Callable[[StoredRun], str] = refuse_ended,
) -> ControlOutcome | SlotTaken:
    """Apply an input to a run; returns when it is durable.

    The outcome has the status of the run, unless the operation has a status of its own, and the time of the events.
    `ended` returns the status to report for a run that has ended, or raises ClientFault. Raises ClientFault if there is
    no such run.
    """

    def make_record(status: str, time: int) -> IdempotencyRecord | None:
        nonlocal outcome
        outcome = msgspec.structs.replace(outcome, status=outcome.status or status, at=time)
        return claim.make_record(outcome)

    answer = require_run(await executor.request(run, input_, make_record))
    if isinstance(answer, StoredRun):
        status = ended(answer)
        return await claim.save(msgspec.structs.replace(outcome, status=outcome.status or status))
    return answer if isinstance(answer, SlotTaken) else outcome
