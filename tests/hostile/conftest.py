"""The host that evil is done to, and that must come out of it without a scratch."""

from collections.abc import Iterator

import pytest

from tests.hostile.hostile_json import SECRET_MARK
from tests.live import Host
from tests.live.fixtures import host

__all__ = ["host"]


@pytest.fixture(scope="module")
def nothing_failed(host: Host) -> Iterator[None]:
    yield
    assert "request failed" not in host.errors
    assert "Traceback" not in host.errors
    assert SECRET_MARK.decode() not in host.errors


@pytest.fixture(scope="module")
def run_id(host: Host) -> str:
    """A run that has ended, so that a cancel changes nothing."""
    made = host.create("conformance-noop")
    host.log(made)
    return made
