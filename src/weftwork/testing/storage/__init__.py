"""The conformance suite of the storage ports; the modules are named after the ports that they check.

A check is a public async function whose docstring is the promise it proves. It takes `store` alone, which is open and
empty, and fails with an exception. A restart check takes `make` instead: each call makes a store that is not open yet,
all of them on the same data. With pytest:

    from weftwork.testing import storage

    @pytest.mark.parametrize("check", storage.CHECKS, ids=lambda check: check.__name__)
    def test_the_store_keeps_its_promises(check):
        storage.prove(MyStore(), check)

Failures say more with `pytest.register_assert_rewrite("weftwork.testing.storage")` in conftest.py.
"""

from weftwork.ports.storage.store import Store
from weftwork.testing.storage.harness import Check, RestartCheck, prove
from weftwork.testing.storage.suite import CHECKS, RESTART_CHECKS

__all__ = ["CHECKS", "RESTART_CHECKS", "Check", "RestartCheck", "Store", "prove"]
