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
    asset_references,
    assets,
    child_messages,
    children,
    definitions,
    deletion,
    idempotency,
    keys,
    reads,
    restarts,
    waiting,
    writes,
)
from weftwork.testing.storage import keys as signing
from weftwork.testing.storage.harness import Check, RestartCheck

CHECKS: Final[tuple[Check, ...]] = (
    *writes.CREATE_CHECKS,
    *writes.APPEND_CHECKS,
    *idempotency.CHECKS,
    *reads.READ_CHECKS,
    *reads.LISTING_CHECKS,
    *waiting.UNFINISHED_CHECKS,
    *waiting.PARKED_CHECKS,
    *waiting.INTERRUPT_CHECKS,
    *children.CHECKS,
    *child_messages.CHECKS,
    *reads.TENANCY_CHECKS,
    *deletion.CHECKS,
    *definitions.CHECKS,
    *keys.KEY_CHECKS,
    *signing.SIGNING_KEY_CHECKS,
    *annotations.CHECKS,
    *assets.CHECKS,
    *asset_references.CHECKS,
)

RESTART_CHECKS: Final[tuple[RestartCheck, ...]] = (
    *restarts.CHECKS,
    *deletion.RESTART_CHECKS,
    *assets.RESTART_CHECKS,
    *asset_references.RESTART_CHECKS,
)
