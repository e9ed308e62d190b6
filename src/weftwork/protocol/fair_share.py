"""Divides a limited number of units, such as slots or bytes, among tenants.

A tenant's share is an equal part of the limit: the limit divided by the number of tenants that hold units, and by at
least two, because another tenant may arrive at any time. A tenant below its share may take any free unit. A tenant at
its share may also take free units, except for a reserved part. So no tenant can fill the host, and a tenant that
arrives late finds room.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

DEFAULT_RESERVED_PERCENT: Final = 20
"""Part of a limit that only tenants below their share may use."""


class FairLimit(msgspec.Struct, eq=False):
    """A limit in units, and how many units each tenant holds."""

    limit: int
    reserved_percent: int = DEFAULT_RESERVED_PERCENT
    total: int = 0
    _held: dict[str, int] = {}
    """By tenant; a tenant has an entry while it holds units."""

    def take(self, tenant: str, units: int = 1) -> bool:
        """Take units for a tenant; False, without effect, if it may not have them now."""
        if not self.has_room(tenant, units):
            return False
        self._held[tenant] = self._held.get(tenant, 0) + units
        self.total += units
        return True

    def free(self, tenant: str, units: int = 1) -> None:
        """Give units back. The tenant must hold them."""
        held = self._held[tenant] - units
        if held:
            self._held[tenant] = held
        else:
            del self._held[tenant]
        self.total -= units

    def has_room(self, tenant: str, units: int = 1) -> bool:
        """lim-20 (host): whether the tenant may take these units."""
        free = self.limit - self.total - units
        if free < 0:
            return False
        held = self._held.get(tenant, 0)
        tenants = len(self._held) + (not held)
        # Written without a division, so that a share is not rounded down to zero.
        if (held + units) * max(tenants, 2) <= self.limit:
            return True
        return free >= self.limit * self.reserved_percent // 100

    def held_by(self, tenant: str) -> int:
        return self._held.get(tenant, 0)

    def furthest_below_share(self, tenants: Iterable[str]) -> str:
        """lim-21 (host): the tenant that gets the next free unit: the one that holds the fewest, the first of equals.

        All shares are equal, so it is also the tenant furthest below its share.
        """
        return min(tenants, key=self.held_by)
