"""API keys and the principals that they authenticate.

A key is stored as a keyed digest, and shown once, when it is created. `Keyring.authenticate` turns a key into a
`Principal`. Every operation requires one, and it determines what the caller can access.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Literal, TypeVar

import msgspec

from weftwork.engine.read_back import read_back
from weftwork.ports.clock import Clock
from weftwork.ports.fault_points import fault_point
from weftwork.ports.ids import Ids
from weftwork.ports.storage.api_keys import ApiKeyRow, ApiKeys
from weftwork.ports.storage.event_log import OutcomeUnknown
from weftwork.protocol.errors import NO_SUCH_RUN, ClientFault, invalid
from weftwork.protocol.ids import TEST_KEY_PREFIX, Mode, is_tenant, mode_of_key, partition
from weftwork.protocol.models.answers import mask_answers
from weftwork.protocol.run.events import Event
from weftwork.protocol.run.header import Owner, RunKey
from weftwork.protocol.scopes import DEBUG, missing_scope, new_key_scopes

T = TypeVar("T")
LIVE_KEY_PREFIX = "hk_live_"
STARTUP_LABEL = "given at start"
"""The label of keys from the command line. Principals of such keys have no label, so it cannot name an approver."""


class Principal(msgspec.Struct, frozen=True):
    """An authenticated caller. The only source of a tenant."""

    key_id: str
    tenant: str
    mode: Mode
    scopes: frozenset[str]
    partition: str
    label: str = ""
    """The label that the operator gave to the key; approvals may name approvers by it."""

    @classmethod
    def of(cls, key_id: str, tenant: str, mode: Mode, scopes: frozenset[str], label: str = "") -> "Principal":
        return cls(key_id, tenant, mode, scopes, partition(tenant, mode), label)

    def run(self, run_id: str) -> RunKey:
        """The key of a run in the caller's partition, so that a run of another tenant is never found."""
        return RunKey(self.partition, run_id)

    def visible_events(self, events: list[Event]) -> list[Event]:
        """auth-07: events of a run in the caller's partition as the caller may read them."""
        return events if DEBUG in self.scopes else mask_answers(events, self.partition)

    @property
    def owner(self) -> Owner:
        return Owner(self.tenant, self.key_id)


def require_run(found: T | Literal[False] | None) -> T:
    """Return `found`, or raise not_found if it is empty: there is no such run, or it belongs to another tenant."""
    if not found:
        raise ClientFault("not_found", NO_SUCH_RUN)
    return found


def require_scope(principal: Principal, scope: str) -> None:
    """auth-01 (OpenWOP auth): raises 403, which names the scope and the command to run, if the key lacks it."""
    if scope not in principal.scopes:
        raise missing_scope(principal.partition, scope)


