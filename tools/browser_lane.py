"""Runs a command of pytest with the tests in tests/browser, if there is a browser or one can be installed.

Without one it leaves them out and says so; where CI is true that is a failure, and nothing runs.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.chromium import installed  # noqa: E402

PACKAGE = "chromium-headless-shell"
INSTALL = ("apt-get", "install", "-y", "-q", "-o", "Acquire::Retries=3")
COMMANDS = (
    (*INSTALL, PACKAGE),
    ("apt-get", "update", "-q"),
    (*INSTALL, PACKAGE),
    (*INSTALL, "chromium"),
)
"""The lists of packages may be missing or old, an update may fail where an install does not, and older systems have
the whole browser only."""
LEFT_OUT = f"""
Did not run: the browser lane (tests/browser). There is no browser here.
Install {PACKAGE} or chromium, or set WEFTWORK_BROWSER to the path of one.
"""

Run = Callable[[list[str]], int]


def run(command: list[str]) -> int:
    """Run it to its end; its exit status, or 127 if there is no such program."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=quiet, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603
    except FileNotFoundError:
        return 127


def has_browser(find: Callable[[], str | None], root: bool, run: Run) -> bool:
    """Whether there is one now."""
    if find() is None and root:
        for command in COMMANDS:
            if run(list(command)) == 0 and find() is not None:
                break
    return find() is not None


def main(command: list[str], find: Callable[[], str | None], root: bool, ci: bool, run: Run) -> int:
    """The exit status of the command."""
    if has_browser(find, root, run):
        return run(command)
    if ci:
        sys.stderr.write(LEFT_OUT)
        return 1
    status = run([*command, "--ignore=tests/browser"])
    sys.stderr.write(LEFT_OUT)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], installed, os.geteuid() == 0, os.environ.get("CI", "") in ("true", "1"), run))
