"""Branches of runs with media: they belong to the branch, and live as long as it does."""

import pytest

from tests.engine.forks.test_branches import fork
from tests.harness.cases import fails_without
from tests.harness.definitions import edge, node, workflow
from tests.harness.engine_harness import EngineHarness
from tests.harness.media_host import PNG, emit_media_node, fetch_asset, media_harness
from weftwork.adapters.memory import run_ports
from weftwork.engine.media.asset_sweep import AssetSweep
from weftwork.ports.media import OutgoingMedia
from weftwork.protocol.errors import ClientFault
from weftwork.protocol.run.header import RunKey

SHOWN = workflow([node("a", "test.show"), node("b")], [edge("a", "b")])
PHOTO = OutgoingMedia("image", PNG, "image/png", "A dot.", "Dot")


async def delete_and_sweep(engine: EngineHarness, key: RunKey) -> None:
    assert await engine.store.retention.delete(key, engine.clock.now())
    while await engine.store.retention.purge():
        pass
    engine.clock.advance(90 * 86_400_000)
    assert engine.blobs is not None
    await AssetSweep(engine.store.assets, engine.blobs, engine.clock, engine.assets.unconfirmed_keys).sweep_all()


@pytest.mark.rule("fork-01", "media-85")
@fails_without(run_ports.MemoryForks, "create", None, errors=(TypeError,))
async def test_media_of_the_prefix_live_as_long_as_the_last_branch() -> None:
    engine = media_harness(emit_media_node(PHOTO))
    source = await engine.start(SHOWN)
    await engine.run_to_end(source)
    (shown,) = await engine.payloads(source, "media.image")
    types = await engine.event_types(source)
    branch = await fork(engine, source, types.index("node.completed") + 1)
    await engine.run_to_end(branch)
    again = await fork(engine, branch, types.index("node.completed") + 2)
    await engine.run_to_end(again)
    assert await engine.payload(again, "media.image") == shown
    for deleted in (source, branch):
        await delete_and_sweep(engine, deleted)
        assert await fetch_asset(engine, shown["url"]) == PNG
    await delete_and_sweep(engine, again)
    with pytest.raises(ClientFault):
        await fetch_asset(engine, shown["url"])


async def test_an_asset_of_an_overlay_lives_as_long_as_the_branch() -> None:
    engine = media_harness(emit_media_node(PHOTO))
    other = await engine.start(SHOWN)
    await engine.run_to_end(other)
    (shown,) = await engine.payloads(other, "media.image")
    for from_seq in (0, 1):
        source = await engine.start(workflow([node("z")], id="plain"))
        await engine.run_to_end(source)
        branch = await fork(engine, source, from_seq, inputs={"photo": shown["url"]})
        await engine.run_to_end(branch)
        header = (await engine.stored_run(branch)).header
        assert len(header.assets) == 1, from_seq
    await delete_and_sweep(engine, other)
    assert await fetch_asset(engine, shown["url"]) == PNG
