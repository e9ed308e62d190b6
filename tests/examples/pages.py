"""The page of the examples, and hosts that its commands start."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.live import Host, start_host

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGE = (EXAMPLES / "README.md").read_text("utf-8")


@contextmanager
def served(line: str, tmp_path: Path) -> Iterator[Host]:
    """A host by a command of the page, on a port of its own, and with its data out of the way."""
    words = shlex.split(line)
    paths = dict(word.split("=", 1) for word in words if word.startswith("PYTHONPATH="))
    options = words[words.index("serve") + 1 :]
    with start_host(tmp_path / "host", *without(options, "--data", "--store"), env=paths, cwd=ROOT) as host:
        yield host


def without(words: list[str], *options: str) -> list[str]:
    """The words without these options and what they are given."""
    return [word for index, word in enumerate(words) if not {word, words[index - 1] if index else ""} & {*options}]


def client(line: str) -> list[str]:
    """The arguments of a weftwork command of the page."""
    return shlex.split(line)[1:]
