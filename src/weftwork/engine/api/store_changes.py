"""Follows changes that other processes make to the store: API keys, signing keys, deleted runs, and work that this host
has to do.

A process that administers a store on a database server changes it while the host is running. Hints make the host look
at once; it also looks every POLL_MS, because a hint may be lost.
"""

import asyncio
import logging
from typing import Final

import msgspec

from weftwork.engine.api.keyring import Keyring
from weftwork.engine.host.executor import Executor
from weftwork.engine.signer import Signer
from weftwork.ports.clock import Clock
from weftwork.ports.hints import GONE, KEYS, MISSED, SIGNING, WORK, Hints
from weftwork.ports.storage.event_log import StoreUnavailable

log = logging.getLogger("weftwork")

POLL_MS: Final = 5_000
"""Time between two looks at the store without a hint."""
_FOLLOWED: Final = frozenset({KEYS, SIGNING, GONE, WORK})
"""The hints that matter here. Newer releases may send others."""


class StoreChanges(msgspec.Struct, eq=False):
    """Applies the changes of other processes. `close` before the store is closed."""

    _keyring: Keyring
    _signer: Signer
    _executor: Executor
    _clock: Clock
    _hints: Hints | None = None
    """None for a store that no other process can change."""
    _pending: set[str] = set()
    _changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Follow changes until `close`."""
        if self._hints is not None:
            self._hints.listen(self._on_hint)
            self._tasks += [asyncio.create_task(self._apply_hints()), asyncio.create_task(self._poll())]
            await self._hints.open()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._hints is not None:
            await self._hints.close()

    @property
    def state(self) -> str:
        """How changes of other processes are noticed: `local`, if there are none, `listening` or `polling`."""
        if self._hints is None:
            return "local"
        return "listening" if self._hints.is_listening else "polling"

    def component_states(self, replaced: asyncio.Event) -> dict[str, str]:
        """What the readiness probe of a host that accepts work says. `replaced`: another process executes the runs."""
        return {"store": "writable", "hints": self.state, "executor": "replaced" if replaced.is_set() else "here"}

    def _on_hint(self, hint: str) -> None:
        self._pending |= _FOLLOWED if hint == MISSED else _FOLLOWED & {hint}
        self._changed.set()

    async def _poll(self) -> None:
        while True:
            await self._clock.sleep(POLL_MS)
            self._on_hint(MISSED)

    async def _apply_hints(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            while self._pending:
                hint = self._pending.pop()
                try:
                    await self._apply(hint)
                except StoreUnavailable as error:
                    # The next look repeats it.
                    log.debug("changes of other processes not read", extra={"reason": str(error)})

    async def _apply(self, hint: str) -> None:
        if hint == KEYS:
            await self._keyring.reload()
        elif hint == SIGNING:
            await self._signer.reload()
        elif hint == WORK:
            await self._executor.find_work()
        else:
            self._executor.forget_ended_runs()
