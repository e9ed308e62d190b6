"""The machine's clock, and random ids from the operating system."""

import asyncio
import os
import random
import secrets
import time
from typing import Final

_MAX_SLEEP_S = 3600.0


class SystemClock:
    """Wall time; sleeps are re-checked against it, so a clock set forward is noticed within the hour."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep_until(self, when: int) -> None:
        while (left := when - self.now()) > 0:
            await asyncio.sleep(min(left / 1000, _MAX_SLEEP_S))


_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_BYTE_TO_CHAR: Final = (_CROCKFORD * 8).encode()
"""A character for every byte, each for as many bytes as any other."""
_POOL_BYTES: Final = 8192


class RandomIds:
    """Run ids are ten characters of time and sixteen random ones; event ids are 96 random bits in hex."""

    def __init__(self) -> None:
        self._pool = b""
        self._used = 0
        self._time_prefix = (-1, "")
        # Trace ids and delays need to differ, not to be secret, and every answer carries one.
        self._random_source = random.Random(os.urandom(32))  # noqa: S311

    def run_id(self, now: int) -> str:
        instant, text = self._time_prefix
        if instant != now:
            text = "".join([_CROCKFORD[now >> shift & 31] for shift in range(45, -1, -5)])
            self._time_prefix = (now, text)
        return text + self._random_bytes(16).translate(_BYTE_TO_CHAR).decode()

    def event_ids(self, count: int) -> list[str]:
        text = self._random_bytes(12 * count).hex()
        return [text[at : at + 24] for at in range(0, 24 * count, 24)]

    def token(self) -> str:
        return secrets.token_urlsafe(32)

    def secret(self, count: int) -> bytes:
        return os.urandom(count)

    def trace_id(self) -> str:
        return f"{self._random_source.getrandbits(128) | 1:032x}"

    def random_fraction(self) -> float:
        return self._random_source.random()

    def _random_bytes(self, count: int) -> bytes:
        """Bytes of the operating system, fetched a pool at a time; each is given out once."""
        if count > len(self._pool) - self._used:
            self._pool = os.urandom(max(_POOL_BYTES, count))
            self._used = 0
        start, self._used = self._used, self._used + count
        return self._pool[start : self._used]
