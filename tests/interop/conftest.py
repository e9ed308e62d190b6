"""The shared host, and the official client with it."""

import pytest
from openwop_client import OpenwopClient

from tests.live import KEY, Host
from tests.live.fixtures import host as host


@pytest.fixture
def client(host: Host) -> OpenwopClient:
    return OpenwopClient(host.address, KEY, timeout=60)
