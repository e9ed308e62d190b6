"""Bundles of large runs show what they showed when a run was masked at once, and mask it in small steps."""

import asyncio
import json
import random
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import strategies as st

from tests.engine.api.test_large_snapshots import PLAN, some_run
from tests.harness.cases import fails_without
from tests.harness.definitions import for_all, header_of
from tests.harness.engine_harness import CALLER
from weftwork.engine.api import review, runs
from weftwork.engine.api.review import Bundles, MediaLinks, RunDiffs
from weftwork.engine.api.runs import Runs
from weftwork.protocol.review import bundled_run
from weftwork.protocol.review.bundle_masks import mask_document
from weftwork.protocol.review.bundled_run import MAX_RUN_BYTES, BundledRun, bundle_run
from weftwork.protocol.run.projection import Projection, StateRow, StoredRun

WORDS = "some words of a long text "
LINKS = MediaLinks(None, "live:acme", "run-1")
REQUIRED = {"runId", "workflowId", "status", "hostStatus"}


async def snapshot_of(run: StoredRun) -> dict[str, Any]:
    return await Runs.make_snapshot(cast(Any, None), run)


def at_once(snapshot: dict[str, Any], limit: int) -> bytes:
    """The run as one document: each member is masked whole, and the largest are omitted."""
    members = {
        name: mask_document(msgspec.json.encode(value), LINKS.url) for name, value in bundle_run(snapshot).items()
    }
    omitted: list[str] = []
    size = sum(len(value) + len(name) + 4 for name, value in members.items())
    for name in sorted(members, key=lambda name: len(members[name]), reverse=True):
        if size <= limit:
            break
        if name not in REQUIRED:
            size -= len(members.pop(name)) + len(name) + 4
            omitted.append(name)
    if omitted:
        members["omitted"] = msgspec.json.encode(omitted)
    return msgspec.json.encode({name: msgspec.Raw(value) for name, value in members.items()})


async def bundled(run: StoredRun, limit: int) -> tuple[bytes, bool]:
    bundles = Bundles(cast(Any, None), cast(Any, SimpleNamespace(make_snapshot=snapshot_of)), "0.1.0", cast(Any, None))
    made = await bundles._bundle_run(CALLER, run, limit, LINKS)
    return made.document()


