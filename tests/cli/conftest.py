"""Fixtures for tests of the command line."""

from collections.abc import Iterator

import pytest

from tests.cli.foreign_host import ForeignHost, open_foreign_host


@pytest.fixture
def foreign() -> Iterator[ForeignHost]:
    """A server that answers as the test says, in place of a host."""
    with open_foreign_host() as host:
        yield host
