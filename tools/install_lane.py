"""What the tools share that install something large for some tests before pytest runs."""

import subprocess
import sys
from collections.abc import Callable

Run = Callable[[list[str]], int]


def run(command: list[str]) -> int:
    """Run it to its end; its exit status."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603


def run_installed(
    command: list[str], install: list[str], left_out: str, is_there: Callable[[], bool], ci: bool, run: Run
) -> int:
    """Run the command after the installation, and return its exit status.

    If it cannot be installed, the tests skip themselves, and `left_out` says so; in CI nothing runs, and that is a
    failure. `install` is a command of this Python.
    """
    if is_there() or run([sys.executable, *install]) == 0:
        return run(command)
    if ci:
        sys.stderr.write(left_out)
        return 1
    status = run(command)
    sys.stderr.write(left_out)
    return status
