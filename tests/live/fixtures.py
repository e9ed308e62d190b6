"""The host that tests share when none of them stops it. A conftest imports it by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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


def host_fixture(
    *args: str, workflows: Iterable[Any] = (), store: str = "sqlite", env: Mapping[str, str] | None = None
) -> Any:
    """A host for the tests of one module, as a fixture of the name that it is assigned to."""

    @pytest.fixture(scope="module")
    def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
        folder = tmp_path_factory.mktemp("host")
        files = ("--workflows", write_workflows(folder / "workflows", *workflows)) if workflows else ()
        with start_host(folder, *args, *files, store=store, env=env) as host:
            yield host
            assert "raceback" not in host.errors

    return running
