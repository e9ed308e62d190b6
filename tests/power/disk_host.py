"""Hosts whose store is on a disk that can fail."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.live import Answer, open_listening
from tests.live.host import Host as Client
from tests.power.recording_disk import RecordingDisk
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.app import Host
from weftwork.ports.clock import Clock
from weftwork.settings import Settings


@contextlib.contextmanager
def stores_on_disk(disk: RecordingDisk) -> Iterator[None]:
    """Hosts that are made meanwhile have their store on that disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weftwork.wiring.store.SqliteStore", partial(SqliteStore, vfs=disk.vfs))
        yield


def make_host(folder: Path, clock: Clock | None = None) -> Host:
    return Host(Settings(store="sqlite", data=str(folder)), clock)


@contextlib.asynccontextmanager
async def open_on_disk(folder: Path, disk: RecordingDisk, *workflows: dict[str, Any]) -> AsyncIterator[Client]:
    """A client of a host in this process behind a listener. Its calls block, so they belong into a thread."""
    with stores_on_disk(disk), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.live.in_process_host.Host", lambda _: make_host(folder))
        async with open_listening(*workflows) as served:
            client = Client(None, folder, folder, folder)  # type: ignore[arg-type] - there is no process
            client.port = served.port
            yield client


def check_refusal(answer: Answer) -> None:
    """The one answer to work that cannot be kept: later, and when."""
    assert answer.status == 503, answer
    assert answer.document["error"] == "service_unavailable"
    assert answer.headers["retry-after"] == str(answer.document["details"]["retryAfter"])


def check_ended(events: list[dict[str, Any]], end: str = "run.completed") -> None:
    """The run went on to its end as if nothing had happened: everything once."""
    assert [event["sequence"] for event in events] == list(range(len(events)))
    kinds = [event["type"] for event in events]
    assert kinds[-1] == end, kinds
    assert sum(kind in ("run.completed", "run.failed", "run.cancelled") for kind in kinds) == 1
    for kind in ("run.started", "node.started", "node.completed"):
        named = [event.get("nodeId") for event in events if event["type"] == kind]
        assert len(set(named)) == len(named), (kind, named)
