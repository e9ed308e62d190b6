"""Watches the gate, and the actions of surfaces, from inside a host, which imports this as a module of nodes.

What models say is wrapped where the engine records it: the clock starts when an answer is recorded and stops when the
envelope in it is. The time in which the answer is judged before it is recorded is added to that. So it is what the gate
and its commit add to the turn, within that very turn, and nothing of the answer itself. One run at a time is watched.
An action is timed from its decoded body to the stored answer.
"""

import time
from typing import Any, Final, NamedTuple

import weftwork
from weftwork.engine.api.surfaces import Surfaces
from weftwork.engine.models.model_calls import AnswerEvents, EntryModelCalls
from weftwork.ports.models import ModelRequest
from weftwork.ports.nodes import Emission
from weftwork.protocol.models.answers import ModelAnswer


class TimeReading(NamedTuple):
    """Wall-clock time, and CPU time of all threads of the process."""

    wall: float
    cpu: float

    def since(self, other: "TimeReading") -> "TimeReading":
        return TimeReading(self.wall - other.wall, self.cpu - other.cpu)


_generate: Final = EntryModelCalls.generate
_emit: Final = EntryModelCalls.emit_envelope
_seen: Final[list[TimeReading]] = []
_first: Final[dict[str, TimeReading]] = {}
"""By run, the reading of its first envelope."""
_answered = TimeReading(0.0, 0.0)


def _now() -> TimeReading:
    return TimeReading(time.perf_counter(), time.process_time())


async def generate(self: EntryModelCalls, request: ModelRequest, along: AnswerEvents) -> ModelAnswer:
    global _answered
    spent = TimeReading(0.0, 0.0)

    def watched(answer: ModelAnswer) -> Any:
        nonlocal spent
        began = _now()
        said = along(answer)
        spent = _now().since(began)
        return said

    answer = await _generate(self, request, watched)
    _answered = _now().since(spent)
    return answer


async def emit(self: EntryModelCalls, document: Any, emission: Emission) -> Any:
    try:
        outcome = await _emit(self, document, emission)
        _seen.append(_now().since(_answered))
        return outcome
    finally:
        # An envelope that asks a person suspends its node here. When the node continues, the envelope is judged again.
        _first.setdefault(self._call.run_id, _now().since(_answered))  # pyright: ignore[reportPrivateUsage]


_act: Final = Surfaces.act
_acted: Final[list[TimeReading]] = []


async def act(self: Surfaces, *arguments: Any) -> Any:
    began = _now()
    outcome = await _act(self, *arguments)
    _acted.append(_now().since(began))
    return outcome


Surfaces.act = act  # type: ignore[method-assign]
EntryModelCalls.generate = generate  # type: ignore[method-assign]
EntryModelCalls.emit_envelope = emit  # type: ignore[method-assign]


@weftwork.node("bench.gate", version="1.0.0")
async def gate(ctx: weftwork.Context) -> list[list[float]]:
    """Milliseconds by the wall and of CPU of each envelope since this was asked last."""
    found = [[each.wall * 1000, each.cpu * 1000] for each in _seen]
    _seen.clear()
    return found


@weftwork.node("bench.actions", version="1.0.0")
async def actions(ctx: weftwork.Context) -> list[list[float]]:
    """Milliseconds by the wall and of CPU of each action since this was asked last."""
    found = [[each.wall * 1000, each.cpu * 1000] for each in _acted]
    _acted.clear()
    return found


@weftwork.node("bench.forms", version="1.0.0")
async def forms(ctx: weftwork.Context) -> list[list[float]]:
    """Milliseconds by the wall and of CPU of the first envelope of each run since this was asked last."""
    found = [[each.wall * 1000, each.cpu * 1000] for each in _first.values()]
    _first.clear()
    return found