def text(size: int) -> bytes:
    return b'"%b"' % (WORDS * (size // len(WORDS))).encode()


def large_run(count: int, value: Callable[[int], bytes] = lambda at: text(900_000)) -> StoredRun:
    rows = tuple(StateRow("variable", f"v{at}", value(at)) for at in range(count))
    outputs = b'{"a":%b,"b":%b,"c":%b}' % (text(1_900_000), text(500_000), text(200_000))
    return StoredRun(header_of(PLAN), Projection("completed", 1, outputs=outputs), rows)


@pytest.mark.rule("bundle-03", "bundle-04")
@for_all(100, st.integers(0, 2**32))
def test_a_run_within_the_limit_has_the_bytes_of_one_that_is_masked_at_once(seed: int) -> None:
    run = some_run(random.Random(seed))
    document, is_cut = asyncio.run(bundled(run, MAX_RUN_BYTES))
    assert document == at_once(asyncio.run(snapshot_of(run)), MAX_RUN_BYTES)
    assert not is_cut


@pytest.mark.rule("bundle-04")
@for_all(150, st.integers(0, 2**32), st.sampled_from([300, 1_100, 2_500, 5_000, 20_000]))
def test_a_run_that_exceeds_the_limit_loses_the_same_members(seed: int, limit: int) -> None:
    """The values have long words, which masking shortens, so a member that is too large may fit in the end."""
    run = some_run(random.Random(seed))
    document, is_cut = asyncio.run(bundled(run, limit))
    shown, expected = json.loads(document), json.loads(at_once(asyncio.run(snapshot_of(run)), limit))
    assert is_cut == ("omitted" in expected)
    # A member that was left has no size with masks, by which it could be sorted.
    assert sorted(shown.pop("omitted", [])) == sorted(expected.pop("omitted", []))
    assert shown == expected


@pytest.mark.rule("bundle-04")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_large_run_keeps_its_shape(count: int) -> None:
    run = large_run(count)
    document, is_cut = asyncio.run(bundled(run, MAX_RUN_BYTES))
    assert document == at_once(asyncio.run(snapshot_of(run)), MAX_RUN_BYTES)
    assert is_cut
    assert json.loads(document)["omitted"] == (["variables", "outputs"] if count == 3 else ["outputs"])


def media_document(names: tuple[str, ...]) -> StoredRun:
    """A run whose variables are together the object of media."""
    values = {"mimeType": b'"image/png"', "data": b'"AAAA"', "note": text(3_000), "type": b'"media.image"'}
    rows = tuple(StateRow("variable", name, values[name]) for name in names)
    return StoredRun(
        header_of(PLAN), Projection("completed", 1), (*rows, StateRow("variable", "w", b'"%b"' % (b"x" * 9_000)))
    )


@pytest.mark.rule("bundle-08")
@fails_without(bundled_run, "MEDIA_MEMBERS", frozenset[str]())
def test_an_object_of_media_is_not_split() -> None:
    run = media_document(("note", "mimeType", "data", "type"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundled_run, "BATCH_BYTES", 8)
        shown = json.loads(asyncio.run(bundled(run, 8_000))[0])
    assert "data" not in shown["variables"]
    assert shown == json.loads(at_once(asyncio.run(snapshot_of(run)), 8_000))


@pytest.mark.rule("bundle-04")
@fails_without(bundled_run, "SPLIT_DEPTH", 0)
def test_a_member_is_left_when_it_exceeds_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    masked: list[int] = []

    def counted(document: bytes, link: Any) -> bytes:
        masked.append(len(document))
        return mask_document(document, link)

    monkeypatch.setattr(bundled_run, "mask_document", counted)
    asyncio.run(bundled(large_run(20), MAX_RUN_BYTES))
    # Three of the twenty values of `variables`, and two of `outputs`.
    assert 3_000_000 < sum(masked) < 6_000_000
    assert max(masked) < 2_000_000


@fails_without(runs, "SLICE_BYTES", 2**40)
def test_masking_yields_to_the_loop_after_each_slice() -> None:
    """Work on the loop is counted in bytes that are masked. All of the run is masked, because it becomes small."""
    loop_thread = threading.get_ident()
    counts = [0]
    honest = BundledRun.add

    def counted(made: BundledRun, part: bundled_run.RunPart, link: Any) -> None:
        if threading.get_ident() == loop_thread:
            counts[-1] += len(part.document)
        honest(made, part, link)

    async def work() -> None:
        run = large_run(100, lambda at: b'"%b"' % (b"x" * 30_000))
        making = asyncio.create_task(bundled(run, MAX_RUN_BYTES))
        while not making.done():
            counts.append(0)
            await asyncio.sleep(0)
        assert len(json.loads((await making)[0])["variables"]) == 100

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BundledRun, "add", counted)
        asyncio.run(work())
    assert sum(counts) > 3_000_000
    assert max(counts) <= 1_048_576 // review.SEARCH_WEIGHT + 70_000


@fails_without(review, "is_large", lambda run: False)
def test_large_states_are_compared_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    class Recorded(review.RunDiff):
        def __init__(self, a: StoredRun, b: StoredRun) -> None:
            threads.append(threading.get_ident())
            super().__init__(a, b)

    async def work() -> dict[str, Any]:
        async def read(principal: Any, run_id: str) -> StoredRun:
            return large_run(1 if run_id == "a" else 2)

        diffs = SimpleNamespace(_slots=asyncio.Semaphore(), _read_run=read, _compare_page=skipped)
        return await RunDiffs.compare(cast(Any, diffs), CALLER, "a", "b")

    async def skipped(principal: Any, diff: Any, a: Any, b: Any) -> None:
        diff.next_sequence = diff.last_sequence + 1

    monkeypatch.setattr(review, "RunDiff", Recorded)
    document = asyncio.run(work())
    assert list(document["stateDiff"]) == ["/variables/v1"]
    assert threads[0] != threading.get_ident()