class Keyring:
    """Holds all API keys in memory; changes are written to the store first. `scopes` lists all valid scopes."""

    def __init__(self, keys: ApiKeys, clock: Clock, ids: Ids, scopes: tuple[str, ...]) -> None:
        self._keys = keys
        self._clock = clock
        self._ids = ids
        self._scopes = scopes
        self._salt = b""
        self._writes = 0
        """Increased before and after each write, to detect one that happened during a read."""
        self._rows: dict[bytes, tuple[ApiKeyRow, Principal]] = {}
        self._by_id: dict[str, ApiKeyRow] = {}
        self._pepper = ids.token().encode()
        self._quick_digests: dict[bytes, bytes] = {}
        """Digests of known keys, by a keyed hash that costs a tenth of the digest and is used in this process only."""

    async def load(self) -> None:
        self._salt = await self._keys.salt()
        await self.reload()

    async def reload(self) -> None:
        """Read the keys again, which another process may have changed. Raises StoreUnavailable."""
        writes = self._writes
        rows = await self._keys.all()
        # A key that was written here during the read is newer than what was read. The next call reads it.
        if writes == self._writes:
            for row in rows:
                self._cache(row)

    def authenticate(self, key: str | None) -> Principal:
        """auth-02 (OpenWOP auth): the principal of a key. Raises 401 for a missing, unknown, revoked or expired key."""
        if not key:
            raise ClientFault("unauthenticated", "Send an API key: Authorization: Bearer <key>.")
        quick = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), key=self._pepper, digest_size=32).digest()
        digest = self._quick_digests.get(quick) or self._digest(key)
        entry = self._rows.get(digest)
        if entry is None or not hmac.compare_digest(entry[0].digest, digest):
            raise ClientFault("unauthenticated", "This host does not know the API key.")
        self._quick_digests[quick] = digest
        self._check(entry[0])
        return entry[1]

    def check(self, principal: Principal) -> None:
        """auth-02: raises 401 if the key of this principal was revoked or has expired since it was authenticated."""
        self._check(self._by_id[principal.key_id])

    def _check(self, row: ApiKeyRow) -> None:
        if row.revoked_at is not None:
            raise ClientFault("key_revoked", "This API key was revoked.")
        if row.expires_at is not None and row.expires_at <= self._clock.now():
            raise ClientFault("key_expired", "This API key has expired.")

    async def create(
        self,
        tenant: str,
        scopes: Iterable[str] | None = None,
        mode: Mode = "live",
        label: str = "",
        expires_at: int | None = None,
    ) -> tuple[str, ApiKeyRow]:
        """Create a key; returns the key and its stored form. Durable on return. The key cannot be read again.

        auth-08: without `scopes`, the key has all but those that let it act for other people.
        """
        prefix = TEST_KEY_PREFIX if mode == "test" else LIVE_KEY_PREFIX
        key = prefix + self._ids.token()
        granted = new_key_scopes(self._scopes) if scopes is None else scopes
        row = self._row(key, tenant, granted, label, expires_at)
        await self._put(row)
        fault_point("key.stored")
        self._cache(row)
        return key, row

    def accept_for_process(self, key: str, tenant: str, scopes: Iterable[str] | None) -> ApiKeyRow:
        """Accept a key until this process ends; nothing is stored. Raises ClientFault for a key that was revoked.

        Without `scopes`, the key has all of them.
        """
        row = self._row(key, tenant, self._scopes if scopes is None else scopes, STARTUP_LABEL, None)
        entry = self._rows.get(row.digest)
        if entry is not None and entry[0].revoked_at is not None:
            raise ClientFault("key_revoked", "This key was revoked; use another.")
        self._cache(row)
        return row

    async def revoke(self, key_id: str) -> ApiKeyRow:
        """Revoke a key at once. Revoking it again changes nothing."""
        row = self._by_id.get(key_id)
        if row is None:
            raise ClientFault("not_found", f"No key has the id {key_id}; see `weftwork keys ls`.")
        if row.revoked_at is None:
            row = msgspec.structs.replace(row, revoked_at=self._clock.now())
            await self._put(row)
            self._cache(row)
        return row

    async def _put(self, row: ApiKeyRow) -> None:
        self._writes += 1
        try:
            await self._keys.put(row)
        except OutcomeUnknown:
            if row not in await read_back(self._clock, self._keys.all):
                raise
        finally:
            self._writes += 1

    def all(self) -> list[ApiKeyRow]:
        return sorted((row for row, _ in self._rows.values()), key=lambda row: (row.created_at, row.key_id))

    def _row(self, key: str, tenant: str, scopes: Iterable[str], label: str, expires_at: int | None) -> ApiKeyRow:
        if not is_tenant(tenant):
            raise invalid("A tenant is 1 to 64 letters, digits, dots, dashes or underscores.", parameter="tenant")
        granted = tuple(scopes)
        unknown = sorted(set(granted) - set(self._scopes))
        if unknown:
            text = f"Unknown scope {', '.join(unknown)}; the scopes are {', '.join(self._scopes)}."
            raise invalid(text, parameter="scopes")
        digest = self._digest(key)
        return ApiKeyRow(
            # A digest of the digest, because the id is public and must not reveal the stored digest.
            key_id=f"key_{hashlib.sha256(digest).hexdigest()[:16]}",
            digest=digest,
            tenant=tenant,
            mode=mode_of_key(key),
            scopes=granted,
            label=label,
            created_at=self._clock.now(),
            expires_at=expires_at,
        )

    def _digest(self, key: str) -> bytes:
        return hmac.digest(self._salt, key.encode("utf-8", "surrogateescape"), hashlib.sha256)

    def _cache(self, row: ApiKeyRow) -> None:
        label = row.label if row.label != STARTUP_LABEL else ""
        principal = Principal.of(row.key_id, row.tenant, row.mode, frozenset(row.scopes), label)
        self._rows[row.digest] = (row, principal)
        self._by_id[row.key_id] = row
