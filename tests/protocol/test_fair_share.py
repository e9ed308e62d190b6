"""A limit that tenants share: nobody fills it, and a tenant that comes late finds room."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.harness.cases import fails_without
from weftwork.protocol.fair_share import FairLimit

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
