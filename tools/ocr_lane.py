"""Runs a command of pytest after it has installed the extra `ocr`, which the tests of examples/invoice_approval need.

It is not part of the extra `dev` because of its size. If it cannot be installed, these tests are skipped, and this tool
says so; where CI is true that is a failure, and nothing runs.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.ocr import has_ocr  # noqa: E402
from tools.install_lane import Run, run, run_installed  # noqa: E402

INSTALL = ["tools/install.py", "ocr"]
LEFT_OUT = f"""
Did not run: the tests of examples/invoice_approval. The extra ocr is not installed.
Run: .venv/bin/python {" ".join(INSTALL)}
"""


def main(command: list[str], is_there: Callable[[], bool], ci: bool, run: Run) -> int:
    """The exit status of the command."""
    return run_installed(command, INSTALL, LEFT_OUT, is_there, ci, run)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:], has_ocr, os.environ.get("CI", "") in ("true", "1"), run))
