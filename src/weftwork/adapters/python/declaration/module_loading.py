"""Imports the modules that the operator names, and explains why one cannot be imported."""

import importlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Final

_PACKAGE_PREFIX: Final = str(Path(__file__).parents[3]) + os.sep
_STDLIB_PREFIX: Final = sysconfig.get_path("stdlib") + os.sep
_SITE_FOLDERS: Final = ("site-packages", "dist-packages")


class ModuleLoadError(Exception):
    """A module cannot be imported. The message names the option or the file and line, and the problem."""


def load_module(label: str, name: str) -> ModuleType:
    """Import a module, as by `python -m` also from the current folder. Raises ModuleLoadError."""
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise ModuleLoadError(f"{label}: this is not a module name; use a name such as acme.nodes")
    if name.endswith(".py"):
        raise ModuleLoadError(f"{label}: use the name of the module, not of its file: {name.removesuffix('.py')}")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ModuleLoadError(f"{label}: {explain_error(error, name)}") from None


def explain_error(error: BaseException, name: str) -> str:
    """What went wrong in code of the operator while the module `name` was loaded or used, with file and line."""
    if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
        return f"there is no module {error.name} in {Path.cwd()} or on sys.path"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    place = _place(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # Errors of the decorator already begin with the place.
    return text if place is None or str(error).startswith(place) else f"{place}: {text}"


def _place(error: BaseException) -> str | None:
    """File and line of the innermost frame in the author's code, outside of the standard library and this package."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<")]
    author_frames = [
        each for each in frames if not _is_standard(each.filename) and not each.filename.startswith(_PACKAGE_PREFIX)
    ]
    return f"{author_frames[-1].filename}:{author_frames[-1].lineno}" if author_frames else None


def _is_standard(filename: str) -> bool:
    return filename.startswith(_STDLIB_PREFIX) and not any(
        f"{os.sep}{part}{os.sep}" in filename for part in _SITE_FOLDERS
    )
