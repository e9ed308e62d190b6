"""The conformance suite of the storage ports: event log, definitions, keys, signing keys,
annotations and assets.

A check is an async function whose docstring is the promise it proves. It takes a store that is open and
empty, and fails with an exception. A restart check takes a factory instead: each call makes a store that is
not open yet, all of them on the same data. With pytest:

    from weftwork.testing import storage

    @pytest.mark.parametrize("check", storage.CHECKS, ids=lambda check: check.__name__)
    def test_the_store_keeps_its_promises(check):
        storage.prove(MyStore(), check)

Failures say more with `pytest.register_assert_rewrite("weftwork.testing.storage")` in conftest.py.
"""

from typing import Final

from weftwork.testing.storage import (
    annotations,
    appending,
    assets,
    children,
    creating,
    definitions,
    deleting,
    interrupts,
    keys,
    listing,
    reading,
    recovering,
    referring,
    restarting,
    signing,
    slots,
    telling,
    tenancy,
    waking,
)
from weftwork.testing.storage.store import Check, RestartCheck, Store, prove

__all__ = ["CHECKS", "RESTART_CHECKS", "Check", "RestartCheck", "Store", "prove"]

CHECKS: Final[tuple[Check, ...]] = (
    *creating.CHECKS,
    *appending.CHECKS,
    *slots.CHECKS,
    *reading.CHECKS,
    *listing.CHECKS,
    *recovering.CHECKS,
    *waking.CHECKS,
    *interrupts.CHECKS,
    *children.CHECKS,
    *telling.CHECKS,
    *tenancy.CHECKS,
    *deleting.CHECKS,
    *definitions.CHECKS,
    *keys.CHECKS,
    *signing.CHECKS,
    *annotations.CHECKS,
    *assets.CHECKS,
    *referring.CHECKS,
)

RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = (
    *restarting.CHECKS,
    *deleting.RESTART_CHECKS,
    *assets.RESTART_CHECKS,
    *referring.RESTART_CHECKS,
)
