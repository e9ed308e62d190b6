"""Signs and verifies the tokens that the host issues. The only module that uses the signing keys."""

import hashlib
import hmac
from typing import Final

import msgspec

from weftwork.engine.read_back import read_back
from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.event_log import OutcomeUnknown
from weftwork.ports.storage.signing_keys import SigningKey, SigningKeys
from weftwork.protocol.errors import ClientFault

SECRET_BYTES: Final = 32
KID_LENGTH: Final = 12
_NO_KEY_ID: Final = ""
"""The id of the decoy key, with which signatures of unknown keys are checked. No real key has this id."""


class Signer:
    """Holds all signing keys in memory; changes are written to the store first.

    Each purpose has its own keys, which are derived from the secrets. A signature for one purpose is therefore never
    valid for another.
    """

    def __init__(self, keys: SigningKeys, clock: Clock, ids: Ids) -> None:
        self._keys = keys
        self._clock = clock
        self._ids = ids
        self._rows: dict[str, SigningKey] = {}
        self._decoy_key = SigningKey(_NO_KEY_ID, ids.secret(SECRET_BYTES), 0)
        self._derived: dict[tuple[str, str], bytes] = {}
        self._kid = _NO_KEY_ID
        self._writes = 0
        """Increased before and after each write, to detect one that happened during a read."""

    async def load(self) -> None:
        """Load every key of the store, and create one if none can sign. Raises StoreUnavailable."""
        await self.reload()
        if not self._kid:
            await self._create_key()

    async def reload(self) -> None:
        """Read the keys again, which another process may have changed. Raises StoreUnavailable."""
        writes = self._writes
        rows = await self._keys.all()
        # A key that was written here during the read is newer than what was read. The next call reads it.
        if writes != self._writes:
            return
        for kid in self._rows.keys() - {row.kid for row in rows}:
            self._forget(kid)
        self._rows |= {row.kid: row for row in rows}
        live = [row for row in self.all() if row.retired_at is None]
        if live:
            self._kid = live[-1].kid

    @property
    def kid(self) -> str:
        """The id of the key that `sign` uses. It may change at the next await."""
        return self._kid

    def sign(self, purpose: str, message: bytes) -> bytes:
        """tok-02: the signature of the newest key, 256 bits."""
        assert self._kid, "call load() first"
        return hmac.digest(self._derive_key(self._rows[self._kid], purpose), message, hashlib.sha256)

    def verify(self, purpose: str, kid: str, message: bytes, signature: bytes) -> bool:
        """tok-02: whether the key of that id signed this message for this purpose, in constant time.

        For an unknown key the signature is checked with a random decoy key, so that the time does not show whether the
        key exists.
        """
        row = self._rows.get(kid)
        expected = hmac.digest(self._derive_key(row or self._decoy_key, purpose), message, hashlib.sha256)
        return hmac.compare_digest(expected, signature) and row is not None

    def all(self) -> list[SigningKey]:
        """Oldest first."""
        return sorted(self._rows.values(), key=lambda row: (row.created_at, row.retired_at is None, row.kid))

    async def rotate(self) -> SigningKey:
        """tok-06: create the key that signs from now on; older keys still verify. Durable on return."""
        active = [row for row in self._rows.values() if row.retired_at is None]
        key = await self._create_key()
        for row in active:
            retired = msgspec.structs.replace(row, retired_at=self._clock.now())
            await self._put(retired)
        return key

    async def drop(self, kid: str) -> SigningKey:
        """tok-06: delete a key, so that its signatures are no longer valid. If it is the key that signs, a new one is
        created first. Raises ClientFault for an unknown key."""
        row = self._rows.get(kid)
        if row is None:
            raise ClientFault("not_found", f"No signing key has the id {kid}; see `weftwork signing ls`.")
        if kid == self._kid:
            await self._create_key()
        self._writes += 1
        try:
            await self._keys.drop(kid)
        finally:
            self._writes += 1
        self._forget(kid)
        return row

    def _forget(self, kid: str) -> None:
        self._rows.pop(kid, None)
        for purpose_key in [each for each in self._derived if each[0] == kid]:
            del self._derived[purpose_key]

    async def _put(self, row: SigningKey) -> None:
        self._writes += 1
        try:
            await self._keys.put(row)
        except OutcomeUnknown:
            if row not in await read_back(self._clock, self._keys.all):
                raise
        finally:
            self._writes += 1
        self._rows[row.kid] = row

    async def _create_key(self) -> SigningKey:
        kid = self._ids.event_ids(1)[0][-KID_LENGTH:]
        key = SigningKey(kid, self._ids.secret(SECRET_BYTES), self._clock.now())
        await self._put(key)
        self._kid = kid
        return key

    def _derive_key(self, row: SigningKey, purpose: str) -> bytes:
        derived = self._derived.get((row.kid, purpose))
        if derived is None:
            # HKDF-Expand (RFC 5869) with one block. The secret is uniformly random, so the extract step is not needed.
            derived = hmac.digest(row.secret, b"weftwork/%b\x01" % purpose.encode(), hashlib.sha256)
            self._derived[row.kid, purpose] = derived
        return derived
