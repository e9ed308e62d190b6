"""What the suite needs of a store, and the shapes of a check."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from weftwork.ports.annotations import Annotations
from weftwork.ports.assets import AssetRows
from weftwork.ports.definitions import Definitions
from weftwork.ports.eventlog import EventLog
from weftwork.ports.keys import Keys
from weftwork.ports.signing import SigningKeys


class Store(Protocol):
    """All storage ports over the same data."""

    log: EventLog
    definitions: Definitions
    keys: Keys
    signing: SigningKeys
    annotations: Annotations
    assets: AssetRows

    async def open(self) -> None:
        """Make the ports usable."""
        ...

    async def close(self) -> None:
        """Finish what was begun; afterwards every port raises StoreUnavailable."""
        ...


class Check(Protocol):
    """Raises unless the open, empty store keeps the promise."""

    __name__: str

    async def __call__(self, store: Store, /) -> None: ...


class RestartCheck(Protocol):
    """Raises unless the promise holds across stores that are opened one after the other."""

    __name__: str

    async def __call__(self, make: Callable[[], Store], /) -> None: ...


S = TypeVar("S", bound=Store)


def prove(store: S, check: Callable[[S], Awaitable[None]], seconds: float = 30) -> None:
    """Open the store, run the check on it within that time, and close it again, on a loop of its own."""

    async def run() -> None:
        await store.open()
        try:
            async with asyncio.timeout(seconds):
                await check(store)
        finally:
            await store.close()

    asyncio.run(run())


async def raised(call: Awaitable[object]) -> Exception | None:
    """What the call raises, or None."""
    try:
        await call
    except Exception as error:
        return error
    return None
