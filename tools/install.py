"""Installs the package into the environment of this Python with pip: `install.py [EXTRA]`.

With `--quiet`, pip prints nothing for a minute; without it, several lines for each package. This prints one line for
each package that pip fetches, and all of pip's output if pip fails. Nothing is installed yet when it runs, so it
imports only the standard library.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Measured in a new environment on Python 3.11 and Linux, with a fast connection.
PLANS = {
    "": "Installing weftwork into {folder}: 20 packages, 140 MB, about 20 seconds.",
    "local": "Adding llama.cpp, which runs a model on this machine, to {folder}: 1 package, 34 MB to download.",
    "ocr": "Adding OCR for examples/invoice_approval to {folder}: 140 MB to download, 370 MB in all, about 20 seconds.",
    "dev": "Adding the tools for tests and checks to {folder}: 780 MB in all, about 30 seconds.",
    "dist": "Installing the tools that build and audit a release into {folder}: about a minute.",
    "bench": "Installing weftwork and the tools that it is compared with into {folder}: about a minute.",
}
NEXT_STEP = """\
Installed in {seconds} s. To use the weftwork command in a terminal:
  export PATH="{folder}/bin:$PATH"

"""

_WHEEL = re.compile(
    r"\s*(?:Downloading|Using cached|Processing) (?:\S*/)?"
    r"(?P<name>[\w.]+)-(?P<version>[\w.!+]+)-\S+\.whl(?!\.)(?P<size> \(.+ .B\))?"
)
_INSTALLING = re.compile(r"Installing collected packages: (.+)")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def progress(lines: Iterable[str]) -> Iterator[str]:
    """One line for each package that pip fetches, and one when it begins to unpack them."""
    for line in lines:
        if wheel := _WHEEL.match(line):
            yield f"  {wheel['name'].replace('_', '-')} {wheel['version']}{wheel['size'] or ''}"
        elif installing := _INSTALLING.match(line):
            yield f"  unpacking {len(installing[1].split(','))} packages"


def run_pip(arguments: list[str]) -> int:
    """Run pip and print its progress; return its exit status. If pip fails, its whole output goes to standard error."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    output: list[str] = []

    def keep(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            output.append(line)
            yield line

    with subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        assert pip.stdout is not None
        for line in progress(keep(pip.stdout)):
            say(f"{line}\n")
    if pip.returncode != 0:
        sys.stderr.write("".join(output))
    return pip.returncode


def main(extra: str) -> int:
    began = time.monotonic()
    say(f"{PLANS[extra].format(folder=Path(sys.prefix).name)}\n")
    status = run_pip(["-c", "constraints.txt", "-e", f".[{extra}]" if extra else "."])
    if status == 0 and not extra:
        say(NEXT_STEP.format(seconds=round(time.monotonic() - began), folder=sys.prefix))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main("".join(sys.argv[1:])))
    except KeyboardInterrupt:
        sys.exit("interrupted; the next install starts over")
