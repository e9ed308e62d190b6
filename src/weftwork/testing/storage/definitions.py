"""Checks of the definitions port."""

import asyncio
from typing import Any, Final

from weftwork.ports.storage.definitions import (
    MAX_LISTED_VERSIONS,
    RegistrationLimitReached,
    VersionExists,
    VersionRegistered,
    WorkflowRegistration,
)
from weftwork.ports.storage.idempotency import SlotTaken
from weftwork.testing.storage.harness import Store
from weftwork.testing.storage.samples import ACME, NOW, record

MAX_REGISTRATIONS: Final = 1000


def registration(workflow_id: str = "greet", version: str = "1.0", **fields: Any) -> WorkflowRegistration:
    """A version of a workflow of the tenant acme. `fields` overrides the defaults."""
    plain: dict[str, Any] = {
        "tenant": "acme",
        "digest": f"digest-{workflow_id}-{version}",
        "created_at": NOW,
        "name": "Zoë's workflow",
        "description": "Says hello.",
    }
    return WorkflowRegistration(workflow_id=workflow_id, version=version, **(plain | fields))


async def register(store: Store, *registrations: WorkflowRegistration) -> None:
    for each in registrations:
        assert await store.definitions.register(each, each.digest.encode(), MAX_REGISTRATIONS) == VersionRegistered()


async def a_definition_is_kept(store: Store) -> None:
    """`get` returns the bytes that were stored under the digest, and None for an unknown digest."""
    assert await store.definitions.get("d1") is None
    await store.definitions.put("d1", b'{"id": "first"}')
    await store.definitions.put("d2", b"\x00" * 100_000)
    assert await store.definitions.get("d1") == b'{"id": "first"}'
    assert await store.definitions.get("d2") == b"\x00" * 100_000
    assert await store.definitions.get("d3") is None


async def a_definition_never_changes(store: Store) -> None:
    """A stored document never changes: `put` and `register` with a known digest keep the first bytes."""
    await store.definitions.put("d1", b"first")
    await store.definitions.put("d1", b"second")
    third = registration(digest="d1")
    assert await store.definitions.register(third, b"third", MAX_REGISTRATIONS) == VersionRegistered()
    assert await store.definitions.get("d1") == b"first"


async def a_registration_comes_back_whole(store: Store) -> None:
    """`find` returns a registration unchanged, with and without a version. Its document is stored under its digest."""
    bare = registration("bare", description=None)
    await register(store, registration(), bare)
    for version in (None, "1.0"):
        assert await store.definitions.find("acme", "greet", version) == registration()
        assert await store.definitions.find("acme", "bare", version) == bare
        assert await store.definitions.find("acme", "other", version) is None
    assert await store.definitions.find("acme", "greet", "1") is None
    assert await store.definitions.get(registration().digest) == b"digest-greet-1.0"


async def the_version_registered_last_is_current(store: Store) -> None:
    """The version that was registered last is current, independent of version names and times. Earlier versions stay
    unchanged."""
    given = [registration(version=version, created_at=at) for version, at in (("2.0", 30), ("10.0", 20), ("1.0", 10))]
    for each in given:
        await register(store, each)
        assert await store.definitions.find("acme", "greet") == each
    await register(store, registration("another"))
    assert await store.definitions.find("acme", "greet") == given[-1]
    assert [await store.definitions.find("acme", "greet", each.version) for each in given] == given


async def a_version_is_registered_once(store: Store) -> None:
    """Registering an existing version returns VersionExists, for any document. Nothing is written, and the version does
    not become current."""
    await register(store, registration(), registration(version="2.0"))
    for digest in ("another", registration().digest):
        again = registration(digest=digest, created_at=NOW + 1)
        refused = await store.definitions.register(again, b"another", MAX_REGISTRATIONS, record())
        assert refused == VersionExists(registration())
    assert await store.definitions.find("acme", "greet") == registration(version="2.0")
    assert await store.definitions.find("acme", "greet", "1.0") == registration()
    assert await store.definitions.get("another") is None
    assert await store.records.find_record(ACME, "slot-1", 0) is None


async def one_of_many_registers_a_version(store: Store) -> None:
    """Of concurrent registrations of one version, one succeeds, and the others return VersionExists with it."""
    given = [registration(digest=f"d{number}") for number in range(8)]
    ends = await asyncio.gather(*(store.definitions.register(each, b"", MAX_REGISTRATIONS) for each in given))
    (first,) = [each for each, end in zip(given, ends, strict=True) if end == VersionRegistered()]
    assert sorted(ends, key=repr) == sorted([VersionRegistered(), *[VersionExists(first)] * 7], key=repr)
    assert await store.definitions.find("acme", "greet") == first


