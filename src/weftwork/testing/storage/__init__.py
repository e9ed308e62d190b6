"""What a storage adapter must prove; see `suite` for how to run it."""

from weftwork.testing.storage.harness import Check, RestartCheck, Store, prove
from weftwork.testing.storage.suite import CHECKS, RESTART_CHECKS

__all__ = ["CHECKS", "RESTART_CHECKS", "Check", "RestartCheck", "Store", "prove"]
