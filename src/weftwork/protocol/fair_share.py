"""Divides what tenants share: a limited number of units, such as slots or bytes, and the order of those that wait.

`FairLimit`: a tenant's share is an equal part of the limit: the limit divided by the number of tenants that hold units,
and by at least two, because another tenant may arrive at any time. A tenant below its share may take any free unit. A
tenant at its share may also take free units, except for a reserved part. So no tenant can fill the host, and a tenant
that arrives late finds room.

`FairQueue`: tenants are served in turns, however many entries each of them has (start-time fair queueing). Each tenant
has an account of what it was served. The tenant with the lowest account is next, the first of equals. A tenant that
arrives starts with the account of the tenant that was served last, so it is served soon, and has no claim for the time
in which it asked for nothing. If entries cost different amounts, a tenant whose entries cost more is served less often.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

import msgspec

T = TypeVar("T")

DEFAULT_RESERVED_PERCENT: Final = 20
"""Part of a limit that only tenants below their share may use."""
MAX_IDLE_ACCOUNTS: Final = 64
"""Accounts of tenants that wait for nothing, before those that make no difference are dropped."""


class FairLimit(msgspec.Struct, eq=False):
    """A limit in units, and how many units each tenant holds."""

    limit: int
    reserved_percent: int = DEFAULT_RESERVED_PERCENT
    total: int = 0
    unreserved: int = 0
    """Units that any tenant may take; only tenants below their share may take the rest. Computed."""
    _held: dict[str, int] = {}
    """By tenant; a tenant has an entry while it holds units."""

    def __post_init__(self) -> None:
        self.unreserved = self.limit - self.limit * self.reserved_percent // 100

    @property
    def is_full(self) -> bool:
        return self.total >= self.limit

    def take(self, tenant: str, units: int = 1) -> bool:
        """Take units for a tenant; False, without effect, if it may not have them now."""
        if not self.has_room(tenant, units):
            return False
        self.force(tenant, units)
        return True

    def force(self, tenant: str, units: int = 1) -> None:
        """Take units for work that cannot be refused, even beyond the limit."""
        self._held[tenant] = self._held.get(tenant, 0) + units
        self.total += units

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
        total = self.total + units
        if total <= self.unreserved:
            return True
        # Written without a division, so that a share is not rounded down to zero.
        return total <= self.limit and (self.held_by(tenant) + units) * self._sharers(tenant) <= self.limit

    def held_by(self, tenant: str) -> int:
        return self._held.get(tenant, 0)

    def share(self, tenant: str) -> int:
        """The present share of a tenant, rounded down."""
        return self.limit // self._sharers(tenant)

    def furthest_below_share(self, tenants: Iterable[str]) -> str:
        """lim-21 (host): the tenant that gets the next free unit: the one that holds the fewest, the first of equals.

        All shares are equal, so it is also the tenant furthest below its share.
        """
        return min(tenants, key=self.held_by)

    def in_fair_order(self, entries: Iterable[tuple[str, T]], count: int) -> list[T]:
        """lim-21 (host): the first `count` entries, if a free unit goes to each of them in turn."""
        waiting: dict[str, deque[T]] = {}
        for tenant, entry in entries:
            waiting.setdefault(tenant, deque()).append(entry)
        held = {tenant: self.held_by(tenant) for tenant in waiting}
        chosen: list[T] = []
        while waiting and len(chosen) < count:
            tenant = min(waiting, key=held.__getitem__)
            chosen.append(waiting[tenant].popleft())
            held[tenant] += 1
            if not waiting[tenant]:
                del waiting[tenant]
        return chosen

    def _sharers(self, tenant: str) -> int:
        return max(2, len(self._held) + (tenant not in self._held))


class FairQueue(msgspec.Struct, Generic[T], eq=False):
    """Entries of tenants that wait, in the order in which they are served."""

    _waiting: dict[str, deque[T]] = {}
    """By tenant; a tenant has an entry while it waits."""
    _accounts: dict[str, float] = {}
    _reached: float = 0
    """The account of the tenant that was served last, before it was served."""
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def add(self, tenant: str, entry: T) -> None:
        queue = self._waiting.get(tenant)
        if queue is None:
            queue = self._waiting[tenant] = deque()
            self._accounts[tenant] = max(self._accounts.get(tenant, 0), self._reached)
        queue.append(entry)
        self._count += 1

    def take(self, cost: float = 1) -> tuple[str, T]:
        """lim-23 (host): remove the next entry and return it with its tenant. `cost` is added to the tenant's
        account."""
        tenant = min(self._waiting, key=self._accounts.__getitem__)
        self._reached = self._accounts[tenant]
        queue = self._waiting[tenant]
        entry = queue.popleft()
        self._count -= 1
        if not queue:
            del self._waiting[tenant]
        self.charge(tenant, cost)
        return tenant, entry

    def charge(self, tenant: str, cost: float) -> None:
        """Add a cost that was not known when the entry was taken."""
        self._accounts[tenant] = max(self._accounts.get(tenant, 0), self._reached) + cost
        if len(self._accounts) > len(self._waiting) + MAX_IDLE_ACCOUNTS:
            accounts = self._accounts.items()
            self._accounts = {
                each: account for each, account in accounts if each in self._waiting or account > self._reached
            }

    def discard(self, tenant: str, entry: T) -> None:
        """Remove an entry that no longer waits, if it is there."""
        queue = self._waiting.get(tenant)
        if queue is None or entry not in queue:
            return
        queue.remove(entry)
        self._count -= 1
        if not queue:
            del self._waiting[tenant]
