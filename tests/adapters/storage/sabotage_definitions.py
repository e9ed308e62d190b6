"""Stores in memory that mix up registered workflows: their versions, tenants, order and records."""

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from weftwork.adapters.memory.store import MemoryDefinitions
from weftwork.ports.storage.definitions import VersionExists, VersionRegistered, WorkflowRegistration

Wrap = Callable[[Any, Any], Any]


def forget_the_description(port: MemoryDefinitions, real: Any) -> Any:
    async def find(*arguments: Any) -> Any:
        found = await real(*arguments)
        return None if found is None else replace(found, description=found.description or "")

    return find


def greatest_version(port: MemoryDefinitions, real: Any) -> Any:
    async def find(tenant: str, workflow_id: str, version: str | None = None) -> Any:
        versions = port._tenants.get(tenant, {}).get(workflow_id, {})
        return versions.get(version or max(versions, default=""))

    return find


def overwrite(port: MemoryDefinitions, real: Any) -> Any:
    async def register(new: WorkflowRegistration, *rest: Any) -> Any:
        port._tenants.get(new.tenant, {}).get(new.workflow_id, {}).pop(new.version, None)
        return await real(new, *rest)

    return register


def look_wait_write(port: MemoryDefinitions, real: Any) -> Any:
    async def register(new: WorkflowRegistration, *rest: Any) -> Any:
        known = await port.find(new.tenant, new.workflow_id, new.version)
        await asyncio.sleep(0)
        if known is not None:
            return VersionExists(known)
        port._tenants.setdefault(new.tenant, {}).setdefault(new.workflow_id, {})[new.version] = new
        return VersionRegistered()

    return register


def count_workflows_only(port: MemoryDefinitions, real: Any) -> Any:
    async def register(new: WorkflowRegistration, document: bytes, most: int, *rest: Any) -> Any:
        versions = sum(map(len, port._tenants.get(new.tenant, {}).values()))
        return await real(new, document, most + versions - len(port._tenants.get(new.tenant, {})), *rest)

    return register


def lose_the_record(port: MemoryDefinitions, real: Any) -> Any:
    async def register(new: WorkflowRegistration, document: bytes, most: int, record: Any = None) -> Any:
        return await real(new, document, most)

    return register


def in_the_order_of_registration(port: MemoryDefinitions, real: Any) -> Any:
    async def workflows(tenant: str, after: str | None, limit: int) -> Any:
        ids = [name for name in port._tenants.get(tenant, {}) if name > (after or "")][:limit]
        page = {listed.current.workflow_id: listed for listed in await real(tenant, None, 100)}
        return [page[name] for name in ids]

    return workflows


def all_versions(port: MemoryDefinitions, real: Any) -> Any:
    async def workflows(tenant: str, *rest: Any) -> Any:
        own = port._tenants.get(tenant, {})
        page = await real(tenant, *rest)
        return [replace(each, versions=tuple(reversed(own[each.current.workflow_id]))) for each in page]

    return workflows


def anybodys(port: MemoryDefinitions, real: Any) -> Any:
    async def find(tenant: str, workflow_id: str, *rest: Any) -> Any:
        owner = next((owner for owner, own in port._tenants.items() if workflow_id in own), tenant)
        return await real(owner, workflow_id, *rest)

    return find


def count_versions(port: MemoryDefinitions, real: Any) -> Any:
    async def count() -> int:
        return sum(len(versions) for own in port._tenants.values() for versions in own.values())

    return count


DEFINITIONS: dict[str, tuple[str, Wrap]] = {
    "a_registration_comes_back_whole": ("definitions.find", forget_the_description),
    "the_version_registered_last_is_current": ("definitions.find", greatest_version),
    "a_version_is_registered_once": ("definitions.register", overwrite),
    "one_of_many_registers_a_version": ("definitions.register", look_wait_write),
    "a_full_tenant_registers_nothing": ("definitions.register", count_workflows_only),
    "a_registration_is_stored_with_its_record": ("definitions.register", lose_the_record),
    "workflows_are_listed_by_id": ("definitions.workflows", in_the_order_of_registration),
    "a_listing_names_the_newest_versions": ("definitions.workflows", all_versions),
    "another_tenant_sees_no_workflow": ("definitions.find", anybodys),
    "workflows_are_counted": ("definitions.count", count_versions),
}
"""Check -> the port method that is replaced, and the replacement made from the port and its own method."""
