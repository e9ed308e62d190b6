"""The shared host."""

from tests.live.fixtures import host as host
