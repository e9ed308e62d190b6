"""Threads for blocking work. A job that has started runs to its end, even if its caller is cancelled."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from weftwork.ports.storage.event_log import StoreUnavailable

THREADS: Final = 8

T = TypeVar("T")


class BlobThreadPool:
    """It may be closed and opened again."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None

    def open(self) -> None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(THREADS, "weftwork-blobs")

    async def close(self) -> None:
        """Returns when nothing is at work any more."""
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown)

    def submit(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        if self._executor is None:
            raise StoreUnavailable("the store of assets is closed")
        return asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def run(self, work: Callable[[], T], left: Callable[[T], object] | None = None) -> T:
        """Raises StoreUnavailable for a fault of the disk. `left` gets the result if the caller was
        cancelled."""
        begun = self.submit(work)
        try:
            # A thread cannot be stopped: the work of a cancelled caller goes on, and `left` cleans up after it.
            return await asyncio.shield(begun)
        except OSError as error:
            raise store_unavailable(error) from None
        except asyncio.CancelledError:
            if left is not None:
                begun.add_done_callback(lambda done: left(done.result()) if done.exception() is None else None)
            raise


def store_unavailable(error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the store of assets fails: {error.strerror or type(error).__name__}")
