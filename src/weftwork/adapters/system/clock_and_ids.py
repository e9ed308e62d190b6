"""The system clock, and ids from the random source of the operating system."""

import asyncio
import os
import random
import secrets
import time
from functools import partial
from typing import Final

_MAX_SLEEP_S = 3600.0


class SystemClock:
    """Implements ports.clock.Clock. Sleeps check the wall clock at least once an hour, so a clock that is set forward
    is noticed by then, and so is the time that the machine was suspended, which the monotonic clock does not count."""

    monotonic_ns = staticmethod(time.monotonic_ns)
    # Other systems than Linux have no such clock, but the monotonic clock of macOS counts suspensions.
    boottime_ns = staticmethod(partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    async def sleep(self, milliseconds: int) -> None:
        wall_end = self.now() + milliseconds
        end = time.monotonic() + milliseconds / 1000
        while (remaining := end - time.monotonic()) > 0 and self.now() < wall_end:
            await asyncio.sleep(min(remaining, _MAX_SLEEP_S))


_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_BYTE_TO_CHAR: Final = (_CROCKFORD * 8).encode()
"""Maps a byte to a character. Each of the 32 characters has 8 byte values, so all are equally likely."""
_POOL_BYTES: Final = 8192


class RandomIds:
    """Run ids are ten characters of time and sixteen random ones; event ids are 96 random bits in hex."""

    def __init__(self) -> None:
        self._pool = b""
        self._used = 0
        self._time_prefix = (-1, "")
        # Trace ids and jitter need not be secret, and every response has a trace id, so a fast generator is used.
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
        """Random bytes of the operating system, read in blocks of _POOL_BYTES. Each byte is used once."""
        if count > len(self._pool) - self._used:
            self._pool = os.urandom(max(_POOL_BYTES, count))
            self._used = 0
        start, self._used = self._used, self._used + count
        return self._pool[start : self._used]
