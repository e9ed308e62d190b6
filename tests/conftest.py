"""`pytest --rule idem-04` runs the tests that prove one rule; proofs under fire stay out of the fast lane."""

import signal
from pathlib import Path

import pytest

PROOFS = {"crash", "hostile", "power", "readers", "interop", "cli", "docs", "outbound"}
"""Folders whose tests start processes, fill disks or crowd sockets: all of them count as slow."""
SOCKETS = "test_http_"
"""So begin the names of tests that talk to a host over sockets, which count as slow too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rule", metavar="ID", help="only tests marked with this rule of rules.toml")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in a job in the background; the commands that tests interrupt would inherit it, and never end.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in PROOFS or item.path.name.startswith(SOCKETS):
            item.add_marker(pytest.mark.slow)
    wanted = config.getoption("--rule")
    if wanted is None:
        return
    left_out = [item for item in items if not any(wanted in mark.args for mark in item.iter_markers("rule"))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
