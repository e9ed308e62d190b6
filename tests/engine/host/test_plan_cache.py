"""Plans that are kept: bounded, and the oldest goes first."""

import pytest

from tests.harness.definitions import node, plan_of, workflow
from weftwork.engine.host import catalog
from weftwork.engine.host.catalog import PlanCache


def made(kept: PlanCache, name: str, size: int) -> str:
    plan = plan_of(workflow([node("a")], name=name))
    kept.add(plan, size)
    return plan.workflow.digest


def test_a_plan_is_found_by_its_digest() -> None:
    kept = PlanCache()
    digest = made(kept, "one", 10)
    found = kept.get(digest)
    assert found is not None
    assert found.workflow.digest == digest
    assert kept.get("0" * 64) is None


def test_the_number_is_bounded_and_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MAX_CACHED_PLANS", 3)
    kept = PlanCache()
    first, second, third = (made(kept, name, 1) for name in "abc")
    kept.get(first)
    fourth = made(kept, "d", 1)
    assert [kept.get(digest) is not None for digest in (first, second, third, fourth)] == [True, False, True, True]


def test_the_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "MAX_CACHED_PLAN_BYTES", 100)
    kept = PlanCache()
    small = [made(kept, str(number), 30) for number in range(3)]
    assert all(kept.get(digest) for digest in small)
    made(kept, "0", 40)
    assert all(kept.get(digest) for digest in small)
    large = made(kept, "large", 500)
    assert [kept.get(digest) is not None for digest in (*small, large)] == [False, False, False, True]
    after = made(kept, "after", 30)
    assert (kept.get(large), kept.get(after) is not None, kept._bytes) == (None, True, 30)
