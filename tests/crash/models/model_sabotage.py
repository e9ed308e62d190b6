"""A host that forgets what models said, so that a proof can show that it would notice."""

from typing import Any

import msgspec

from weftwork.engine.decide import envelopes, transitions
from weftwork.engine.models.model_calls import EntryModelCalls


def record_answer_twice() -> None:
    send, judge = envelopes.record_envelope, EntryModelCalls.emit_envelope

    def trusting(state: Any, given: Any) -> Any:
        known, state.envelopes = state.envelopes, {}
        try:
            return send(state, given)
        finally:
            state.envelopes = known

    async def emit(self: Any, document: Any, emission: Any) -> Any:
        known = self._state.envelopes
        self._gate._state = _StateWithoutEnvelopes(self._state)
        assert known is self._state.envelopes
        return await judge(self, document, emission)

    transitions.record_envelope = trusting
    EntryModelCalls.emit_envelope = emit  # type: ignore[method-assign]


class _StateWithoutEnvelopes:
    def __init__(self, state: Any) -> None:
        self._state = state
        self.envelopes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


def store_interrupt_separately() -> None:
    send = envelopes.record_envelope
    transitions.record_envelope = lambda state, given: send(state, msgspec.structs.replace(given, interrupt=None))
