"""Threads for blocking work. A job that has started runs to its end, even if its caller is cancelled."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from weftwork.ports.storage.event_log import StoreUnavailable

THREADS: Final = 8

T = TypeVar("T")


class BlobThreadPool:
    """A thread pool for file operations. It can be closed and opened again."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None

    def open(self) -> None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(THREADS, "weftwork-blobs")

    async def close(self) -> None:
        """Wait for the running jobs, then end the threads."""
        executor, self._executor = self._executor, None
        if executor is not None:
            await asyncio.to_thread(executor.shutdown)

    def submit(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        if self._executor is None:
            raise StoreUnavailable("the blob store is closed")
        return asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def run(self, work: Callable[[], T], on_cancelled: Callable[[T], object] | None = None) -> T:
        """The result of the work. Raises StoreUnavailable for an OSError.

        A thread cannot be stopped, so the work continues if the caller is cancelled. `on_cancelled` then receives its
        result, for cleanup.
        """
        future = self.submit(work)
        try:
            return await asyncio.shield(future)
        except OSError as error:
            raise store_unavailable(error) from None
        except asyncio.CancelledError:
            if on_cancelled is not None:
                future.add_done_callback(lambda done: on_cancelled(done.result()) if done.exception() is None else None)
            raise


def store_unavailable(error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the blob store failed: {error.strerror or type(error).__name__}")
