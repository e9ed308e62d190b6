"""Control of single runs: pause, resume, answers to interrupts, and the artifacts a run has made."""

from typing import Any

import msgspec

from weftwork.engine.claim import Claim, Repeatable
from weftwork.engine.executor import Executor
from weftwork.engine.inputs import AnswerGiven, Input, PauseAsked, ResumeAsked
from weftwork.engine.principal import Principal
from weftwork.engine.runtime import Runtime
from weftwork.ports.eventlog import Recorded, Stored
from weftwork.protocol import schema
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.interrupt import answer_refusal
from weftwork.protocol.run import DRAIN_POLICIES, Status
from weftwork.protocol.timestamp import iso


class Steered(Repeatable, frozen=True):
    """The outcome of steering a run."""

    run_id: str
    status: str
    at: int
    node_id: str = ""


class Control:
    """Raises ClientFault, StoreUnavailable or HostFault."""

    def __init__(self, runtime: Runtime, executor: Executor) -> None:
        self._runtime = runtime
        self._executor = executor

    async def pause_run(self, principal: Principal, run_id: str, document: Any, key: str | None = None) -> Steered:
        """run-12: accepted when durable; it takes effect at once or when the nodes that run have ended."""
        claim = Claim(self._runtime.log, self._runtime.clock, principal, f"pauseRun/{run_id}", key, document)
        if (known := await claim.known(Steered)) is not None:
            return known
        schema.require("pause-run", document)
        asked = PauseAsked(document.get("drainPolicy", DRAIN_POLICIES[-1]), document.get("reason"))
        return await self._steer(principal, claim, asked, Steered(run_id, "paused", claim.now))

    async def resume_run(self, principal: Principal, run_id: str, document: Any, key: str | None = None) -> Steered:
        """run-13: a paused run goes on."""
        claim = Claim(self._runtime.log, self._runtime.clock, principal, f"resumeRun/{run_id}", key, document)
        if (known := await claim.known(Steered)) is not None:
            return known
        schema.require("resume-run", document)
        return await self._steer(
            principal, claim, ResumeAsked(document.get("reason")), Steered(run_id, "running", claim.now)
        )

    async def resolve_interrupt(
        self, principal: Principal, run_id: str, node_id: str, document: Any, key: str | None = None
    ) -> Steered:
        """int-06: exactly one answer counts, and it is durable before it is acknowledged."""
        claim = Claim(
            self._runtime.log, self._runtime.clock, principal, f"resolveInterrupt/{run_id}/{node_id}", key, document
        )
        if (known := await claim.known(Steered)) is not None:
            return known
        schema.require("resolve-interrupt", document)
        asked = AnswerGiven(node_id, document["resumeValue"], principal.owner.principal)
        return await self._steer(principal, claim, asked, Steered(run_id, "", claim.now, node_id))

    async def get_artifact(self, principal: Principal, run_id: str, artifact_id: str) -> dict[str, Any]:
        """An artifact with its content, as it stands in the log."""
        run = principal.run(run_id)
        stored = await self._executor.stored(run)
        rows = [row for row in stored.rows if row.kind == "artifact" and row.name == artifact_id] if stored else []
        if not rows:
            raise ClientFault("not_found", "There is no such artifact.")
        sequence: int = msgspec.json.decode(rows[0].value)["sequence"]
        found = await self._runtime.log.read(run, sequence - 1, 1)
        if not found:
            raise ClientFault("not_found", "There is no such artifact.")
        event = found[0]
        payload: dict[str, Any] = msgspec.json.decode(event.payload)
        return {**payload, "version": int(payload["version"]), "runId": run_id, "createdAt": iso(event.timestamp)}

    async def _steer(self, principal: Principal, claim: Claim, given: Input, outcome: Steered) -> Steered:
        def answered(status: Status) -> Steered:
            """How the run stands is the answer, unless what was asked for has a name of its own."""
            return msgspec.structs.replace(outcome, status=outcome.status or status)

        try:
            answer = await self._executor.ask(principal.run(outcome.run_id), given, claim.record_of(answered))
            if answer is None:
                raise ClientFault("not_found", "There is no such run.")
            if isinstance(answer, Stored):
                raise _too_late(answer, given)
        except ClientFault:
            # idem-03: the same request may have been first, after this one had looked for it.
            if (known := await claim.known(Steered)) is not None:
                return known
            raise
        if isinstance(answer, Recorded):
            return claim.replay(answer.record, Steered)
        return answered(answer)


def _too_late(run: Stored, given: Input) -> ClientFault:
    """Why an ended run cannot be steered."""
    status = run.projection.status
    if isinstance(given, AnswerGiven):
        rows = [msgspec.json.decode(row.value) for row in run.rows if row.kind == "interrupt"]
        mine = [row["status"] for row in rows if row["nodeId"] == given.node_id]
        # The newest one, which is the only one that can have been open at the end.
        return answer_refusal(("cancelled" if "cancelled" in mine else mine[-1]) if mine else None)
    return ClientFault("conflict", f"The run has ended: it is {status}.", {"runStatus": status})
