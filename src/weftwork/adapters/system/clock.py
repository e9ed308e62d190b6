"""The machine's clock."""

import asyncio
import time

_LONGEST_NAP = 3600.0


class SystemClock:
    """Wall time; sleeps are re-checked against it, so a clock set forward is noticed within the hour."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep_until(self, when: int) -> None:
        while (left := when - self.now()) > 0:
            await asyncio.sleep(min(left / 1000, _LONGEST_NAP))
