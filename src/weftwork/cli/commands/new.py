"""`weftwork new`: the first files of something that others build on the host."""

import keyword
import re
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import click

from weftwork.cli.console.command_group import CommandGroup

TEMPLATE_SUFFIX: Final = ".template"
"""Of files that are filled in: so that nobody takes them for modules and settings of this package."""
MAX_NAME: Final = 64

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_RESERVED_NAMES: Final = "core openwop conformance local weftwork community vendor private tests".split()


@click.group(cls=CommandGroup)
def new() -> None:
    """Make the first files of a package."""


@new.command("node-package")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", metavar="TEXT", help="The name of the package.  [default: that of the folder]")
def node_package(folder: Path, name: str | None) -> None:
    """Make a package with nodes of your own: two nodes, their tests and a workflow.

    DIR is made; if it is there, it has to be empty. Names of node types begin with the first word of the name.

    \b
    Examples:
      weftwork new node-package acme-nodes
      weftwork new node-package ~/src/nodes --name acme-nodes
    """
    chosen = _check_name(name if name is not None else folder.absolute().name.lower().replace("_", "-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} is there and not empty; name a folder that is new or empty.")
    words = {"@NAME@": chosen, "@PACKAGE@": chosen.replace("-", "_"), "@PREFIX@": chosen.partition("-")[0]}
    try:
        templates = resources.files("weftwork") / "templates" / "node_package"
        made = [_write(folder, place, text, words) for place, text in _walk_templates(templates, "")]
    except OSError as error:
        raise click.ClickException(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
    commands = (f"cd {folder}", "pip install -e '.[dev]'", "pytest", "weftwork serve --workflows workflows")
    for line in (f"made {chosen} in {folder}:", *(f"  {place}" for place in sorted(made))):
        click.echo(line)
    for line in ("next:", *(f"  {command}" for command in commands)):
        click.echo(line)


def _check_name(name: str) -> str:
    """The name, if a package, its module and its node types can have it."""
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        raise click.UsageError(
            f"{name!r} cannot be the name of the package: choose small letters and digits, with dashes in between, "
            "by --name."
        )
    first = name.partition("-")[0]
    if first in _RESERVED_NAMES or keyword.iskeyword(name.replace("-", "_")):
        raise click.UsageError(f"the name {name!r} is taken by others: choose one that begins with a word of yours.")
    return name


def _walk_templates(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """Each file with its place in the package."""
    for each in folder.iterdir():
        if each.is_dir():
            yield from _walk_templates(each, f"{path}{each.name}/")
        elif each.name.endswith(TEMPLATE_SUFFIX):
            yield f"{path}{each.name.removesuffix(TEMPLATE_SUFFIX)}", each.read_text("utf-8")


def _write(folder: Path, place: str, text: str, words: dict[str, str]) -> str:
    place = place.replace("src/package/", f"src/{words['@PACKAGE@']}/")
    for mark, word in words.items():
        text = text.replace(mark, word)
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return place
