"""The conformance suite for the storage ports. The modules are named after the ports that they check.

A check is a public async function. Its docstring states the guarantee that it verifies. Its only parameter is `store`,
an open, empty store, and it raises an exception if the guarantee is broken. A restart check has the parameter `make`
instead: each call returns a new store that is not open yet, always on the same data. A pair check has the parameter
`pair`: two stores that are open on the same data, for stores that several processes may use. With pytest:

    from weftwork.testing import storage

    @pytest.mark.parametrize("check", storage.CHECKS, ids=lambda check: check.__name__)
    def test_the_store_keeps_its_promises(check):
        storage.prove(MyStore(), check)

For detailed failures, call `pytest.register_assert_rewrite("weftwork.testing.storage")` in conftest.py.
"""

from weftwork.ports.storage.store import Store
from weftwork.testing.storage.harness import Check, PairCheck, RestartCheck, prove
from weftwork.testing.storage.suite import CHECKS, PAIR_CHECKS, RESTART_CHECKS

__all__ = ["CHECKS", "PAIR_CHECKS", "RESTART_CHECKS", "Check", "PairCheck", "RestartCheck", "Store", "prove"]
