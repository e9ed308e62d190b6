"""A Python host for OpenWOP."""

from weftwork.app import Host
from weftwork.settings import Settings

__all__ = ["Host", "Settings"]
