"""Checks of the annotations port."""

import asyncio
from typing import Any, Final

from weftwork.ports.storage.annotations import Annotation, AnnotationPage
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.errors import HostFault
from weftwork.protocol.run.header import RunKey
from weftwork.testing.storage.harness import Store, catch, purge, state_of
from weftwork.testing.storage.samples import ACME, NOW, OTHER, batch, event, make_run, record

MAX_ANNOTATIONS: Final = 1000
BUDGET: Final = 2**20


def annotation(annotation_id: str = "a1", size: int = 2) -> Annotation:
    """An annotation with a document of `size` bytes."""
    return Annotation(annotation_id, b"\xff" * size)


async def page_of(
    store: Store, run: RunKey, after: str | None = None, limit: int = 10, budget: int = BUDGET
) -> AnnotationPage:
    """A page of annotations of an existing run."""
    page = await store.annotations.page(run, after, limit, budget)
    assert page is not None
    return page


async def annotation_ids(store: Store, run: RunKey) -> list[str]:
    return [each.annotation_id for each in (await page_of(store, run, limit=MAX_ANNOTATIONS)).annotations]


async def an_annotation_is_kept(store: Store) -> None:
    """An annotation is returned unchanged by `find` and by `page`, for live and for ended runs."""
    for run in (await make_run(store), await make_run(store, "ended", status="completed")):
        before = await state_of(store, run)
        first, second = annotation(size=100_000), annotation("a2", 0)
        assert await store.annotations.page(run, None, 10, BUDGET) is not None
        for each in (first, second):
            assert await store.annotations.add(run, each, MAX_ANNOTATIONS) == "added"
        assert await page_of(store, run) == AnnotationPage((first, second), False)
        assert await store.annotations.find(run, "a1") == first
        assert await store.annotations.find(run, "a3") is None
        assert await state_of(store, run) == before, "an annotation must not change the run"


async def an_unknown_run_has_no_annotations(store: Store) -> None:
    """For an unknown run, nothing can be added or read, and no idempotency record is stored."""
    run = RunKey(ACME, "nobody")
    assert await store.annotations.add(run, annotation(), MAX_ANNOTATIONS, record()) == "absent"
    assert await store.annotations.page(run, None, 10, BUDGET) is None
    assert await store.annotations.find(run, "a1") is None
    assert await store.annotations.locate(run, "event-0", 10) is None
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    run = await make_run(store, "nobody")
    assert await annotation_ids(store, run) == []


async def another_partition_sees_no_annotations(store: Store) -> None:
    """Annotations are invisible to other partitions. A run with the same id in another partition has its own."""
    run = await make_run(store, status="running")
    await store.annotations.add(run, annotation(), MAX_ANNOTATIONS)
    for partition in (OTHER, "test:acme", ""):
        stranger = RunKey(partition, run.run_id)
        assert await store.annotations.add(stranger, annotation("b"), MAX_ANNOTATIONS) == "absent"
        assert await store.annotations.page(stranger, None, 10, BUDGET) is None
        assert await store.annotations.find(stranger, "a1") is None
        assert await store.annotations.locate(stranger, "event-0", 10) is None
    theirs = await make_run(store, run.run_id, OTHER)
    assert await store.annotations.add(theirs, annotation("a1", 7), MAX_ANNOTATIONS) == "added"
    assert await store.annotations.find(theirs, "a1") == annotation("a1", 7)
    assert await store.annotations.find(run, "a1") == annotation()


async def annotations_are_paged_oldest_first(store: Store) -> None:
    """A page holds at most `limit` annotations in commit order. Walking the pages returns each annotation of the run
    once."""
    run, other = await make_run(store), await make_run(store, "other")
    names = [f"a{(number * 7) % 10}" for number in range(10)]
    for name in names:
        await store.annotations.add(run, annotation(name), MAX_ANNOTATIONS)
        await store.annotations.add(other, annotation(f"b{name}"), MAX_ANNOTATIONS)
    for limit in (1, 3, 10, 11):
        seen: list[str] = []
        more = True
        while more:
            page = await page_of(store, run, seen[-1] if seen else None, limit)
            assert 0 < len(page.annotations) <= limit
            seen += [each.annotation_id for each in page.annotations]
            more = page.more
        assert seen == names
    for unknown in ("nobody", "ba1", ""):
        assert await page_of(store, run, unknown) == AnnotationPage((), False)


async def a_page_ends_where_its_budget_is_reached(store: Store) -> None:
    """A page ends with the annotation that reaches its budget, and `more` is true if others follow."""
    run = await make_run(store)
    for name in "abc":
        await store.annotations.add(run, annotation(name, 10), MAX_ANNOTATIONS)
    for budget, count in ((0, 1), (1, 1), (10, 1), (11, 2), (20, 2), (21, 3), (30, 3)):
        page = await page_of(store, run, budget=budget)
        assert (len(page.annotations), page.more) == (count, count < 3)


