"""The killer: hosts on one data folder, one after another, each of which may be made to break."""

import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tests.crash.store_image import check_store_image
from tests.crash.workflows import CRASH_WORKFLOWS
from tests.live import Host, write_workflows
from tests.live.host import TIMEOUT_SECONDS, command, launch
from tests.live.later_host import later_command
from tests.live.sabotage import sabotaged

SABOTAGES = Path(__file__).with_name("sabotage.py")


class RestartableHost:
    """One data folder and its hosts. Use it as a context: no host outlives it.

    `sabotage` names the guard that is taken away from them, a function of `sabotage.py`.
    """

    workflows: Sequence[dict[str, Any]] = CRASH_WORKFLOWS
    arguments: tuple[str | Path, ...] = ()
    environment: Mapping[str, str] = {}
    cwd: Path | None = None

    def __init__(self, folder: Path, sabotage: str | None = None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._program = sabotaged(SABOTAGES, sabotage) if sabotage else command()
        self._flows = write_workflows(folder / "flows", *self.workflows)
        self._hosts: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts:
            if host.process.poll() is None:
                host.kill()

    def start(self, faults: str | None = None) -> Host:
        """A host that listens. Fails if it does not come so far."""
        host = self.launch(faults)
        host.wait_for_start()
        return host

    def start_later(self, hours: int) -> Host:
        """A host that listens, whose clock is so many hours ahead."""
        usual, self._program = self._program, later_command(hours, self._program)
        try:
            return self.start()
        finally:
            self._program = usual

    def launch(self, faults: str | None = None) -> Host:
        """A host that may not live long enough to listen."""
        assert all(host.process.poll() is not None for host in self._hosts)
        return self._launch(faults)

    def check_image(self, copy: Path) -> None:
        """Check the store of a dead host. `copy` is a new folder for a copy of its files."""
        check_store_image(self.data, copy)

    def _launch(self, faults: str | None, *arguments: str, **more: Any) -> Host:
        env = {**self.environment, **({"WEFTWORK_FAULTS": faults} if faults else {})}
        args = ("--workflows", self._flows, *self.arguments, *arguments)
        host = launch(self.folder, *args, env=env, program=self._program, cwd=self.cwd, **more)
        self._hosts.append(host)
        return host

    def take_over(self, data: Path) -> None:
        """Put a copy of what another host left in place; the socket of the dead host stays behind."""
        shutil.copytree(data, self.data, ignore=shutil.ignore_patterns("*.sock"))
        self.data.chmod(0o700)


def has_started(host: Host) -> bool:
    """Wait for a host to start; False if it died on the way."""
    try:
        host.wait_for_start()
    except AssertionError:
        if host.process.poll() is None:
            raise
        return False
    return True


def stop(host: Host) -> None:
    """SIGTERM, and a clean end."""
    assert host.stop() == 0, host.errors


def check_killed_at(host: Host, name: str) -> None:
    """It died, by SIGKILL, at that point."""
    assert host.process.wait(TIMEOUT_SECONDS) == -signal.SIGKILL, (
        f"the host ended with {host.process.returncode}: {host.errors}"
    )
    assert f'"message":"fault point reached","point":"{name}"' in host.errors, f"{name} was not reached: {host.errors}"
