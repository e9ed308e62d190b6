"""Signs the tokens that the host hands out, and verifies them. The only place that uses the signing keys."""

import hashlib
import hmac
from typing import Final

import msgspec

from weftwork.ports.clock import Clock
from weftwork.ports.ids import Ids
from weftwork.ports.storage.signing_keys import SigningKey, SigningKeys
from weftwork.protocol.errors import ClientFault

SECRET_BYTES: Final = 32
KID_LENGTH: Final = 12
_NO_KEY_ID: Final = ""
"""The id of the key that stands in for keys that are not there; no key that was made has it."""


class Signer:
    """Signs from memory, and changes keys in the store first. Each purpose has keys of its own, made from the secrets.

    So a signature for one purpose is none for another, whatever the bytes are.
    """

    def __init__(self, keys: SigningKeys, clock: Clock, ids: Ids) -> None:
        self._keys = keys
        self._clock = clock
        self._ids = ids
        self._rows: dict[str, SigningKey] = {}
        self._decoy_key = SigningKey(_NO_KEY_ID, ids.secret(SECRET_BYTES), 0)
        self._derived: dict[tuple[str, str], bytes] = {}
        self._kid = _NO_KEY_ID

    async def load(self) -> None:
        """Hold every key of the store, and make the first one. Raises StoreUnavailable."""
        for row in await self._keys.all():
            self._rows[row.kid] = row
        live = [row for row in self.all() if row.retired_at is None]
        if live:
            self._kid = live[-1].kid
        else:
            await self._create_key()

    @property
    def kid(self) -> str:
        """The id of the key that `sign` uses until the next wait."""
        return self._kid

    def sign(self, purpose: str, message: bytes) -> bytes:
        """tok-02: the signature of the newest key, 256 bits."""
        assert self._kid, "load() comes first"
        return hmac.digest(self._derive_key(self._rows[self._kid], purpose), message, hashlib.sha256)

    def verify(self, purpose: str, kid: str, message: bytes, signature: bytes) -> bool:
        """tok-02: whether the key of that id signed this for this purpose. The time it takes tells nothing.

        A key that is not there takes the same way, with a secret that nobody has.
        """
        row = self._rows.get(kid)
        expected = hmac.digest(self._derive_key(row or self._decoy_key, purpose), message, hashlib.sha256)
        return hmac.compare_digest(expected, signature) and row is not None

    def all(self) -> list[SigningKey]:
        """Oldest first."""
        return sorted(self._rows.values(), key=lambda row: (row.created_at, row.retired_at is None, row.kid))

    async def rotate(self) -> SigningKey:
        """tok-06: a new key that signs from now on; those before it go on to verify. Durable before it returns."""
        before = [row for row in self._rows.values() if row.retired_at is None]
        made = await self._create_key()
        for row in before:
            retired = msgspec.structs.replace(row, retired_at=self._clock.now())
            await self._keys.put(retired)
            self._rows[row.kid] = retired
        return made

    async def drop(self, kid: str) -> SigningKey:
        """tok-06: nothing that the key signed counts any more. If it is the one that signs, a new one is made first."""
        row = self._rows.get(kid)
        if row is None:
            raise ClientFault("not_found", f"No signing key has the id {kid}; see `weftwork signing ls`.")
        if kid == self._kid:
            await self._create_key()
        await self._keys.drop(kid)
        self._rows.pop(kid, None)
        for known in [each for each in self._derived if each[0] == kid]:
            del self._derived[known]
        return row

    async def _create_key(self) -> SigningKey:
        kid = self._ids.event_ids(1)[0][-KID_LENGTH:]
        made = SigningKey(kid, self._ids.secret(SECRET_BYTES), self._clock.now())
        await self._keys.put(made)
        self._rows[kid] = made
        self._kid = kid
        return made

    def _derive_key(self, row: SigningKey, purpose: str) -> bytes:
        known = self._derived.get((row.kid, purpose))
        if known is None:
            # HKDF (RFC 5869) with one block: the secret is uniform already, so there is nothing to extract.
            known = hmac.digest(row.secret, b"weftwork/%b\x01" % purpose.encode(), hashlib.sha256)
            self._derived[row.kid, purpose] = known
        return known
