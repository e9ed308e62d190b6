"""Forks of runs that retention deletes meanwhile: the fork is whole or not found, and keeps its media and hidden values
until its own time is up."""

from itertools import count
from typing import Any

import pytest

from tests.engine.forks.test_branches import fork
from tests.engine.forks.test_fork_races import MAX_CALLS, DeletingLog, run_keys
from tests.engine.forks.test_retries import retry
from tests.harness.definitions import edge, node, variable, workflow
from tests.harness.engine_harness import EngineHarness, fault_of, settle
from tests.harness.external_system import effect_node_type
from tests.harness.media_host import PNG, emit_media_node, fetch_asset
from weftwork.adapters.blobs.memory import MemoryBlobs
from weftwork.adapters.memory.assets import MemoryAssets
from weftwork.engine.api.lineage import forks
from weftwork.engine.api.retention import DAY_MS, Retention
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.ports.media import OutgoingMedia
from weftwork.ports.node_outcome import Completed, Failed, NodeOutcome
from weftwork.ports.nodes import NodeCall, NodeContext
from weftwork.protocol.errors import ClientFault, HostFault
from weftwork.protocol.run.header import RunKey

KEEP_DAYS = 30
SECRET = {"x": {"type": "variable", "variableName": "secret"}}
SHOWN = workflow(
    [node("show", "test.show"), node("read", "test.reads", inputs=SECRET)],
    [edge("show", "read")],
    [variable("secret", sensitive=True)],
)
PHOTO = OutgoingMedia("image", PNG, "image/png", "A dot.", "Dot")


class Archive:
    """A host that keeps runs for some days, with a run that shows a picture and fails over a secret."""

    def __init__(self) -> None:
        self.read: list[Any] = []
        self.is_broken = True
        types = [emit_media_node(PHOTO), effect_node_type("test.reads", self._read)]
        fresh = EngineHarness()
        blobs = MemoryBlobs(fresh.clock, fresh.ids)
        self.engine = EngineHarness(*types, wrap=DeletingLog, clock=fresh.clock, ids=fresh.ids, blobs=blobs)
        self.engine.log.delete = self.expire

    async def _read(self, call: NodeCall, context: NodeContext) -> NodeOutcome:
        self.read.append(call.inputs["x"])
        return Failed("broken", "Not now.", retryable=False) if self.is_broken else Completed({})

    async def make_source(self) -> RunKey:
        source = await self.engine.start(SHOWN, inputs={"secret": "s"})
        await self.engine.run_to_end(source)
        self.read.clear()
        self.engine.clock.advance((KEEP_DAYS + 1) * DAY_MS)
        return source

    async def expire(self, *_: Any) -> None:
        """What the sweeper does: delete runs that have ended too long ago, and assets to which no run refers."""
        engine = self.engine
        store, clock, blobs = engine.store, engine.clock, engine.blobs
        assert blobs is not None
        await Retention(store.retention, store.log, store.records, clock, engine.executor, KEEP_DAYS).delete_expired()
        await AssetSweep(store.assets, blobs, clock, engine.assets.unconfirmed_keys).sweep_all()


async def fork_or_fault(archive: Archive, source: RunKey, way: str) -> RunKey | ClientFault:
    types = await archive.engine.event_types(source)
    archive.engine.log.calls = 0
    archive.is_broken = way == "replay"
    from_seq = types.index("node.completed") + 1 if way == "branch" else 0
    try:
        if way == "retry":
            return await retry(archive.engine, source)
        return await fork(archive.engine, source, from_seq, "replay" if way == "replay" else "branch")
    except ClientFault as fault:
        return fault


async def check_race(way: str, at: int, is_after: bool) -> tuple[str, bool]:
    """A fork of an expired run that is deleted at one call of the store. Returns what became of the fork, and whether
    the deletion came too late."""
    archive = Archive()
    engine, source = archive.engine, await archive.make_source()
    log = engine.log
    log.at, log.is_after, log.victim = at, is_after, source
    key = await fork_or_fault(archive, source, way)
    if isinstance(key, ClientFault):
        assert (key.code, key.status) == ("not_found", 404)
        assert await run_keys(engine) == set(), "a refused fork is not there"
        return "not found", False
    await engine.run_to_end(key)
    await settle()
    is_over, log.victim = log.calls <= at, None
    await archive.expire()
    assert source.run_id not in await run_keys(engine)
    await check_kept(archive, key, way)
    return "whole", is_over


async def check_kept(archive: Archive, key: RunKey, way: str) -> None:
    """The source is gone. What the fork has lives until retention deletes the fork."""
    engine = archive.engine
    status, state = await engine.status(key), await engine.state(key)
    assert state.inputs == {"secret": "s"}, "a hidden value is lost"
    if way == "replay":
        assert status == "failed"
        assert state.error is not None
        assert state.error["code"] in ("broken", "replay_source_missing")
        assert set(archive.read) <= {"s"}
    else:
        assert (status, archive.read) == ("completed", ["s"])
    shown = await engine.payloads(key, "media.image")
    assert len(shown) == 1 or way == "replay"
    for each in shown:
        assert await fetch_asset(engine, each["url"]) == PNG, "a picture is lost"
    engine.clock.advance((KEEP_DAYS + 1) * DAY_MS)
    await archive.expire()
    assert await run_keys(engine) == set()
    for each in shown:
        assert (await fault_of(fetch_asset(engine, each["url"]))).status == 404


async def check_all(way: str) -> None:
    seen: set[str] = set()
    for is_after in (False, True):
        for at in count():
            assert at < MAX_CALLS, "the fork never gets along without a deletion"
            found, is_over = await check_race(way, at, is_after)
            seen.add(found)
            if is_over:
                break
    assert seen == {"whole", "not found"}


@pytest.mark.rule("fork-01", "fork-02", "run-11", "media-85")
@pytest.mark.parametrize("way", ["start over", "branch", "replay", "retry"])
async def test_a_fork_of_a_run_that_expires_meanwhile_is_whole_or_not_found(way: str) -> None:
    await check_all(way)


@pytest.mark.parametrize(
    ("owner", "name", "instead"),
    [
        (forks, "check_read", lambda last, wanted: None),
        (MemoryAssets, "copy_references", lambda self, source, run: None),
    ],
    ids=["deletion", "media"],
)
async def test_a_fork_that_loses_something_with_its_source_is_seen(
    owner: Any, name: str, instead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, instead)
    with pytest.raises((AssertionError, ClientFault, HostFault)):
        await check_all("branch")
