"""Steering one run for a caller: asked once for each claim, and answered with how the run stands then."""

from collections.abc import Callable

import msgspec

from weftwork.engine.claim import Claim, Repeatable
from weftwork.engine.executor import Executor
from weftwork.engine.inputs import Input
from weftwork.ports.eventlog import Recorded, Stored
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run import RunKey, Status


class Steered(Repeatable, frozen=True):
    """The outcome of steering a run."""

    run_id: str
    status: str
    at: int
    node_id: str = ""


async def steer(
    executor: Executor,
    run: RunKey,
    claim: Claim,
    given: Input,
    outcome: Steered,
    late: Callable[[Stored], ClientFault],
) -> Steered:
    """What came of it, once that is durable. `late` says why a run that has ended cannot be steered so."""

    def answered(status: Status) -> Steered:
        """How the run stands is the answer, unless what was asked for has a name of its own."""
        return msgspec.structs.replace(outcome, status=outcome.status or status)

    try:
        answer = await executor.ask(run, given, claim.record_of(answered))
        if answer is None:
            raise ClientFault("not_found", "There is no such run.")
        if isinstance(answer, Stored):
            raise late(answer)
    except ClientFault:
        # idem-03: the same request may have been first, after this one had looked for it.
        if (known := await claim.known(Steered)) is not None:
            return known
        raise
    if isinstance(answer, Recorded):
        return claim.replay(answer.record, Steered)
    return answered(answer)
