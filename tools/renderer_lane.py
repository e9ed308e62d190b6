"""Runs a command of pytest after it has built the official A2UI renderers, which tests/browser/a2ui needs.

They are npm packages. If they cannot be fetched, these tests are skipped, and this tool says so; where CI is true that
is a failure, and nothing runs.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.a2ui.renderers import INSTALL, has_renderers  # noqa: E402
from tools.install_lane import Run, run, run_installed  # noqa: E402

LEFT_OUT = f"""
Did not run: the tests with the official A2UI renderers (tests/browser/a2ui). They are not installed.
Run: .venv/bin/python {" ".join(INSTALL)}
"""


def main(command: list[str], is_there: Callable[[], bool], ci: bool, run: Run) -> int:
    """The exit status of the command."""
    return run_installed(command, INSTALL, LEFT_OUT, is_there, ci, run)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:], has_renderers, os.environ.get("CI", "") in ("true", "1"), run))
