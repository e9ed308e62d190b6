"""Stores in memory that keep annotations and workflows wrongly, and delete what they should keep."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from tests.adapters.storage.sabotage_runs import answered, asked, changed, of_anybody
from weftwork.adapters.memory.run_ports import MemoryAnnotations
from weftwork.adapters.memory.store import MemoryDefinitions
from weftwork.ports.storage.annotations import Annotation, AnnotationPage
from weftwork.ports.storage.definitions import VersionExists, VersionRegistered, WorkflowRegistration
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.ports.storage.retention import StillLive
from weftwork.protocol.run.header import RunKey

Wrap = Callable[..., Any]


async def write_it_into_the_log(
    port: MemoryAnnotations, real: Any, run: RunKey, annotation: Annotation, *rest: Any
) -> Any:
    found = port._table.runs.get(run)
    if found is not None:
        found.projection = replace(found.projection, executions=found.projection.executions + 1)
    return await real(run, annotation, *rest)


async def count_wait_write(
    port: MemoryAnnotations, real: Any, run: RunKey, annotation: Annotation, most: int, *rest: Any
) -> Any:
    found = port._table.runs.get(run)
    full = found is not None and len(found.annotations) >= most
    await asyncio.sleep(0)
    return "full" if full else await real(run, annotation, 2**40, *rest)


async def replace_it(port: MemoryAnnotations, real: Any, run: RunKey, annotation: Annotation, *rest: Any) -> Any:
    found = port._table.runs.get(run)
    if found is not None:
        found.annotations.pop(annotation.annotation_id, None)
    return await real(run, annotation, *rest)


async def the_slot_comes_last(
    port: MemoryAnnotations, real: Any, run: RunKey, annotation: Annotation, most: int, record: Any = None
) -> Any:
    verdict = await real(run, annotation, most)
    known = await port._records.save_record(record) if verdict == "added" and record is not None else None
    return known or verdict


async def look_at_the_slot_wait_write(
    port: MemoryAnnotations, real: Any, run: RunKey, annotation: Annotation, most: int, record: Any = None
) -> Any:
    known = await port._records.find_record(record.partition, record.slot, 0)
    await asyncio.sleep(0)
    return SlotTaken(known) if known else await real(run, annotation, most)


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


def newest_first(page: AnnotationPage | None) -> AnnotationPage | None:
    return page and replace(page, annotations=page.annotations[::-1])


ANNOTATIONS: dict[str, tuple[str, Wrap]] = {
    "an_annotation_is_kept": ("annotations.add", write_it_into_the_log),
    "an_unknown_run_has_no_annotations": ("annotations.page", changed(lambda page: page or AnnotationPage((), False))),
    "another_partition_sees_no_annotations": ("annotations.find", asked(of_anybody)),
    "annotations_are_paged_oldest_first": ("annotations.page", changed(newest_first)),
    "a_page_ends_where_its_budget_is_reached": (
        "annotations.page",
        asked(lambda port, run, after, limit, _: (run, after, limit, 2**40)),
    ),
    "a_full_run_takes_no_more": (
        "annotations.add",
        asked(lambda port, run, annotation, _, *rest: (run, annotation, 2**40, *rest)),
    ),
    "many_at_once_do_not_overfill_a_run": ("annotations.add", count_wait_write),
    "an_annotation_id_is_used_once": ("annotations.add", replace_it),
    "an_annotation_is_stored_with_its_record": ("annotations.add", the_slot_comes_last),
    "one_of_many_with_one_slot_is_kept": ("annotations.add", look_at_the_slot_wait_write),
    "an_event_is_located_among_the_first": (
        "annotations.locate",
        asked(lambda port, run, event_id, within: (run, event_id, 2**40)),
    ),
    "annotations_go_with_their_run": ("retention.delete", hand_down_what_was_said),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""


async def greatest_version(
    port: MemoryDefinitions, real: Any, tenant: str, workflow_id: str, version: str | None = None
) -> Any:
    versions = port._tenants.get(tenant, {}).get(workflow_id, {})
    return versions.get(version or max(versions, default=""))


async def overwrite(port: MemoryDefinitions, real: Any, new: WorkflowRegistration, *rest: Any) -> Any:
    port._tenants.get(new.tenant, {}).get(new.workflow_id, {}).pop(new.version, None)
    return await real(new, *rest)


async def look_wait_write(port: MemoryDefinitions, real: Any, new: WorkflowRegistration, *rest: Any) -> Any:
    known = await port.find(new.tenant, new.workflow_id, new.version)
    await asyncio.sleep(0)
    if known is not None:
        return VersionExists(known)
    port._tenants.setdefault(new.tenant, {}).setdefault(new.workflow_id, {})[new.version] = new
    return VersionRegistered()


async def count_workflows_only(
    port: MemoryDefinitions, real: Any, new: WorkflowRegistration, document: bytes, most: int, *rest: Any
) -> Any:
    versions = sum(map(len, port._tenants.get(new.tenant, {}).values()))
    return await real(new, document, most + versions - len(port._tenants.get(new.tenant, {})), *rest)


async def in_the_order_of_registration(
    port: MemoryDefinitions, real: Any, tenant: str, after: str | None, limit: int
) -> Any:
    ids = [name for name in port._tenants.get(tenant, {}) if name > (after or "")][:limit]
    page = {listed.current.workflow_id: listed for listed in await real(tenant, None, 100)}
    return [page[name] for name in ids]


async def all_versions(port: MemoryDefinitions, real: Any, tenant: str, *rest: Any) -> Any:
    own = port._tenants.get(tenant, {})
    page = await real(tenant, *rest)
    return [replace(each, versions=tuple(reversed(own[each.current.workflow_id]))) for each in page]


async def anybodys(port: MemoryDefinitions, real: Any, tenant: str, workflow_id: str, *rest: Any) -> Any:
    owner = next((owner for owner, own in port._tenants.items() if workflow_id in own), tenant)
    return await real(owner, workflow_id, *rest)


def without_description(found: WorkflowRegistration | None) -> WorkflowRegistration | None:
    return found and replace(found, description=found.description or "")


DEFINITIONS: dict[str, tuple[str, Wrap]] = {
    "a_registration_comes_back_whole": ("definitions.find", changed(without_description)),
    "the_version_registered_last_is_current": ("definitions.find", greatest_version),
    "a_version_is_registered_once": ("definitions.register", overwrite),
    "one_of_many_registers_a_version": ("definitions.register", look_wait_write),
    "a_full_tenant_registers_nothing": ("definitions.register", count_workflows_only),
    "a_registration_is_stored_with_its_record": (
        "definitions.register",
        asked(lambda port, new, document, most, record=None: (new, document, most)),
    ),
    "workflows_are_listed_by_id": ("definitions.workflows", in_the_order_of_registration),
    "a_listing_names_the_newest_versions": ("definitions.workflows", all_versions),
    "another_tenant_sees_no_workflow": ("definitions.find", anybodys),
    "workflows_are_counted": (
        "definitions.count",
        answered(lambda port: sum(len(each) for own in port._tenants.values() for each in own.values())),
    ),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""


async def delete_live_ones(port: Any, real: Any, run: RunKey, *rest: Any) -> Any:
    try:
        return await real(run, *rest)
    except StillLive:
        del port._table.runs[run], port._table.live[run]
        return True


def hand_down(port: Any, real: Any) -> Any:
    """The next run takes over what a deleted one left, as when its number is given out again."""
    left: list[Any] = []

    async def delete(run: RunKey, *rest: Any) -> Any:
        left[:] = [port._table.runs[run].events] if run in port._table.runs else []
        return await real(run, *rest)

    make = port._table.add

    def add(header: Any, hidden: Any) -> Any:
        run = make(header, hidden)
        if left:
            run.events = left.pop()
        return run

    port._table.add = add
    return delete


async def forget_the_place(port: Any, real: Any, run: RunKey, *rest: Any) -> Any:
    answer = await real(run, *rest)
    port._table.deleted.clear()
    return answer


async def delete_records_too(port: Any, real: Any, run: RunKey, *rest: Any) -> Any:
    port._records._records.clear()
    return await real(run, *rest)


DELETES: dict[str, tuple[str, Wrap]] = {
    "a_deleted_run_is_gone": ("retention.delete", answered(lambda port, run, *rest: run in port._table.runs)),
    "a_live_run_is_not_deleted": ("retention.delete", delete_live_ones),
    "another_partition_deletes_nothing": ("retention.delete", asked(of_anybody)),
    "a_long_run_is_gone_at_once": ("retention.delete", hand_down),
    "a_run_id_is_free_after_deletion": ("retention.delete", hand_down),
    "a_page_goes_on_after_a_deleted_run": ("retention.delete", forget_the_place),
    "recovery_goes_on_after_a_deleted_run": ("retention.delete", forget_the_place),
    "a_record_outlives_its_run": ("retention.delete", delete_records_too),
    "a_deletion_is_recorded_with_it": ("retention.delete", asked(lambda port, run, now, record=None: (run, now))),
    "ended_runs_are_found_by_their_end": (
        "retention.runs_ended_before",
        asked(lambda port, before, *rest: (before + 1, *rest)),
    ),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
