"""What a host does before it listens does not depend on how many runs its store has."""

from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cases import fails_without
from weftwork.adapters.sqlite import store as store_module
from weftwork.adapters.sqlite.database.connection import open_reader, open_writer
from weftwork.adapters.sqlite.store import SqliteStore
from weftwork.app import Host
from weftwork.cli.serve import startup
from weftwork.engine.host.run_loader import RunLoader
from weftwork.engine.host.sweeper import Sweeper
from weftwork.settings import Settings
from weftwork.testing.storage.harness import opened
from weftwork.testing.storage.samples import make_run, parked_batch
from weftwork.wiring.data_folder import DATABASE_FILE

FEW, MANY = 5, 300


async def _fill(data: Path, runs: int) -> None:
    """A store with so many unfinished runs, runs that wait for a time or a person, and ended runs."""
    data.mkdir(parents=True)
    async with opened(SqliteStore(data / DATABASE_FILE)) as store:
        for number in range(runs):
            await make_run(store, f"running-{number}", f"live:tenant-{number % 7}", "running")
            await make_run(store, f"ended-{number}", status="completed")
            for name, wake_at in (("timed", 2**40), ("asked", None)):
                run = await make_run(store, f"{name}-{number}")
                await store.log.append(run, -1, parked_batch(run, -1, wake_at))


async def _instructions_before_listening(data: Path) -> tuple[int, int]:
    """The instructions that SQLite has carried out when the server starts, and the runs that were loaded by then."""
    steps = count()
    loaded: list[Any] = []
    honest = RunLoader.load

    def counted(connect: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any) -> Any:
            connection = connect(*given)
            connection.set_progress_handler(lambda: next(steps) < 0, 1)
            return connection

        return wrapped

    async def load(self: RunLoader, run: Any, to_cancel: bool = False) -> Any:
        loaded.append(run)
        return await honest(self, run, to_cancel)

    found: list[tuple[int, int]] = []

    async def serve(app: Any, listener: Any, *_: Any) -> None:
        listener.close()
        found.append((next(steps), len(loaded)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_module, "open_writer", counted(open_writer))
        patch.setattr(store_module, "open_reader", counted(open_reader))
        patch.setattr(startup, "serve", serve)
        patch.setattr(RunLoader, "load", load)
        # The cleanup in the background may or may not begin before the server starts.
        patch.setattr(Sweeper, "start", lambda self: None)
        assert await startup.run_host(Settings(data=str(data), port=0)) == 0
    return found[0]


_open = Host.open


async def _open_and_resume(
    host: Host, register: Callable[[Host], Awaitable[None]], resume: bool, take_over: bool
) -> None:
    await _open(host, register, resume, take_over)
    await host.resume_runs()


@fails_without(Host, "open", _open_and_resume)
async def test_the_work_before_the_listener_opens_does_not_grow_with_the_runs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    figures: list[tuple[int, int]] = []
    for name, runs in (("few", FEW), ("many", MANY)):
        await _fill(folder / name, runs)
        figures.append(await _instructions_before_listening(folder / name))
    (few, loaded_few), (many, loaded_many) = figures
    assert loaded_few == loaded_many == 0
    assert few > 50
    assert many <= few * 1.05