async def a_full_run_takes_no_more(store: Store) -> None:
    """`add` returns "full" and writes nothing once a run has `most` annotations. The limit is per run."""
    run, other = await make_run(store), await make_run(store, "other")
    for name in ("a1", "a2"):
        assert await store.annotations.add(run, annotation(name), 2) == "added"
    assert await store.annotations.add(run, annotation("a3"), 2, record()) == "full"
    assert await annotation_ids(store, run) == ["a1", "a2"]
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await store.annotations.add(other, annotation("a3"), 2) == "added"
    assert await store.annotations.add(run, annotation("a3"), 3) == "added"


async def many_at_once_do_not_overfill_a_run(store: Store) -> None:
    """Concurrent adds store no more annotations than the limit of the run."""
    run = await make_run(store)
    ends = await asyncio.gather(*(store.annotations.add(run, annotation(f"a{n}"), 5) for n in range(20)))
    assert sorted(map(str, ends)) == ["added"] * 5 + ["full"] * 15
    assert len(await annotation_ids(store, run)) == 5


async def an_annotation_id_is_used_once(store: Store) -> None:
    """An annotation id that the run already has raises an exception, and the first annotation is unchanged."""
    run = await make_run(store)
    await store.annotations.add(run, annotation(), MAX_ANNOTATIONS)
    assert isinstance(
        await catch(store.annotations.add(run, annotation("a1", 9), MAX_ANNOTATIONS, record())), HostFault
    )
    assert await store.annotations.find(run, "a1") == annotation()
    assert await store.records.find_record(ACME, "slot-1", 0) is None


async def an_annotation_is_stored_with_its_record(store: Store) -> None:
    """The idempotency record is stored together with the annotation. A taken slot is checked first, and then nothing is
    written."""
    run = await make_run(store)
    assert await store.annotations.add(run, annotation(), MAX_ANNOTATIONS, record()) == "added"
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    other: Any = record(fingerprint="0" * 64)
    for given, most in ((run, MAX_ANNOTATIONS), (run, 0), (RunKey(ACME, "nobody"), MAX_ANNOTATIONS)):
        assert await store.annotations.add(given, annotation("a2"), most, other) == SlotTaken(record())
    assert await annotation_ids(store, run) == ["a1"]
    fresh = record(created_at=NOW + 2, expired_before=NOW + 1)
    assert await store.annotations.add(run, annotation("a2"), MAX_ANNOTATIONS, fresh) == "added"
    assert await store.records.find_record(ACME, "slot-1", NOW + 1) == record(created_at=NOW + 2)
    wrong = record("slot-2", OTHER)
    assert isinstance(await catch(store.annotations.add(run, annotation("a3"), MAX_ANNOTATIONS, wrong)), HostFault)
    assert await annotation_ids(store, run) == ["a1", "a2"]


async def one_of_many_with_one_slot_is_kept(store: Store) -> None:
    """Of concurrent adds with the same slot, one is stored, and the others return SlotTaken with its record."""
    run = await make_run(store)
    ends = await asyncio.gather(
        *(store.annotations.add(run, annotation(f"a{n}"), MAX_ANNOTATIONS, record(outcome=b"%d" % n)) for n in range(8))
    )
    (kept,) = await annotation_ids(store, run)
    assert [end for end in ends if end != "added"] == [SlotTaken(record(outcome=kept[1:].encode()))] * 7


async def an_event_is_located_among_the_first(store: Store) -> None:
    """`locate` returns the sequence of the event with this id if it is among the first `within` events of the run."""
    run, other = await make_run(store), await make_run(store, "other")
    for each in (run, other):
        await store.log.append(each, -1, batch(each, -1, 5))
    await store.log.append(other, 4, batch(other, 4, 1))
    for sequence in range(5):
        name = event(run, sequence).event_id
        assert await store.annotations.locate(run, name, sequence + 1) == sequence
        assert await store.annotations.locate(run, name, sequence) is None
    assert await store.annotations.locate(run, "event-5", 100) is None
    assert await store.annotations.locate(run, "event-0", -1) is None
    assert await store.annotations.locate(other, "event-5", 2**60) == 5


async def annotations_go_with_their_run(store: Store) -> None:
    """Deleting a run removes its annotations. A new run with the same id has none."""
    run = await make_run(store, status="completed")
    kept = await make_run(store, "kept", status="completed")
    for each in (run, kept):
        await store.annotations.add(each, annotation(), MAX_ANNOTATIONS)
    assert await store.retention.delete(run, NOW) is True
    assert await store.annotations.page(run, None, 10, BUDGET) is None
    assert await store.annotations.find(run, "a1") is None
    assert await store.annotations.add(run, annotation("a2"), MAX_ANNOTATIONS) == "absent"
    await purge(store)
    assert await make_run(store, status="completed") == run
    assert await annotation_ids(store, run) == []
    assert await annotation_ids(store, kept) == ["a1"]