async def a_full_tenant_registers_nothing(store: Store) -> None:
    """With `most` registrations of a tenant, a new version returns RegistrationLimitReached, and an existing one still
    returns VersionExists. Every version counts."""
    await register(store, registration(), registration(version="2.0"))
    for new in (registration(version="3.0"), registration("another")):
        assert await store.definitions.register(new, b"", 2, record()) == RegistrationLimitReached()
        assert await store.definitions.find("acme", new.workflow_id, new.version) is None
        assert await store.definitions.get(new.digest) is None
    assert await store.records.find_record(ACME, "slot-1", 0) is None
    assert await store.definitions.register(registration(), b"", 2) == VersionExists(registration())
    assert await store.definitions.register(registration(tenant="other"), b"", 2) == VersionRegistered()
    assert await store.definitions.register(registration(version="3.0"), b"", 3) == VersionRegistered()


async def a_registration_is_stored_with_its_record(store: Store) -> None:
    """The idempotency record is stored together with the registration. A taken slot is checked first, and then nothing
    is registered."""
    assert await store.definitions.register(registration(), b"", MAX_REGISTRATIONS, record()) == VersionRegistered()
    assert await store.records.find_record(ACME, "slot-1", 0) == record()
    other = record(fingerprint="0" * 64)
    for again in (registration(), registration(version="2.0")):
        assert await store.definitions.register(again, b"", 1, other) == SlotTaken(record())
    assert await store.definitions.find("acme", "greet", "2.0") is None
    fresh, second = record(created_at=NOW + 2, expired_before=NOW + 1), registration(version="2.0")
    assert await store.definitions.register(second, b"", MAX_REGISTRATIONS, fresh) == VersionRegistered()
    assert await store.records.find_record(ACME, "slot-1", NOW + 1) == record(created_at=NOW + 2)


async def workflows_are_listed_by_id(store: Store) -> None:
    """A page returns the current version of each workflow behind the cursor, ordered by id, with its versions newest
    first."""
    assert await store.definitions.workflows("acme", None, 10) == []
    for name in ("b", "a_", "a-", "c", "a"):
        await register(store, registration(name), registration(name, "0.9"))
    page = await store.definitions.workflows("acme", None, 10)
    assert [each.current for each in page] == [registration(name, "0.9") for name in ("a", "a-", "a_", "b", "c")]
    assert {each.versions for each in page} == {("0.9", "1.0")}
    for after, limit, names in (("a", 2, "a- a_"), ("a_", 9, "b c"), ("aa", 1, "b"), ("c", 9, ""), (None, 0, "")):
        page = await store.definitions.workflows("acme", after, limit)
        assert [each.current.workflow_id for each in page] == names.split()


async def a_listing_names_the_newest_versions(store: Store) -> None:
    """A listing names at most the last MAX_LISTED_VERSIONS versions of a workflow."""
    versions = [str(number) for number in range(MAX_LISTED_VERSIONS + 3)]
    await register(store, *(registration(version=version) for version in versions))
    (listed,) = await store.definitions.workflows("acme", None, 10)
    assert listed.versions == tuple(reversed(versions[3:]))
    assert listed.current.version == versions[-1]


async def another_tenant_sees_no_workflow(store: Store) -> None:
    """A workflow is invisible to other tenants, which may register the same id and version."""
    await register(store, registration())
    for tenant in ("other", "acm", "ACME", "live:acme", ""):
        assert await store.definitions.find(tenant, "greet") is None
        assert await store.definitions.find(tenant, "greet", "1.0") is None
        assert await store.definitions.workflows(tenant, None, 10) == []
    theirs = registration(tenant="other", digest="theirs")
    await register(store, theirs)
    for each in (registration(), theirs):
        assert await store.definitions.find(each.tenant, "greet") == each
        assert [listed.current for listed in await store.definitions.workflows(each.tenant, None, 10)] == [each]


async def workflows_are_counted(store: Store) -> None:
    """`count` returns the number of workflows of all tenants. Versions do not count."""
    assert await store.definitions.count() == 0
    await register(store, registration(), registration(version="2.0"), registration("b"), registration(tenant="other"))
    await store.definitions.put("d1", b"{}")
    assert await store.definitions.count() == 3
