"""A table is tried to its end, and each case that fails is named."""

import pytest

from tests.harness.cases import check_cases


def test_every_case_is_tried_and_those_that_fail_are_named() -> None:
    tried: list[int] = []

    def check(case: int) -> None:
        tried.append(case)
        assert case % 2

    with pytest.raises(ExceptionGroup) as failed:
        check_cases(range(1, 6), check, lambda case: f"number {case}")
    assert tried == [1, 2, 3, 4, 5]
    assert [error.__notes__ for error in failed.value.exceptions] == [["case: number 2"], ["case: number 4"]]
    check_cases([1, 3], check)
