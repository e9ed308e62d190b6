"""Runs the commands of a page against a host and says where the output is not what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block
from tests.harness.postgres_place import postgres_server
from tests.harness.postgres_server import new_schema
from tests.harness.preloaded_cli import READ_AT_START
from tests.live import until

ADDRESS = "http://127.0.0.1:8787"
KEY = "hk_live_..."
DATABASE = "postgres://weftwork@db.example.org/weftwork"
"""In commands, this stands for the database of the tests, in which the reader has an own schema."""
MARK = "---- end of block ----"
RUNS = ("bash", "python")
BOUND = 60
PREAMBLE = """set -euo pipefail
set -a
URL=%s
AUTH="Authorization: Bearer %s"
JSON="Content-Type: application/json"
HOST=
stop_host() {
  [ -n "$HOST" ] && kill $HOST 2> /dev/null || return 0
  while kill -0 $HOST 2> /dev/null; do sleep 0.1; done
}
serve_host() {
  stop_host
  trap stop_host EXIT
  rm -f host.txt host.log
  weftwork serve --port 0 "$@" > host.txt 2> host.log &
  HOST=$!
  disown  # so that bash prints nothing when a page kills it
  until grep -qs '^  try ' host.txt; do
    kill -0 $HOST 2> /dev/null || { cat host.log; exit 1; }
    sleep 0.1
  done
  WEFTWORK_URL=$(sed -n 's/.*listens on //p' host.txt)
}
"""
"""`serve_host` stops the previous host of the page and starts another one; `$!` is its process id."""

_SERVE = re.compile(r"weftwork serve ((?:[^|&>\n]|\\\n)+?)(?: > \S+ 2>&1)?(?: &)?\n")

_VOLATILE = [
    (re.compile(r"\b0[0-9a-z]{25}\b"), "RUN"),
    (re.compile(r"\bkey_[0-9a-f]{16}\b"), "KEY-ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
    (re.compile(r'"eventId":"[a-z0-9]{24}"'), '"eventId":"ID"'),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "ADDRESS"),
]

_DURATIONS = [
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min|h|d)\b(?: \d+ (?:h|min|s)\b)?"), "DURATION"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "DATE"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
]


def need_curl() -> None:
    """Skip where the pages cannot be followed: the project itself needs neither curl nor bash."""
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("the pages use curl and bash")


class DocsUser:
    """A reader at the root of the repository, which is also their home, who starts a host with the examples."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        for name, target in ((".venv", sys.prefix), ("examples", ROOT / "examples")):
            (home / name).symlink_to(target)
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PATH", *READ_AT_START))}
        self.home = home
        self.key = ""
        self.data = home / ".local" / "share" / "weftwork"
        self.environment = {**kept, "HOME": str(home), "PATH": f"{home}/.venv/bin:{kept['PATH']}"}
        self.environment["WEFTWORK_STORE_SCHEMA"] = new_schema("page")
        # Plug-ins of this project's tests, which readers do not have; their imports take half of the time of pytest.
        self.environment["PYTEST_ADDOPTS"] = "-p no:schemathesis -p no:hypothesispytest"
        self._said, self._log = home / "said", home / "log"

    @property
    def printed(self) -> str:
        return self._said.read_text("utf-8")

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8")

    @contextmanager
    def host(self) -> Iterator[subprocess.Popen[bytes]]:
        """A host that has said where it is; stopped at the end, if it still runs."""
        examples = ROOT / "examples" / "workflows"
        command = [sys.executable, "-m", "weftwork.cli.main", "serve", "--port", "0", "--workflows", str(examples)]
        with self._said.open("wb") as said, self._log.open("wb") as log:
            process = subprocess.Popen(command, cwd=self.home, env=self.environment, stdout=said, stderr=log)

        def look() -> bool:
            assert process.poll() is None, self.log
            return "  try " in self.printed and self.printed.endswith("\n")

        try:
            until(look, "the host to start")
            self.key = next(iter(re.findall(r"API key +(\S+)", self.printed)), self.key)
            yield process
            process.terminate()
            process.wait(BOUND)
        finally:
            process.kill()
            process.wait(BOUND)

    @property
    def address(self) -> str:
        return re.findall(r"listens on (\S+)", self.printed)[0]

    def run(self, blocks: Sequence[Block]) -> list[str]:
        """What each block prints, standard error included. They share one shell, and stop at the first failure."""
        script = PREAMBLE % (self.address, self.key)
        for block in blocks:
            script += f"{self._command(block)}printf '\\n%s\\n' '{MARK}'\n"
        ended = subprocess.run(
            ["bash", "-c", script],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=BOUND,
            check=False,
        )
        said = ended.stdout.decode()
        assert ended.returncode == 0, f"exit {ended.returncode} after:\n{said}"
        return said.split(MARK)[:-1]

    def _command(self, block: Block) -> str:
        """The shell code for a block.

        A block that is a single `weftwork serve` represents another terminal: the host runs in the background on a free
        port, is ready before the next block runs, and its address is in WEFTWORK_URL.
        """
        code = block.code.replace(ADDRESS, self.address).replace(KEY, self.key)
        if DATABASE in code:
            code = code.replace(DATABASE, postgres_server().url())
        if block.language == "python":
            return f"python3 - <<'PYTHON'\n{code}PYTHON\n"
        if (serve := _SERVE.fullmatch(code)) is not None:
            return f"serve_host {serve[1]}\n" + ("cat host.txt\n" if block.shown else "")
        return code


def without_volatile(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def without_durations(line: str) -> str:
    """The line without durations and dates, and without the width of the columns that they are in."""
    for pattern, word in _DURATIONS:
        line = pattern.sub(word, line)
    return line


def matches(shown: str, said: str) -> bool:
    """Whether a page may show that.

    `…` stands for anything within a line. In a line without it, durations and dates may differ."""
    left, right = without_volatile(shown).splitlines(), without_volatile(said).splitlines()
    return len(left) == len(right) and all(map(_line_matches, left, right))


def _line_matches(shown: str, said: str) -> bool:
    if "…" not in shown:
        return without_durations(shown) == without_durations(said)
    return re.fullmatch(".*".join(re.escape(part) for part in shown.split("…")), said) is not None


def differences(blocks: Sequence[Block], said: Sequence[str]) -> list[str]:
    """Each block whose output is not the one that is shown; a block without one must print nothing."""
    return [
        f"{block.code}\nshown:\n{without_volatile(block.shown or '')}\n\nprinted:\n{without_volatile(text)}"
        for block, text in zip(blocks, said, strict=True)
        if not matches(block.shown or "", text)
    ]
