"""Runs a command of pytest after it has installed the PostgreSQL server of the distribution, if that is possible.

Versions 16 and 18 come with the dev extra. Without the server of the distribution its tests are skipped, and this tool
says so; where CI is true that is a failure, and nothing runs.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.harness.postgres_server import distribution_version  # noqa: E402
from tools.browser_lane import INSTALL, Run, run  # noqa: E402

COMMANDS = (
    (*INSTALL, "postgresql-15"),
    ("apt-get", "update", "-q"),
    (*INSTALL, "postgresql-15"),
    (*INSTALL, "postgresql"),
)
"""Newer systems have only a newer version; 15 to 18 are supported."""
LEFT_OUT = """
Did not run: the PostgreSQL lane with the server of the distribution (tests/adapters/postgres). It is not installed.
Install postgresql-15, or the package postgresql of a system that has version 15 to 18.
"""


def main(command: list[str], find: Callable[[], str | None], root: bool, ci: bool, run: Run) -> int:
    """The exit status of the command."""
    if find() is None and root:
        for install in COMMANDS:
            if run(list(install)) == 0 and find() is not None:
                break
    if find() is not None:
        return run(command)
    if ci:
        sys.stderr.write(LEFT_OUT)
        return 1
    status = run(command)
    sys.stderr.write(LEFT_OUT)
    return status


if __name__ == "__main__":
    ci = os.environ.get("CI", "") in ("true", "1")
    sys.exit(main(sys.argv[1:], distribution_version, os.geteuid() == 0, ci, run))
