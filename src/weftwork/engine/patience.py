"""Patience: waiting, not for ever, for something that gives no sign when it is there."""

import asyncio
from collections.abc import Callable
from typing import Final

AWAY_MS: Final = 1_000
"""How long a store that is away is left alone before it is asked again."""
ASKED_TURNS: Final = 6
"""Turns of the event loop in which whoever has just woken a run asks it something."""
TURNS: Final = 16
"""Commits after which a run lets others have a turn, whether its store made it wait or not."""
EFFECT_SECONDS: Final = 5.0
"""How long a host that goes away waits for what must not happen twice to end."""
_LOOK_SECONDS: Final = 0.02


async def patiently(condition: Callable[[], bool], seconds: float) -> None:
    """Until the condition holds, or so many seconds have passed."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while not condition() and loop.time() < until:
        await asyncio.sleep(_LOOK_SECONDS)
