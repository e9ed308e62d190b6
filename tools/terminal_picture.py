"""Writes docs/assets/run.svg, a picture of a terminal in which a run waits for an approval and completes.

The commands run in a pseudo-terminal, against a new host, so the picture shows what they really print. With --check,
the tool only compares the text of the picture with what the commands print now; ids, times and durations may differ.
Without it, the tool writes the picture if that text has changed.
"""

import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path("docs", "assets", "run.svg")
COLUMNS, ROWS = 100, 50
KEY = "picture"
START = "weftwork run examples/approval/approval.json --input amount=80 --follow --no-wait"
ANSWER = "weftwork answer {run} --approve --follow"

THEME = TerminalTheme(
    background=(30, 31, 38),
    foreground=(222, 222, 226),
    normal=[
        (30, 31, 38),
        (240, 128, 128),
        (150, 210, 130),
        (230, 200, 120),
        (130, 170, 250),
        (202, 166, 247),
        (130, 210, 215),
        (222, 222, 226),
    ],
)
"""Black, red, green, yellow, blue, magenta, cyan and white, light enough to read on the background."""

# Rich's own format loads its fonts from the web, and the page must not make a reader's browser call another host.
FORMAT = """\
<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc" xmlns="http://www.w3.org/2000/svg">
<title id="title">A terminal with two weftwork commands</title>
<desc id="desc">A run waits for an approval, is approved with a second command, and completes.</desc>
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""

_RUN_ID = re.compile(r"\b0[0-9a-z]{25}\b")
_VOLATILE = (
    (_RUN_ID, "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "TIME"),
    (re.compile(r"\bin \d+ d \d+ h\b"), "in DURATION"),
    (re.compile(r"\b[\d.]+ m?s\b"), "DURATION"),
    (re.compile(r"; the run is (?:running|completed)"), "; the run is STATUS"),
)
_CONTROL = re.compile(r"(\r|\n|\x1b\[\d*A|\x1b\[2K|\x1b\[\?25[lh])")


@contextmanager
def host(root: Path) -> Iterator[dict[str, str]]:
    """A host with an empty store in memory; yields the environment in which commands find it."""
    weftwork = Path(sys.prefix, "bin")
    command = [weftwork / "weftwork", "serve", "--port", "0", "--store", "memory", "--api-key", f"{KEY}=default"]
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": f"{weftwork}:{os.defpath}", "HOME": home, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        with subprocess.Popen(  # noqa: S603
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout is not None
                address = re.search(r"http://\S+", process.stdout.readline())
                assert address is not None
                yield {**environment, "WEFTWORK_URL": address[0], "WEFTWORK_KEY": KEY}
            finally:
                process.kill()


def printed(command: str, root: Path, environment: dict[str, str]) -> str:
    """What the command prints in a terminal, with its escape sequences."""
    terminal, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(  # noqa: S603
        shlex.split(command), cwd=root, env=environment, stdin=side, stdout=side, stderr=side
    )
    os.close(side)
    with open(terminal, "rb", buffering=0) as reader:
        pieces: list[bytes] = []
        try:
            while piece := reader.read(65536):
                pieces.append(piece)
        except OSError:  # Linux reports the closed other side of a pseudo-terminal as an input error.
            pass
    process.wait()
    return b"".join(pieces).decode()


def screen(output: str) -> list[str]:
    """The lines that a terminal shows in the end. Colours stay; a redrawn tree is there once.

    Understands only what `rich.live` sends: it goes up and erases whole lines before it writes them again."""
    lines, row = [""], 0
    for part in _CONTROL.split(output):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif part.endswith("A") and part.startswith("\x1b["):
            row -= int(part[2:-1] or 1)
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part and not _CONTROL.fullmatch(part):
            lines[row] += part
    return "\n".join(lines).rstrip("\n").split("\n")


def session(root: Path) -> list[str]:
    """The lines of the terminal after both commands."""
    with host(root) as environment:
        waits = screen(printed(START, root, environment))
        run_id = _RUN_ID.search("".join(waits))
        assert run_id is not None, waits
        answer = ANSWER.format(run=run_id[0])
        ends = screen(printed(answer, root, environment))
    return [f"\x1b[1m$ {START}\x1b[0m", *waits, "", f"\x1b[1m$ {answer}\x1b[0m", *ends]


def draw(lines: list[str]) -> str:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for line in lines:
        console.print(Text.from_ansi(line))
    return console.export_svg(title="weftwork", code_format=FORMAT, unique_id="run", theme=THEME)


def comparable(text: str) -> str:
    """The words of a text, without those that differ from run to run."""
    words = " ".join(text.split())
    for pattern, name in _VOLATILE:
        words = pattern.sub(name, words)
    return words


def picture_text(svg: str) -> str:
    """The text that a picture shows, in the order of its lines."""
    rows: dict[float, list[tuple[float, str]]] = {}
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314
        if not element.get("class", "").endswith("-title"):
            rows.setdefault(float(element.get("y", 0)), []).append((float(element.get("x", 0)), element.text or ""))
    return "\n".join("".join(text for _, text in sorted(row)) for _, row in sorted(rows.items()))


def is_current(svg: str, lines: list[str]) -> bool:
    return comparable(picture_text(svg)) == comparable(picture_text(draw(lines)))


def main(arguments: list[str], root: Path) -> int:
    """Exit status: 0 when the picture is up to date, or has been written; 1 when --check finds it stale."""
    lines, picture = session(root), root / PICTURE
    if picture.exists() and is_current(picture.read_text("utf-8"), lines):
        return 0
    if "--check" in arguments:
        sys.stderr.write(f"{PICTURE} is stale: run `make docs`\n")
        return 1
    picture.write_text(draw(lines), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).parents[1]))
