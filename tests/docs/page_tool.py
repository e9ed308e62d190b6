"""The tools that write pages, run on the repository or on a copy of its pages."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT


def run_tool(root: Path, tool: str, *arguments: str) -> tuple[int, str]:
    """The exit status, and what the tool said of errors."""
    command = [sys.executable, str(root / "tools" / tool), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stderr


def copy_tree(target: Path, tool: str) -> Path:
    (target / "tools").mkdir()
    shutil.copy(ROOT / "tools" / tool, target / "tools" / tool)
    shutil.copytree(ROOT / "docs", target / "docs")
    return target
