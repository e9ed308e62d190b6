"""A test over a table: every case is run, and a failure names the cases that failed."""

import inspect

import pytest

from tests.harness.cases import each_case, fails_without

seen: list[object] = []


@each_case("number", 1, 2, 3)
@each_case("left, right", ("a", "b"), ("c", "d"))
def even(tmp: str, number: int, left: str, right: str) -> None:
    seen.append((tmp, number, left, right))
    assert number == 2 or left == "c"


@each_case("number", 1, 2)
async def nothing_is_raised(number: int) -> None:
    with pytest.raises(ValueError, match="never"):
        seen.append(number)


async def test_a_failure_does_not_keep_the_other_cases_from_running_and_all_that_fail_are_named() -> None:
    seen.clear()
    assert list(inspect.signature(even).parameters) == ["tmp"]
    with pytest.raises(AssertionError) as caught:
        even(tmp="here")
    assert seen == [("here", number, *pair) for number in (1, 2, 3) for pair in (("a", "b"), ("c", "d"))]
    assert caught.value.__notes__ == ["case: left='a', right='b'", "case: number=1", "case: number=3"]
    seen.clear()
    with pytest.raises(pytest.fail.Exception) as missed:
        await nothing_is_raised()
    assert (seen, missed.value.__notes__) == ([1, 2], ["case: number=1", "case: number=2"])


def test_what_cannot_be_a_table_is_refused() -> None:
    with pytest.raises(AssertionError, match="without cases"):
        each_case("number")
    with pytest.raises(AssertionError, match="no parameter"):
        each_case("other", 1)(even)
    with pytest.raises(ValueError, match="zip"):
        each_case("left, right", ("a", "b", "c"))(lambda left, right: None)()


class Guarded:
    limit = 1


@pytest.mark.parametrize("most", [1, 2])
def test_a_guard_that_nothing_misses_is_seen(most: int) -> None:
    def check() -> None:
        assert Guarded.limit <= most, "too much"

    guarded = fails_without(Guarded, "limit", 2, match="too much")(check)
    if most == 1:
        guarded()
    else:
        with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
            guarded()
    assert Guarded.limit == 1
