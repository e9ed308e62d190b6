"""Control of single runs: pause, resume, and the artifacts a run has made."""

from typing import Any

import msgspec

from weftwork.engine.claim import Claim
from weftwork.engine.executor import Executor
from weftwork.engine.inputs import Input, PauseAsked, ResumeAsked, VariablesGiven
from weftwork.engine.principal import Principal
from weftwork.engine.runtime import Runtime
from weftwork.engine.steered import Steered, steer
from weftwork.ports.eventlog import Stored
from weftwork.protocol import schema
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run import DRAIN_POLICIES
from weftwork.protocol.timestamp import iso


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

    async def set_variables(self, principal: Principal, run_id: str, document: Any) -> str:
        """seam-01: the status of the run, once the variables are durable."""
        schema.require("set-variables", document)
        answer = await self._executor.ask(principal.run(run_id), VariablesGiven(document["variables"]))
        if answer is None:
            raise ClientFault("not_found", "There is no such run.")
        if isinstance(answer, Stored):
            raise _ended(answer)
        return str(answer)

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
        return await steer(self._executor, principal.run(outcome.run_id), claim, given, outcome, _ended)


def _ended(run: Stored) -> ClientFault:
    status = run.projection.status
    return ClientFault("conflict", f"The run has ended: it is {status}.", {"runStatus": status})
