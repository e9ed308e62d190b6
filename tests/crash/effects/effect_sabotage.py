"""A host whose once nodes are not claimed, so that a proof can show that it would notice."""

from typing import Any

from weftwork.engine.nodes.effect_ledger import EffectLedger


def skip_claims() -> None:
    async def claim(self: EffectLedger, place: Any) -> None: ...

    EffectLedger._claim = claim  # type: ignore[method-assign]
