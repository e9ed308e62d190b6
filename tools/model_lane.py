"""Runs a command of pytest with the tests in tests/local_model, if the weights of the model are there or can be
downloaded.

Without the weights it leaves these tests out and says so; where CI is true that is a failure, and nothing runs.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.local_model.weights import FETCH, has_weights  # noqa: E402

LEFT_OUT = f"""
Did not run: the tests with a real model (tests/local_model). Its weights are not here.
Run: .venv/bin/weftwork {" ".join(FETCH)}
"""

Run = Callable[[list[str]], int]


def run(command: list[str]) -> int:
    """Run it to its end; its exit status."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603


def main(command: list[str], is_there: Callable[[], bool], ci: bool, run: Run) -> int:
    """The exit status of the command."""
    if is_there() or run([sys.executable, "-m", "weftwork.cli.main", *FETCH]) == 0:
        return run(command)
    if ci:
        sys.stderr.write(LEFT_OUT)
        return 1
    status = run([*command, "--ignore=tests/local_model"])
    sys.stderr.write(LEFT_OUT)
    return status


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:], has_weights, os.environ.get("CI", "") in ("true", "1"), run))
