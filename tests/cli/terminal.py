"""A command for somebody who sits at a terminal."""

import os
import pty
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.live.host import TIMEOUT_SECONDS, command, environment


def run_at_terminal(
    folder: Path, answer: bytes, *args: str | Path, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command for somebody who types; the exit code and all that is shown."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command(*args), cwd=folder, env=environment(folder, env), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        shown = b""
        typed = not answer
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            shown += chunk
            if not typed and b"[y/N]" in shown:
                os.write(ours, answer)
                typed = True
        return process.wait(TIMEOUT_SECONDS), shown.decode()
    finally:
        os.close(ours)
