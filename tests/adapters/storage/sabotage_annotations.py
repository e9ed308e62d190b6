"""Stores in memory that keep annotations wrongly."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.memory.run_ports import MemoryAnnotations
from weftwork.ports.storage.annotations import Annotation, AnnotationPage
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.protocol.run.header import RunKey

Wrap = Callable[[Any, Any], Any]


def write_it_into_the_log(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, *rest: Any) -> Any:
        found = port._table.runs.get(run)
        if found is not None:
            found.projection = replace(found.projection, executions=found.projection.executions + 1)
        return await real(run, annotation, *rest)

    return add


def an_empty_page_for_nobody(port: MemoryAnnotations, real: Any) -> Any:
    async def page(*arguments: Any) -> Any:
        return await real(*arguments) or AnnotationPage((), False)

    return page


def show_anybodys(port: MemoryAnnotations, real: Any) -> Any:
    async def find(run: RunKey, annotation_id: str) -> Any:
        owner = next((key for key in port._table.runs if key.run_id == run.run_id), run)
        return await real(owner, annotation_id)

    return find


def newest_first(port: MemoryAnnotations, real: Any) -> Any:
    async def page(*arguments: Any) -> Any:
        found = await real(*arguments)
        return found and replace(found, annotations=found.annotations[::-1])

    return page


def without_a_budget(port: MemoryAnnotations, real: Any) -> Any:
    async def page(run: RunKey, after: str | None, limit: int, budget: int) -> Any:
        return await real(run, after, limit, 2**40)

    return page


def without_a_bound(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, most: int, *rest: Any) -> Any:
        return await real(run, annotation, 2**40, *rest)

    return add


def count_wait_write(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, most: int, *rest: Any) -> Any:
        found = port._table.runs.get(run)
        full = found is not None and len(found.annotations) >= most
        await asyncio.sleep(0)
        return "full" if full else await real(run, annotation, 2**40, *rest)

    return add


def replace_it(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, *rest: Any) -> Any:
        found = port._table.runs.get(run)
        if found is not None:
            found.annotations.pop(annotation.annotation_id, None)
        return await real(run, annotation, *rest)

    return add


def the_slot_comes_last(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, most: int, record: Any = None) -> Any:
        verdict = await real(run, annotation, most)
        known = await port._records.save_record(record) if verdict == "added" and record is not None else None
        return known or verdict

    return add


def look_at_the_slot_wait_write(port: MemoryAnnotations, real: Any) -> Any:
    async def add(run: RunKey, annotation: Annotation, most: int, record: Any = None) -> Any:
        known = await port._records.find_record(record.partition, record.slot, 0)
        await asyncio.sleep(0)
        return SlotTaken(known) if known else await real(run, annotation, most)

    return add


def look_everywhere(port: MemoryAnnotations, real: Any) -> Any:
    async def locate(run: RunKey, event_id: str, within: int) -> Any:
        return await real(run, event_id, 2**40)

    return locate


def hand_down_what_was_said(port: Any, real: Any) -> Any:
    """The next run of that id takes over what was said of the one before."""
    left: dict[str, Any] = {}

    async def delete(run: RunKey, *rest: Any) -> Any:
        found = port._table.runs.get(run)
        if found is not None:
            left.update(found.annotations)
        return await real(run, *rest)

    honest = port._table.add

    def add(header: Any, hidden: Any) -> Any:
        run = honest(header, hidden)
        run.annotations.update(left)
        return run

    port._table.add = add
    return delete


ANNOTATIONS: dict[str, tuple[str, Wrap]] = {
    "an_annotation_is_kept": ("annotations.add", write_it_into_the_log),
    "an_unknown_run_has_no_annotations": ("annotations.page", an_empty_page_for_nobody),
    "another_partition_sees_no_annotations": ("annotations.find", show_anybodys),
    "annotations_are_paged_oldest_first": ("annotations.page", newest_first),
    "a_page_ends_where_its_budget_is_reached": ("annotations.page", without_a_budget),
    "a_full_run_takes_no_more": ("annotations.add", without_a_bound),
    "many_at_once_do_not_overfill_a_run": ("annotations.add", count_wait_write),
    "an_annotation_id_is_used_once": ("annotations.add", replace_it),
    "an_annotation_is_stored_with_its_record": ("annotations.add", the_slot_comes_last),
    "one_of_many_with_one_slot_is_kept": ("annotations.add", look_at_the_slot_wait_write),
    "an_event_is_located_among_the_first": ("annotations.locate", look_everywhere),
    "annotations_go_with_their_run": ("retention.delete", hand_down_what_was_said),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
