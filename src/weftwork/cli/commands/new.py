"""`weftwork new`: create a project from a template."""

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
"""The suffix of template files, so that tools do not read them as modules or settings of this package."""
MAX_NAME: Final = 64

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_RESERVED_NAMES: Final = "core openwop conformance local weftwork community vendor private tests".split()


@click.group(cls=CommandGroup)
def new() -> None:
    """Create a project from a template."""


@new.command("node-package")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--name", metavar="TEXT", help="Name of the package.  [default: the name of DIR]")
def node_package(folder: Path, name: str | None) -> None:
    """Create a Python package with two node types, their tests and a workflow.

    DIR must be new or empty. The first word of the package name becomes the prefix of its node types.

    \b
    Examples:
      weftwork new node-package acme-nodes
      weftwork new node-package ~/src/nodes --name acme-nodes
    """
    chosen = _check_name(name if name is not None else folder.absolute().name.lower().replace("_", "-"))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"{folder} already exists and is not empty; choose a new or empty folder.")
    replacements = {"@NAME@": chosen, "@PACKAGE@": chosen.replace("-", "_"), "@PREFIX@": chosen.partition("-")[0]}
    try:
        templates = resources.files("weftwork") / "templates" / "node_package"
        paths = [_write(folder, path, text, replacements) for path, text in _walk_templates(templates, "")]
    except OSError as error:
        raise click.ClickException(f"{error.filename or folder} cannot be written: {error.strerror}.") from None
    commands = (f"cd {folder}", "pip install -e '.[dev]'", "pytest", "weftwork serve --workflows workflows")
    for line in (f"created {chosen} in {folder}:", *(f"  {path}" for path in sorted(paths))):
        click.echo(line)
    for line in ("next steps:", *(f"  {command}" for command in commands)):
        click.echo(line)


def _check_name(name: str) -> str:
    """The name, if it is valid for a package, its module and its node types. Raises UsageError."""
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        raise click.UsageError(
            f"{name!r} is not a valid package name; use lower-case letters and digits separated by dashes, at most "
            f"{MAX_NAME} characters. Pass a name with --name."
        )
    first = name.partition("-")[0]
    if first in _RESERVED_NAMES or keyword.iskeyword(name.replace("-", "_")):
        raise click.UsageError(
            f"the package name {name!r} starts with the reserved word {first!r} or is a Python keyword; pass another "
            "name with --name, such as acme-nodes."
        )
    return name


def _walk_templates(directory: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    """The path of each file within the package, and its text."""
    for each in directory.iterdir():
        if each.is_dir():
            yield from _walk_templates(each, f"{prefix}{each.name}/")
        elif each.name.endswith(TEMPLATE_SUFFIX):
            yield f"{prefix}{each.name.removesuffix(TEMPLATE_SUFFIX)}", each.read_text("utf-8")


def _write(folder: Path, path: str, text: str, replacements: dict[str, str]) -> str:
    path = path.replace("src/package/", f"src/{replacements['@PACKAGE@']}/")
    for placeholder, text_for in replacements.items():
        text = text.replace(placeholder, text_for)
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return path
