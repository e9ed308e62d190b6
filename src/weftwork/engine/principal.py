"""Who asks, and whether they may."""

import msgspec

from weftwork.protocol.errors import ClientFault
from weftwork.protocol.ids import Mode, partition
from weftwork.protocol.run import Owner, RunKey


class Principal(msgspec.Struct, frozen=True):
    """A caller, made from a valid key. The only source of a tenant."""

    key_id: str
    tenant: str
    mode: Mode
    scopes: frozenset[str]
    partition: str
    label: str = ""
    """The name that the operator gave to the key when it was made; gates may name approvers by it."""

    @classmethod
    def of(cls, key_id: str, tenant: str, mode: Mode, scopes: frozenset[str], label: str = "") -> "Principal":
        return cls(key_id, tenant, mode, scopes, partition(tenant, mode), label)

    def run(self, run_id: str) -> RunKey:
        """The caller's run of that id; another tenant's run has another key and is not there."""
        return RunKey(self.partition, run_id)

    @property
    def owner(self) -> Owner:
        return Owner(self.tenant, self.key_id)


def require(principal: Principal, scope: str) -> None:
    """auth-01 (OpenWOP auth): the key holds the scope, or 403 naming the scope it lacks."""
    if scope not in principal.scopes:
        raise ClientFault("forbidden", f"This key lacks the scope {scope}.", {"scopeRequired": scope})
