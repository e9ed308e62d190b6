"""Runs a command of pytest after it has installed the extra `ocr`, which the tests of examples/invoice_approval need.

It is not part of the extra `dev` because of its size. If it cannot be installed, these tests are skipped, and this tool
says so; where CI is true that is a failure, and nothing runs.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.ocr import has_ocr  # noqa: E402

INSTALL = ["tools/install.py", "ocr"]
LEFT_OUT = f"""
Did not run: the tests of examples/invoice_approval. The extra ocr is not installed.
Run: .venv/bin/python {" ".join(INSTALL)}
"""

Run = Callable[[list[str]], int]


def run(command: list[str]) -> int:
    """Run it to its end; its exit status."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603


def main(command: list[str], is_there: Callable[[], bool], ci: bool, run: Run) -> int:
    """The exit status of the command."""
    if is_there() or run([sys.executable, *INSTALL]) == 0:
        return run(command)
    if ci:
        sys.stderr.write(LEFT_OUT)
        return 1
    status = run(command)
    sys.stderr.write(LEFT_OUT)
    return status


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:], has_ocr, os.environ.get("CI", "") in ("true", "1"), run))
