"""The host that tests share when none of them stops it. A conftest imports it by name."""

from collections.abc import Iterator

import pytest

from tests.live.host import Host, start_host
from tests.live.seed import seed_messages
from tests.live.workflows import delays, write_workflows

QUICK_WORKFLOW = "waits"
"""Six waiting nodes, a quarter of a second in all."""
KEEPALIVE_SETTINGS = {"WEFTWORK_KEEPALIVE_SECONDS": "0.2"}


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """SQLite, conformance workflows, seams, the seeded run and the workflow QUICK."""
    folder = tmp_path_factory.mktemp("host")
    seed_messages(folder / "data")
    workflows = write_workflows(folder / "workflows", delays(QUICK_WORKFLOW, 40, 0, 60, 30, 1, 120))
    args = ("--conformance", "--test-seams", "--workflows", workflows)
    with start_host(folder, *args, env=KEEPALIVE_SETTINGS) as running:
        yield running
        assert running.process.poll() is None, running.errors
