"""A limit that tenants share: nobody fills it, and a tenant that comes late finds room. A queue with turns."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.harness.cases import fails_without
from weftwork.protocol.fair_share import MAX_IDLE_ACCOUNTS, FairLimit, FairQueue

LIMIT = 20
RESERVED = 5
TENANTS = st.sampled_from("abcdef")


@pytest.mark.rule("lim-20")
@fails_without(FairLimit, "has_room", lambda self, tenant, units=1: self.total + units <= self.limit)
def test_one_tenant_cannot_take_the_reserved_part_and_a_late_one_can() -> None:
    limit = FairLimit(LIMIT, 25)
    assert sum(limit.take("greedy") for _ in range(LIMIT)) == LIMIT - RESERVED
    assert sum(limit.take("late") for _ in range(LIMIT)) == RESERVED
    assert limit.total == LIMIT


@pytest.mark.rule("lim-20")
def test_units_that_are_given_back_can_be_taken_again() -> None:
    limit = FairLimit(4, 0)
    assert limit.take("a", 4)
    assert not limit.take("b")
    limit.free("a", 3)
    assert (limit.held_by("a"), limit.total) == (1, 1)
    assert limit.take("b", 3)
    limit.free("a")
    limit.free("b", 3)
    assert limit.total == 0


@pytest.mark.rule("lim-21")
def test_the_next_unit_goes_to_the_tenant_with_the_fewest() -> None:
    limit = FairLimit(LIMIT)
    for tenant in "aaabbc":
        assert limit.take(tenant)
    assert limit.furthest_below_share(["a", "b", "c"]) == "c"
    assert limit.furthest_below_share(["a", "d", "c", "e"]) == "d"


@pytest.mark.rule("lim-21")
def test_free_units_go_to_the_tenants_in_turn() -> None:
    limit = FairLimit(LIMIT)
    limit.force("a", 2)
    entries = [("a", f"a{at}") for at in range(9)] + [("b", "b0"), ("c", "c0"), ("b", "b1"), ("b", "b2")]
    assert limit.in_fair_order(entries, 6) == ["b0", "c0", "b1", "a0", "b2", "a1"]
    assert len(limit.in_fair_order(entries, 100)) == len(entries)
    assert (limit.held_by("a"), limit.total) == (2, 2)


def first_in_first_out(self: FairQueue[Any], cost: float = 1) -> tuple[str, Any]:
    tenant, queue = next(iter(self._waiting.items()))
    entry = queue.popleft()
    self._count -= 1
    if not queue:
        del self._waiting[tenant]
    return tenant, entry


@pytest.mark.rule("lim-23")
@fails_without(FairQueue, "take", first_in_first_out)
def test_a_thousand_entries_of_one_tenant_do_not_delay_the_first_of_another() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(1000):
        queue.add("greedy", number)
    assert [queue.take() for _ in range(3)] == [("greedy", 0), ("greedy", 1), ("greedy", 2)]
    queue.add("late", 1)
    queue.add("late", 2)
    queue.add("last", 1)
    assert [queue.take() for _ in range(5)] == [
        ("late", 1),
        ("last", 1),
        ("greedy", 3),
        ("late", 2),
        ("greedy", 4),
    ]
    assert len(queue) == 995


@pytest.mark.rule("lim-23")
@fails_without(FairQueue, "charge", lambda self, tenant, cost: None)
def test_a_tenant_whose_entries_cost_more_is_served_less_often() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(12):
        queue.add("dear", number)
        queue.add("cheap", number)
    served = ""
    for _ in range(12):
        tenant, _ = queue.take(0)
        queue.charge(tenant, 3 if tenant == "dear" else 1)
        served += tenant[0]
    assert served == "dcccdcccdccc"


@given(st.lists(st.tuples(TENANTS, st.integers(1, 5)), max_size=80))
def test_tenants_that_wait_all_the_time_are_served_alike(steps: list[tuple[str, int]]) -> None:
    """Whatever comes and goes besides: what two tenants got differs by no more than the dearest entry."""
    queue: FairQueue[str] = FairQueue()
    got = {"busy": 0, "other": 0}
    for tenant in got:
        queue.add(tenant, tenant)
    for tenant, cost in steps:
        queue.add(tenant, tenant)
        tenant, _ = queue.take(0)
        queue.charge(tenant, cost)
        if tenant in got:
            got[tenant] += cost
            queue.add(tenant, tenant)
        assert abs(got["busy"] - got["other"]) <= 5


def test_the_queue_forgets_tenants_that_have_gone() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(10 * MAX_IDLE_ACCOUNTS):
        queue.add(f"tenant-{number}", number)
        queue.add("constant", number)
        queue.take()
        queue.take()
    queue.discard("constant", -1)
    assert len(queue) == 0
    assert len(queue._accounts) <= MAX_IDLE_ACCOUNTS + 2


def test_an_entry_that_gives_up_is_not_served() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in (1, 2):
        queue.add("a", number)
    queue.discard("a", 1)
    queue.discard("nobody", 1)
    assert (len(queue), queue.take()) == (1, ("a", 2))


class SharedLimit(RuleBasedStateMachine):
    """Any sequence of takes and frees, compared with the definition of shares in fractions."""

    def __init__(self) -> None:
        super().__init__()
        self.limit = FairLimit(LIMIT, 25)
        self.held: dict[str, int] = {}

    @rule(tenant=TENANTS, units=st.integers(1, 6))
    def take(self, tenant: str, units: int) -> None:
        total, mine = sum(self.held.values()), self.held.get(tenant, 0) + units
        tenants = len({each for each, count in self.held.items() if count} | {tenant})
        is_below_share = mine <= LIMIT / max(tenants, 2)
        wanted = total + units <= (LIMIT if is_below_share else LIMIT - RESERVED)
        assert self.limit.take(tenant, units) is wanted
        if wanted:
            self.held[tenant] = mine

    @rule(data=st.data())
    def free(self, data: Any) -> None:
        holders = [tenant for tenant, count in self.held.items() if count]
        if holders:
            tenant = data.draw(st.sampled_from(holders))
            units = data.draw(st.integers(1, self.held[tenant]))
            self.limit.free(tenant, units)
            self.held[tenant] -= units

    @invariant()
    def counts_agree(self) -> None:
        assert self.limit.total == sum(self.held.values()) <= LIMIT
        assert all(self.limit.held_by(tenant) == count for tenant, count in self.held.items())


TestSharedLimit = SharedLimit.TestCase
TestSharedLimit.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
