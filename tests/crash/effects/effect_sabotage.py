"""A host whose once nodes are not claimed, so that a proof can show that it would notice.

Started as a program of its own: `effect_sabotage.py serve ...`. Nothing in the product can be switched like this.
"""

from typing import Any

from weftwork.cli.main import main
from weftwork.engine.nodes.effect_ledger import EffectLedger


async def skip_claim(self: EffectLedger, place: Any) -> None:
    """The effect is not announced."""


if __name__ == "__main__":
    EffectLedger._claim = skip_claim  # type: ignore[method-assign]
    main()
