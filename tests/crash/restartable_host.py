"""The killer: hosts on one data folder, one after another, each of which may be made to break."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.crash.workflows import write_crash_workflows
from tests.live import Host
from tests.live.host import KEYS, TIMEOUT_SECONDS, command, environment
from tests.live.later_host import later_command

SABOTAGE = Path(__file__).with_name("sabotage.py")


class RestartableHost:
    """One data folder and its hosts. Use it as a context: no host outlives it.

    `sabotage` names the guard that is taken away from them, as `sabotage.py` knows it.
    """

    def __init__(self, folder: Path, sabotage: str | None = None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._workflows = write_crash_workflows(folder / "flows")
        self._command = [sys.executable, str(SABOTAGE), sabotage] if sabotage else command()
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
        usual = self._command
        self._command = later_command(hours, usual)
        try:
            return self.start()
        finally:
            self._command = usual

    def launch(self, faults: str | None = None) -> Host:
        """A host that may not live long enough to listen."""
        assert all(host.process.poll() is not None for host in self._hosts)
        number = len(self._hosts)
        output, errors = self.folder / f"out-{number}", self.folder / f"err-{number}"
        line = [*self._command, "serve", "--port", "0", "--data", self.data, "--workflows", self._workflows, *KEYS]
        env = environment(self.folder, {"WEFTWORK_FAULTS": faults} if faults else None)
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(line, stdout=out, stderr=err, env=env)
        host = Host(process, output, errors, self.data)
        self._hosts.append(host)
        return host


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
