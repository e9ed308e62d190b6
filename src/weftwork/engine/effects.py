"""The effects of one entry of a node: claimed before they happen, recorded after, never silently repeated."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

from weftwork.engine.call import TOO_LARGE
from weftwork.engine.decision import error
from weftwork.engine.inputs import EffectClaimed, EffectEnded, Input
from weftwork.engine.runtime import Runtime
from weftwork.ports.nodes import Asking, Completed, Failed, NodeCall, NotDone, Outcome, StepFailed
from weftwork.protocol.effect import NODE, EffectState, Place, effect_key, question
from weftwork.protocol.json_value import is_object
from weftwork.protocol.node_type import Effect
from weftwork.protocol.state import NodeState
from weftwork.protocol.weight import is_too_large

log = logging.getLogger("weftwork.node")

MAX_NAME = 256
_FREE = EffectState()


class Effects:
    """What a node, or an item of a map, does to the world. `node_id` is the node of the graph it belongs to."""

    __slots__ = ("_call", "_item", "_node", "_node_id", "_report", "_runtime", "_tenant", "_used", "now")

    def __init__(
        self,
        runtime: Runtime,
        report: Callable[[Input], None],
        call: NodeCall,
        node: NodeState,
        tenant: str,
        node_id: str,
        item: str = "",
    ) -> None:
        self._runtime = runtime
        self._report = report
        self._call = call
        self._node = node
        self._tenant = tenant
        self._node_id = node_id
        self._item = item
        self._used: set[str] = set()
        self.now = max(node.started_at, node.resumed_at)

    def key(self, step: str) -> str:
        """The layer-2 identity of a step, or of the whole node."""
        call = self._call
        return effect_key(self._tenant, call.run_id, call.node_id, call.visit, f"step:{step}" if step else "node")

    async def begin(self) -> Outcome | None:
        """Claim the node itself. An outcome if somebody has said what became of it. Raises Asking."""
        place = Place(NODE, self._item)
        known = self._node.effects.get(place, _FREE)
        if known.status == "failed":
            raise StepFailed(_failed(known))
        if known.status == "open":
            answer = self._answer(place, known)
            if answer["outcome"] == "done":
                output = answer.get("output")
                return Completed(output if is_object(output) else {} if output is None else {"output": output})
            if answer["outcome"] == "failed":
                return _SAID_FAILED
            await self.end(place, {})
        await self._claim(place)
        return None

    async def ended(self, outcome: Outcome) -> None:
        """Record how the node itself failed, where its end does not say so: an item of a map."""
        if isinstance(outcome, Failed):
            failure = error(outcome.code, outcome.message, outcome.details)
            await self.end(Place(NODE, self._item), {} if outcome.retryable else {"error": failure})

    async def step(self, name: str, effect: Effect, run: Callable[[], Awaitable[Any]]) -> Any:
        """See ports.nodes.NodeContext."""
        if not 0 < len(name) <= MAX_NAME or name in self._used:
            message = f"A step has a name of 1 to {MAX_NAME} characters that no other step of the node has."
            raise StepFailed(Failed("node_misused", message, retryable=False))
        self._used.add(name)
        place = Place(name, self._item)
        known = self._node.effects.get(place, _FREE)
        if known.status == "open" and effect == "once":
            known = await self.end(place, _said(self._answer(place, known)))
        if known.status in ("free", "open"):
            if known.status == "free":
                await self._claim(place)
            known = await self._run(place, run)
        self.now = max(self.now, known.at)
        if known.status == "failed":
            raise StepFailed(_failed(known))
        # A copy: what the node does with it must not reach the state of the run.
        return deepcopy(known.output)

    async def end(self, place: Place, outcome: dict[str, Any]) -> EffectState:
        """Record what became of an effect, and return that when it is durable."""
        durable: asyncio.Future[EffectState] = asyncio.get_running_loop().create_future()
        self._report(EffectEnded(self._node_id, place, outcome, durable, self._call.entered))
        return await durable

    async def _run(self, place: Place, run: Callable[[], Awaitable[Any]]) -> EffectState:
        """Do it and record it. What it raises is recorded too, and raised by whoever reads the record."""
        try:
            output = await run()
            failure = TOO_LARGE if is_too_large(output) else None
        except NotDone:
            await self.end(place, {})
            raise
        except StepFailed as failed:
            output, failure = None, failed.failure
            await self.end(place, {"error": error(failure.code, failure.message, failure.details)})
            raise
        except Exception:
            log.exception("step raised", extra={"runId": self._call.run_id, "nodeId": self._call.node_id})
            output, failure = None, Failed("step_failed", "The step raised an error; the host's log has the details.")
        if failure is not None:
            return await self.end(place, {"error": error(failure.code, failure.message, failure.details)})
        return await self.end(place, {"output": output})

    async def _claim(self, place: Place) -> None:
        claim = self._runtime.ids.event_ids(1)[0]
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._report(EffectClaimed(self._node_id, place, claim, granted, self._call.entered))
        if not await granted:
            # Somebody else moves this run. It is let go of here, and this task with it.
            await asyncio.get_running_loop().create_future()

    def _answer(self, place: Place, known: EffectState) -> dict[str, Any]:
        """What somebody said about an effect whose outcome nobody here knows. Raises Asking."""
        asked = question(self._call.node_id, self._call.visit, place, known.claims)
        if asked.key not in self._call.answers:
            raise Asking(asked)
        return self._call.answers[asked.key]


_SAID_FAILED = Failed("effect_failed", "Somebody has said that this failed.", retryable=False)


def _said(answer: dict[str, Any]) -> dict[str, Any]:
    """What is recorded when somebody has said what became of an effect; nothing if it did not happen."""
    if answer["outcome"] == "done":
        return {"output": answer.get("output")}
    return {"error": error(_SAID_FAILED.code, _SAID_FAILED.message)} if answer["outcome"] == "failed" else {}


def _failed(known: EffectState) -> Failed:
    found = known.error or {}
    return Failed(found["code"], found["message"], found.get("details"), retryable=False)
