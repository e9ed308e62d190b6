"""Administration: what the operator may do on this machine, without a key. Requests and answers are JSON."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from weftwork.engine.keyring import Keyring
from weftwork.ports.eventlog import StoreUnavailable
from weftwork.ports.keys import KeyRow
from weftwork.protocol.errors import ClientFault, error_document, invalid
from weftwork.protocol.ids import Mode
from weftwork.protocol.json_value import is_object
from weftwork.protocol.timestamp import iso


class CreateKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a new key."""

    tenant: str
    scopes: tuple[str, ...] | None = None
    mode: Mode = "live"
    label: str = ""
    expires_at: int | None = None


class RevokeKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ask for a key to stop working."""

    key_id: str


class Administration:
    """One answer per request, the same through the socket and straight on the store."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._operations: dict[str, Callable[[Any], Awaitable[dict[str, Any]]]] = {
            "keys.create": self._create,
            "keys.list": self._list,
            "keys.revoke": self._revoke,
        }

    async def answer(self, request: Any) -> dict[str, Any]:
        """The result, or an error envelope. Never raises for a bad request."""
        try:
            operation = self._operations.get(str(request.get("operation"))) if is_object(request) else None
            if operation is None:
                raise invalid("Unknown operation.", "/operation")
            return await operation(request.get("arguments", {}))
        except ClientFault as fault:
            return error_document(fault.code, fault.message, fault.details)
        except msgspec.ValidationError as error:
            return error_document("validation_error", str(error))
        except StoreUnavailable as error:
            return error_document("service_unavailable", f"The store cannot be used now: {error}")

    async def _create(self, arguments: Any) -> dict[str, Any]:
        wanted = msgspec.convert(arguments, CreateKey)
        key, row = await self._keyring.create(
            wanted.tenant, wanted.scopes, wanted.mode, wanted.label, wanted.expires_at
        )
        return {"key": key, **_shown(row)}

    async def _list(self, arguments: Any) -> dict[str, Any]:
        return {"keys": [_shown(row) for row in self._keyring.all()]}

    async def _revoke(self, arguments: Any) -> dict[str, Any]:
        return _shown(await self._keyring.revoke(msgspec.convert(arguments, RevokeKey).key_id))


def _shown(row: KeyRow) -> dict[str, Any]:
    """What is shown of a key: everything but the key and its digest."""
    shown: dict[str, Any] = {
        "keyId": row.key_id,
        "tenant": row.tenant,
        "mode": row.mode,
        "scopes": list(row.scopes),
        "label": row.label,
        "createdAt": iso(row.created_at),
    }
    if row.expires_at is not None:
        shown["expiresAt"] = iso(row.expires_at)
    if row.revoked_at is not None:
        shown["revokedAt"] = iso(row.revoked_at)
    return shown
