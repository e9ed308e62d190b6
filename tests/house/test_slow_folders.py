"""The folders that tests/conftest.py marks as slow exist and hold tests."""

from pathlib import Path

import pytest

from tests.conftest import SLOW

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("folder", SLOW)
def test_a_slow_folder_holds_tests(folder: str) -> None:
    assert list((TESTS / folder).rglob("test_*.py"))


def test_the_fast_lane_starts_no_commands() -> None:
    """Only rendering is tested without a host or a process."""
    fast = {path.parent.name for path in (TESTS / "cli").rglob("test_*.py")} - {Path(each).name for each in SLOW}
    assert fast == {"render"}
