"""Real hosts and commands on a real PostgreSQL server."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness.postgres_server import LEFT_OUT, PostgresServer, distribution_version, new_schema, shared_server
from tests.live.host import Host, launch, weftwork


def postgres_server() -> PostgresServer:
    """The server that the tests of this process share. Skips the test if there is none."""
    version = distribution_version()
    if version is None:
        pytest.skip(LEFT_OUT)
    return shared_server(version)


class PostgresPlace:
    """A schema of its own on a server, and the environment that names it."""

    def __init__(self, folder: Path, server: PostgresServer | None = None, schema: str = "") -> None:
        self.folder = folder
        self.server = server or postgres_server()
        self.schema = schema or new_schema(folder.name)
        self.url = self.server.url()

    @property
    def environment(self) -> dict[str, str]:
        return {"WEFTWORK_STORE": self.url, "WEFTWORK_STORE_SCHEMA": self.schema}

    def launch(self, *args: str | Path, env: Mapping[str, str] | None = None, **more: Any) -> Host:
        """A host that may not live long enough to listen."""
        return launch(self.folder, *args, env={**self.environment, **(env or {})}, **more)

    @contextlib.contextmanager
    def host(self, *args: str | Path, **more: Any) -> Iterator[Host]:
        """A host that listens; killed at the end if it still runs. It migrates the schema."""
        host = self.launch("--migrate", *args, **more)
        try:
            host.wait_for_start()
            yield host
        finally:
            if host.process.poll() is None:
                host.kill()

    def refused(self, *args: str | Path, **more: Any) -> str:
        """What a host says that does not start."""
        host = self.launch(*args, **more)
        assert host.process.wait(120) == 1, host.output
        return host.errors

    def command(self, *args: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return weftwork(self.folder, *args, env={**self.environment, **(env or {})})
