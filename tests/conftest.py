"""`pytest --rule idem-04` runs the tests that prove one rule; slow proofs stay out of the fast lane."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["tests.harness.preloaded_cli", "tests.harness.time_limit"]

SLOW = (
    "crash",
    "hostile",
    "power",
    "readers",
    "interop",
    "docs",
    "local_model",
    "cli/answer",
    "cli/client",
    "cli/commands",
    "cli/console",
    "cli/doctor",
    "cli/eval",
    "cli/follow",
    "cli/serve",
    "adapters/outbound",
    "adapters/http/server",
    "adapters/http/streams",
    "adapters/http/routes",
    "adapters/http/assets",
    "adapters/http/interrupts",
    "conformance/endpoints",
)
"""Folders whose tests start processes, fill disks or use sockets: all of them are marked as slow."""

MEMORY_FOLDER = Path("/dev/shm")
MEMORY_NEEDED = 4 * 2**30
"""Bytes. The folders of all tests together take a fraction of it."""


# For properties that say nothing else. A deadline is a measured time, which a busy machine exceeds.
settings.register_profile(
    "weftwork", settings.default, deadline=None, max_examples=100 if os.environ.get("WEFTWORK_PROOF") == "full" else 50
)
settings.load_profile("weftwork")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of async tests and fixtures."""
    return "asyncio"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rule", metavar="ID", help="only tests marked with this rule of rules.toml")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in a job in the background; the commands that tests interrupt would inherit it, and never end.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if MEMORY_FOLDER.is_dir() and shutil.disk_usage(MEMORY_FOLDER).free >= MEMORY_NEEDED:
        # Temporary folders in memory: no test looks at the disk itself, and a sync there takes milliseconds.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_FOLDER))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).as_posix().startswith(tuple(f"{folder}/" for folder in SLOW)):
            item.add_marker(pytest.mark.slow)
    wanted = config.getoption("--rule")
    if wanted is None:
        return
    left_out = [item for item in items if not any(wanted in mark.args for mark in item.iter_markers("rule"))]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
