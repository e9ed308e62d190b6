"""The conformance suite of the storage ports; the modules are named after the ports that they check.

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

from weftwork.ports.storage.store import Store
from weftwork.testing.storage import (
    annotations,
    asset_references,
    assets,
    child_messages,
    child_runs,
    definitions,
    event_log_reads,
    event_log_writes,
    idempotency,
    interrupt_queries,
    keys,
    restarts,
    retention,
    run_queries,
)
from weftwork.testing.storage.harness import Check, RestartCheck, prove

CHECKS: Final[tuple[Check, ...]] = (
    *event_log_writes.CREATE_CHECKS,
    *event_log_writes.APPEND_CHECKS,
    *idempotency.CHECKS,
    *event_log_reads.READ_CHECKS,
    *run_queries.LISTING_CHECKS,
    *run_queries.UNFINISHED_CHECKS,
    *run_queries.PARKED_CHECKS,
    *interrupt_queries.INTERRUPT_CHECKS,
    *child_runs.CHECKS,
    *child_messages.CHECKS,
    *event_log_reads.TENANCY_CHECKS,
    *retention.CHECKS,
    *definitions.CHECKS,
    *keys.KEY_CHECKS,
    *keys.SIGNING_KEY_CHECKS,
    *annotations.CHECKS,
    *assets.CHECKS,
    *asset_references.CHECKS,
)

RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = (
    *restarts.CHECKS,
    *retention.RESTART_CHECKS,
    *assets.RESTART_CHECKS,
    *asset_references.RESTART_CHECKS,
)

__all__ = ["CHECKS", "RESTART_CHECKS", "Check", "RestartCheck", "Store", "prove"]
